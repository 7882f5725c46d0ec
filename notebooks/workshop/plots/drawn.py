"""Measured results as figures: `draw_result` draws `results/NAME.json` as `figures.toml` says.

`python -m workshop.plots.drawn` draws all of them again into `figures/`.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from itmlab.errors import ItmlabError
from itmlab.fields import did_you_mean

from ..places import figure_directory
from .charts import CLEAR, Dot, Line, Row, draw_curves, draw_forest, draw_gains
from .results import ROW, Result, list_results, load_result, save_result
from .saving import figure_settings, save
from .theme import BLUE, GREY, INK, MUTED, method_colour

MARKED = 24  # points of a curve up to which each is marked
Rows = Sequence[Mapping[str, Any]]


@cache
def drawings() -> dict[str, dict[str, Any]]:
    """Return how each result is drawn, by the result's name."""
    return {name: settings for name, settings in figure_settings().items() if "panels" in settings}


def draw_result(name: str) -> go.Figure:
    """Draw the measured result `results/NAME.json`.

    Raises:
        ItmlabError: there is no such result, or `figures.toml` does not say how to draw it.

    >>> draw_result("two_starts").layout.height > 500
    True
    """
    return draw_rows(name, load_result(_result_of(name)).rows)


def _result_of(name: str) -> str:
    """Return the result that a figure shows, by default the one of its own name."""
    return drawings().get(name, {}).get("result", name)


def _chosen_rows(drawing: Mapping[str, Any], rows: Rows) -> list[dict[str, Any]]:
    """Return the rows that are drawn, in order, under the names that `drawing` gives them."""
    wanted = drawing.get("where", {}).items()
    rows = [row for row in rows if all(row[key] == value for key, value in wanted)]
    if "against" in drawing:
        rows = _minus(rows, drawing["against"])
    for key in ("row", "measure"):
        if template := drawing.get(f"{key}_name"):
            rows = [{**row, key: template.format(**row)} for row in rows]
    rows = [row for row in rows if row["measure"] in drawing["panels"]]
    if names := drawing.get("rows"):
        rows = [{**row, "row": name} for label, name in names.items() for row in rows if row["row"] == label]
    return rows


def _minus(rows: Rows, baseline: str) -> list[dict[str, Any]]:
    """Return the differences of values, without intervals, to one row at the same place."""
    place = itemgetter("group", "measure", "x")
    base = {place(row): row["value"] for row in rows if row["row"] == baseline}
    ends = {"lower": None, "upper": None}
    return [{**row, "value": row["value"] - base[place(row)], **ends} for row in rows if place(row) in base]


def _draw_gains(drawing: Mapping[str, Any], rows: Rows, **titles: str) -> go.Figure:
    differences = [row for row in rows if row["minus"]]
    gains: dict[str, dict[str, dict[str, Any]]] = {}
    for row in differences or rows:
        if row["lower"] is not None:
            ends = row["value"], row["lower"], row["upper"]
            gains.setdefault(row["group"], {}).setdefault(row["row"], {})[row["measure"]] = ends
    return draw_gains(gains, drawing["panels"], **titles)


def _draw_values(drawing: Mapping[str, Any], rows: Rows, **titles: str) -> go.Figure:
    panels, printed, lines = drawing["panels"], drawing.get("printed", {}), list[Row]()
    levels = {(row["group"], row["row"], row["measure"]): row for row in rows if not row["minus"]}
    measured = {measure for _, _, measure in levels}
    labels = list(dict.fromkeys((group, label) for group, label, _ in levels))
    ends = {measure: _last_end(levels.values(), printed, measure) for measure in panels}
    zero = [Dot(0.0, shade=CLEAR)] if drawing.get("from_zero") else []
    plain = MUTED if any(method_colour(label) for _, label in labels) else BLUE
    for group, label in labels:
        if group and (group, []) not in lines:
            lines.append((group, []))
        numbers = printed.get(f"{group}: {label}" if group else label, {})
        cells: list[list[Dot]] = []
        for measure in panels:
            dots = []
            if measure in numbers:
                alone = "" if measure in measured else f"{numbers[measure]:.1f}"
                dots.append(Dot(numbers[measure], printed=True, text=alone))
            if row := levels.get((group, label, measure)):
                text = f"{row['value']:.{2 if 0 < abs(row['value']) < 1 else 1}f}"
                shade = method_colour(label) or plain
                dots.append(Dot(row["value"], row["lower"], row["upper"], shade, text, at=ends[measure]))
            cells.append(dots + zero)
        lines.append((label, cells))
    axes = [{"tickangle": 0, **drawing.get("xaxis", {})}] * len(panels)
    return draw_forest(lines, axes=axes, panels=list(panels.values()), **titles)


