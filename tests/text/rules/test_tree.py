"""Prepositions of several words, found at a place of a sentence under one name."""

import pytest

from itmlab.text.rules.tree import match

CASES = {
    "in front of a house": (3, "in front of"),
    "on top of it": (3, "on top of"),
    "next to a dog": (2, "next to"),
    "on the side of the road": (4, "on side of"),
    "in the middle of a field": (4, "in middle of"),
    "on the right hand side of the car": (6, "on right side of"),
    "to the left of a man": (4, "to left of"),
    "out of the water": (2, "out of"),
    "side by side with a cat": (4, "side by side with"),
    "on both sides of the street": (4, "on both sides of"),
}


@pytest.mark.parametrize("words", CASES)
def test_the_longest_is_found(words):
    assert match(words.split(), 0) == CASES[words]
    assert match(["a", "dog", *words.split()], 2) == (CASES[words][0] + 2, CASES[words][1])


@pytest.mark.parametrize("words", ["on the table", "in front", "the front of", "side of", "to the left", "on the side"])
def test_others_are_not(words):
    assert match(words.split(), 0) is None
