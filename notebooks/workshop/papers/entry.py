"""One table, figure or section of a paper: its printed numbers, its claims, and what was measured here.

Entries are read from this folder's TOML files. A printed number never stands in a measured one's place: the two have
fields, columns and panels of their own.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pandas

import itmlab
from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.fields import did_you_mean
from itmlab.metrics.statistics import Interval, holm, smallest_effect, verdict
from itmlab.train import Comparison, Recipe, compare_runs, ensemble, trained

from ..plots.results import Result, comparison_rows, difference_rows, list_results, load_result, recipes_of

PAPERS = {"fne": "FNE", "sam": "SAM", "tags": "TAGS-DC", "itcontrast": "ITContrast"}
RECALLS = tuple(f"{direction} R@{k}" for direction in ("i2t", "t2i") for k in (1, 5, 10))
SEMANTICS = tuple(name.replace("R@", "N@") for name in RECALLS)
SHARE_OF_TRUTH = "RSum, % of oracle (specific)"  # of a ranking that puts the most specific true candidates first
COLUMNS = (*RECALLS, "RSum", *SEMANTICS, "Nsum", "Nsum(N)", "i2t mAP@R", "t2i mAP@R")  # of a measured table

ALIGNED = {"vit_dual_encoder", "region_dual_encoder"}  # shipped runs with which `start="aligned"` begins


@dataclass(frozen=True)
class Table:
    """A table as the paper prints it: one tuple of numbers per row label, NaN where it prints a dash."""

    columns: Sequence[str]
    rows: Mapping[str, Sequence[float]]

    def value(self, row: str, column: str) -> float:
        """A printed number. RSum, where the table does not print it, is the sum of the printed recalls.

        >>> Table(["i2t R@1", "t2i R@1"], {"fne": [50.0, 40.0]}).value("fne", "RSum")
        90.0
        """
        numbers = dict(zip(self.columns, self.rows[row], strict=True))
        if column in numbers or not column.endswith("RSum"):
            return numbers[column]
        prefix = column.removesuffix("RSum")
        return sum(number for name, number in numbers.items() if name.startswith(prefix) and "R@" in name)


@dataclass(frozen=True)
class Claim:
    """A paper's claim in one sentence, and which measured row answers it.

    Args:
        says: the claim.
        kind: whether a paper claims it ("paper"), or whether it is a control that no paper has ("control") or a
            question of this project ("own").
        compare: a row of the table, the row that it is compared with, and the measure. Their printed difference is the
            paper's number; a run of the entry measures ours.
        measured: where another result answers it: the result's name and the fields of one of its rows.
        against: fields that differ for the row which is subtracted from `measured`, as if both were independent.
        must_win: the control among the rows of the result that `measured` names.
        expected: whether the value should be higher or lower than `mark`, or equal to it within `margin`.
        by: the protocol of `measured`, in words.
        printed: the paper's number where it is not a difference of two rows.
        without: why the claim is not measured.
    """

    says: str
    compare: Sequence[str] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)
    against: Mapping[str, Any] = field(default_factory=dict)
    must_win: str = ""
    expected: Literal["higher", "lower", "equal"] = "higher"
    by: str = ""
    mark: float = 0.0
    margin: float = 0.0
    unit: str = ""
    printed: float | None = None
    without: str = ""
    kind: Literal["paper", "control", "own"] = "paper"

    @property
    def measure(self) -> str:
        """The compared measure without the paper's data set: "RSum" of "Flickr30K: RSum"."""
        return self.compare[2].rpartition(": ")[2] if self.compare else ""

    def interval(self) -> Interval:
        """The interval of the row that `measured` names, minus that of `against`."""
        value = _interval(self.measured)
        return independent_difference(value, _interval({**self.measured, **self.against})) if self.against else value

    def control(self) -> Interval | None:
        """The interval of the row that must win, where `measured` has one."""
        return _interval({**self.measured, "row": self.must_win}) if self.must_win else None


def _interval(place: Mapping[str, Any]) -> Interval:
    wanted = dict(place)
    return load_result(wanted.pop("result")).interval(**wanted)


def independent_difference(first: Interval, second: Interval) -> Interval:
    """`first` minus `second` as if they were independent, from the ends of their intervals.

    Both were measured on the same pictures, so the interval is too wide rather than too narrow.

    References:
        Zou and Donner (2008), Construction of confidence limits about effect measures.
    """
    difference = first.value - second.value
    below = math.hypot(first.value - first.lower, second.upper - second.value)
    above = math.hypot(first.upper - first.value, second.value - second.lower)
    return Interval(difference, difference - below, difference + above)


