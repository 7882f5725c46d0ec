"""How the shipped parser is trained, and how well it reads captions."""
