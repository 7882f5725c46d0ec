"""Recipes compared over several seeds: one table, paired differences, Student's intervals, Holm and power.

`compare` trains what is missing and evaluates, `compare_runs` evaluates runs that exist. Both return a `Comparison`.
"""

import html
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int8
from numpy import ndarray
from torch import Tensor
from tqdm.auto import tqdm

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import check_known
from ..metrics import statistics
from ..metrics.by_image import CUTOFFS, MEASURES, RECALLS, SUMS, TRUTHS, measures_by_image
from ..metrics.ranking import blocks
from ..metrics.statistics import Interval, SeedMean, drawn_counts, seed_mean, smallest_effect
from ..session import usual_defaults
from .recipes import Recipe
from .run import Ensemble, Run
from .scores import Kind, check_pools, relevance_matrix
from .session import stopped_in_words
from .workers import labelled, trained

DRAWS = 2000  # of the bootstrap
Metric = Callable[[Run, CaptionSet], Float[ndarray, "image"]]
Metrics = Mapping[str, Metric]


@usual_defaults()
def compare(
    recipes: Sequence[Recipe] | Mapping[str, Recipe],
    data: CaptionSet,
    *,
    baseline: str | None = None,
    seeds: int | Sequence[int] = 3,
    run_root: str | Path,
    jobs: int | None = None,
    progress: bool = True,
    **measuring: Any,
) -> "Comparison":
    """Train each recipe with each seed and compare them on a split, paired.

    Finished runs are not trained again. After an interruption the same call resumes.

    Args:
        recipes: recipes with different names, or recipes by label.
        data: the data set to train and compare on.
        baseline: the label that the others are compared with; the first by default.
        seeds: the seeds, or their number: 3 is 0, 1 and 2.
        run_root: directory of the runs, by label, a digest of recipe and data, and seed.
        jobs: runs to train at a time, each with its share of the cores; None for as many as there are cores.
        progress: whether to show progress.
        measuring: `split`, `relevance`, `truth`, `metrics` and `folds` of `compare_runs`.

    Returns:
        The comparison: a table, differences to the baseline with intervals, tests, verdicts and power.

    Raises:
        ItmlabError: before training, for recipes of equal names, an unknown baseline or split, or a split that is too
            small; later as `train`.
        Interrupted: after Ctrl-C, SIGTERM or a hang-up, with the number of runs that are trained.
    """
    by_label = labelled(recipes)
    baseline = one_of(by_label, baseline)
    check_split(data, **measuring)
    runs = trained(by_label, data, seeds=seeds, run_root=run_root, jobs=jobs, progress=progress)
    return compare_runs(runs, data, baseline=baseline, progress=progress, **measuring)


def one_of(labels: Iterable[str], baseline: str | None) -> str:
    """The label that the others are compared with, the first by default; an ItmlabError if it does not exist."""
    labels = list(labels)
    chosen = baseline or next(iter(labels), None)
    check_known(chosen, labels, "recipe")
    return chosen


# Evaluating runs, image by image.


