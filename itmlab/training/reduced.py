"""Recipes and their baselines compared on shares of the training split (SAM, Sec. 5.2 and Table 2)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from .comparison import compare
from .fields import did_you_mean
from .recipe import Recipe
from .semantics import Kind


def compare_reduced(
    recipes: Mapping[str, Recipe],
    baselines: Mapping[str, str],
    data: CaptionSet,
    epochs: Mapping[float, int],
    *,
    seeds: int | Sequence[int] = 3,
    run_root: str | Path,
    relevance: Kind | None = "cider",
    split: str = "test",
    progress: bool = True,
) -> dict[str, list[dict[str, Any]]]:
    """Train every recipe on each share of the training split (the keys of `epochs`) and compare it with its baseline.

    `baselines[label]` is the label of the recipe that `label` is compared with. All are trained for `epochs[share]`
    epochs, of which warm-up has the same part as in the recipe. "rows" has a dictionary a share, recipe and seed with
    all measures and sums; "differences" one a share, compared pair and measure, with the ends of its paired interval.
    Runs that lie in `run_root` are not trained again.
    """
    for label in {*baselines, *baselines.values()}:
        if label not in recipes:
            raise ItmlabError(f"no recipe {label!r} to compare", remedy=did_you_mean(label, recipes))
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    for share, count in epochs.items():
        part = data.reduced(share)
        scheduled = {label: stretched(recipe, count) for label, recipe in recipes.items()}
        seen = set()
        for label, baseline in baselines.items():
            pair = {baseline: scheduled[baseline], label: scheduled[label]}
            settings = {"run_root": run_root, "relevance": relevance, "split": split, "progress": progress}
            found = compare(pair, part, seeds=seeds, **settings)
            rows += [{"share": share, **row} for row in found.by_seed() if row["recipe"] not in seen]
            seen |= {baseline, label}
            for measure, ends in found.difference(label).items():
                said = {"share": share, "recipe": label, "baseline": baseline, "measure": measure}
                differences.append({**said, **dict(zip(("difference", "lower", "upper"), ends, strict=True))})
    return {"rows": rows, "differences": differences}


def stretched(recipe: Recipe, epochs: int) -> Recipe:
    """The recipe over so many epochs, with the same part of them warm-up."""
    warm_up = round(recipe.data.warm_up_epochs * epochs / recipe.data.epochs)
    return recipe.replace(data__epochs=epochs, data__warm_up_epochs=warm_up)
