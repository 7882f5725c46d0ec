"""Checks of a recipe: parts that cannot be combined, options without effect, and a custom loss that cannot be used."""

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..context import Context
from ..errors import ItmlabError
from ..fields import check
from ..losses import Loss

if TYPE_CHECKING:
    from .recipes import Recipe

PRETRAINING = ("matching_begins", "alignment", "alignment_temperature", "mining")
SENTENCES = ("generator", "maskings", "samples", "temperature", "hardest", "filtered", "implied")


def refuse_conflicts(recipe: "Recipe") -> None:
    """Refuse parts that cannot be combined; all that is not refused here can be.

    Raises:
        ItmlabError: a part is missing, or goes against another; it names the field.
    """
    model, data, loss, tags, towers = recipe.model, recipe.data, recipe.loss, recipe.tags, recipe.towers
    apart, margin = model.encodes_apart, recipe.adaptive_margin
    for name in ("crop", "flip", "randaugment"):
        value = getattr(data, name)
        check(model.reads != "regions" or not value, f"data.{name}", value, "none, as the model reads regions")
    check(apart or tags is not None, "tags", tags, "an object with fields, as the model is a cross-encoder")
    check(loss is not None or not apart or towers is not None, "loss", None, "a loss, as the model encodes apart")
    from_file = tags is not None and tags.makes_sentences and tags.generator == "file"
    has_file = recipe.extra_negatives is not None
    check(has_file or not from_file, "extra_negatives", None, "a path, as tags.generator is 'file'")
    if towers is not None:
        check(model.pretrains_towers, "towers", towers, "null, as the model has no encoders to pretrain")
        check(data.augmentation is None, "data", data.augmentation, "no augmentation: pretraining mirrors pictures")
        check(data.validation == 0, "data.validation", data.validation, "0, as nothing is matched yet")
    matching = "sampler loss memory adaptive_margin synthesis encoder"
    without_triplet = margin is not None and not margin.with_triplet
    only_captions = "as adaptive_margin.with_triplet is false, and φ is known for captions of the data only"
    rows = [
        (not apart, f"{matching} towers", "as the model is a cross-encoder"),
        (not apart and not from_file, "extra_negatives", "unless tags.generator is 'file'"),
        (apart, "tags", "as the model is not a cross-encoder, and only these can tell which word is wrong"),
        (towers is not None, f"{matching} extra_negatives", "as nothing is matched yet"),
        (getattr(loss, "noise", 0) > 0, "sampler", "as the noise of the loss is a negative of every anchor"),
        (getattr(loss, "reduce", "") == "sum", "sampler", "as loss.reduce is 'sum', which adds up all negatives"),
        (model.compares_parts, "memory", "as the model compares parts, and a memory keeps one feature per item"),
        (not model.compares_parts, "global_features", "as the model compares global features"),
        (margin is not None and margin.preset == "released", "memory", "as adaptive_margin.preset is 'released'"),
        (without_triplet, "synthesis extra_negatives global_features", only_captions),
    ]
    for applies, names, why in rows:
        for name in names.split() if applies else ():
            value = getattr(recipe, name)
            check(value is None or value is False, name, value, f"{'false' if value is True else 'null'}, {why}")


def without_effect(recipe: "Recipe") -> dict[str, str]:
    """Return the fields that have no effect in a recipe, and why."""
    data, tags, margin = recipe.data, recipe.tags, recipe.adaptive_margin
    warms_up = tags is None and recipe.towers is None
    only_adaptive = margin is not None and not margin.with_triplet
    sees_regions = recipe.model.reads == "regions"
    keeps_rate = bool(recipe.optimiser.milestones) and recipe.optimiser.schedule != "step"
    rows = [
        ("data.epochs", data.steps is not None, "the recipe counts steps: set data.steps, or data.steps=null as well"),
        ("data.warm_up_epochs", data.warm_up_epochs > 0 and not warms_up, "only dual encoders have a warm-up"),
        ("data.validate_every", data.validate_every > 1 and data.validation == 0, "data.validation is 0"),
        ("data.regions", data.regions is not None and not sees_regions, "the model looks at pictures"),
        ("warm_up", data.warm_up_epochs == 0 or not warms_up, "without a warm-up: set data.warm_up_epochs"),
        ("optimiser.milestones", keeps_rate, "optimiser.schedule is not 'step'"),
        ("sampler", only_adaptive, "adaptive_margin.with_triplet is false"),
        ("loss", only_adaptive, "adaptive_margin.with_triplet is false"),
    ]
    if tags is not None:
        rows += [
            ("tags.margin", tags.matching != "triplet", "tags.matching is not 'triplet'"),
            *((f"tags.{name}", True, "only the shipped run uniter_pretraining has it") for name in PRETRAINING),
            *((f"tags.{name}", not tags.makes_sentences, "the recipe makes no sentences") for name in SENTENCES),
        ]
    return {field: reason for field, has_no_effect, reason in rows if has_no_effect}


def refuse_without_effect(recipe: "Recipe", names: Iterable[str]) -> None:
    """Refuse fields that were set, as `Recipe.replace` names them, but have no effect.

    >>> import itmlab
    >>> refuse_without_effect(itmlab.recipe("uniter"), ["data__epochs"])
    Traceback (most recent call last):
    itmlab.errors.ItmlabError: recipe: data.epochs has no effect — the recipe counts steps: set data.steps, or ...
    """
    for path in (name.replace("__", ".") for name in names):
        for field, reason in without_effect(recipe).items():
            if f"{path}.".startswith(f"{field}."):
                raise ItmlabError(f"{path} has no effect", where="recipe", remedy=reason)


def check_loss(loss: Loss) -> None:
    """Refuse a loss that does not give one finite number where two anchors have negatives and one has none."""
    if isinstance(loss, torch.nn.Module) and type(loss).__hash__ is None:
        message = "a loss that is a module must not be compared by its fields"
        raise ItmlabError(message, where=loss.class_name(), remedy="write @dataclass(eq=False) above it")
    scores = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    positives = torch.eye(3, 4).bool()
    positives[2] = True
    anchors, candidates = torch.arange(3), torch.arange(4)
    captions = ("a red bus", "two dogs run", "a cat sleeps", "blue water")
    context = Context(0, 1, 0, anchors, anchors, candidates, candidates, captions)
    with torch.random.fork_rng(devices=[]):
        value = copy.deepcopy(loss)(scores, positives, scores.diagonal(), context=context)
    if not isinstance(value, Tensor) or value.ndim or not value.isfinite() or not value.requires_grad:
        remedy = "return one finite number per anchor, with a gradient"
        raise ItmlabError(f"the loss of a small case is {value!r}", where=loss.class_name(), remedy=remedy)
