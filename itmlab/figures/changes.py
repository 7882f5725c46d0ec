"""Sentences with the words that were changed in colour and underlined."""

import textwrap
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from .labels import label
from .theme import VERMILION

if TYPE_CHECKING:
    from ..synthesis import Negative

ELLIPSIS = " …"


def changed_parts(negative: "Negative") -> list[tuple[str, bool]]:
    """The sentence cut into parts, each with whether it was changed; in order they spell the sentence.

    Changed places are found by their words from left to right, begun at the token that `spans` names where it can be.
    """
    from ..text.alignment import token_characters
    from ..text.graph import tokenise

    sentence, parts, at = negative.sentence, [], 0
    places = token_characters(sentence, tokenise(sentence))
    for span, words in zip(negative.spans, negative.replacement, strict=True):
        named = places[span.start][0] if span.start < len(places) else at
        begin = named if sentence.startswith(words, named) and named >= at else sentence.find(words, at)
        if begin < 0 or not words:
            continue
        parts += [(sentence[at:begin], False), (sentence[begin : begin + len(words)], True)]
        at = begin + len(words)
    return [part for part in [*parts, (sentence[at:], False)] if part[0]]


def marked(negative: "Negative", *, width: int, lines: int = 2, shade: str = VERMILION) -> str:
    """The sentence as a label of at most `lines` lines of `width` characters, changed words in colour, underlined."""
    letters = iter([(letter, changed) for text, changed in changed_parts(negative) for letter in text])
    written = []
    for line in textwrap.wrap(negative.sentence, width, max_lines=lines, placeholder=ELLIPSIS):
        cut = line.endswith(ELLIPSIS)
        own = [_changed(letter, letters) for letter in (line.removesuffix(ELLIPSIS) if cut else line)]
        runs = ((changed, "".join(letter for letter, _ in run)) for changed, run in groupby(own, itemgetter(1)))
        written.append("".join(_coloured(text, shade) if changed else label(text) for changed, text in runs))
        written[-1] += ELLIPSIS if cut else ""
    return "<br>".join(written)


def _changed(letter: str, letters: Iterator[tuple[str, bool]]) -> tuple[str, bool]:
    """The next letter of the sentence as it stands in a line; wrapping leaves blanks out and makes others of them."""
    for found, changed in letters:
        if found == letter or (letter == " " and found.isspace()):
            return letter, changed
    return letter, False


def _coloured(text: str, shade: str) -> str:
    return f'<span style="color:{shade}"><b><u>{label(text)}</u></b></span>'