@usual_defaults()
def compare_runs(
    runs: Mapping[str, Sequence[Run | Ensemble]],
    data: CaptionSet,
    *,
    baseline: str | None = None,
    split: str = "test",
    relevance: Kind | None = None,
    truth: bool = False,
    metrics: Metrics | None = None,
    folds: int = 1,
    progress: bool = True,
) -> "Comparison":
    """Compare trained runs.

    An `ensemble` counts as a run with the seed of its first run. Each model is in memory only while its run is scored.

    Args:
        runs: by label as many runs, with the same seeds.
        data: the data set to compare on.
        baseline: the label that the others are compared with; the first by default.
        split: the split to compare on.
        relevance: "cider" or "spice" adds NCS to the measures.
        truth: adds mAP@R, R-Precision and the other measures against everything that is true.
        metrics: your own metrics by name: functions of a Run and the split that return a number per image, in the unit
            to be shown (percent for shares), NaN where an image has none.
        folds: number of consecutive blocks of images, each ranked by itself (COCO 1K: 5 of 1,000), and pooled.
        progress: whether to show progress.

    Returns:
        The comparison.

    Raises:
        ItmlabError: labels with other seeds, a run that is given twice under one label, or a split that is too small.
    """
    baseline = one_of(runs, baseline)
    seeds = {label: [run.recipe.seed for run in group] for label, group in runs.items()}
    if not seeds[baseline] or any(group != seeds[baseline] for group in seeds.values()):
        raise ItmlabError(f"runs are paired by their seeds, which are {seeds}", remedy="give each label the same seeds")
    for label, group in runs.items():
        members = {frozenset(member.directory.resolve() for member in run.members) for run in group}
        if min(len({*seeds[label]}), len(members)) < len(group):
            message = f"{label!r} has one run twice: the seeds are {seeds[label]}"
            raise ItmlabError(message, remedy="give each run once, and runs of different seeds")
    held_out = check_split(data, split, relevance, truth, metrics, folds)
    measured: dict[str, list[dict[str, ndarray]]] = {label: [] for label in runs}
    with stopped_in_words(lambda: "all runs are trained; compare again to score them"):
        galleries = _galleries(held_out, relevance, truth, folds)
        every = [(label, run) for label, group in runs.items() for run in group]
        for label, run in tqdm(every, desc="scoring", disable=not progress):
            measured[label].append(_measures_of(run, held_out, galleries, metrics or {}))
            for member in run.members:
                member.release()
    measures = list(measured[baseline][0])
    values = {label: np.stack([np.stack([*run.values()]) for run in group]) for label, group in measured.items()}
    # the same queries for all: those that have a value in every run
    counts = np.concatenate([*values.values()])[:, :, 1].min(axis=0)
    for name, count in zip(measures, counts, strict=True):
        if not count.any():
            raise ItmlabError(f"no image has a value of {name} in every run", where=held_out.name)
    totals = {label: np.where(counts > 0, group[:, :, 0], 0.0) for label, group in values.items()}
    about = {"name": data.name, "fingerprint": data.fingerprint, "split": split}
    groups = {label: list(group) for label, group in runs.items()}
    return Comparison(totals, counts, measures, baseline, seeds[baseline], groups, about)


# Images and captions that are ranked together, with their relevance and truth where these are asked for.
Gallery = tuple[CaptionSet, Float[Tensor, "caption image"] | None, Int8[Tensor, "image caption"] | None]


def _galleries(data: CaptionSet, relevance: Kind | None, truth: bool, folds: int) -> list[Gallery]:
    # weights of words are those of the whole split, as in `evaluate`
    gains = None if relevance is None else relevance_matrix(data, relevance)
    galleries = []
    for pool in blocks(data.image_of_caption, len(data), folds):
        part = data.select(range(len(data))[pool.images]) if folds > 1 else data
        part_gains = None if gains is None else gains[pool.captions, pool.images]
        galleries.append((part, part_gains, part.world.truth() if truth else None))
    return galleries


def _measures_of(
    run: Run | Ensemble, held_out: CaptionSet, galleries: Sequence[Gallery], metrics: Metrics
) -> dict[str, Float[ndarray, "2 image"]]:
    """The measures of `measures_by_image` over all galleries, and the custom metrics."""
    parts = [measures_by_image(run.similarity(gallery[0]), *gallery) for gallery in galleries]
    measures = {name: torch.cat([part[name] for part in parts], dim=1).numpy() for name in parts[0]}
    for name, metric in metrics.items():
        values = np.asarray(metric(run, held_out), dtype=float)
        if values.shape != (len(held_out),):
            message = f"metric {name!r} gave shape {values.shape}, expected a number for each of {len(held_out)} images"
            raise ItmlabError(message, where=str(run.directory), remedy="NaN for an image that has none")
        known = np.isfinite(values)
        measures[name] = np.stack([np.where(known, values, 0.0) / 100, known])
    return measures


