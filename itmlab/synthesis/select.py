"""The hardest negatives: those that a model takes for the best descriptions of the image (TAGS Eq. 6)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..errors import ItmlabError
from .negative import Negative

# (sentences, for each the number of its caption in the call) -> how well each matches that caption's image
Score = Callable[[list[str], Int[Tensor, "sentence"]], Float[Tensor, "sentence"]]


def scored(negatives: Sequence[Sequence[Negative]], score: Score) -> list[list[Negative]]:
    """The negatives of each caption with their scores, all asked for in one call; anything but numbers is an error."""
    sentences = [negative.sentence for row in negatives for negative in row]
    if not sentences:
        return [list(row) for row in negatives]
    captions = torch.arange(len(negatives)).repeat_interleave(torch.tensor([len(row) for row in negatives]))
    found = torch.as_tensor(score(sentences, captions))
    if found.shape != (len(sentences),) or not bool(found.isfinite().all()):
        raise ItmlabError(
            f"{len(sentences)} sentences were scored with a tensor of shape {tuple(found.shape)}"
            + ("" if found.shape != (len(sentences),) else ", not all of it finite"),
            remedy="give a score function that returns one number a sentence",
        )
    values = iter(found.tolist())
    return [[replace(negative, score=next(values)) for negative in row] for row in negatives]


def best(negatives: Sequence[Negative], number: int) -> list[Negative]:
    """The `number` negatives with the greatest scores, best first (argmax-m); of equal ones the earlier first."""
    unscored = [negative for negative in negatives if negative.score is None]
    if unscored:
        raise ItmlabError(f"{len(unscored)} of {len(negatives)} negatives have no score", remedy="give score=")
    return sorted(negatives, key=lambda negative: -negative.score)[:number]
