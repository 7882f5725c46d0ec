"""Recipes compared over several seeds: one table, paired differences, bootstrap intervals.

`compare` trains and gathers, `compare_runs` gathers what is trained, `Comparison` says what was found,
`compare_data_fractions` does all on fractions of the training split (SAM, Sec. 5.2 and Table 2).
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
from jaxtyping import Float, Int, Int8, Int64
from numpy import ndarray
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import did_you_mean
from ..metrics.eccv import ORACLES, PLACES, first_of_each, oracle_scores, true_at_r
from ..metrics.ranking import expected_recalls_of_each, ranks
from ..metrics.semantic import SemanticRanking
from ..metrics.statistics import Interval, percentile_interval, resample
from ..recipes.recipe import Recipe
from ..runs.run import Run
from ..runs.scores import CUTOFFS, Kind, check_pools, relevance_matrix, similarity
from .loop import train
from .relevance import CaptionTruth

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
# against all that is true: the last is the share of queries whose first place has what is true but not annotated
TRUTHS = [f"{direction} {name}" for direction in ("i2t", "t2i") for name in ("mAP@R", "R-Precision", "unannotated@1")]


def compare(
    recipes: Sequence[Recipe] | Mapping[str, Recipe],
    data: CaptionSet,
    *,
    seeds: int | Sequence[int] = 3,
    run_root: str | Path,
    baseline: str | None = None,
    split: str = "test",
    relevance: Kind | None = None,
    truth: bool = False,
    progress: bool = True,
) -> "Comparison":
    """Train each recipe with each seed and compare them on a split, paired, against `baseline` (the first).

    Recipes go by their names, or by the keys of a mapping; `seeds=3` means 0, 1, 2. Runs lie under `run_root` by label,
    a digest of recipe and data, and seed; those that are there are not trained again. `relevance` ("cider" or "spice")
    adds NCS to the measures, `truth` mAP@R, R-Precision and what else is measured against all that is true.
    """
    labelled = dict(recipes) if isinstance(recipes, Mapping) else {recipe.name: recipe for recipe in recipes}
    if not labelled or len(labelled) != len(recipes):
        raise ItmlabError(
            "compare needs recipes with different names", remedy='compare({"p = 1e-3": fne.replace(...), ...}, ...)'
        )
    baseline = one_of(labelled, baseline)
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not chosen or len(set(chosen)) != len(chosen):
        raise ItmlabError(f"seeds are {seeds!r}, wanted at least one and each once")
    check_split(data.split(split), split, relevance, truth)
    runs: dict[str, list[Run]] = {}
    for label, recipe in labelled.items():
        home = Path(run_root) / directory_name(label, recipe, data)
        seeded = {home / f"seed-{seed}": recipe.replace(seed=seed) for seed in chosen}
        runs[label] = [train(each, data, directory, progress=progress) for directory, each in seeded.items()]
    asked = {"baseline": baseline, "split": split, "relevance": relevance, "truth": truth}
    return compare_runs(runs, data, **asked, progress=progress)


def compare_runs(
    runs: Mapping[str, Sequence[Run]],
    data: CaptionSet,
    *,
    baseline: str | None = None,
    split: str = "test",
    relevance: Kind | None = None,
    truth: bool = False,
    progress: bool = True,
) -> "Comparison":
    """Compare runs that are trained, by label as many with the same seeds; all else as `compare`."""
    baseline, seeds = (
        one_of(runs, baseline),
        {label: [run.recipe.seed for run in group] for label, group in runs.items()},
    )
    if len({*map(tuple, seeds.values())}) != 1 or not seeds[baseline]:
        raise ItmlabError(f"runs are paired by their seeds, which are {seeds}", remedy="give each label the same seeds")
    held_out = data.split(split)
    check_split(held_out, split, relevance, truth)
    gains = None if relevance is None else relevance_matrix(held_out, relevance)
    known = CaptionTruth(held_out).judge(progress=progress).matrix() if truth else None
    captions = np.array([len(own) for own in held_out.captions_of_image])
    found: dict[str, ndarray] = {}
    for label, group in runs.items():
        of_seeds = []
        for run in group:
            scores = similarity(run.model, held_out)
            # by measure what an image's queries reach together, and how many count
            parts = [(RECALLS, recall_of_each(scores, held_out), queries_of(captions))]
            if gains is not None:
                parts.append((SEMANTICS, *semantics_of_each(scores, gains, held_out)))
            if known is not None:
                parts.append((TRUTHS, *truth_of_each(scores, known, held_out)))
            measures, reached, queries = zip(*parts, strict=True)
            of_seeds.append(np.concatenate(reached))
        found[label] = np.stack(of_seeds)
    oracle = {} if known is None else oracle_recall_of_each(known, held_out)
    named, counted = [name for part in measures for name in part], np.concatenate(queries)
    groups = {label: list(group) for label, group in runs.items()}
    return Comparison(list(runs), baseline, seeds[baseline], found, captions, groups, named, counted, oracle)


def one_of(labelled: Mapping[str, Any], baseline: str | None) -> str:
    """The label that the others are compared with: the first if none is given; ItmlabError where it is not there."""
    if baseline is None and labelled:
        return next(iter(labelled))
    if baseline not in labelled:
        raise ItmlabError(f"no recipe {baseline!r} to compare with", remedy=did_you_mean(str(baseline), labelled))
    return baseline


def check_split(held_out: CaptionSet, split: str, relevance: Kind | None, truth: bool) -> None:
    """An ItmlabError, before the first step, where a split is too small to be compared on (METHODS 2.3)."""
    remedy = f"compare on a split of {max(CUTOFFS) + (relevance is not None)} images or more"
    check_pools(held_out, CUTOFFS, relevance=relevance, truth=truth, where=f"split {split!r}", remedy=remedy)


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
            values += [by_image(ranking.scores(k) / 100, owner, len(data)) for k in CUTOFFS]
    reached, counted = zip(*values, strict=True)
    return np.stack(reached), np.stack(counted)


def truth_of_each(
    scores: Float[Tensor, "image caption"], truth: Int8[Tensor, "image caption"], data: CaptionSet
) -> tuple[Float[ndarray, "measure image"], Float[ndarray, "measure image"]]:
    """TRUTHS (0 to 1) summed over an image's queries, and how many count: in mAP and R-Precision where one is true."""
    values = []
    from_image = scores, truth, data.positives, torch.arange(len(data))
    from_caption = scores.T, truth.T, data.positives.T, data.image_of_caption
    for similarities, labels, own, owner in (from_image, from_caption):
        first = (first_of_each(similarities, labels, own) == PLACES.index("unannotated")).double()
        found = true_at_r(similarities, labels)
        values += [by_image(each, owner, len(data)) for each in (found["map_at_r"], found["rprecision"], first)]
    reached, counted = zip(*values, strict=True)
    return np.stack(reached), np.stack(counted)


