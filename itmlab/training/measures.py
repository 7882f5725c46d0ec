"""What a comparison adds up: for each image, how its own queries (itself, or its captions) fare in each measure."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from ..data.captionset import CaptionSet
from ..metrics.ranks import ranks
from ..metrics.semantic_ranking import SemanticRanking

CUTOFFS = (1, 5, 10)
KINDS = {"R": "RSum", "N": "Nsum", "N(N)": "Nsum(N)"}  # recall, NCS, NCS without ground truth; and their sums


def names(kind: str) -> list[str]:
    """The measures of a kind, as in "i2t R@1": both directions, all cut-offs."""
    return [f"{direction} {kind}@{k}" for direction in ("i2t", "t2i") for k in CUTOFFS]


RECALLS = names("R")
SEMANTICS = [*names("N"), *names("N(N)")]


def sums(measures: Sequence[str]) -> dict[str, list[int]]:
    """By the name of a sum, which of `measures` it adds up."""
    found = {total: [i for i, name in enumerate(measures) if name in names(kind)] for kind, total in KINDS.items()}
    return {total: places for total, places in found.items() if places}


def recall_of_each(scores: Float[Tensor, "image caption"], data: CaptionSet) -> Float[ndarray, "measure image"]:
    """How many of an image's queries find a positive at each cut-off: the image itself (0 or 1), then its captions."""
    image, caption = data.image_of_caption, torch.arange(len(data.captions))
    owner, rank = ranks(scores, image, caption, best_only=True)
    by_image = [torch.bincount(owner[rank < k], minlength=len(data)) for k in CUTOFFS]
    owner, rank = ranks(scores.T, caption, image, best_only=True)
    by_caption = [torch.bincount(image[owner[rank < k]], minlength=len(data)) for k in CUTOFFS]
    return torch.stack([*by_image, *by_caption]).double().numpy()


def semantics_of_each(
    scores: Float[Tensor, "image caption"], relevance: Float[Tensor, "caption image"], data: CaptionSet
) -> tuple[Float[ndarray, "measure image"], Float[ndarray, "measure image"]]:
    """NCS (0 to 1) summed over an image's queries at each cut-off, with and without ground truth; and how many count.

    A query to which nothing is relevant does not count.
    """
    values, positives, depth = [], data.positives, {"retrieved": max(CUTOFFS), "ideal": max(CUTOFFS)}
    for removed in (None, positives):
        for similarity, gains, own in ((scores, relevance.T, removed), (scores.T, relevance, removed)):
            mask = None if own is None else own if similarity is scores else own.T
            ranking = SemanticRanking.of(similarity, gains, positives=mask, keep_ground_truth=mask is None, **depth)
            for k in CUTOFFS:
                each, total = ranking.scores(k) / 100, torch.zeros(2, len(data), dtype=torch.float64)
                owner = torch.arange(len(data)) if similarity is scores else data.image_of_caption
                total[0].index_add_(0, owner, each.nan_to_num(0))
                total[1].index_add_(0, owner, (~each.isnan()).double())
                values.append(total.numpy())
    found, counted = zip(*values, strict=True)
    return np.stack(found), np.stack(counted)
