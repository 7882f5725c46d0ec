"""Measured results on disk: `results/NAME.json`, one file per comparison, from which figures and the ledger are made.

A file says what was measured, how, and from which commit, and holds tidy rows:

    {"group": "learning rate 1e-4", "row": "fne", "measure": "RSum", "value": 1.2, "lower": 0.1, "upper": 2.3,
     "per_seed": [1.0, 1.4], "unit": "points"}

`row`, `measure` and `value` are required; `lower` and `upper` are the ends of a 95 % interval unless the row names
others. A row with `minus` is a difference to that row. A point of a curve has its place as `x`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from itmlab.errors import ItmlabError
from itmlab.fields import did_you_mean
from itmlab.metrics.statistics import Interval, Share
from itmlab.storage import read_json, write_bytes
from itmlab.train.comparison import Comparison

from ..places import checked_out, project_directory, result_directory

ROW = {"group": "", "lower": None, "upper": None, "per_seed": None, "unit": "", "minus": "", "x": None}
VERSIONS = ("itmlab", "numpy", "torch", "transformers")


@dataclass(frozen=True)
class Result:
    """One measured comparison.

    Args:
        name: the file's name without its ending, for example "fne_statistics".
        question: what it answers, in one sentence.
        command: the command that measures it again.
        rows: the measured values; see the module's description for their keys.
        protocol: where METHODS.md describes the protocol, for example "METHODS 1.8".
        data: the data set's options or fingerprint.
        seeds: the seeds that were trained.
        recipes: recipes by the labels of rows, as JSON, where they are known.
        commit: the commit at which it was measured or recorded.
        versions: versions of the packages that measured it.
        details: anything else that a figure needs, for example the bins of a histogram.
    """

    name: str
    question: str
    command: str
    rows: Sequence[Mapping[str, Any]]
    protocol: str = ""
    data: Any = ""
    seeds: Sequence[int] = ()
    recipes: Mapping[str, Any] = field(default_factory=dict)
    commit: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        complete = all({"row", "measure", "value"} <= row.keys() for row in self.rows)
        if not (self.name and self.question and self.command and self.rows and complete):
            message = "a result needs a name, a question, a command, and rows with row, measure and value"
            raise ItmlabError(message, where=f"results/{self.name}.json")

    def select(self, **wanted: Any) -> list[dict[str, Any]]:
        """Return the rows with these fields, for example `select(group="learning rate 1e-4", measure="RSum")`."""
        return [dict(row) for row in self.rows if all(row.get(key) == value for key, value in wanted.items())]

    def row(self, **wanted: Any) -> dict[str, Any]:
        """Return the only row with these fields.

        Raises:
            ItmlabError: if no row or several rows match.
        """
        rows = self.select(**wanted)
        if len(rows) != 1:
            raise ItmlabError(f"{len(rows)} rows match, expected one", where=f"results/{self.name}.json: {wanted}")
        return rows[0]

    def interval(self, **wanted: Any) -> Interval:
        """Return value, lower and upper end of the only row with these fields."""
        row = self.row(**wanted)
        return Interval(row["value"], row["lower"], row["upper"])


def list_results(directory: str | Path | None = None) -> list[str]:
    """Return the names of all results, sorted."""
    return sorted(path.stem for path in Path(directory or result_directory()).glob("*.json"))


def load_result(name: str, directory: str | Path | None = None) -> Result:
    """Read the result NAME.

    Raises:
        ItmlabError: if there is no such result, or its file lacks a required field.
    """
    folder = Path(directory or result_directory())
    path = folder / f"{name}.json"
    if not path.is_file():
        raise ItmlabError(f"no result {name!r}", where=str(folder), remedy=did_you_mean(name, list_results(folder)))
    content = read_json(path)
    try:
        return Result(**{**content, "rows": [{**ROW, **row} for row in content["rows"]]})
    except (KeyError, TypeError) as error:
        raise ItmlabError(f"not a result: {error}", where=str(path)) from None


def save_result(result: Result, directory: str | Path | None = None) -> Path:
    """Write `result` to NAME.json, one line per row, and return the path.

    Args:
        result: what was measured; the commit and this machine's package versions are added where it has none.
        directory: the folder; `results` of the checkout (or of the working directory) by default.
    """
    folder = Path(directory or (project_directory() or Path.cwd()) / "results")
    content = asdict(result)
    content["versions"] = content["versions"] or {package: version(package) for package in VERSIONS}
    content["commit"] = content["commit"] or checked_out()
    rows = [_compact(row) for row in content.pop("rows")]
    path = folder / f"{result.name}.json"
    head = "".join(f' "{key}": {_json(value)},\n' for key, value in content.items())
    lines = ",\n".join(f"  {_json(row)}" for row in rows)
    write_bytes(path, f'{{\n{head} "rows": [\n{lines}\n ]\n}}\n'.encode())
    return path


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _compact(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row without fields at their defaults and without numbers that are not finite."""
    finite = {key: value for key, value in row.items() if not isinstance(value, float) or math.isfinite(value)}
    return {key: value for key, value in finite.items() if key not in ROW or value != ROW[key]}


# Rows of a comparison.


def _row(group: str, name: str, measure: str, ends: Sequence[float | None], unit: str, **more: Any) -> dict[str, Any]:
    value, lower, upper = ends
    row = {"group": group, "row": name, "measure": measure, "value": value, "lower": lower, "upper": upper}
    return {**row, "unit": unit, **more}


def level_rows(
    levels: Mapping[str, Mapping[str, Interval | Share | float]], group: str = "", unit: str = "%"
) -> list[dict[str, Any]]:
    """Return a row for each value, value with interval, or share: `levels[row][measure]`."""
    rows = []
    for name, by_measure in levels.items():
        for measure, level in by_measure.items():
            if isinstance(level, Share):
                level = level.percent, level.lower, level.upper
            ends = (level, None, None) if isinstance(level, float) else level
            rows.append(_row(group, name, measure, ends, unit))
    return rows


def comparison_rows(comparison: Comparison, group: str = "") -> list[dict[str, Any]]:
    """Return every recipe's mean of every measure, with its interval and one value per seed."""
    rows = []
    for label in comparison.labels:
        per_seed = comparison.per_seed(label)
        for measure, ends in comparison.intervals(label).items():
            unit = "points" if "sum" in measure.lower() else "%"  # sums of recalls
            rows.append(_row(group, label, measure, ends, unit, per_seed=per_seed[measure]))
    return rows


def recipes_of(comparison: Comparison) -> dict[str, Any]:
    """Return the recipes of a comparison by label, as a result keeps them."""
    return {label: runs[0].recipe.to_json() for label, runs in comparison.runs.items()}


def difference_rows(
    comparison: Comparison, pairs: Mapping[str, tuple[str, str]], group: str = ""
) -> list[dict[str, Any]]:
    """Return paired differences in every measure, with intervals, one value per seed, and p of "no difference".

    Args:
        comparison: the compared runs.
        pairs: by the name of a row, a recipe's label and the label of the one that is subtracted.
        group: the heading of these rows.
    """
    rows = []
    for name, (label, minus) in pairs.items():
        values, subtracted = comparison.per_seed(label), comparison.per_seed(minus)
        tested = comparison.tests(*comparison.columns, baseline=minus)[label]
        for measure, ends in comparison.difference(label, minus).items():
            per_seed = [first - second for first, second in zip(values[measure], subtracted[measure], strict=True)]
            known = {"per_seed": per_seed, "p": tested[measure].p, "minus": minus}
            rows.append(_row(group, name, measure, ends, "points", **known))
    return rows
