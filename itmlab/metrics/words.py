"""Captions as lists of lower-cased words, cut at spaces or as the Penn Treebank cuts them."""

import re
import warnings
from collections.abc import Sequence
from types import UnionType
from typing import Any, Literal
from unicodedata import category

import numpy as np
from jaxtyping import Int64
from numpy import ndarray

from ..errors import ItmlabError

Tokenise = Literal["whitespace", "penn"]


class WordlessCaptions(UserWarning):
    """Captions without a word count as empty."""


_TOKEN = re.compile(
    r"""
    [a-z]+ (?=n['`]t\b) | n['`]t\b | '(?:s|d|m|ll|re|ve)\b               # do n't, man 's
  | [a-z](?:\.[a-z])+\.(?!\w) | [a-z]\.(?!\w|\s*\Z)                      # u.s., j. r.
  | (?:ave|blvd|dr|etc|ft|jr|mr|mrs|ms|mt|rd|sr|st|vs|no(?=\.\s*\d))\.(?!\w)
  | [do]'[a-z]+                                                          # o'clock
  | [^\W\d_][^\W_]* (?:[.!?][^\W\d_][^\W_]*)+ (?:-[^\W_]+)*              # www.example.com
  | \d*(?:[.,:]\d+)+ | [^\W_]+(?:[-/][^\W_]+)*                           # 5:30, t-shirt, 1/2
  | [!?]{2,} | \S
    """,
    re.VERBOSE,
)
_PUNCTUATION = frozenset(".?!,:;-'`\"…–—“”")
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
_TWO_WORDS = {"cannot": "can not", "gonna": "gon na", "gotta": "got ta", "wanna": "wan na"}


def penn_words(caption: str) -> list[str]:
    """Return the words of a caption as the captioning toolkit cuts them, without punctuation.

    The words are those of Stanford's tokeniser 3.4.1 for 35,070 of 35,070 captions of COCO and Flickr30K. Emoticons,
    web addresses, currency signs and rare abbreviations are cut otherwise.

    Args:
        caption: one sentence.

    References:
        Marcus et al. (1993), Penn Treebank; Manning et al. (2014), CoreNLP; Chen et al. (2015), COCO Captions.

    >>> penn_words("The man's dog doesn't run (much).")
    ['the', 'man', "'s", 'dog', 'does', "n't", 'run', '-lrb-', 'much', '-rrb-']
    """
    text = caption.lower().replace("&amp;", "&").replace("’", "'")
    tokens = (token for token in _TOKEN.findall(text) if token not in _PUNCTUATION)
    return [word for token in tokens for word in _TWO_WORDS.get(token, _BRACKETS.get(token, token)).split()]


def caption_words(captions: Sequence[str], tokenise: Tokenise) -> list[list[str]]:
    """Return the lower-cased words of each caption. A warning counts the captions without a word.

    Args:
        captions: the sentences.
        tokenise: "whitespace" cuts at spaces, as the public NCS code; "penn" is `penn_words`.

    Raises:
        ItmlabError: a caption that is not a string, or an unknown `tokenise`.
    """
    if tokenise not in ("whitespace", "penn"):
        raise ItmlabError(f"captions cannot be tokenised by {tokenise!r}", remedy='choose "whitespace" or "penn"')
    check_captions(captions, str)
    cut = penn_words if tokenise == "penn" else lambda caption: caption.lower().split()
    words_of = {caption: cut(caption) for caption in dict.fromkeys(captions)}
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
