"""What a paper's item is here: the numbers as printed, what they claim, where ours are measured, what runs it again.

A printed number never stands in a measured one's place: they have fields, columns and panels of their own.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ItmlabError
from ..fields import did_you_mean
from ..metrics.statistics import Interval, smallest_effect, verdict
from ..recipes import get
from ..recipes.recipe import Recipe
from .measured import RESULTS, Measured, figure_file, saved

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

    from ..data import CaptionSet
    from ..training import Comparison

PAPERS = {"fne": "FNE", "sam": "SAM", "tags": "TAGS-DC", "itcontrast": "ITContrast"}
Verdict = Literal["held", "not seen", "contrary", "not run"]


# Printed.


@dataclass(frozen=True)
class Table:
    """A paper's table as printed: rows by their label, NaN where it has a dash."""

    columns: tuple[str, ...]
    rows: Mapping[str, tuple[float, ...]]

    @classmethod
    def read(cls, columns: Sequence[str], text: str) -> "Table":
        """The table of lines `label | number number …`.

        >>> Table.read(["R@1", "R@5"], "hardest | 77.2 -").rows
        {'hardest': (77.2, nan)}
        """
        rows: dict[str, tuple[float, ...]] = {}
        for line in text.strip().splitlines():
            label, _, numbers = line.partition("|")
            rows[label.strip()] = tuple(math.nan if word == "-" else float(word) for word in numbers.split())
        odd = [label for label, values in rows.items() if len(values) != len(columns)]
        if odd:
            raise ItmlabError(f"rows of another width than {len(columns)}: {', '.join(odd)}")
        return cls(tuple(columns), rows)

    def value(self, row: str, column: str) -> float:
        """A printed number; RSum, where it is not printed, is the sum of the recalls that are."""
        numbers = dict(zip(self.columns, self.rows[row], strict=True))
        if column not in numbers and column.endswith("RSum"):
            begins = column.removesuffix("RSum")
            return sum(number for name, number in numbers.items() if name.startswith(begins) and "R@" in name)
        return numbers[column]

    def frame(self) -> "pandas.DataFrame":
        """As a pandas table."""
        import pandas

        return pandas.DataFrame.from_dict(self.rows, orient="index", columns=list(self.columns))


# Claims.


@dataclass(frozen=True)
class Claim:
    """What a paper says, in one sentence of ours, and what was measured of it here.

    `rows` are a row of the table, the one that it is held against and the measure: their printed difference is the
    paper's number, and a run of the entry gives ours. `here` is where ours was measured already, by the protocol that
    `by` names. The value is said to be "higher" or "lower" than `mark`, or "equal" to it within `margin`. `printed` is
    the paper's number where it is no difference of rows; `without` says why there is no run of it.
    """

    says: str
    rows: tuple[str, str, str] | None = None
    here: Measured | None = None
    expected: Literal["higher", "lower", "equal"] = "higher"
    by: str = ""
    mark: float = 0.0
    margin: float = 0.0
    unit: str = ""
    printed: float | None = None
    without: str = ""


