"""Recipes compared over several seeds: one table, paired differences, bootstrap intervals.

`compare` trains and gathers, `Comparison` says what was found, `compare_data_fractions` does both on fractions of the
training split (SAM, Sec. 5.2 and Table 2).
"""

import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import did_you_mean
from ..metrics.ranking import ranks
from ..metrics.semantic import SemanticRanking
from ..metrics.statistics import Interval, percentile_interval, resample
from ..recipes.recipe import Recipe
from ..runs.run import Run
from ..runs.scores import CUTOFFS, Kind, check_pools, relevance_matrix, similarity
from .loop import train

KINDS = {"R": "RSum", "N": "Nsum", "N(N)": "Nsum(N)"}  # recall, NCS, NCS without ground truth; and their sums
DRAWS, BATCH_SIZE = 2000, 250  # of the bootstrap, and worked on at a time


def names(kind: str) -> list[str]:
    """The measures of a kind: both directions, all cut-offs.

    >>> names("R")
    ['i2t R@1', 'i2t R@5', 'i2t R@10', 't2i R@1', 't2i R@5', 't2i R@10']
    """
    return [f"{direction} {kind}@{k}" for direction in ("i2t", "t2i") for k in CUTOFFS]


RECALLS = names("R")
SEMANTICS = [*names("N"), *names("N(N)")]


def compare(
    recipes: Sequence[Recipe] | Mapping[str, Recipe],
    data: CaptionSet,
    *,
    seeds: int | Sequence[int] = 3,
    run_root: str | Path,
    baseline: str | None = None,
    split: str = "test",
    relevance: Kind | None = None,
    progress: bool = True,
) -> "Comparison":
    """Train each recipe with each seed and compare them on a split, paired, against `baseline` (the first).

    Recipes go by their names, or by the keys of a mapping; `seeds=3` means 0, 1, 2. Runs lie under `run_root` by label,
    a digest of recipe and data, and seed; those that are there are not trained again. `relevance` ("cider" or "spice")
    adds NCS to the measures.
    """
    labelled = dict(recipes) if isinstance(recipes, Mapping) else {recipe.name: recipe for recipe in recipes}
    if not labelled or len(labelled) != len(recipes):
        raise ItmlabError(
            "compare needs recipes with different names", remedy='compare({"p = 1e-3": fne.replace(...), ...}, ...)'
        )
    baseline = next(iter(labelled)) if baseline is None else baseline
    if baseline not in labelled:
        raise ItmlabError(f"no recipe {baseline!r} to compare with", remedy=did_you_mean(baseline, labelled))
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not chosen or len(set(chosen)) != len(chosen):
        raise ItmlabError(f"seeds are {seeds!r}, wanted at least one and each once")
    held_out = data.split(split)
    check_split(held_out, split, relevance)
    gains = None if relevance is None else relevance_matrix(held_out, relevance)
    runs: dict[str, list[Run]] = {}
    for label, recipe in labelled.items():
        home = Path(run_root) / directory_name(label, recipe, data)
        seeded = {home / f"seed-{seed}": recipe.replace(seed=seed) for seed in chosen}
        runs[label] = [train(each, data, directory, progress=progress) for directory, each in seeded.items()]
    captions = np.array([len(own) for own in held_out.captions_of_image])
    measures, queries = [*RECALLS], queries_of(captions)
    found: dict[str, ndarray] = {}
    for label, group in runs.items():
        of_seeds = []
        for run in group:
            scores = similarity(run.model, held_out)
            reached = recall_of_each(scores, held_out)
            if gains is not None:
                semantic, counted = semantics_of_each(scores, gains, held_out)
                reached = np.concatenate([reached, semantic])
            of_seeds.append(reached)
        found[label] = np.stack(of_seeds)
    if gains is not None:
        measures, queries = [*RECALLS, *SEMANTICS], np.concatenate([queries, counted])
    return Comparison(list(labelled), baseline, chosen, found, captions, runs, measures, queries)


def check_split(held_out: CaptionSet, split: str, relevance: Kind | None) -> None:
    """An ItmlabError, before the first step, where a split is too small to be compared on (METHODS 2.3)."""
    remedy = f"compare on a split of {max(CUTOFFS) + (relevance is not None)} images or more"
    check_pools(held_out, CUTOFFS, relevance=relevance, where=f"split {split!r}", remedy=remedy)


