"""Sets of words, written as a line of text."""


def word_set(words: str) -> frozenset[str]:
    """The words of a text as a set: word_set("up down") is {"up", "down"}."""
    return frozenset(words.split())