def check_split(
    data: CaptionSet,
    split: str = "test",
    relevance: Kind | None = None,
    truth: bool = False,
    metrics: Metrics | None = None,
    folds: int = 1,
) -> CaptionSet:
    """Return the split to compare on.

    Raises:
        ItmlabError: before the first step, a split that is too small (METHODS 2.3), or a metric with another's name.
    """
    held_out, fewest = data.split(split), folds * (max(CUTOFFS) + (relevance is not None))
    if len(held_out) < fewest:
        remedy = f"compare on a split of {fewest} images or more"
        raise ItmlabError(f"{len(held_out)} images are too few", where=f"split {split!r}", remedy=remedy)
    check_pools(held_out, folds=folds, relevance=relevance, truth=truth)
    if taken := sorted({*(metrics or {})} & {*MEASURES, *SUMS}):
        raise ItmlabError(f"there is a measure {taken[0]!r} already", remedy="give your own metric another name")
    return held_out


# The comparison.


def in_words(difference: Interval) -> str:
    """A difference with its 95 % interval.

    >>> in_words(Interval(1.0, -0.5, 2.5))
    '+1.0 (-0.5 to +2.5)'
    """
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*difference)


class Tested(NamedTuple):
    """A paired difference, the two-sided p of no difference, and that p corrected for the number of comparisons."""

    difference: Interval
    p: float
    corrected: float

    def __str__(self) -> str:
        return f"{in_words(self.difference)}, p {self.corrected:.3f}"


class Verdict(NamedTuple):
    """What a difference says of a claim, and the smallest difference that could have been detected.

    That is the difference whose interval, as wide as this one, would exclude 0 four times in five.
    """

    verdict: Literal["held", "not seen", "contrary"]
    difference: Interval
    smallest: float

    def __str__(self) -> str:
        return f"{self.verdict}: {in_words(self.difference)}, smallest detectable difference {self.smallest:.1f}"