def sum_of(intervals: Sequence[Interval]) -> Interval:
    """The sum of measures of the same runs, with the sums of their ends.

    The measures rise and fall together, so the interval is too wide rather than too narrow.
    """
    return Interval(*map(sum, zip(*intervals, strict=True)))


@dataclass(frozen=True)
class Entry:
    """A table, figure or section of a paper: what it prints and claims, and what shows and repeats it here.

    Args:
        name: as the command takes it: "fne.table_3".
        published: the printed table.
        rows: how to train each row of the table, by label; see `recipe_of`. Controls that the paper lacks are among
            them. A row with `after` continues the run of that row with the same seed, as a second stage does.
        baseline: the row that others are compared with.
        oracle: the row that must win, because it knows what is true. Its lead over a claim's second row is the
            headroom of the claim.
        harmful: the row that must lose, because it is trained to.
        families: for a table of several encoders: by the row that a claim compares with, its oracle and harmful row.
        figures: committed figures that show it.
        options: the data set's options; `tested` are those of the pictures that rows are tested on, if different.
        truth: whether rows are also measured against everything that is true.
        averaged: rows that average the similarities of two seeds of another row.
        without: why it is not run here, or what shows it where it claims nothing.
    """

    name: str
    title: str
    place: str
    published: Table | None = None
    claims: Sequence[Claim] = ()
    figures: Sequence[str] = ()
    rows: Mapping[str, Any] = field(default_factory=dict)
    baseline: str | None = None
    oracle: str = ""
    harmful: str = ""
    families: Mapping[str, Sequence[str]] = field(default_factory=dict)
    relevance: Literal["spice"] | None = None
    truth: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    tested: Mapping[str, Any] = field(default_factory=dict)
    averaged: Mapping[str, str] = field(default_factory=dict)
    without: str = ""
    notes: Sequence[str] = ()

    @property
    def paper(self) -> str:
        """The paper's short name: "FNE"."""
        return PAPERS[self.name.partition(".")[0]]

    @property
    def item(self) -> str:
        """As people write it: "FNE, Table 3"."""
        kind, _, number = self.name.partition(".")[2].partition("_")
        title = "Sec." if kind == "section" else kind.capitalize()
        return f"{self.paper}, {title} {number.replace('_', '.')}"

    @property
    def command(self) -> str:
        """The command that trains its tiny rows and keeps the result; "" where it names no recipes."""
        return f"python -m workshop reproduce {self.name} --fresh --keep --seeds 5" if self.rows else ""

    def recipes(self, size: str = "tiny") -> dict[str, Recipe]:
        """The recipes of its rows at a size, by label."""
        rows = {label: row for label, row in self.rows.items() if size == "tiny" or not row.get("only_tiny")}
        return {label: recipe_of(row, size) for label, row in rows.items()}

    # Verdicts.

    def result(self) -> Result | None:
        """The committed result of a run of this entry, if there is one."""
        return load_result(self.name) if self.name in list_results() else None

    def printed(self, claim: Claim) -> float | None:
        """The paper's number for a claim; None where it has none, as for a control."""
        if claim.printed is not None or not claim.compare or self.published is None:
            return claim.printed
        row, other, column = claim.compare
        if not {row, other} <= self.published.rows.keys():
            return None
        return self.published.value(row, column) - self.published.value(other, column)

    def added(self, claim: Claim) -> list[str]:
        """The measures whose sum answers a claim: the paper's recalls, where it prints only some of the six."""
        if claim.measure != "RSum" or self.published is None or claim.compare[2] in self.published.columns:
            return [claim.measure]
        prefix = claim.compare[2].removesuffix("RSum")
        printed = [recall for recall in RECALLS if f"{prefix}{recall}" in self.published.columns]
        return printed if len(printed) < len(RECALLS) else ["RSum"]

    def verdicts(self, result: Result | None = None) -> list[dict[str, Any]]:
        """One dictionary per claim: what is claimed, printed and measured, and what the interval says about it.

        "p" is corrected by Holm for the claims of the entry, and a difference needs both: an interval on one side and a
        corrected p below 0.05. Older results have no p.

        Args:
            result: a run of this entry; by default the committed one.
        """
        rows = [self._verdict(claim, result or self.result()) for claim in self.claims]
        tested = [row for row in rows if not math.isnan(row["p"])]
        for row, corrected in zip(tested, holm([row["p"] for row in tested]), strict=True):
            row["p"] = corrected
            if corrected >= 0.05 and row["verdict"] in ("held", "contrary"):
                row["verdict"] = "not seen"
        return rows

    def _verdict(self, claim: Claim, run: Result | None) -> dict[str, Any]:
        trainable = bool(claim.compare) and not claim.without and {*claim.compare[:2]} <= {*self.rows, *self.averaged}
        row = {
            "paper": self.paper,
            "item": self.item,
            "place": self.place,
            "kind": claim.kind,
            "claim": claim.says,
            "mark": claim.mark,
            "unit": claim.unit or claim.measure,
            "printed": self.printed(claim),
            "verdict": "not run",
            "p": math.nan,  # also where equality is claimed
            "by": claim.by,
            "measured in": "",
            "command": self.command if trainable else "",
            "why not": claim.without or (not trainable and self.without) or "no run of two or more seeds is committed",
        }
        interval, own_run = Interval(math.nan, math.nan, math.nan), None
        pair = dict(zip(("row", "minus"), claim.compare, strict=False))
        if claim.compare and not claim.without and run and len(run.seeds) > 1:
            own_run = run if run.select(**pair, measure=claim.measure) else None
        if own_run:
            interval, row["by"] = self._answer(claim, own_run)
            row["measured in"] = self.name
            if claim.expected != "equal":
                row["p"] = own_run.row(**pair, measure=claim.measure).get("p", math.nan)
        elif claim.measured:
            interval, row["measured in"] = claim.interval(), claim.measured["result"]
            result = load_result(claim.measured["result"])
            row["command"] = row["command"] or result.command
            if not claim.against and not claim.mark and claim.expected != "equal":
                place = {key: value for key, value in claim.measured.items() if key != "result"}
                row["p"] = result.row(**place).get("p", math.nan)
        row["headroom"] = self.headroom(claim, own_run)
        if row["measured in"]:
            row["why not"] = self._why_no_test(claim, row["headroom"], own_run)
            decided = verdict(interval, expected=claim.expected, mark=claim.mark, margin=claim.margin)
            row["verdict"] = "no test" if row["why not"] else decided
        here = dict(zip(("here", "lower", "upper"), interval, strict=True))
        return {**row, **here, "smallest": smallest_effect(interval)}

    def _answer(self, claim: Claim, run: Result) -> tuple[Interval, str]:
        """The difference of a claim's two rows in a run of this entry, and how it was measured, in words."""
        row, minus, _ = claim.compare
        by = f"a run of this item: {run.details.get('size', 'tiny')}, {len(run.seeds)} seeds"
        if {run.recipes.get(label, {}).get("start") for label in (row, minus)} & ALIGNED:
            by += ", from encoders that InfoNCE had aligned, where no paper starts"
        return sum_of(self._changes(claim, run, row)), by

    def _changes(self, claim: Claim, run: Result, row: str) -> list[Interval]:
        """By how much a row differs from the one that the claim compares with, in the measures that answer it."""
        pair = {"row": row, "minus": claim.compare[1]}
        measures = [name for name in self.added(claim) if run.select(**pair, measure=name)] or [claim.measure]
        return [run.interval(**pair, measure=name) for name in measures if run.select(**pair, measure=name)]

    def controls(self, claim: Claim) -> tuple[str, str, str]:
        """The row that must win if a claim is tested, the row that must lose, and the one they are compared with."""
        other = claim.compare[1] if claim.compare else ""
        controls = self.families.get(other, (self.oracle, self.harmful))
        return *controls, other if other in self.families else self.baseline or ""

    def headroom(self, claim: Claim, run: Result | None) -> float:
        """Return how much a perfect method would gain in the unit of the claim; NaN where that is not measured.

        That is what the oracle row gains. Without one it is what RSum lacks to a ranking by the truth, where the result
        has RSum as a share of that ranking's.
        """
        oracle = self.controls(claim)[0]
        if control := claim.control():
            return control.value
        if run and claim.compare and oracle:
            gains = self._changes(claim, run, oracle)
            return sum_of(gains).value if gains else math.nan
        if run and claim.measure == "RSum":
            level = {"row": claim.compare[1], "minus": ""}
            values, shares = (run.select(**level, measure=measure) for measure in ("RSum", SHARE_OF_TRUTH))
            return values[0]["value"] * (100 / shares[0]["value"] - 1) if values and shares else math.nan
        return math.nan

    def _why_no_test(self, claim: Claim, headroom: float, run: Result | None) -> str:
        """Return why the experiment could not have shown the opposite, or "".

        The headroom must reach the printed effect (or the margin of "equal"), and both controls must behave. At the
        papers' sizes there are none, because they need the drawn world's truth.
        """
        if (control := claim.control()) and control.lower <= 0:
            return f"the control {claim.must_win!r} did not win"
        oracle, harmful, other = self.controls(claim)
        needed = claim.margin if claim.expected == "equal" else abs(self.printed(claim) or math.inf)
        if headroom < needed < math.inf:
            return f"{oracle or 'a ranking by the truth'} gains {headroom:.1f}, less than the {needed:.1f} in question"
        for control, sign, fault in ((oracle, 1, "did not win"), (harmful, -1, "did not lose")):
            if run and control:
                rows = run.select(row=control, minus=other, measure="RSum")
                if not rows and run.details.get("size", "tiny") == "tiny":
                    return f"the control {control!r} was not run"
                if rows and min(sign * rows[0]["lower"], sign * rows[0]["upper"]) <= 0:
                    return f"the control {control!r} {fault}"
        return ""

    def table(self, result: Result | None = None) -> pandas.DataFrame:
        """The printed rows beside those measured here: columns ("printed", ...) and ("here", ...)."""
        if self.published is None:
            raise ItmlabError(f"{self.item} is not a table")
        printed = pandas.DataFrame.from_dict(self.published.rows, orient="index", columns=self.published.columns)
        run = result or self.result()
        measured = {}
        for label in (*printed.index, *self.rows, *self.averaged) if run else ():
            levels = {row["measure"]: row["value"] for row in run.select(row=label, minus="")}
            if levels or label in printed.index:
                measured[label] = levels
        columns = [name for name in COLUMNS if any(name in row for row in measured.values())]
        here = pandas.DataFrame.from_dict(measured, orient="index").reindex(columns=columns).astype(float)
        return pandas.concat({"printed": printed, "here": here}, axis=1)

    # Runs.

    def runs(
        self,
        data: CaptionSet | None = None,
        *,
        run_root: str | Path,
        size: str = "tiny",
        seeds: int | Sequence[int] = 2,
        chosen: Sequence[str] | None = None,
        changes: Mapping[str, Any] | None = None,
        jobs: int | None = None,
    ) -> dict[str, list[Any]]:
        """Train the table's rows and return the runs by label; finished runs in `run_root` are reused.

        Args:
            data: what to train on; the drawn world by default.
            run_root: folders in it are named after the recipes, so that entries share rows.
            chosen: the labels of some rows; all by default.
            changes: made in every recipe: `{"data__steps": 20}` for a quick look.
        """
        if not self.rows:
            raise ItmlabError(f"{self.item} has no recipes to run", remedy=self.without or "see its figure")
        recipes = {label: recipe.replace(**(changes or {})) for label, recipe in self.recipes(size).items()}
        labels, names = list(chosen or recipes), run_names(recipes, self.rows)
        data, options = data or self.data(), {"run_root": run_root, "jobs": jobs}
        earlier = {label: self.rows[label]["after"] for label in labels if "after" in self.rows[label]}
        first = {*labels, *earlier.values()} - earlier.keys()
        rows = {names[label]: recipe for label, recipe in recipes.items() if label in first}
        trained_runs = trained(rows, data, seeds=seeds, **options)
        groups = {label: trained_runs[names[label]] for label in first}
        groups |= {label: [] for label in earlier}
        for before in zip(*(groups[label] for label in earlier.values()), strict=True):  # the runs of one seed
            stages = {
                names[label]: recipes[label].replace(start=str(run.directory))
                for label, run in zip(earlier, before, strict=True)
            }
            later = trained(stages, data, seeds=[before[0].recipe.seed], **options)
            for label in earlier:
                groups[label] += later[names[label]]
        groups = {label: groups[label] for label in labels}
        if not chosen and len(groups[labels[0]]) > 2:  # of two seeds both pairs are the same
            for label, averaged in self.averaged.items():
                runs = groups[averaged]
                groups[label] = [ensemble(pair) for pair in zip(runs, [*runs[1:], runs[0]], strict=True)]
        return groups

    def run(self, data: CaptionSet | None = None, **options: Any) -> Comparison:
        """Train the table's rows (with `options` as `runs` takes them) and compare them.

        Args:
            data: what to train on, and whose test split rows are compared on; the drawn worlds by default.
        """
        groups = self.runs(data, **options)
        measures = {"baseline": self.baseline, "relevance": self.relevance, "truth": self.truth}
        return compare_runs(groups, data or self.data(**self.tested), **measures)

    def data(self, **options: Any) -> CaptionSet:
        """The drawn world with the regions that its tiny recipes need; `options` replace the entry's."""
        recipe = next(iter(self.recipes().values()))
        needed = {"regions": recipe.data.regions} if recipe.model.reads == "regions" else {}
        return itmlab.load("scenes", **{**needed, **self.options, **options})

    def result_of(self, comparison: Comparison, **details: Any) -> Result:
        """The result of a run of this entry: every row's values and each claim's difference, one value per seed."""
        pairs = []
        for claim in (claim for claim in self.claims if claim.compare):
            oracle, harmful, other = self.controls(claim)
            pairs += [claim.compare[:2], (oracle, claim.compare[1]), (oracle, other), (harmful, other)]
        pairs = [pair for pair in pairs if {*pair} <= {*comparison.labels} and pair[0] != pair[1]]
        recipes = recipes_of(comparison)
        for label in self.rows.keys() & recipes.keys():
            if "after" in self.rows[label]:  # instead of this machine's path
                recipes[label]["start"] = f"the run of {self.rows[label]['after']}"
        rows = comparison_rows(comparison)
        for row, minus in dict.fromkeys(map(tuple, pairs)):
            rows += difference_rows(comparison, {row: (row, minus)})
        return Result(
            name=self.name,
            question=f"{self.item}: {self.title}.",
            command=self.command,
            rows=rows,
            protocol=f"METHODS, {self.item}",
            data=comparison.data,
            seeds=list(comparison.seeds),
            recipes=recipes,
            details=details | ({"tested on": dict(self.tested)} if self.tested else {}),
        )


