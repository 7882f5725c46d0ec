"""Options that have no effect in a recipe: setting one is refused rather than ignored."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import ItmlabError

if TYPE_CHECKING:
    from .recipes import Recipe

SENTENCES = ("generator", "maskings", "samples", "temperature", "hardest", "filtered", "implied")


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
        ("warm_up", data.warm_up_epochs == 0 or not warms_up, "there is no warm-up: set data.warm_up_epochs"),
        ("optimiser.milestones", keeps_rate, "optimiser.schedule is not 'step'"),
        ("sampler", only_adaptive, "adaptive_margin.with_triplet is false"),
        ("loss", only_adaptive, "adaptive_margin.with_triplet is false"),
    ]
    if tags is not None:
        rows += [
            ("tags.margin", tags.matching != "triplet", "tags.matching is not 'triplet'"),
            ("tags.candidates", tags.mining == "batch", "tags.mining is 'batch'"),
            ("tags.alignment_temperature", tags.alignment == 0, "tags.alignment is 0"),
            *((f"tags.{name}", not tags.makes_sentences, "the recipe makes no sentences") for name in SENTENCES),
        ]
    return {field: reason for field, has_no_effect, reason in rows if has_no_effect}


def refuse_without_effect(recipe: "Recipe", names: Iterable[str]) -> None:
    """Raise an ItmlabError for the first of the fields that were set, as `Recipe.replace` names them, without effect.

    >>> import itmlab
    >>> refuse_without_effect(itmlab.recipe("uniter"), ["data__epochs"])
    Traceback (most recent call last):
    itmlab.errors.ItmlabError: recipe: data.epochs has no effect — the recipe counts steps: set data.steps, or ...
    """
    for path in (name.replace("__", ".") for name in names):
        for field, reason in without_effect(recipe).items():
            if f"{path}.".startswith(f"{field}."):
                raise ItmlabError(f"{path} has no effect", where="recipe", remedy=reason)
