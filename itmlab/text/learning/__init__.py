"""How the parser that ships, and its table of words, were learnt: run by hand, not needed to parse."""
