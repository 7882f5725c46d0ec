"""What samplers and losses can know about the training that they take part in."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int8, Int64
from torch import Tensor


@dataclass
class Context:
    """The state of training, for samplers and losses that need it.

    A component receives it by naming a parameter `context` in `choose` or `forward`.

    Attributes:
        step: how many steps of the optimiser are done.
        total_steps: how many steps the run has.
        epoch: the epoch, from 0.
        anchor_images: per anchor, the number of its image in the training data.
        anchor_captions: per anchor, the number of its caption.
        candidate_images: per candidate, the number of its image, -1 for synthetic negatives.
        candidate_captions: per candidate, the number of its caption, -1 for synthetic negatives.
        captions: the captions of the training data.
        truth: per anchor and candidate 1 true, 0 false, -1 undecided; None without a world or unless a sampler asks.
    """

    step: int = 0
    total_steps: int = 1
    epoch: int = 0
    anchor_images: Int64[Tensor, "anchor"] = field(default_factory=lambda: torch.zeros(0, dtype=torch.int64))
    anchor_captions: Int64[Tensor, "anchor"] = field(default_factory=lambda: torch.zeros(0, dtype=torch.int64))
    candidate_images: Int64[Tensor, "candidate"] = field(default_factory=lambda: torch.zeros(0, dtype=torch.int64))
    candidate_captions: Int64[Tensor, "candidate"] = field(default_factory=lambda: torch.zeros(0, dtype=torch.int64))
    captions: Sequence[str] = ()
    truth: Int8[Tensor, "anchor candidate"] | None = None


class Direction(NamedTuple):
    """One direction of a batch, images or captions as anchors, as samplers and losses receive it.

    Attributes:
        scores: similarity of every anchor with every candidate.
        positives: which candidates are not negatives: the anchor's own, and padding.
        positive_scores: similarity of every anchor with its match.
        context: where training stands, and which images and captions the anchors and candidates are.
    """

    scores: Float[Tensor, "anchor candidate"]
    positives: Bool[Tensor, "anchor candidate"]
    positive_scores: Float[Tensor, "anchor"]
    context: Context


@cache
def wants_context(function: Callable[..., Any]) -> bool:
    """Whether a function has a parameter named `context`."""
    return "context" in inspect.signature(function).parameters