def oracle_recall_of_each(
    truth: Int8[Tensor, "image caption"], data: CaptionSet
) -> dict[str, Float[ndarray, "measure image"]]:
    """RECALLS as each of `metrics.eccv.ORACLES` is expected to reach them, summed over an image's queries."""
    values: dict[str, list[ndarray]] = {kind: [] for kind in ORACLES}
    from_image = truth, data.positives, torch.arange(len(data))
    from_caption = truth.T, data.positives.T, data.image_of_caption
    for labels, own, owner in (from_image, from_caption):
        for kind, scores in oracle_scores(labels).items():
            expected = expected_recalls_of_each(scores, own, CUTOFFS)
            values[kind] += [by_image(expected[k], owner, len(data))[0] for k in CUTOFFS]
    return {kind: np.stack(rows) for kind, rows in values.items()}


def by_image(each: Float[Tensor, "query"], owner: Int64[Tensor, "query"], images: int) -> Float[ndarray, "2 image"]:
    """The sum of an image's queries, and how many of them have a value (not NaN)."""
    total = torch.zeros(2, images, dtype=torch.float64)
    total[0].index_add_(0, owner, each.double().nan_to_num(0))
    total[1].index_add_(0, owner, (~each.isnan()).double())
    return total.numpy()


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    `found[label][seed, measure, image]` adds up what an image's queries (the image itself, or its captions) reach in a
    measure, 0 to 1 each, and `queries[measure, image]` counts them (not given: one from the image, one a caption of
    `captions[image]`), so that a mean over any resampling of seeds and images is a quotient of products. `measures` are
    the recalls and, where asked for, NCS with and without ground truth ("N", "N(N)") and those of the truth: mAP@R,
    R-Precision, "unannotated@1" (first places with what is true but not annotated). `oracle[kind][measure, image]` is
    what an oracle's recall adds up to; with it each recall and RSum have a share of the oracle's. Intervals are 95 %
    percentile bootstraps that draw seeds and images anew, with replacement and an image's captions together as
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
    oracle: dict[str, Float[ndarray, "measure image"]] = field(default_factory=dict)

    @cached_property
    def columns(self) -> list[str]:
        """All that is said of a recipe: the measures, their sums, and recall as a share of each oracle's."""
        shares = [share_of(name, kind) for kind in self.oracle for name in (*RECALLS, "RSum")]
        return [*self.measures, *sums(self.measures), *shares]

    def by_seed(self) -> list[dict[str, Any]]:
        """A row a recipe and seed: percent by column, sums among them (RSum; with a relevance Nsum and Nsum(N))."""
        return [
            {"recipe": label, "seed": seed, **dict(zip(self.columns, values.tolist(), strict=True))}
            for label in self.labels
            for seed, values in zip(self.seeds, self._reached(label, self._everything)[0], strict=True)
        ]

    def table(self) -> list[dict[str, Any]]:
        """A row a recipe: means over seeds, RSum's deviation over them, its difference to the baseline and interval."""
        rows = []
        for label in self.labels:
            own = [row for row in self.by_seed() if row["recipe"] == label]
            means = {name: float(np.mean([row[name] for row in own])) for name in self.columns}
            std = float(np.std([row["RSum"] for row in own], ddof=1)) if len(own) > 1 else None
            row = {"recipe": label, "seeds": len(own), **means, "RSum deviation": std}
            difference = self.difference(label)["RSum"] if label != self.baseline else (None, None, None)
            rows.append({**row, **dict(zip(("difference", "lower", "upper"), difference, strict=True))})
        return rows

    def difference(self, label: str, baseline: str | None = None) -> dict[str, Interval]:
        """Recipe minus baseline by column: the mean over seeds, and the ends of its interval.

        The baseline is the comparison's, or another of its recipes.
        """
        other = self.baseline if baseline is None else baseline
        centre, draws = self._mean(label) - self._mean(other), self._draws[label] - self._draws[other]
        return dict(zip(self.columns, map(percentile_interval, centre.tolist(), draws.T), strict=True))

    def intervals(self, label: str) -> dict[str, Interval]:
        """A recipe by column: the mean over seeds, and the ends of its interval."""
        found = map(percentile_interval, self._mean(label).tolist(), self._draws[label].T)
        return dict(zip(self.columns, found, strict=True))

    def recalls(self) -> dict[str, dict[str, Float[ndarray, "cutoff 3"]]]:
        """By recipe and direction: the mean over seeds and its interval's ends at each cut-off, ready to be drawn."""
        tables = {}
        for label in self.labels:
            ends = [*self.intervals(label).values()][: len(RECALLS)]
            tables[label] = {"i2t": np.array(ends[: len(CUTOFFS)]), "t2i": np.array(ends[len(CUTOFFS) :])}
        return tables

    def oracle_recall(self) -> dict[str, dict[str, Any]]:
        """What the oracles reach in recall, as `metrics.oracle_recall` gives it; nothing unless truth was asked for."""
        found: dict[str, dict[str, Any]] = {}
        for kind in self.oracle:
            *percent, total = self._oracle(kind, self._everything)[0].tolist()
            by_cutoff = [
                dict(zip(CUTOFFS, side, strict=True)) for side in (percent[: len(CUTOFFS)], percent[len(CUTOFFS) :])
            ]
            found[kind] = {"i2t": by_cutoff[0], "t2i": by_cutoff[1], "rsum": total}
        return found

    @cached_property
    def _draws(self) -> dict[str, Float[ndarray, "draw column"]]:
        """Each column under each draw of the bootstrap, the same draws for every recipe."""
        random, count = np.random.default_rng(0), len(self.captions)
        parts: dict[str, list[ndarray]] = {label: [] for label in self.labels}
        for _ in range(0, DRAWS, BATCH_SIZE):
            # images, then seeds, a part of the draws at a time: another order would move the committed intervals
            images = resample(random, count, BATCH_SIZE, counts=True).astype(float)
            seeds = resample(random, len(self.seeds), BATCH_SIZE, counts=True) / len(self.seeds)
            for label in self.labels:
                parts[label].append(np.einsum("ds,dsm->dm", seeds, self._reached(label, images)))
        return {label: np.concatenate(part) for label, part in parts.items()}

    def _reached(self, label: str, images: Float[ndarray, "draw image"]) -> Float[ndarray, "draw seed column"]:
        total = np.einsum("smi,di->dsm", self.found[label], images, optimize=True)
        percent = 100 * total / (images @ self._queries.T)[:, None, :]
        totals = [percent[..., places].sum(axis=-1, keepdims=True) for places in sums(self.measures).values()]
        recall = np.concatenate([percent[..., : len(RECALLS)], totals[0]], axis=-1)
        shares = [100 * recall / self._oracle(kind, images)[:, None, :] for kind in self.oracle]
        return np.concatenate([percent, *totals, *shares], axis=-1)

    def _oracle(self, kind: str, images: Float[ndarray, "draw image"]) -> Float[ndarray, "draw measure"]:
        """An oracle's recalls and RSum in percent."""
        percent = 100 * (images @ self.oracle[kind].T) / (images @ self._queries[: len(RECALLS)].T)
        return np.concatenate([percent, percent.sum(axis=-1, keepdims=True)], axis=-1)

    @cached_property
    def _queries(self) -> Float[ndarray, "measure image"]:
        return queries_of(self.captions) if self.queries is None else self.queries

    @property
    def _everything(self) -> Float[ndarray, "1 image"]:
        return np.ones((1, len(self.captions)))

    def _mean(self, label: str) -> Float[ndarray, "column"]:
        return self._reached(label, self._everything)[0].mean(axis=0)

    def _cells(self) -> list[list[str]]:
        compared = [*sums(self.measures), *(name for name in TRUTHS if name in self.measures and "mAP" in name)]
        alone = [name for name in TRUTHS if name in self.measures and name not in compared]
        alone += [share_of("RSum", kind) for kind in self.oracle]
        head = (cell for name in compared for cell in (name, f"{name} − {self.baseline}", "95 % interval"))
        rows = [["recipe", *RECALLS, *head, *alone]]
        for row in self.table():
            rows.append([row["recipe"], *(f"{row[name]:.1f}" for name in RECALLS)])
            differences = self.difference(row["recipe"]) if row["recipe"] != self.baseline else {}
            for name in compared:
                std = row.get(f"{name} deviation")
                rows[-1] += [f"{row[name]:.1f}" + (f" ± {std:.1f}" if std is not None else ""), "", ""]
                if name in differences:
                    value, lower, upper = differences[name]
                    rows[-1][-2:] = f"{value:+.1f}", f"{lower:+.1f} … {upper:+.1f}"
            rows[-1] += [f"{row[name]:.1f}" for name in alone]
        for kind in self.oracle:
            reached = [f"oracle: {kind}", *(f"{value:.1f}" for value in self._oracle(kind, self._everything)[0])]
            rows.append(reached + [""] * (len(rows[0]) - len(reached)))
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


def share_of(recall: str, kind: str) -> str:
    """The column that has a recall, or RSum, as percent of an oracle's.

    >>> share_of("t2i R@1", "specific")
    't2i R@1, % of oracle (specific)'
    """
    return f"{recall}, % of oracle ({kind})"


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
    truth: bool = False,
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
        check_split(part.split(split), split, relevance, truth)
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    for share, count in epochs.items():
        part = parts[share]
        scheduled = {label: with_epochs(recipe, count) for label, recipe in recipes.items()}
        seen = set()
        for label, baseline in baselines.items():
            pair = {baseline: scheduled[baseline], label: scheduled[label]}
            settings = {"relevance": relevance, "truth": truth, "split": split, "progress": progress}
            found = compare(pair, part, seeds=seeds, run_root=run_root, **settings)
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
