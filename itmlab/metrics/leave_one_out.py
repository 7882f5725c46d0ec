"""Scoring a caption against its own image without itself among the references."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32, Int64

from itmlab.errors import ItmlabError
from itmlab.metrics.chosen import chosen
from itmlab.metrics.indicators import SentenceVectors, pair_scores
from itmlab.metrics.ngrams import Numbers


def own_references(
    captions: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    image_of_reference: Int64[Numbers, "reference"],
    image_of_caption: Sequence[int] | None,
) -> Int64[Numbers, "caption"]:
    """Which reference each caption is: the first of its image with the same words; -1 for a caption of no image (-1).

    Without images the captions are the references in their order. ItmlabError: a caption that is not among the
    references of its image, numbers that do not match.
    """
    if image_of_caption is not None:
        image_of_caption = chosen(image_of_caption, int(image_of_reference[-1]) + 1, "image", least=-1)
        if len(image_of_caption) != len(captions):
            raise ItmlabError(f"image_of_caption has {len(image_of_caption)} entries for {len(captions)} captions")
    elif len(captions) == len(references):
        image_of_caption = image_of_reference
    else:
        raise ItmlabError(
            f"{len(captions)} captions are not the {len(references)} references in their order",
            remedy="pass image_of_caption=",
        )
    numbers: dict[tuple[int, tuple[str, ...]], int] = {}
    for number, (image, words) in enumerate(zip(image_of_reference.tolist(), references, strict=True)):
        numbers.setdefault((image, tuple(words)), number)
    own = [
        -1 if image < 0 else numbers.get((image, tuple(words)))
        for image, words in zip(image_of_caption.tolist(), captions, strict=True)
    ]
    if None in own:
        index = own.index(None)
        raise ItmlabError(
            f"caption {index} is not among the references of image {image_of_caption[index]}: it cannot be left out",
            remedy="correct image_of_caption, or put -1 for a caption of no image",
        )
    return np.array(own, dtype=np.int64)


def leave_own_out(
    scores: Float32[Numbers, "caption image"],
    captions: SentenceVectors,
    references: SentenceVectors,
    image_of_reference: Int64[Numbers, "reference"],
    own: Int64[Numbers, "caption"],
    chunk: int,
) -> None:
    """Write the mean over the other references into each caption's score with its own image (in place).

    ItmlabError: an image whose only reference is the caption.
    """
    held = np.bincount(image_of_reference)
    first = held.cumsum() - held
    mine = np.flatnonzero(own >= 0)
    image = image_of_reference[own[mine]]
    if (held[image] == 1).any():
        raise ItmlabError(f"image {image[held[image] == 1][0]} has no reference left when its own caption is left out")
    for start in range(0, len(mine), chunk):
        rows, images = mine[start : start + chunk], image[start : start + chunk]
        scores[rows, images] = pair_scores(captions[rows], references, first[images], held[images], without=own[rows])
