"""Options that have no effect in a recipe: setting one is refused rather than ignored."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..errors import ItmlabError

if TYPE_CHECKING:
    from .recipe import Recipe


def _without_warm_up(recipe: "Recipe") -> bool:
    return recipe.tags is not None or recipe.towers is not None


def _only_adaptive_margin(recipe: "Recipe") -> bool:
    return recipe.adaptive_margin is not None and not recipe.adaptive_margin.with_triplet


def _without_sentences(recipe: "Recipe") -> bool:
    return recipe.tags is not None and not recipe.tags.makes_sentences


# By field: when it has no effect, and why.
WITHOUT_EFFECT: dict[str, tuple[Callable[["Recipe"], bool], str]] = {
    "data.epochs": (
        lambda recipe: recipe.data.steps is not None,
        "the recipe counts steps: set data.steps, or data.steps=null as well",
    ),
    "data.warm_up_epochs": (
        lambda recipe: _without_warm_up(recipe) and recipe.data.warm_up_epochs > 0,
        "only dual encoders have a warm-up",
    ),
    "warm_up": (
        lambda recipe: _without_warm_up(recipe) or recipe.data.warm_up_epochs == 0,
        "there is no warm-up: set data.warm_up_epochs",
    ),
    "data.validate_every": (
        lambda recipe: recipe.data.validation == 0 and recipe.data.validate_every > 1,
        "data.validation is 0",
    ),
    "data.regions": (
        lambda recipe: recipe.data.regions is not None and getattr(recipe.model, "visual", "pictures") != "regions",
        "the model reads pictures",
    ),
    "optimiser.milestones": (
        lambda recipe: bool(recipe.optimiser.milestones) and recipe.optimiser.schedule != "step",
        "optimiser.schedule is not 'step'",
    ),
    "sampler": (_only_adaptive_margin, "adaptive_margin.with_triplet is false"),
    "loss": (_only_adaptive_margin, "adaptive_margin.with_triplet is false"),
    "tags.margin": (lambda recipe: recipe.tags.matching != "triplet", "tags.matching is not 'triplet'"),
    "tags.candidates": (lambda recipe: recipe.tags.mining == "batch", "tags.mining is 'batch'"),
    "tags.alignment_temperature": (lambda recipe: recipe.tags.alignment == 0, "tags.alignment is 0"),
    **{
        f"tags.{name}": (_without_sentences, "the recipe makes no sentences")
        for name in ("generator", "maskings", "samples", "temperature", "hardest", "filtered", "implied")
    },
}


def refuse_without_effect(recipe: "Recipe", names: Iterable[str]) -> None:
    """Raise an ItmlabError for the first of the fields that were set, as `Recipe.replace` names them, without effect.

    >>> from itmlab import recipes
    >>> refuse_without_effect(recipes.uniter, ["data__epochs"])
    Traceback (most recent call last):
    itmlab.errors.ItmlabError: recipe: data.epochs has no effect — the recipe counts steps: set data.steps, or ...
    """
    for name in names:
        path = name.replace("__", ".")
        for field, (has_no_effect, reason) in WITHOUT_EFFECT.items():
            if f"{path}.".startswith(f"{field}.") and has_no_effect(recipe):
                raise ItmlabError(f"{path} has no effect", where="recipe", remedy=reason)