def _last_end(rows: Iterable[Mapping[str, Any]], printed: Mapping[str, Any], measure: str) -> float:
    """Return the largest number of a panel: the texts begin behind it."""
    drawn = [row["value"] if row["upper"] is None else row["upper"] for row in rows if row["measure"] == measure]
    return max([*drawn, *(numbers[measure] for numbers in printed.values() if measure in numbers)], default=0.0)


def _draw_curves(drawing: Mapping[str, Any], rows: Rows, **titles: str) -> go.Figure:
    panels: dict[str, dict[str, Line]] = {}
    for measure, name in drawing["panels"].items():
        references = drawing.get("references", {}) if not panels else {}
        panels[name] = {
            label: Line(np.array(y), x, shade=GREY, dash="dash", width=2) for label, (x, y) in references.items()
        }
        for label in dict.fromkeys(row["row"] for row in rows if row["measure"] == measure):
            points = [row for row in rows if row["measure"] == measure and row["row"] == label]
            x, y, *ends = (np.array([row[key] for row in points], float) for key in ("x", "value", "lower", "upper"))
            ends = [] if np.isnan(ends).any() else ends
            look = {"dash": "dash"} if label in drawing.get("dashed", ()) else {"markers": len(y) <= MARKED}
            panels[name][label] = Line(y, x.tolist(), *ends, **look, fill=drawing.get("fill", False))
    options = {key: drawing[key] for key in ("across", "named_at_end") if key in drawing}
    figure = draw_curves(panels, axis=drawing["axis"], **options, **titles)
    if drawing.get("differences"):
        figure.update_yaxes(rangemode="normal", zeroline=True, zerolinecolor=INK, zerolinewidth=1)
    return figure.update_xaxes(drawing.get("xaxis", {})).update_yaxes(drawing.get("yaxis", {}))


def _draw_ranks(drawing: Mapping[str, Any], rows: Rows, **titles: str) -> go.Figure:
    """Draw the place of each row by each measure, with its value in the mark (a bump chart)."""
    curves: dict[str, list[tuple[str, int, str]]] = {}
    for measure, name in drawing["panels"].items():
        of_measure = sorted((row for row in rows if row["measure"] == measure), key=lambda row: -row["value"])
        for rank, row in enumerate(of_measure, 1):
            curves.setdefault(row["row"], []).append((name.replace(" ", "<br>"), rank, f"{row['value']:.1f}"))
    lines = {}
    for label in sorted(curves, key=lambda name: curves[name][-1][1]):
        measures, ranks, texts = zip(*curves[label], strict=True)
        lines[label] = Line(np.array(ranks), measures, texts=texts)
    figure = draw_curves({"": lines}, axis="", named_at_end=True, **titles)
    figure.update_yaxes(range=[len(lines) + 0.5, 0.5], dtick=1, title="place", showgrid=False)
    return figure.update_layout(height=figure.layout.height + 40)


# Recording what a notebook has measured.


def draw_rows(name: str, rows: Rows) -> go.Figure:
    """Draw the figure NAME of `figures.toml` from rows that were computed just now, for example in a notebook.

    Args:
        name: a figure that has a drawing.
        rows: the rows, see `difference_rows`, `comparison_rows`, `level_rows` and `curve_rows`.

    Raises:
        ItmlabError: `figures.toml` does not say how to draw it.
    """
    if name not in drawings():
        raise ItmlabError(f"no drawing of a result {name!r}", remedy=did_you_mean(name, drawings()))
    drawing = drawings()[name]
    kinds = {"gains": _draw_gains, "values": _draw_values, "curves": _draw_curves, "ranks": _draw_ranks}
    draw = kinds[drawing.get("kind", "gains")]
    titles = {"title": drawing["title"], "subtitle": drawing["subtitle"]}
    return draw(drawing, _chosen_rows(drawing, [{**ROW, **row} for row in rows]), **titles)


def record_result(name: str, rows: Rows, **changes: Any) -> go.Figure:
    """Save new measurements as the result NAME, and draw and save its figure.

    The code of the report's pages calls it; a notebook draws with `draw_rows`. Question, protocol and data
    are kept from the committed result. A result that does not exist has the drawing's title as its question.

    Args:
        name: a result that has a drawing.
        rows: the new rows, see `difference_rows`, `comparison_rows`, `level_rows` and `curve_rows`.
        **changes: other fields of `Result` that have changed, for example `seeds`.

    Returns:
        The figure.
    """
    page = Path(sys.argv[0]).stem  # `report.measure_page` names its script after the page
    new = Result(name, drawings()[name]["title"], f"python -m workshop reproduce {page}", rows)
    known = load_result(name) if name in list_results() else new
    result = replace(known, rows=rows, **{"commit": "", "versions": {}, **changes})
    figure = draw_rows(name, rows)
    save_result(result, figure_directory().parent / "results")
    save(figure, name, {"result": f"results/{name}.json"})
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
        save(draw_result(name), name, {"result": f"results/{_result_of(name)}.json"}, figure_directory())
