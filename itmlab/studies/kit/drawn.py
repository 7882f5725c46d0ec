"""Measured results as figures: `draw_result` draws `results/NAME.json` as `drawn.toml` says.

`python -m itmlab.studies.kit.drawn` draws all of them again into `figures/`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...errors import ItmlabError
from ...fields import did_you_mean
from .bars import Dot, Line, Row, draw_curves, draw_gains, interval_rows
from .results import Result, load_result, save_result
from .saving import save
from .theme import colour

ALONE = "alone"  # the row with a group's baseline; it becomes a part of the heading


@cache
def drawings() -> dict[str, dict[str, Any]]:
    """Return how each result is drawn, by the result's name."""
    return tomllib.loads((Path(__file__).parent / "drawn.toml").read_text(encoding="utf-8"))


def draw_result(name: str) -> go.Figure:
    """Draw the measured result `results/NAME.json`.

    Raises:
        ItmlabError: there is no such result, or `drawn.toml` does not say how to draw it.

    >>> draw_result("fne_contrasts").layout.height > 500
    True
    """
    if name not in drawings():
        raise ItmlabError(f"no drawing of a result {name!r}", remedy=did_you_mean(name, drawings()))
    drawing, result = drawings()[name], load_result(name)
    kinds = {"gains": _draw_gains, "values": _draw_values, "curves": _draw_curves}
    return kinds[drawing.get("kind", "gains")](drawing, _chosen_rows(drawing, result))


def _chosen_rows(drawing: Mapping[str, Any], result: Result) -> list[dict[str, Any]]:
    """Return the rows that are drawn, in order, under the names that `drawing` gives them."""
    rows = [row for row in result.rows if row["measure"] in drawing["panels"]]
    names = drawing.get("rows")
    if names is not None:
        rows = [{**row, "row": names[label]} for label in names for row in rows if row["row"] == label]
    if "place" in drawing:
        rows = [{**row, "row": drawing["place"].format(**row)} for row in rows]
    return rows


def _titles(drawing: Mapping[str, Any]) -> dict[str, str]:
    return {"title": drawing["title"], "subtitle": drawing["subtitle"]}


def _ends(row: Mapping[str, Any]) -> tuple[float, float, float]:
    return row["value"], row["lower"], row["upper"]


def _draw_gains(drawing: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    differences = [row for row in rows if row["minus"]]
    headings = {row["group"]: f"{row['group']}; alone {row['value']:.0f}" for row in rows if row["row"] == ALONE}
    gains: dict[str, dict[str, dict[str, Any]]] = {}
    for row in differences or rows:
        if row["lower"] is not None:
            heading = headings.get(row["group"], row["group"])
            gains.setdefault(heading, {}).setdefault(row["row"], {})[row["measure"]] = _ends(row)
    return draw_gains(gains, drawing["panels"], **_titles(drawing))


def _draw_values(drawing: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    panels, printed = drawing["panels"], drawing.get("printed", {})
    names, lines = drawing.get("rows", {}), list[Row]()
    labels = list(dict.fromkeys((row["group"], row["row"]) for row in rows))
    values = {measure: [row for row in rows if row["measure"] == measure and not row["minus"]] for measure in panels}
    ends = {measure: _last_end(values[measure], printed, measure) for measure in panels}
    for place, (group, label) in enumerate(labels):
        if group and (not place or labels[place - 1][0] != group):
            lines.append((group, []))
        # A paper's numbers stand at a row, or at the first row of a group.
        key = group if lines and not lines[-1][1] else next((key for key in names if names[key] == label), label)
        cells = []
        for measure in panels:
            dots = [
                _value_dot(row, colour(place), ends[measure])
                for row in values[measure]
                if (row["group"], row["row"]) == (group, label)
            ]
            number = printed.get(key, {}).get(measure)
            cells.append(dots if number is None else [Dot(number, printed=True), *dots])
        lines.append((label, cells))
    axes = [{"tickangle": 0}] * len(panels)
    return interval_rows(
        lines, axes=axes, panels=list(panels.values()), across=drawing.get("across"), **_titles(drawing)
    )


def _last_end(rows: Sequence[Mapping[str, Any]], printed: Mapping[str, Any], measure: str) -> float:
    """Return the largest number of a panel: the texts begin behind it."""
    drawn = [row["value"] if row["upper"] is None else row["upper"] for row in rows]
    return max([*drawn, *(numbers[measure] for numbers in printed.values() if measure in numbers)], default=0.0)


def _value_dot(row: Mapping[str, Any], shade: str, at: float) -> Dot:
    digits = 2 if abs(row["value"]) < 1 else 1
    return Dot(*_ends(row), shade, f"{row['value']:.{digits}f}", at=at)


def _draw_curves(drawing: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    panels: dict[str, dict[str, Line]] = {}
    for measure, name in drawing["panels"].items():
        panels[name] = {}
        for label in dict.fromkeys(row["row"] for row in rows if row["measure"] == measure):
            points = [row for row in rows if row["measure"] == measure and row["row"] == label]
            x, y, lower, upper = (np.array([row[key] for row in points]) for key in ("x", "value", "lower", "upper"))
            panels[name][label] = Line(y, x.tolist(), lower.astype(float), upper.astype(float), markers=True)
    return draw_curves(panels, axis=drawing["axis"], **_titles(drawing))


# Recording what a notebook has measured.


def record_result(name: str, rows: Sequence[Mapping[str, Any]], **changes: Any) -> go.Figure:
    """Replace the rows of the committed result NAME by new measurements, and draw and save its figure.

    Args:
        name: a result that exists and has a drawing.
        rows: the new rows, see `difference_rows` and `comparison_rows`.
        **changes: other fields of `Result` that have changed, for example `seeds`.

    Returns:
        The figure.
    """
    fresh = {"aggregate": False, "commit": "", "versions": {}}
    save_result(replace(load_result(name), rows=rows, **{**fresh, **changes}))
    return _save(name)


def _save(name: str) -> go.Figure:
    figure = draw_result(name)
    save(figure, name, {"notebook": drawings()[name]["notebook"], "result": f"results/{name}.json"})
    return figure


if __name__ == "__main__":
    for name in drawings():
        _save(name)
