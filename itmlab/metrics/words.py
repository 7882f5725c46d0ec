"""Captions as lists of lower-cased words."""

import warnings
from collections.abc import Sequence
from types import UnionType
from typing import Any
from unicodedata import category

import numpy as np
from jaxtyping import Int64
from numpy import ndarray

from ..errors import ItmlabError


def caption_words(captions: Sequence[str]) -> list[list[str]]:
    """Return the lower-cased words of each caption, cut at spaces, as the public NCS code cuts them.

    A caption that is not a string is an ItmlabError. A warning counts the captions without a word.
    """
    check_captions(captions, str)
    words_of = [caption.lower().split() for caption in captions]
    words_of = [words if any(map(_is_word, words)) else [] for words in words_of]
    warn_of_empty([len(words) for words in words_of], "captions have no word")
    return words_of


def warn_of_empty(sizes: Sequence[int], what: str) -> None:
    """Warn of captions or images in which there is nothing to compare, which score 0."""
    empty = [number for number, size in enumerate(sizes) if size == 0]
    if empty:
        message = f"{len(empty)} of {len(sizes)} {what} and score 0 with everything, the first is number {empty[0]}"
        warnings.warn(message, stacklevel=4)


def check_captions(captions: Any, kinds: type | UnionType) -> None:
    """Raise an ItmlabError unless these are captions, each of one of the `kinds`, such as `str`."""
    if isinstance(captions, kinds | bytes):
        raise ItmlabError("captions must be a list of captions, not one", remedy="put the caption into a list")
    for number, caption in enumerate(captions):
        if not isinstance(caption, kinds):
            raise ItmlabError(f"caption {number} is {caption!r:.60}, not a caption")


def check_references(references: Any, kinds: type | UnionType) -> Int64[ndarray, "image"]:
    """Return how many references each image has, or raise an ItmlabError where one has none or is no list of them."""
    if isinstance(references, kinds | bytes):
        raise ItmlabError("references must be a list of captions for each image", remedy="put each into a list")
    for image, captions in enumerate(references):
        check_captions(captions, kinds)
        if not len(captions):
            raise ItmlabError(f"image {image} has no references", remedy="leave images without captions out")
    return np.array([len(captions) for captions in references], dtype=np.int64)


def _is_word(word: str) -> bool:
    """Return whether a word holds more than punctuation."""
    return word[:1].isalnum() or not all(category(character).startswith("P") for character in word)
