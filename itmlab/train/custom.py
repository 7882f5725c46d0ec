"""The check of a loss that a user passes into a recipe."""

import copy

import torch
from torch import Tensor

from ..context import Context
from ..errors import ItmlabError
from ..losses import Loss


def check_loss(loss: Loss) -> None:
    """Refuse a loss that does not give one finite number where two anchors have negatives and one has none."""
    if isinstance(loss, torch.nn.Module) and type(loss).__hash__ is None:
        what = "a loss that is a module must not be compared by its fields"
        raise ItmlabError(what, where=loss.class_name(), remedy="write @dataclass(eq=False) above it")
    scores = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    positives = torch.eye(3, 4).bool()
    positives[2] = True
    anchors, candidates = torch.arange(3), torch.arange(4)
    context = Context(
        anchor_images=anchors,
        anchor_captions=anchors,
        candidate_images=candidates,
        candidate_captions=candidates,
        captions=("a red bus", "two dogs run", "a cat sleeps", "blue water"),
    )
    with torch.random.fork_rng(devices=[]):
        value = copy.deepcopy(loss)(scores, positives, scores.diagonal(), context=context)
    if not isinstance(value, Tensor) or value.ndim or not value.isfinite() or not value.requires_grad:
        remedy = "return one finite number per anchor, with a gradient"
        raise ItmlabError(f"the loss of a small case is {value!r}", where=loss.class_name(), remedy=remedy)
