"""New words in the places of old ones, the rest of the caption untouched to the letter."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..text import Span
from ..text.graph import tokenise
from .negative import Negative


@dataclass(frozen=True)
class Change:
    """Tokens of a caption and the words that take their place; `kind` of phrase."""

    span: Span
    words: str
    kind: str


def edited(
    caption: str, tokens: Sequence[str], characters: Sequence[tuple[int, int]], changes: Sequence[Change]
) -> Negative:
    """The caption with these changes, which stand in the order of the sentence and do not overlap.

    `tokens` are the caption's graph's, `characters` their places (`text.alignment.token_characters`). Of new words the
    tokens are counted by `text.tokenise`. A sentence that began with a capital letter still does.
    """
    parts, spans, source, replacement = [], [], [], []
    at, moved = 0, 0
    for change in changes:
        start, end = change.span.start, change.span.end
        first, last = characters[start][0], characters[end - 1][1]
        words = change.words
        if start == 0 and caption[first].isupper():
            words = words[:1].upper() + words[1:]
        parts += [caption[at:first], words]
        at, count = last, len(tokenise(words))
        spans.append(Span(start + moved, start + moved + count))
        moved += count - (end - start)
        source.append(caption[first:last])
        replacement.append(words)
    kinds = tuple(change.kind for change in changes)
    return Negative(
        "".join([*parts, caption[at:]]),
        spans=tuple(spans),
        source=tuple(source),
        replacement=tuple(replacement),
        kind=kinds,
    )
