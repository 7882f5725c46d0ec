"""Captions as lists of words, in the two ways that caption metrics cut them."""

from collections.abc import Sequence
from typing import Literal
from unicodedata import category

from itmlab.errors import ItmlabError
from itmlab.metrics.penn import penn_words

Tokenise = Literal["whitespace", "penn"]


def caption_words(captions: Sequence[str], tokenise: Tokenise, *, what: str = "caption") -> list[list[str]]:
    """The words of each caption, lower-cased: `"whitespace"` splits at spaces (the public NCS code), `"penn"` cuts as
    the Penn Treebank does and leaves punctuation out (the captioning toolkit).

    ItmlabError, naming the caption: not a string, or no word in it (empty, or nothing but punctuation).
    """
    if tokenise not in ("whitespace", "penn"):
        raise ItmlabError(f"captions cannot be tokenised by {tokenise!r}", remedy='choose "whitespace" or "penn"')
    if isinstance(captions, (str, bytes)):
        raise ItmlabError(f"{what}s must be a list of strings, not one string", remedy=f"put the {what} into a list")
    split = penn_words if tokenise == "penn" else _lower_split
    cut: dict[str, list[str]] = {}
    found = []
    for index, caption in enumerate(captions):
        if not isinstance(caption, str):
            raise ItmlabError(f"{what} {index} is {caption!r}, not a string")
        words = cut.get(caption)
        if words is None:
            words = cut[caption] = split(caption)
        if not any(map(_says_something, words)):
            raise ItmlabError(
                f"{what} {index} has no word in it: {caption[:60]!r}", remedy="leave it out or write what it should say"
            )
        found.append(words)
    return found


def reference_words(references: Sequence[Sequence[str]], tokenise: Tokenise) -> tuple[list[list[str]], list[int]]:
    """The words of all references in a row, image by image, and how many each image has; errors as above."""
    if isinstance(references, (str, bytes)) or any(isinstance(mine, (str, bytes)) for mine in references):
        raise ItmlabError("references must be a list of captions for each image, not strings")
    held = []
    for image, mine in enumerate(references):
        try:
            held.append(len(mine))
        except TypeError:
            raise ItmlabError(f"the references of image {image} are {mine!r}, not a list of captions") from None
        if held[-1] == 0:
            raise ItmlabError(f"image {image} has no reference", remedy="leave images without captions out")
    if not held:
        raise ItmlabError("there are no references")
    return caption_words([caption for mine in references for caption in mine], tokenise, what="reference"), held


def _says_something(word: str) -> bool:
    """Whether there is more in it than punctuation."""
    return word[:1].isalnum() or not all(category(character).startswith("P") for character in word)


def _lower_split(caption: str) -> list[str]:
    return caption.lower().split()
