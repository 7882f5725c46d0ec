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


class WordlessCaptions(UserWarning):
    """Captions without a word count as empty."""


def caption_words(captions: Sequence[str]) -> list[list[str]]:
    """Return the lower-cased words of each caption, cut at spaces, as the public NCS code cuts them.

    A caption that is not a string is an ItmlabError. A warning counts the captions without a word.
    """
    check_captions(captions, str)
    words_of = {caption: caption.lower().split() for caption in dict.fromkeys(captions)}
    words_of = {caption: words if any(map(_is_word, words)) else [] for caption, words in words_of.items()}
    empty = [number for number, caption in enumerate(captions) if not words_of[caption]]
    if empty:
        first = f"caption {empty[0]} ({captions[empty[0]][:60]!r})"
        warnings.warn(f"no word in {first}, one of {len(empty)} that count as empty", WordlessCaptions, stacklevel=3)
    return [words_of[caption] for caption in captions]


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
