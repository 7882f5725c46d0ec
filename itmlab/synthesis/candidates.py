"""What a generator is given, and which of its sentences are worth a score: no copy of the caption, none twice."""

from collections.abc import Iterable, Sized

from ..errors import ItmlabError
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


def one_each(captions: Sized, graphs: Sized, image_captions: Sized) -> None:
    """An ItmlabError unless there is a graph and the captions of an image for each caption."""
    if not len(captions) == len(graphs) == len(image_captions):
        raise ItmlabError(
            f"{len(captions)} captions with {len(graphs)} graphs and the captions of {len(image_captions)} images",
            remedy="give one graph and the image's captions for each caption",
        )