class Listed(dict[str, Any]):
    """A dictionary that is printed as a line per entry; `words` says what is printed instead of the values."""

    def __init__(self, values: Mapping[str, Any], words: Mapping[str, str] | None = None):
        super().__init__(values)
        self.words = values if words is None else words

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {self.words[name]}" for name in self)


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`: what every recipe reaches on every image, and what follows from it.

    Intervals are 95 % intervals of Student's t over seeds with images resampled inside, an image together with its
    captions (`metrics.statistics.seed_mean`). Differences are paired: by seed, and by the images that are drawn. With
    one seed they know the uncertainty of the images alone.

    Attributes:
        totals: by label, what an image's queries (the image itself, or its captions) reach in a measure, 0 to 1 each,
            so that a mean over any sample of seeds and images is a quotient of products.
        counts: the number of those queries.
        measures: recalls; with a relevance NCS with and without ground truth ("N", "N(N)"); with truth mAP@R,
            R-Precision and "unannotated@1" (a true but unannotated candidate in first place); your own metrics.
        baseline: the label that the others are compared with.
        seeds: the seeds.
        runs: the runs by label, one per seed.
        data: name, fingerprint and split of the data.
    """

    totals: dict[str, Float[ndarray, "seed measure image"]]
    counts: Float[ndarray, "measure image"]
    measures: list[str]
    baseline: str
    seeds: list[int]
    runs: dict[str, list[Run | Ensemble]]
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def labels(self) -> list[str]:
        """The recipes."""
        return list(self.totals)

    @property
    def images(self) -> int:
        """The number of images."""
        return self.counts.shape[1]

    @cached_property
    def sums(self) -> dict[str, list[int]]:
        """By the name of a sum, the places of the measures that it adds up."""
        present = {total: names for total, names in SUMS.items() if names[0] in self.measures}
        return {total: [self.measures.index(name) for name in names] for total, names in present.items()}

    @cached_property
    def columns(self) -> list[str]:
        """Everything that is known of a recipe: the measures and their sums."""
        return [*self.measures, *self.sums]

    @cached_property
    def shown(self) -> list[str]:
        """The columns that are shown with a difference: sums, mAP@R, your own metrics."""
        return [*self.sums, *(name for name in self.measures if "mAP" in name or name not in MEASURES)]

    def per_seed(self, label: str) -> dict[str, list[float]]:
        """A recipe by column: one value per seed, in percent."""
        return dict(zip(self.columns, self._by_seed[label].T.tolist(), strict=True))

    def intervals(self, label: str, minus: str | None = None) -> dict[str, Interval]:
        """A recipe, or its difference to another one, by column: the mean over seeds, and its interval."""
        estimate = self._estimate(label, minus)
        rows = zip(estimate.value.tolist(), *(ends.tolist() for ends in estimate.ends), strict=True)
        return {column: Interval(*row) for column, row in zip(self.columns, rows, strict=True)}

    def difference(self, label: str, baseline: str | None = None) -> dict[str, Interval]:
        """Recipe minus baseline by column: the mean over seeds, and its interval."""
        return self.intervals(label, one_of(self.labels, baseline or self.baseline))

    def tests(self, *columns: str, baseline: str | None = None) -> dict[str, dict[str, Tested]]:
        """By recipe and column (RSum by default) the difference to the baseline, its p, and Holm's correction of it.

        p is two-sided and from the same t as the interval. Holm (1979) corrects for all comparisons of one call.
        """
        other, columns = one_of(self.labels, baseline or self.baseline), columns or ("RSum",)
        places = [self._place(column) for column in columns]
        labels = [label for label in self.labels if label != other]
        p_values = [float(p) for label in labels for p in self._estimate(label, other).p[places]]
        both_p = zip(p_values, statistics.holm(p_values), strict=True)
        results = {}
        for label in labels:
            differences = self.difference(label, other)
            results[label] = {column: Tested(differences[column], *next(both_p)) for column in columns}
        return results

    def verdict(
        self, label: str, *columns: str, expected: Literal["higher", "lower", "equal"] = "higher", margin: float = 0.0
    ) -> dict[str, Verdict]:
        """Whether a recipe is higher (lower, equal within `margin`) than the baseline in every measure.

        Each measure is judged by itself: `tests` corrects for their number.

        Args:
            label: the recipe.
            columns: some measures and sums; all of them by default.
            expected: the claim, as in `metrics.verdict`, which reads the interval of the difference.
            margin: the difference that does not matter, where "equal" is expected.
        """
        differences = self.difference(one_of(self.labels, label))
        verdicts = {}
        for column in columns or (*self.sums, *self.measures):
            ends = differences[self.columns[self._place(column)]]
            word = statistics.verdict(ends, expected=expected, margin=margin)
            verdicts[column] = Verdict(word, ends, smallest_effect(ends))
        return Listed(verdicts)

    def power(self, effect: float, column: str = "RSum") -> dict[str, int | float]:
        """By recipe, how many seeds it takes to find a difference of `effect` points four times in five.

        It follows from the deviation of the paired differences over the seeds, which few seeds estimate badly, and over
        draws of the test images, which more seeds do not reduce (`metrics.seeds_needed`). It is infinite where the
        images alone leave too much uncertainty, and then says what they can show.
        """
        if len(self.seeds) < 2:
            raise ItmlabError("one seed does not show how seeds deviate", remedy="compare with seeds=3 or more")
        needed, words, place = {}, {}, self._place(column)
        for label in self.labels:
            if label != self.baseline:
                paired, drawn = (values[label] - values[self.baseline] for values in (self._by_seed, self._draws))
                over_seeds = float(np.std(paired[:, place], ddof=1))
                over_images = float(np.std(drawn[..., place].mean(axis=1)))
                needed[label] = statistics.seeds_needed(over_seeds, effect, fixed=over_images)
                words[label] = f"{needed[label]} seeds"
                if needed[label] == np.inf:
                    half = statistics.QUANTILE * over_images
                    best = smallest_effect(Interval(0.0, -half, half))
                    words[label] = f"no number of seeds: {self.images} test images can show {best:.1f} points at best"
        return Listed(needed, words)

    # The bootstrap.

    def _values(self, label: str, weights: Float[ndarray, "draw image"]) -> Float[ndarray, "draw seed column"]:
        """All columns in percent, where an image counts as often as its weight says."""
        totals = np.einsum("smi,di->dsm", self.totals[label], weights, optimize=True)
        percent = 100 * totals / (weights @ self.counts.T)[:, None, :]
        sums = [percent[..., places].sum(axis=-1, keepdims=True) for places in self.sums.values()]
        return np.concatenate([percent, *sums], axis=-1)

    @cached_property
    def _by_seed(self) -> dict[str, Float[ndarray, "seed column"]]:
        return {label: self._values(label, np.ones((1, self.images)))[0] for label in self.labels}

    @cached_property
    def _draws(self) -> dict[str, Float[ndarray, "draw seed column"]]:
        """Each column per seed under each draw of the images, the same draws for every recipe."""
        images = drawn_counts(np.random.default_rng(0), self.images, DRAWS).astype(float)
        return {label: self._values(label, images) for label in self.labels}

    def _estimate(self, label: str, other: str | None = None) -> SeedMean:
        """All columns of a recipe, or of its differences to another: means with their standard errors."""
        values, draws = self._by_seed[label], self._draws[label]
        if other is not None:
            values, draws = values - self._by_seed[other], draws - self._draws[other]
        return seed_mean(values, draws, self.images)

    def _place(self, column: str) -> int:
        check_known(column, self.columns, "measure")
        return self.columns.index(column)

    # Shown as text and in a notebook.

    def _frame(self) -> Any:
        """The table that is shown: means of all recalls, and each of `shown` beside its difference to the baseline."""
        import pandas

        tested = self.tests(*self.shown)
        alone = [name for name in TRUTHS if name in self.measures and name not in self.shown]
        rows: dict[str, dict[str, str]] = {}
        for label in self.labels:
            per_seed = self.per_seed(label)
            means = {name: f"{np.mean(values):.1f}" for name, values in per_seed.items()}
            row = {name: means[name] for name in RECALLS}
            for name in self.shown:
                deviation = f" ± {np.std(per_seed[name], ddof=1):.1f}" if len(self.seeds) > 1 else ""
                row[name] = means[name] + deviation
                row[f"{name} − {self.baseline}"] = str(tested[label][name]) if label in tested else ""
            rows[label] = row | {name: means[name] for name in alone}
        return pandas.DataFrame([*rows.values()], index=[*rows]).fillna("").rename_axis(columns="recipe")

    def __repr__(self) -> str:
        width = shutil.get_terminal_size((160, 24)).columns
        return f"{self._frame().to_string(line_width=width)}\n{self._caption()}"

    def _repr_html_(self) -> str:
        import pandas

        with pandas.option_context("display.max_colwidth", None):
            table = self._frame().to_html(border=0)
        return table.replace(">", f"><caption>{html.escape(self._caption())}</caption>", 1)

    def _caption(self) -> str:
        count = (len(self.labels) - 1) * len(self.shown)
        caption = f"{len(self.seeds)} seeds, {self.images} images; 95 % intervals by Student's t, images resampled"
        if count > 1:
            caption += f"; p corrected for {count} comparisons"
        if len(self.seeds) == 1:
            caption += "; one seed: the intervals are those of the images alone"
        return caption
