"""Measured results as figures: `draw_result` draws `results/NAME.json` as `drawn.toml` says.

`python -m workshop.plots.drawn` draws all of them again into `figures/`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from itmlab.errors import ItmlabError
from itmlab.fields import did_you_mean
from itmlab.storage import profile

from ..places import figure_directory
from .bars import DASHED, Dot, Line, Row, draw_bars, draw_curves, draw_gains, interval_rows
from .results import ROW, load_result, save_result
from .saving import save
from .theme import colour

MARKED = 24  # points of a curve up to which each is marked
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
    return _draw(drawings()[name], load_result(name).rows)


def _draw(drawing: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    kinds = {"gains": _draw_gains, "values": _draw_values, "bars": _draw_bars, "curves": _draw_curves}
    return kinds[drawing.get("kind", "gains")](drawing, _chosen_rows(drawing, rows))


def _chosen_rows(drawing: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows that are drawn, in order, under the names that `drawing` gives them."""
    rows = [{**ROW, **row} for row in rows if row["measure"] in drawing["panels"]]
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


def _draw_bars(drawing: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    bars = {row["row"]: row["value"] if row["lower"] is None else _ends(row) for row in rows}
    return draw_bars(bars, axis=next(iter(drawing["panels"].values())), **_titles(drawing))


def _draw_curves(drawing: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    panels: dict[str, dict[str, Line]] = {}
    for measure, name in drawing["panels"].items():
        references = drawing.get("references", {}) if not panels else {}
        panels[name] = {label: Line(np.array(y), x, **DASHED) for label, (x, y) in references.items()}
        for label in dict.fromkeys(row["row"] for row in rows if row["measure"] == measure):
            points = [row for row in rows if row["measure"] == measure and row["row"] == label]
            x, y, *ends = (np.array([row[key] for row in points], float) for key in ("x", "value", "lower", "upper"))
            ends = [] if np.isnan(ends).any() else ends
            look = {"dash": "dash"} if label in drawing.get("dashed", ()) else {"markers": len(y) <= MARKED}
            panels[name][label] = Line(y, x.tolist(), *ends, **look, fill=drawing.get("fill", False))
    figure = draw_curves(panels, axis=drawing["axis"], across=drawing.get("across"), **_titles(drawing))
    return figure.update_xaxes(drawing.get("xaxis", {})).update_yaxes(drawing.get("yaxis", {}))


# Recording what a notebook has measured.


def record_result(name: str, rows: Sequence[Mapping[str, Any]], **changes: Any) -> go.Figure:
    """Replace the rows of the committed result NAME by new measurements, and draw and save its figure.

    The quick profile draws the new rows, too, and leaves the committed result and its figure unchanged.

    Args:
        name: a result that exists and has a drawing.
        rows: the new rows, see `difference_rows`, `comparison_rows`, `level_rows` and `curve_rows`.
        **changes: other fields of `Result` that have changed, for example `seeds`.

    Returns:
        The figure.
    """
    fresh = {"aggregate": False, "commit": "", "versions": {}}
    result = replace(load_result(name), rows=rows, **{**fresh, **changes})
    figure = _draw(drawings()[name], rows)
    if profile() == "full":
        save_result(result, figure_directory().parent / "results")
    return _save(name, figure)


def _save(name: str, figure: go.Figure) -> go.Figure:
    save(figure, name, {"notebook": drawings()[name]["notebook"], "result": f"results/{name}.json"})
    return figure


def curve_rows(
    panels: Mapping[str, Mapping[str, Line | Sequence[float]]], x: Sequence[float] | None = None, unit: str = ""
) -> list[dict[str, Any]]:
    """Return a row for every point of curves: the panel's name is its measure, the curve's name its row.

    Args:
        panels: `panels[panel][curve]`, as for `draw_curves`.
        x: the places of the points, where the curve has none of its own.
        unit: the unit of all values.
    """
    rows = []
    for measure, curves in panels.items():
        for name, curve in curves.items():
            line = curve if isinstance(curve, Line) else Line(np.array(curve))
            columns = {"x": x if line.x is None else line.x, "value": line.y, "lower": line.lower, "upper": line.upper}
            known = {key: np.asarray(values, float).tolist() for key, values in columns.items() if values is not None}
            for point in zip(*known.values(), strict=True):
                rows.append({"row": name, "measure": measure, **dict(zip(known, point, strict=True)), "unit": unit})
    return rows


if __name__ == "__main__":
    for name in drawings():
        _save(name, draw_result(name))
