"""The base class of samplers, and the steps that they share: usable candidates, the best one, a weighted draw."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int64
from torch import Generator, Tensor

from ..components import Component
from ..context import Context, wants_context
from ..errors import ItmlabError
from ..fields import check_fields

Scores = Float[Tensor, "anchor candidate"]
Mask = Bool[Tensor, "anchor candidate"]  # of truth: which candidates are the anchor's own, or padding
PerAnchor = Float[Tensor, "anchor"]  # the score of each anchor's positive, s⁺
Choice = Int64[Tensor, "anchor"]  # a column of the scores, -1 for none

CHECKED_CALLS = 4  # on an accelerator, where every look at a choice waits for the device


class Sampler(Component, ABC):
    """Chooses one negative for each anchor from a score matrix and its truth mask.

    The same rules hold for all of them. A candidate marked in `positives` is never chosen: the mask holds every caption
    of the anchor's image, and padding columns if there are any. A score of -inf or NaN is chosen only where an anchor
    has nothing else (a NaN therefore reaches the loss through the positive score, which is where a run stops and names
    the images). An anchor without any candidate gets -1. Ties go to the lowest index.
    """

    needs_truth: ClassVar[bool] = False  # whether `choose` reads `context.truth`
    _calls = 0  # checked so far

    def __post_init__(self) -> None:
        check_fields(self, "sampler")

    def __call__(
        self,
        scores: Scores,
        positives: Mask,
        positive_scores: PerAnchor,
        *,
        generator: Generator,
        context: Context | None = None,
    ) -> Choice:
        """Return the index of each anchor's negative, -1 where none is allowed.

        The choice is checked: on a CPU always, on an accelerator in a sampler's first calls.

        Args:
            scores: similarity of every anchor with every candidate.
            positives: which candidates are not negatives: the anchor's own, and padding.
            positive_scores: similarity of every anchor with its match.
            generator: the random numbers of samplers that draw.
            context: where training stands, for samplers that ask.

        Raises:
            ItmlabError: shapes that do not fit, or a choice that is not an index of a negative for each anchor.
        """
        check_shapes(scores, positives, positive_scores)
        if scores.shape[1] == 0:
            return torch.full_like(positive_scores, -1, dtype=torch.int64)
        more = {"context": context or Context()} if wants_context(type(self).choose) else {}
        with torch.no_grad():
            choice = self.choose(scores.detach(), positives, positive_scores.detach(), generator=generator, **more)
            if scores.device.type == "cpu" or self._calls < CHECKED_CALLS:
                self._calls += 1
                check_choice(choice, positives, type(self).__name__)
        return choice

    @abstractmethod
    def choose(self, scores: Scores, positives: Mask, positive_scores: PerAnchor, *, generator: Generator) -> Choice:
        """Choose, for inputs of checked shapes with at least one candidate; add a parameter `context` to receive it."""


def check_shapes(scores: Scores, positives: Mask, positive_scores: PerAnchor) -> None:
    """Raise an ItmlabError unless the three have shapes (anchor, candidate) twice, and (anchor,)."""
    if scores.ndim != 2 or positives.shape != scores.shape or positive_scores.shape != scores.shape[:1]:
        raise ItmlabError(
            f"expected scores (anchor, candidate), positives of the same shape and one positive score per anchor; "
            f"got {tuple(scores.shape)}, {tuple(positives.shape)} and {tuple(positive_scores.shape)}"
        )


def check_choice(choice: Choice, positives: Mask, name: str) -> None:
    """Check that a sampler chose one index for each anchor, in range and never a positive.

    Raises:
        ItmlabError: what is wrong with the choice of the sampler called `name`.
    """
    anchors, candidates = positives.shape
    if not isinstance(choice, Tensor) or choice.shape != (anchors,) or choice.dtype != torch.int64:
        shown = f"{choice.dtype} {tuple(choice.shape)}" if isinstance(choice, Tensor) else type(choice).__name__
        raise ItmlabError(f"a choice must be int64 ({anchors},), got {shown}", where=name)
    if bool(((choice < -1) | (choice >= candidates)).any()):
        raise ItmlabError(f"a choice must be from -1 (none) to {candidates - 1}, got {choice.tolist()}", where=name)
    is_positive = positives.gather(1, choice.clamp(min=0)[:, None]).squeeze(1) & (choice >= 0)
    if bool(is_positive.any()):
        anchor = int(is_positive.nonzero()[0])
        message = f"picked a positive: candidate {int(choice[anchor])} for anchor {anchor}"
        raise ItmlabError(message, where=name, remedy="choose among ~positives only")


def usable(scores: Scores, positives: Mask) -> Mask:
    """Return the candidates that an anchor may take: no positive, and -inf or NaN only where there is nothing else.

    >>> usable(torch.tensor([[0.1, -math.inf, 0.9]]), torch.tensor([[False, False, True]]))
    tensor([[ True, False, False]])
    """
    allowed = ~positives
    scored = (scores > -math.inf) & allowed
    return scored | (allowed & ~scored.any(dim=1, keepdim=True))


def best(scores: Scores, among: Mask, rank: int = 0) -> Choice:
    """Return the best-scoring marked candidate of each anchor, the lowest index of equals; -1 where none is marked.

    Args:
        scores: similarity of anchors with candidates.
        among: which candidates are considered.
        rank: how many better candidates are passed over; an anchor with too few takes its last.

    >>> best(torch.tensor([[0.1, 0.9, 0.5], [0.3, 0.2, 0.4]]), torch.tensor([[True] * 3, [True, False, False]]), rank=1)
    tensor([2, 0])
    """
    # a marked -inf becomes the lowest finite score, so that nothing which is not marked is its equal
    masked = scores.clamp(min=torch.finfo(scores.dtype).min).masked_fill_(~among, -math.inf)
    if rank:
        place = among.sum(dim=1, keepdim=True).sub(1).clamp(0, rank)
        index = masked.argsort(dim=1, descending=True, stable=True).gather(1, place)
    else:
        index = masked.argmax(dim=1, keepdim=True)
    return torch.where(masked.gather(1, index) == -math.inf, -1, index).squeeze(1)


def draw(weights: Scores, *, generator: Generator, wanted: Bool[Tensor, "anchor"] | None = None) -> Choice:
    """Draw one index per anchor in proportion to its weights (finite, not negative); -1 where they are all 0.

    It inverts the distribution function at one uniform number per anchor, drawn on the generator's device. So the
    choice does not depend on columns of weight 0, and a processor and a GPU given the same generator agree.

    Args:
        weights: the weights.
        generator: the random numbers.
        wanted: the anchors whose index is read; the choice of these is the same as from their rows alone.

    >>> draw(torch.tensor([[0.0, 2.0], [0.0, 0.0]]), generator=Generator())
    tensor([ 1, -1])
    """
    cumulative = weights.cumsum(dim=1, dtype=torch.float64)  # in single precision small weights vanish in long rows
    total = cumulative[:, -1]
    uniform = torch.rand(len(weights), dtype=torch.float64, generator=generator, device=generator.device)
    uniform = uniform.to(weights.device)
    if wanted is not None:
        uniform = uniform[(wanted.cumsum(dim=0) - 1).clamp(min=0)]
    target = uniform * total
    target = torch.minimum(target, torch.nextafter(total, torch.zeros_like(total)))  # a product may round up to total
    index = torch.searchsorted(cumulative, target[:, None], right=True).squeeze(1)
    return torch.where(total > 0, index, -1)
