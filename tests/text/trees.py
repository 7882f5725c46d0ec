"""Parsed captions written by hand: a word a cell, as in “dog NOUN nsubj 3” (word, tag, label, number of its head)."""

import spacy
from spacy.tokens import Doc

VOCABULARY = spacy.blank("en").vocab


def tree(cells: str) -> Doc:
    """A Doc from cells parted by commas; heads count from 1 and 0 is the root."""
    rows = [cell.split() for cell in cells.split(",")]
    heads = [at if row[3] == "0" else int(row[3]) - 1 for at, row in enumerate(rows)]
    return Doc(
        VOCABULARY,
        [row[0] for row in rows],
        pos=[row[1] for row in rows],
        deps=["ROOT" if row[3] == "0" else row[2] for row in rows],
        heads=heads,
    )