@dataclass(frozen=True)
class Entry:
    """A table, figure or section of a paper: what it prints and claims, what shows and what runs it here.

    `recipes` gives, for a size, recipes by the table's row labels, and by further ones, controls that it has not;
    `rows_here` (a file, and its labels by ours) are rows that have been run. `figures` are committed ones that show it.
    `options` are the data set's, `tested` those of the pictures that rows are asked about, where these are others. With
    `truth` rows are measured against all that is true, too. `averaged` names rows that are two seeds of another row,
    whose similarities are averaged.
    """

    name: str  # as the command takes it: fne.table_3
    title: str
    place: str
    published: Table | None = None
    claims: tuple[Claim, ...] = ()
    figures: tuple[str, ...] = ()
    recipes: Callable[[str], dict[str, Recipe]] | None = None
    baseline: str | None = None
    rows_here: tuple[str, Mapping[str, str]] | None = None
    relevance: Literal["spice"] | None = None
    truth: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    tested: Mapping[str, Any] = field(default_factory=dict)
    averaged: Mapping[str, str] = field(default_factory=dict)
    without: str = ""
    notes: tuple[str, ...] = ()

    @property
    def paper(self) -> str:
        """As one reads it: "FNE"."""
        return PAPERS[self.name.partition(".")[0]]

    @property
    def item(self) -> str:
        """As one reads it: "FNE, Table 3"."""
        kind, _, number = self.name.partition(".")[2].partition("_")
        said = {"section": "Sec."}.get(kind, kind.capitalize())
        return f"{self.paper}, {said} {number.replace('_', '.')}"

    @property
    def command(self) -> str:
        """What trains it, tiny, and keeps what was measured; "" where no recipe is named."""
        return "" if self.recipes is None else f"python -m itmlab reproduce {self.name} --fresh --keep"

    def result(self) -> dict[str, Any] | None:
        """What `--keep` has left of a run of this entry: its table, its differences, what made them."""
        path = RESULTS / f"{self.name}.json"
        return saved(path) if path.exists() else None

    def measured(self, claim: Claim, result: Mapping[str, Any] | None = None) -> tuple[Interval | None, dict[str, str]]:
        """The interval of a claim, from a run of this entry (the one kept) or a committed figure; "by" and where."""
        kept = result or self.result() or {}
        rows = claim.rows if claim.rows and not claim.without else ("", "", "")
        if ends := kept.get("differences", {}).get(" − ".join(rows[:2]), {}).get(ours(rows[2])):
            seeds = len(kept["provenance"]["seeds"])
            by = f"a run of this item: {kept['provenance']['size']}, {seeds} seed{'s' if seeds > 1 else ''}"
            return Interval(*ends), {"by": by, "measured in": self.name}
        where = {"by": claim.by, "measured in": claim.here.file if claim.here else ""}
        return claim.here.interval() if claim.here else None, where

    def printed(self, claim: Claim) -> float | None:
        """The paper's number of a claim; None where it has none, as of a control."""
        if claim.printed is not None or claim.rows is None or self.published is None:
            return claim.printed
        one, other, measure = claim.rows
        if not {one, other} <= {*self.published.rows}:
            return None
        return self.published.value(one, measure) - self.published.value(other, measure)

    def verdicts(self, result: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """A row a claim: what was said, printed and measured (in `result`, a run's), and what the interval says of it.

        "smallest" is the effect that four of five repetitions would have seen (`smallest_effect`).
        """
        rows, kept = [], result or self.result()
        labels = [*self.recipes("tiny"), *self.averaged] if self.recipes else ()
        for claim in self.claims:
            runs = claim.rows and not claim.without and {*claim.rows[:2]} <= {*labels}
            (found, where), said = self.measured(claim, result), "not run"
            if found is not None:
                said = verdict(found, expected=claim.expected, mark=claim.mark, margin=claim.margin)
            command = self.command if runs else "" if found is None else self.shown_by
            found = found or Interval(math.nan, math.nan, math.nan)
            few = "its rows want two seeds or more" if runs and kept and len(kept["provenance"]["seeds"]) < 2 else ""
            reason = claim.without or few or (not runs and self.without) or "no run of it is committed"
            rows.append(
                {
                    **{"paper": self.paper, "item": self.item, "place": self.place, "claim": claim.says},
                    **{"expected": _expected(claim), "mark": claim.mark, "margin": claim.margin},
                    **{"unit": claim.unit or ours((claim.rows or ("", "", ""))[2]), "printed": self.printed(claim)},
                    **{"here": found.value, "lower": found.lower, "upper": found.upper, "verdict": said},
                    **{"smallest": smallest_effect(found), **where, "command": command},
                    **{"why not": reason if said == "not run" else ""},
                }
            )
        return rows

    @property
    def shown_by(self) -> str:
        """The command that draws the first of its figures again."""
        if not self.figures:
            return ""
        return f"python -m itmlab tour --profile full --only {figure_file(self.figures[0])['provenance']['notebook']}"

    def verdict(self) -> "pandas.DataFrame":
        """`verdicts` as a pandas table."""
        import pandas

        return pandas.DataFrame(self.verdicts())

    def table(self, result: Mapping[str, Any] | None = None) -> "pandas.DataFrame":
        """The published rows beside those measured here (in `result`): columns ("printed", …) and ("here", …)."""
        import pandas

        if self.published is None:
            raise ItmlabError(f"{self.item} is no table", remedy="its figure: .figure()")
        printed, found = self.published.frame(), {}
        kept, (file, names) = result or self.result(), self.rows_here or ("", {})
        measured = kept["table"] if kept else figure_file(file)["provenance"]["table"] if file else []
        controls = [one["recipe"] for one in kept["table"]] if kept else []
        for label in dict.fromkeys([*printed.index, *controls]):
            found[label] = next((one for one in measured if one["recipe"] == (label if kept else names.get(label))), {})
        known = {name for one in found.values() for name in one}
        columns = [name for name in (*RECALLS, "RSum", *SEMANTICS, "Nsum", "Nsum(N)", *TRUTHS) if name in known]
        here = {name: [one.get(name) for one in found.values()] for name in columns}
        here = pandas.DataFrame(here, index=list(found), dtype=float)
        return pandas.concat({"printed": printed, "here": here}, axis=1)

    def figure(self, result: Mapping[str, Any] | None = None) -> "go.Figure":
        """Each claim's printed number beside ours with its interval; without claims the committed figure."""
        from ..studies.kit.saving import committed
        from .drawing import draw_claims

        if self.claims:
            return draw_claims(self.verdicts(result), title=f"{self.item}: {self.title}")
        if not self.figures:
            raise ItmlabError(f"{self.item} has no figure here", remedy=self.without)
        return committed(self.figures[0])

    def _repr_html_(self) -> str:
        from .drawing import told_in_html

        return told_in_html(self)

    def runs(
        self,
        data: "CaptionSet | None" = None,
        *,
        run_root: str | Path,
        size: str = "tiny",
        seeds: int | Sequence[int] = 2,
        chosen: Sequence[str] | None = None,
        changes: Mapping[str, Any] | None = None,
        jobs: int | None = None,
        progress: bool = True,
    ) -> dict[str, list[Any]]:
        """The table's rows, trained on `scenes` unless data are given: runs by label; what has run is not run again.

        Folders go by the recipes' names: rows that items share are trained once in a `run_root`. `chosen` are the
        labels of some rows (default: all); `changes` are made in every recipe: `{"data__steps": 20}` for a look.
        ItmlabError where no recipes are named, or none by a label.
        """
        from ..runs import ensemble
        from ..training import trained

        if self.recipes is None:
            raise ItmlabError(f"{self.item} has no recipes to run", remedy=self.without or "see its figure")
        rows = {label: recipe.replace(**dict(changes or {})) for label, recipe in self.recipes(size).items()}
        named = folders(rows)
        asked = {"seeds": seeds, "run_root": run_root, "jobs": jobs, "progress": progress}
        wanted = list(rows) if chosen is None else list(chosen)
        for label in wanted or [""]:
            one_of(label, rows, "row")
        found = trained({named[label]: rows[label] for label in wanted}, data or self.data(), **asked)
        groups = {label: found[named[label]] for label in wanted}
        if len(next(iter(groups.values()))) > 1:
            for label, of in self.averaged.items() if chosen is None else ():
                pairs = zip(groups[of], [*groups[of][1:], groups[of][0]], strict=True)
                groups[label] = [ensemble(pair) for pair in pairs]
        return groups

    def run(
        self, data: "CaptionSet | None" = None, *, tested: "CaptionSet | None" = None, folds: int = 1, **asked: Any
    ) -> "Comparison":
        """Train the table's rows (`runs`, of whose arguments `asked` are) and compare them.

        They are asked about the test split of `tested`, where that is given, else of the data, in `folds` galleries
        (COCO 1K: 5).
        """
        from ..training import compare_runs

        if data is None and self.tested:
            tested = tested or self.test_data()
        data = self.data() if data is None and self.recipes is not None else data
        groups = self.runs(data, **asked)
        measured = {"baseline": self.baseline, "relevance": self.relevance, "truth": self.truth, "folds": folds}
        return compare_runs(groups, tested or data, **measured, progress=asked.get("progress", True))

    def data(self, **options: Any) -> "CaptionSet":
        """The drawn world in the edition, and with the regions, that its tiny recipes ask for; options are its own."""
        from ..data import load

        asked = next(iter(self.recipes("tiny").values()))
        seen = {"regions": asked.data.regions} if getattr(asked.model, "visual", "") == "regions" else {}
        edition = {"edition": asked.data.edition} if asked.data.edition else {}
        return load("scenes", **{**edition, **seen, **self.options, **options})

    def test_data(self) -> "CaptionSet":
        """The drawn pictures of whose test split its tiny rows are asked: `data`, or those of `tested`'s options."""
        return self.data(**self.tested)

    def kept(self, comparison: "Comparison", *, size: str, data: str) -> dict[str, Any]:
        """What is committed of a run: its table, each claim's difference, what made them (`data`: its fingerprint)."""
        from importlib.metadata import version

        found: dict[str, dict[str, list[float]]] = {}
        for one, other, measure in (claim.rows for claim in self.claims if claim.rows):
            if {one, other} <= {*comparison.labels}:
                differences = comparison.difference(one, other)
                wanted = [ours(measure), *(name for name in TRUTHS if self.truth)]
                found.setdefault(f"{one} − {other}", {}).update({name: list(differences[name]) for name in wanted})
        versions = {name: version(name) for name in ("itmlab", "torch", "transformers", "numpy")}
        recipes = {label: runs[0].recipe.to_json() for label, runs in comparison.runs.items()}
        made = {
            "command": self.command,
            "size": size,
            "data": data,
            **({"tested on": dict(self.tested)} if self.tested else {}),
            "seeds": list(comparison.seeds),
            "recipes": recipes,
            "versions": versions,
        }
        return {"provenance": made, "table": comparison.table(), "differences": found}


RECALLS = tuple(f"{way} R@{k}" for way in ("i2t", "t2i") for k in (1, 5, 10))
SEMANTICS = tuple(name.replace("R@", "N@") for name in RECALLS)
TRUTHS = ("i2t mAP@R", "t2i mAP@R")  # against all that is true


def ours(measure: str) -> str:
    """A column as `compare` calls it, without the paper's data set.

    >>> ours("COCO 5K: i2t R@1")
    'i2t R@1'
    """
    return measure.rpartition(": ")[2]


def _expected(claim: Claim) -> str:
    if claim.expected == "equal":
        return f"within {claim.margin:g} of {claim.mark:g}"
    return f"{claim.expected} than {claim.mark:g}"


def on(size: str, name: str, **changes: Any) -> Recipe:
    """A dual encoder's recipe at a size: tiny from encoders that see ("+regions"), as the papers' begin pretrained."""
    recipe = get(f"{name}+regions") if size == "tiny" else get(name, size)
    return recipe.replace(**({"optimiser__learning_rate": 1e-4} if size == "tiny" else {}), **changes)


def seeing(name: str, size: str, **tiny: Any) -> Recipe:
    """A recipe at a size: tiny over what a detector saw of rich scenes, with these changes."""
    recipe = get(name, size)
    if size != "tiny":
        return recipe
    seen = {"data__edition": "rich", "data__regions": "detector", "model__region_dimension": 192}
    return recipe.replace(**seen, data__validation=0, **tiny)


def folders(rows: Mapping[str, Recipe]) -> dict[str, str]:
    """What a table's runs are trained under, by its labels: the recipe's name, with the label where rows share one."""
    count = Counter(recipe.name for recipe in rows.values())
    return {label: one.name if count[one.name] == 1 else f"{one.name}, {label}" for label, one in rows.items()}


def one_of(name: str, known: Mapping[str, Any], kind: str = "item") -> Any:
    """What goes by a name; an unknown one is an ItmlabError with the nearest."""
    if name not in known:
        raise ItmlabError(f"no {kind} {name!r}", remedy=did_you_mean(name, known))
    return known[name]