def directory_name(label: str, recipe: Recipe, data: CaptionSet) -> str:
    """A folder of its own for each recipe and data set, whatever they are called."""
    content = json.dumps([recipe.replace(seed=0).to_json(), data.fingerprint], sort_keys=True)
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in label).strip(".") or "recipe"
    return f"{plain}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def queries_of(captions: Int[ndarray, "image"]) -> Float[ndarray, "measure image"]:
    """How many queries an image has in each recall: itself from the image, each of its captions to the image."""
    return np.repeat([np.ones(len(captions)), captions], len(CUTOFFS), axis=0)


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
    values, depth = [], {"retrieved": max(CUTOFFS), "ideal": max(CUTOFFS)}
    from_image = scores, relevance.T, data.positives, torch.arange(len(data))
    from_caption = scores.T, relevance, data.positives.T, data.image_of_caption
    for kept in (True, False):
        for found, gains, own, owner in (from_image, from_caption):
            given = {"positives": None if kept else own, "keep_ground_truth": kept}
            ranking = SemanticRanking.of(found, gains, **given, **depth)
            for k in CUTOFFS:
                each, total = ranking.scores(k) / 100, torch.zeros(2, len(data), dtype=torch.float64)
                total[0].index_add_(0, owner, each.nan_to_num(0))
                total[1].index_add_(0, owner, (~each.isnan()).double())
                values.append(total.numpy())
    reached, counted = zip(*values, strict=True)
    return np.stack(reached), np.stack(counted)


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    `found[label][seed, measure, image]` adds up what an image's queries (the image itself, or its captions) reach in a
    measure, 0 to 1 each, and `queries[measure, image]` counts them (not given: one from the image, one a caption of
    `captions[image]`), so that a mean over any resampling of seeds and images is a quotient of products. `measures` are
    the recalls and, where a relevance was asked for, NCS with and without ground truth ("N", "N(N)"). Intervals are
    95 % percentile bootstraps that draw seeds and images anew, with replacement and an image's captions together as
    they are not independent; differences are paired, the same seeds and images drawn for both recipes. With very few
    seeds their share of the uncertainty is underestimated: an interval over three of them is a lower bound.
    """

    labels: list[str]
    baseline: str
    seeds: list[int]
    found: dict[str, Float[ndarray, "seed measure image"]]
    captions: Int[ndarray, "image"]
    runs: dict[str, list[Run]]
    measures: list[str] = field(default_factory=lambda: [*RECALLS])
    queries: Float[ndarray, "measure image"] | None = None

    def by_seed(self) -> list[dict[str, Any]]:
        """A row a recipe and seed: percent by measure, and their sums (RSum; with a relevance Nsum and Nsum(N))."""
        everything = np.ones((1, len(self.captions)))
        return [
            {"recipe": label, "seed": seed, **self._with_sums(values)}
            for label in self.labels
            for seed, values in zip(self.seeds, self._reached(label, everything)[0], strict=True)
        ]

    def table(self) -> list[dict[str, Any]]:
        """A row a recipe: means over seeds, RSum's deviation over them, its difference to the baseline and interval."""
        rows = []
        for label in self.labels:
            own = [row for row in self.by_seed() if row["recipe"] == label]
            named = [*self.measures, *sums(self.measures)]
            means = {name: float(np.mean([row[name] for row in own])) for name in named}
            std = float(np.std([row["RSum"] for row in own], ddof=1)) if len(own) > 1 else None
            row = {"recipe": label, "seeds": len(own), **means, "RSum deviation": std}
            difference = self.difference(label)["RSum"] if label != self.baseline else (None, None, None)
            rows.append({**row, **dict(zip(("difference", "lower", "upper"), difference, strict=True))})
        return rows

    def difference(self, label: str, baseline: str | None = None) -> dict[str, Interval]:
        """Recipe minus baseline by measure and in the sums: the mean over seeds, and the ends of its interval.

        The baseline is the comparison's, or another of its recipes.
        """
        other = self.baseline if baseline is None else baseline
        centre = self._with_sums(self._mean(label) - self._mean(other))
        draws = self._with_sums((self._draws[label] - self._draws[other]).T)
        return {name: percentile_interval(value, draws[name]) for name, value in centre.items()}

    def recalls(self) -> dict[str, dict[str, Float[ndarray, "cutoff 3"]]]:
        """By recipe and direction: the mean over seeds and its interval's ends at each cut-off, ready to be drawn."""
        tables = {}
        for label in self.labels:
            ends = [*map(percentile_interval, self._mean(label), self._draws[label].T)]
            tables[label] = {"i2t": np.array(ends[: len(CUTOFFS)]), "t2i": np.array(ends[len(CUTOFFS) : len(RECALLS)])}
        return tables

    @cached_property
    def _draws(self) -> dict[str, Float[ndarray, "draw measure"]]:
        """Each measure under each draw of the bootstrap, the same draws for every recipe."""
        random, count = np.random.default_rng(0), len(self.captions)
        parts: dict[str, list[ndarray]] = {label: [] for label in self.labels}
        for _ in range(0, DRAWS, BATCH_SIZE):
            # images, then seeds, a part of the draws at a time: another order would move the committed intervals
            images = resample(random, count, BATCH_SIZE, counts=True).astype(float)
            seeds = resample(random, len(self.seeds), BATCH_SIZE, counts=True) / len(self.seeds)
            for label in self.labels:
                parts[label].append(np.einsum("ds,dsm->dm", seeds, self._reached(label, images)))
        return {label: np.concatenate(part) for label, part in parts.items()}

    def _reached(self, label: str, images: Float[ndarray, "draw image"]) -> Float[ndarray, "draw seed measure"]:
        queries = queries_of(self.captions) if self.queries is None else self.queries
        total = np.einsum("smi,di->dsm", self.found[label], images, optimize=True)
        return 100 * total / (images @ queries.T)[:, None, :]

    def _mean(self, label: str) -> Float[ndarray, "measure"]:
        return self._reached(label, np.ones((1, len(self.captions))))[0].mean(axis=0)

    def _with_sums(self, values: Float[ndarray, "measure ..."]) -> dict[str, Any]:
        """Values by the names of the measures and of their sums."""
        totals = {name: values[places].sum(axis=0) for name, places in sums(self.measures).items()}
        named = dict(zip(self.measures, values, strict=True)) | totals
        return {name: value if np.ndim(value) else float(value) for name, value in named.items()}

    def _cells(self) -> list[list[str]]:
        totals = sums(self.measures)
        head = (cell for name in totals for cell in (name, f"{name} − {self.baseline}", "95 % interval"))
        rows = [["recipe", *RECALLS, *head]]
        for row in self.table():
            rows.append([row["recipe"], *(f"{row[name]:.1f}" for name in RECALLS)])
            differences = self.difference(row["recipe"]) if row["recipe"] != self.baseline else {}
            for name in totals:
                std = row.get(f"{name} deviation")
                rows[-1] += [f"{row[name]:.1f}" + (f" ± {std:.1f}" if std is not None else ""), "", ""]
                if name in differences:
                    value, lower, upper = differences[name]
                    rows[-1][-2:] = f"{value:+.1f}", f"{lower:+.1f} … {upper:+.1f}"
        return rows

    def __repr__(self) -> str:
        rows = self._cells()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([*lines, self._caption()])

    def _repr_html_(self) -> str:
        head, *body = ([html.escape(cell) for cell in row] for row in self._cells())
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
        titles = "".join(f"<th>{cell}</th>" for cell in head)
        caption = f"<caption>{html.escape(self._caption())}</caption>"
        return f"<table>{caption}<thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"

    def _caption(self) -> str:
        return f"{len(self.seeds)} seeds, {len(self.captions)} images; paired bootstrap over seeds and images"


def sums(measures: Sequence[str]) -> dict[str, list[int]]:
    """By the name of a sum, which of `measures` it adds up."""
    found = {total: [i for i, name in enumerate(measures) if name in names(kind)] for kind, total in KINDS.items()}
    return {total: places for total, places in found.items() if places}


def compare_data_fractions(
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
    parts = {share: data.reduced(share) for share in epochs}
    for part in parts.values():
        check_split(part.split(split), split, relevance)
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    for share, count in epochs.items():
        part = parts[share]
        scheduled = {label: with_epochs(recipe, count) for label, recipe in recipes.items()}
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


def with_epochs(recipe: Recipe, epochs: int) -> Recipe:
    """The recipe over so many epochs, with the same part of them warm-up."""
    warm_up = round(recipe.data.warm_up_epochs * epochs / recipe.data.epochs)
    return recipe.replace(data__epochs=epochs, data__warm_up_epochs=warm_up)
