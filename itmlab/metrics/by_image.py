"""Recall, NCS and the measures of truth for each image, which `compare` resamples.

A measure's value of each query comes from the function that the tables of `retrieval`, `semantic_retrieval` and
`truth_retrieval` average: `ranks`, `SemanticRanking`, `true_at_r`, `first_of_each`.
"""

import torch
from jaxtyping import Bool, Float, Float64, Int8, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from .ranking import marked_pairs, ranks
from .semantic import SemanticRanking
from .truth import PLACES, first_of_each, true_at_r

CUTOFFS = (1, 5, 10)  # of the recalls that the field reports, and of their sum
DIRECTIONS = ("i2t", "t2i")


def measure_names(*names: str) -> list[str]:
    """The names of measures in both directions.

    >>> measure_names("mAP@R", "R-Precision")
    ['i2t mAP@R', 'i2t R-Precision', 't2i mAP@R', 't2i R-Precision']
    """
    return [f"{direction} {name}" for direction in DIRECTIONS for name in names]


# recall, NCS, NCS without ground truth; "unannotated@1": queries with a true but unannotated candidate in first place
RECALLS, NCS, NCS_WITHOUT = (measure_names(*(f"{kind}@{k}" for k in CUTOFFS)) for kind in ("R", "N", "N(N)"))
TRUTHS = measure_names("mAP@R", "R-Precision", "unannotated@1")
MEASURES = [*RECALLS, *NCS, *NCS_WITHOUT, *TRUTHS]
SUMS = {"RSum": RECALLS, "Nsum": NCS, "Nsum(N)": NCS_WITHOUT}


def measures_by_image(
    scores: Float[Tensor, "image caption"],
    data: CaptionSet,
    gains: Float[Tensor, "caption image"] | None = None,
    truth: Int8[Tensor, "image caption"] | None = None,
) -> dict[str, Float64[Tensor, "2 image"]]:
    """The measures of a score matrix for each image, so that any sample of images has its mean.

    Args:
        scores: the similarity of every image and caption.
        data: the images and captions.
        gains: `relevance_matrix`, for NCS.
        truth: as `World.truth`, for mAP@R, R-Precision and "unannotated@1".

    Returns:
        By measure, in the order of `MEASURES`: the sum of an image's queries (the image itself, or its captions), 0 to
        1 each, and the number of queries that have a value.
    """
    columns = torch.arange(len(data)), data.image_of_caption
    sides = (
        _measures_per_query(scores, data.positives, None if gains is None else gains.T, truth),
        _measures_per_query(scores.T, data.positives.T, gains, None if truth is None else truth.T),
    )
    measures = {
        f"{direction} {name}": _summed_by_image(values, owner, len(data))
        for direction, owner, side in zip(DIRECTIONS, columns, sides, strict=True)
        for name, values in side.items()
    }
    return {name: measures[name] for name in MEASURES if name in measures}


def _measures_per_query(
    scores: Float[Tensor, "query candidate"],
    positives: Bool[Tensor, "query candidate"],
    gains: Float[Tensor, "query candidate"] | None,
    truth: Int8[Tensor, "query candidate"] | None,
) -> dict[str, Float64[Tensor, "query"]]:
    """All measures of one direction, 0 to 1; NaN where a query has no value."""
    _, rank = ranks(scores, *marked_pairs(scores, positives), best_only=True)
    values = {f"R@{k}": (rank < k).double() for k in CUTOFFS}
    if gains is not None:
        for kind, without in (("N", None), ("N(N)", positives)):
            ranking = SemanticRanking.of(scores, gains, retrieved=max(CUTOFFS), ideal=max(CUTOFFS), without=without)
            values |= {f"{kind}@{k}": ranking.scores(k) / 100 for k in CUTOFFS}
    if truth is not None:
        at_r = true_at_r(scores, truth)
        first = first_of_each(scores, truth, positives)
        values |= {"mAP@R": at_r["map_at_r"], "R-Precision": at_r["rprecision"]}
        values["unannotated@1"] = (first == PLACES.index("unannotated")).double()
    return values


def _summed_by_image(
    values: Float[Tensor, "query"], owner: Int64[Tensor, "query"], images: int
) -> Float64[Tensor, "2 image"]:
    """The sum of the values of an image's queries, and how many of them have a value (not NaN)."""
    total = torch.zeros(2, images, dtype=torch.float64)
    total[0].index_add_(0, owner, values.double().nan_to_num(0))
    total[1].index_add_(0, owner, (~values.isnan()).double())
    return total
