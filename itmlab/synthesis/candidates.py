"""Which synthetic sentences are worth a score: none that is its caption again, and none twice."""

from collections.abc import Iterable

from .negative import Negative


def distinct(caption: str, negatives: Iterable[Negative]) -> list[Negative]:
    """The negatives that differ from the caption and from each other, the first of equals, in their order.

    Sentences are equal if they read the same but for capital letters and blanks. Done before anything is scored
    (TAGS Eq. 6: candidates T⁻ ≠ T, as a set).
    """
    seen, kept = {_read(caption)}, []
    for negative in negatives:
        sentence = _read(negative.sentence)
        if sentence not in seen:
            seen.add(sentence)
            kept.append(negative)
    return kept


def _read(sentence: str) -> str:
    return " ".join(sentence.lower().split())