# Reading the TOML files.


def recipe_of(row: Mapping[str, Any], size: str) -> Recipe:
    """The recipe of a table's row.

    Args:
        row: `recipe` (a name), `changes` at every size, and what makes it tiny: `way` (`on` and `start` of
            `itmlab.recipe`, and `changes` that the rows of a paper share) and `tiny_changes`.
        size: "tiny", "base" or "large".
    """
    changes = dict(row.get("changes", {}))
    if size != "tiny":
        recipe = itmlab.recipe(row["recipe"], size=size)
    else:
        way = row["way"]
        recipe = itmlab.recipe(row["recipe"], on=way.get("on"), start=way.get("start"))
        changes = {**way.get("changes", {}), **changes, **row.get("tiny_changes", {})}
    return recipe.replace(**changes)


@cache
def read_paper(name: str) -> dict[str, Entry]:
    """The entries of a paper by their names without the paper's: "table_3"."""
    content = tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))
    ways = content.pop("tiny")
    entries = {}
    for item, fields in content.items():
        fields["claims"] = tuple(Claim(**claim) for claim in fields.get("claims", ()))
        fields["published"] = Table(**fields.pop("printed")) if "printed" in fields else None
        way, rows = fields.pop("tiny", ""), {}
        for label, row in fields.pop("recipes", {}).items():
            rows[label] = {**row, "way": ways[row.get("tiny", way)]}
        entries[item] = Entry(f"{name}.{item}", rows=rows, **fields)
    return entries


def entries(chosen: str = "all") -> dict[str, Entry]:
    """The items of all papers, of one paper ("fne"), or a single item ("fne.table_3"), by name.

    >>> list(entries("itcontrast"))[-1]
    'itcontrast.figure_3'
    """
    papers = [chosen] if chosen in PAPERS else PAPERS
    listed = {entry.name: entry for paper in papers for entry in read_paper(paper).values()}
    if chosen in ("all", *PAPERS):
        return listed
    if chosen not in listed:
        raise ItmlabError(f"no item {chosen!r}", remedy=did_you_mean(chosen, listed))
    return {chosen: listed[chosen]}


def run_names(recipes: Mapping[str, Recipe], rows: Mapping[str, Any]) -> dict[str, str]:
    """The folders of runs by label: the recipe's name, which tables share; rows that change it add their label."""
    changed = {label for label, row in rows.items() if row.keys() & {"changes", "tiny_changes", "after"}}
    return {label: f"{recipe.name}, {label}" if label in changed else recipe.name for label, recipe in recipes.items()}
