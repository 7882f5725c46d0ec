"""Checks of what a user passes into a recipe: an own encoder class, and an own loss.

A recipe's file holds import paths and parameters, and no code. Reading it imports nothing: a class is looked up among
the modules that this process has imported already (SECURITY.md).
"""

import copy
import inspect
import sys
from typing import Any

import torch
from torch import Tensor

from ..context import Context
from ..errors import ItmlabError
from ..losses import Loss
from ..models.encoded import EncodesApart


def encoder_class(path: str, config: Any) -> type[EncodesApart]:
    """Find a custom encoder, which must take a configuration of the type of `config`.

    Args:
        path: "module:Name" of a class in a module that is imported already.
        config: the configuration of the recipe's model.

    Raises:
        ItmlabError: the class is not known here, or cannot be this model's encoder.
    """
    module, _, name = path.partition(":")
    encoder = vars(sys.modules[module]).get(name) if module in sys.modules else None
    if encoder is None:
        remedy = f"import {module} first, and define {name} at its top level"
        raise ItmlabError("this class is not known here", where=path, remedy=remedy)
    if not (inspect.isclass(encoder) and issubclass(encoder, EncodesApart)):
        remedy = "derive it from itmlab.models.DualEncoder, OscarDualEncoder or LateInteraction"
        raise ItmlabError("this class does not encode images and captions", where=path, remedy=remedy)
    if encoder.config_class is not type(config):
        what = f"its config_class is {encoder.config_class.__name__}, the recipe's model {type(config).__name__}"
        raise ItmlabError(what, where=path, remedy="start from a recipe with such a model")
    return encoder


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
