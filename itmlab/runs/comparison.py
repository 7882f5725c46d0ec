"""What a comparison of recipes over several seeds found: table, paired differences, intervals, p-values, verdicts."""

import html
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from ..errors import ItmlabError
from ..fields import did_you_mean
from ..metrics.statistics import (
    Interval,
    bootstrap_p,
    holm,
    percentile_interval,
    resample,
    seeds_needed,
    smallest_effect,
    verdict,
)
from .run import Run
from .scores import CUTOFFS

if TYPE_CHECKING:
    import pandas

KINDS = {"R": "RSum", "N": "Nsum", "N(N)": "Nsum(N)"}  # recall, NCS, NCS without ground truth; and their sums
FEW_SEEDS = 5  # below which a bootstrap over them is told to be too narrow
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


class Tested(NamedTuple):
    """A paired difference, the two-sided p of there being none, and that p corrected for the number of comparisons."""

    difference: Interval
    p: float
    corrected: float


class Verdict(NamedTuple):
    """What a comparison says of a claim, the difference that says it, and the smallest one it could have seen.

    That is the difference whose interval, as wide as this one, would leave 0 out four times in five.
    """

    verdict: Literal["held", "not seen", "contrary"]
    difference: Interval
    smallest: float

    def __str__(self) -> str:
        value, lower, upper = self.difference
        return f"{self.verdict}: {value:+.1f} [{lower:+.1f}, {upper:+.1f}], could have seen {self.smallest:.1f}"


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    `found[label][seed, measure, image]` adds up what an image's queries (the image itself, or its captions) reach in a
    measure, 0 to 1 each, and `queries[measure, image]` counts them (not given: one from the image, one a caption of
    `captions[image]`), so that a mean over any resampling of seeds and images is a quotient of products. `measures` are
    the recalls and, where asked for, NCS with and without ground truth ("N", "N(N)") and those of the truth: mAP@R,
    R-Precision, "unannotated@1" (first places with what is true but not annotated), and own metrics by their names.
    `oracle[kind][measure, image]` is what an oracle's recall adds up to; with it each recall and RSum have a share of
    the oracle's. Intervals are 95 % percentile bootstraps that draw seeds and images anew, with replacement and an
    image's captions together as they are not independent; differences are paired, the same seeds and images drawn for
    both recipes. With very few seeds their share of the uncertainty is underestimated: an interval over three of them
    is a lower bound.
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
    data: dict[str, Any] = field(default_factory=dict)  # name, fingerprint and split of what was compared on

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

    def result(self) -> dict[str, Any]:
        """All measured values as JSON, with one value per seed: what `results/*.json` holds.

        Returns:
            `recipes` by label, `data` (name, fingerprint, split), `seeds`, `images`, `baseline`; `values` by label and
            column with `mean`, `lower`, `upper` and `seeds`; `differences` to the baseline by label and column with
            `value`, `lower`, `upper` and `seeds`. Intervals are the 95 % bootstrap intervals of this comparison.
        """
        by_seed = {label: self._reached(label, self._everything)[0] for label in self.labels}
        values: dict[str, Any] = {}
        differences: dict[str, Any] = {}
        for label in self.labels:
            values[label] = {}
            for column, (mean, lower, upper) in self.intervals(label).items():
                seeds = by_seed[label][:, self._place(column)].tolist()
                values[label][column] = {"mean": mean, "lower": lower, "upper": upper, "seeds": seeds}
            if label == self.baseline:
                continue
            differences[label] = {}
            paired = by_seed[label] - by_seed[self.baseline]
            for column, (value, lower, upper) in self.difference(label).items():
                seeds = paired[:, self._place(column)].tolist()
                differences[label][column] = {"value": value, "lower": lower, "upper": upper, "seeds": seeds}
        return {
            "recipes": {label: group[0].recipe.to_json() for label, group in self.runs.items()},
            "data": self.data,
            "seeds": list(self.seeds),
            "images": len(self.captions),
            "baseline": self.baseline,
            "values": values,
            "differences": differences,
        }

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

    def tests(self, *columns: str, baseline: str | None = None) -> dict[str, dict[str, Tested]]:
        """Of each other recipe and column (RSum, unless some are named) the difference, its p and Holm's correction.

        p is two-sided and of the draws that the interval is made of (`metrics.statistics.bootstrap_p`): a t-test over
        few seeds would know nothing of the images. Holm (1979) corrects for all comparisons asked for at once.
        ItmlabError: a column or baseline that is not there.
        """
        wanted, other = columns or ("RSum",), one_of(self.labels, baseline or self.baseline)
        places = [self._place(column) for column in wanted]
        found = {}
        for label in (label for label in self.labels if label != other):
            ends, draws = self.difference(label, other), self._draws[label] - self._draws[other]
            found[label] = {
                name: (ends[name], bootstrap_p(draws[:, at])) for name, at in zip(wanted, places, strict=True)
            }
        corrected = iter(holm([p for row in found.values() for _, p in row.values()]))
        return {
            label: {name: Tested(ends, p, next(corrected)) for name, (ends, p) in row.items()}
            for label, row in found.items()
        }

    def verdict(
        self,
        label: str,
        column: str = "RSum",
        *,
        expected: Literal["higher", "lower", "equal"] = "higher",
        margin: float = 0.0,
        baseline: str | None = None,
    ) -> Verdict:
        """Whether a recipe is higher (lower, equal within `margin`) in a column, as `metrics.verdict` reads intervals.

        ItmlabError: a recipe or column that is not there, an equality without a margin.
        """
        self._place(column)
        ends = self.difference(one_of(self.labels, label), one_of(self.labels, baseline or self.baseline))[column]
        return Verdict(verdict(ends, expected=expected, margin=margin), ends, smallest_effect(ends))

    def power(self, effect: float, column: str = "RSum", *, share: float = 0.8) -> dict[str, int | float]:
        """How many seeds it takes until a difference of `effect` points is found in this `share` of repetitions.

        By recipe, from how its paired differences deviate over the seeds there are, of which a few tell that deviation
        badly, and over draws of the pictures, which more seeds do not lessen (`metrics.seeds_needed`): infinity where
        the pictures are too few. ItmlabError: one seed, no effect, a column that is not there.
        """
        if len(self.seeds) < 2:
            raise ItmlabError("one seed does not tell how seeds deviate", remedy="compare with seeds=3 or more")
        place, pictures = self._place(column), resample(np.random.default_rng(0), len(self.captions), 500, counts=True)
        every = np.concatenate([self._everything, pictures])
        reached = {label: self._reached(label, every)[..., place] for label in self.labels}
        needed = {}
        for label in (label for label in self.labels if label != self.baseline):
            paired = reached[label] - reached[self.baseline]
            spread = float(np.std(paired[0], ddof=1)), float(np.std(paired[1:].mean(axis=1)))
            needed[label] = seeds_needed(spread[0], effect, power=share, fixed=spread[1])
        return needed

    def intervals(self, label: str) -> dict[str, Interval]:
        """A recipe by column: the mean over seeds, and the ends of its interval."""
        found = map(percentile_interval, self._mean(label).tolist(), self._draws[label].T)
        return dict(zip(self.columns, found, strict=True))

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

    def _place(self, column: str) -> int:
        if column not in self.columns:
            raise ItmlabError(f"nothing compared is called {column!r}", remedy=did_you_mean(column, self.columns))
        return self.columns.index(column)

    # Shown: as text, in a notebook, as Markdown, as a DataFrame, as a figure.

    @cached_property
    def shown(self) -> list[str]:
        """The columns that are shown with a difference: sums, mAP@R, own metrics."""
        own = [name for name in self.measures if name not in (*RECALLS, *SEMANTICS, *TRUTHS)]
        return [*sums(self.measures), *(name for name in TRUTHS if name in self.measures and "mAP" in name), *own]

    def to_pandas(self) -> "pandas.DataFrame":
        """A row a recipe and column: value, its interval's ends, the difference to the baseline with its ends, p.

        Where there are several recipes, "p (Holm)" is corrected for these, each column for itself.
        """
        import pandas

        rows = []
        for column in self.columns:
            tested = self.tests(column)
            for label in self.labels:
                row = {"recipe": label, "measure": column, "seeds": len(self.seeds)}
                row |= dict(zip(("value", "lower", "upper"), self.intervals(label)[column], strict=True))
                if label in tested:
                    (value, lower, upper), p, corrected = tested[label][column]
                    row |= {"difference": value, "difference lower": lower, "difference upper": upper}
                    row |= {"p": p, "p (Holm)": corrected}
                rows.append(row)
        return pandas.DataFrame(rows)

    def figure(self, *columns: str) -> Any:
        """The differences to the baseline with their intervals, as a plotly figure: a panel for each of `columns`."""
        drawing = import_module("itmlab.studies.kit")  # imported here, as the core does without plotly
        return drawing.draw_comparison(self, *columns)

    def _cells(self) -> list[list[str]]:
        compared, tested = self.shown, self.tests(*self.shown)
        alone = [name for name in TRUTHS if name in self.measures and name not in compared]
        alone += [share_of("RSum", kind) for kind in self.oracle]
        head = (cell for name in compared for cell in (name, f"{name} − {self.baseline}", "95 % interval", "p (Holm)"))
        rows = [["recipe", *RECALLS, *head, *alone]]
        for row in self.table():
            rows.append([row["recipe"], *(f"{row[name]:.1f}" for name in RECALLS)])
            for name in compared:
                std = row.get(f"{name} deviation")
                rows[-1] += [f"{row[name]:.1f}" + (f" ± {std:.1f}" if std is not None else ""), "", "", ""]
                if row["recipe"] in tested:
                    (value, lower, upper), _, corrected = tested[row["recipe"]][name]
                    rows[-1][-3:] = f"{value:+.1f}", f"{lower:+.1f} … {upper:+.1f}", f"{corrected:.3f}"
            rows[-1] += [f"{row[name]:.1f}" for name in alone]
        for kind in self.oracle:
            reached = [f"oracle: {kind}", *(f"{value:.1f}" for value in self._oracle(kind, self._everything)[0])]
            rows.append(reached + [""] * (len(rows[0]) - len(reached)))
        return rows

    def __repr__(self) -> str:
        rows = self._cells()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        parts, room = [[0]], shutil.get_terminal_size((160, 24)).columns  # what is too wide goes on below
        for column in range(1, len(widths)):
            last = 4 if rows[0][column] in self.shown else 1  # its difference, interval and p stay beside it
            wide = sum(widths[at] + 2 for at in (*parts[-1], *range(column, column + last))) - 2
            if len(parts[-1]) > 1 and wide > room:
                parts.append([0])
            parts[-1].append(column)
        lines = ["\n".join("  ".join(row[at].rjust(widths[at]) for at in part) for row in rows) for part in parts]
        return "\n".join(["\n\n".join(lines), self._caption()])

    def _repr_html_(self) -> str:
        head, *body = ([html.escape(cell) for cell in row] for row in self._cells())
        rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
        titles = "".join(f"<th>{cell}</th>" for cell in head)
        caption = f"<caption>{html.escape(self._caption())}</caption>"
        return f"<table>{caption}<thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"

    def _caption(self) -> str:
        count = max(len(self.labels) - 1, 0) * len(self.shown)
        corrected = f"; p corrected for {count} comparisons" if count > 1 else ""
        told = f"{len(self.seeds)} seeds, {len(self.captions)} images; paired bootstrap over seeds and images"
        told += corrected + "; over so few seeds intervals are too narrow" * (len(self.seeds) < FEW_SEEDS)
        starts = {label: group[0].recipe.start for label, group in self.runs.items() if isinstance(group[0], Run)}
        if len({*starts.values()}) > 1:
            begun = "; ".join(f"{label} from {start or 'nothing'}" for label, start in starts.items())
            told += f"\nnot from one start: {begun}"
        return told


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


def queries_of(captions: Int[ndarray, "image"]) -> Float[ndarray, "measure image"]:
    """How many queries an image has in each recall: itself from the image, each of its captions to the image."""
    return np.repeat([np.ones(len(captions)), captions], len(CUTOFFS), axis=0)


def one_of(labelled: Iterable[str], baseline: str | None) -> str:
    """The label that the others are compared with: the first if none is given; ItmlabError where it is not there."""
    labelled = list(labelled)
    if baseline is None and labelled:
        return labelled[0]
    if baseline not in labelled:
        raise ItmlabError(f"no recipe {baseline!r} to compare with", remedy=did_you_mean(str(baseline), labelled))
    return baseline
