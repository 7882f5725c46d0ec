"""ITContrast's Tables 3 and 4 as figures, with the printed numbers beside: what each part brings to each encoder."""

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import plotly.graph_objects as go

from ..errors import ItmlabError
from .interval_rows import Dot, Row, interval_rows
from .theme import BLUE, GREEN, GREY, INK, ORANGE, PURPLE

if TYPE_CHECKING:
    from ..training.comparison import Comparison

# R@1 and R@10, sentence retrieval then image retrieval, Flickr30K
TABLE_3 = {
    "scan": (61.1, 91.5, 43.3, 80.9),
    "scan+syn": (66.8, 95.1, 51.7, 85.4),
    "scan+info": (70.8, 94.8, 50.4, 84.9),
    "scan+syn+info": (73.3, 97.2, 54.2, 87.0),
    "oscar": (88.3, 99.0, 75.7, 96.1),
    "oscar+syn": (90.9, 99.4, 80.7, 97.4),
    "oscar+syn+info": (92.8, 99.3, 84.1, 98.1),
}
TABLE_4 = {
    "scan": (67.4, 95.8, 48.6, 85.2),
    "scan+syn": (68.5, 96.7, 51.4, 86.4),
    "scan+info": (71.4, 97.0, 52.9, 86.1),
    "scan+syn+info": (71.7, 97.4, 54.6, 87.4),
    "sgraf": (77.8, 97.4, 58.5, 88.8),
    "sgraf+syn": (78.7, 97.8, 60.2, 89.2),
    "sgraf+info": (79.8, 97.4, 61.3, 90.5),
    "sgraf+syn+info": (80.7, 98.3, 62.2, 91.1),
}
TABLES = {3: TABLE_3, 4: TABLE_4}
MEASURES = (("i2t", 0, "image → text, R@1"), ("i2t", 2, "R@10"), ("t2i", 0, "text → image, R@1"), ("t2i", 2, "R@10"))
GAINS = {"i2t R@1": 0, "t2i R@1": 2, "RSum": None}  # and the paper's column
NAMES = {"i2t R@1": "image → text, R@1", "t2i R@1": "text → image, R@1"}
CONTROL = "+features"  # the encoder that learns by its global features too, as it does with ITContrast's parts
SHADES = {"": BLUE, CONTROL: GREY, "+syn": ORANGE, "+info": GREEN, "+syn+info": PURPLE}


def contrast_table(comparison: "Comparison", table: Literal[3, 4], *, title: str, subtitle: str = "") -> go.Figure:
    """Recall at 1 and 10 in both directions of a table's recipes, with intervals; diamonds are the paper's numbers.

    A recipe that was not compared is an ItmlabError. Below an encoder stands its control ("scan+features") where the
    comparison has one.
    """
    paper = TABLES[table]
    missing = [recipe for recipe in paper if recipe not in comparison.labels]
    if missing:
        raise ItmlabError(f"not compared: {', '.join(missing)}", remedy="give compare all recipes of the table")
    recalls, rows = comparison.recalls(), []
    for recipe in (label for each in paper for label in (each, each + CONTROL) if label in comparison.labels):
        panels = []
        for column, (direction, place, _) in enumerate(MEASURES):
            value, lower, upper = recalls[recipe][direction][place]
            dots = [Dot(value, lower, upper, SHADES[_parts(recipe)], f"{value:.1f}", at=100)]
            panels.append([*dots, Dot(paper[recipe][column], printed=True)] if recipe in paper else dots)
        rows.append((_named(recipe), panels))
    axis = {"title": "%", "range": [-4, 138], "tickvals": [0, 50, 100]}
    names = [name for *_, name in MEASURES]
    return interval_rows(rows, axes=[axis] * len(MEASURES), title=title, subtitle=subtitle, panels=names)


def contrast_gains(comparison: "Comparison", *, title: str, subtitle: str = "") -> go.Figure:
    """What each part adds to each encoder: differences in R@1 and RSum from the same encoder without any.

    Where the comparison has an encoder's control ("scan+features"), the parts are held against that, and it against the
    encoder. Intervals are of paired differences; diamonds the differences that Tables 3 and 4 print, one of each that
    has the recipe.
    """
    gains = {label: _gains(comparison, label) for label in comparison.labels if _parts(label)}
    axes, ends = [], []
    for column in range(len(GAINS)):
        dots = [dot for panels in gains.values() for dot in panels[column]]
        least = min(value for dot in dots for value in (dot.value, dot.lower) if value is not None)
        most = max(value for dot in dots for value in (dot.value, dot.upper) if value is not None)
        ends.append(most + 0.03 * (most - least))  # behind which the numbers stand
        axes.append({"title": "points", "range": [least - 0.05 * (most - least), most + 0.36 * (most - least)]})
    rows: list[Row] = []
    for label in comparison.labels:
        encoder = _named(label.split("+")[0])
        if label in gains:
            panels = [[*dots[1:], replace(dots[0], at=end)] for dots, end in zip(gains[label], ends, strict=True)]
            rows.append((_named(label).removeprefix(encoder).strip(), panels))
        else:
            rows.append((encoder, [None] * len(GAINS)))
    names = [NAMES.get(measure, measure) for measure in GAINS]
    figure = interval_rows(rows, axes=axes, title=title, subtitle=subtitle, panels=names)
    return figure.update_xaxes(zeroline=True, zerolinecolor=INK, zerolinewidth=1)


def _gains(comparison: "Comparison", label: str) -> list[list[Dot]]:
    """For each of `GAINS` the difference that was found, then those printed."""
    encoder, parts = label.split("+")[0], _parts(label)
    controlled = parts != CONTROL and encoder + CONTROL in comparison.labels
    found, panels = comparison.difference(label, encoder + CONTROL if controlled else encoder), []
    for measure, column in GAINS.items():
        value, lower, upper = found[measure]
        own = Dot(value, lower, upper, SHADES[parts], f"{value:+.1f}".replace("-", "−"))
        tables = [table for table in TABLES.values() if column is not None and label in table]
        panels.append([own, *(Dot(table[label][column] - table[encoder][column], printed=True) for table in tables)])
    return panels


def _named(recipe: str) -> str:
    """A recipe's name as the paper writes it."""
    encoder, *parts = recipe.split("+")
    said = {"features": "global features"}
    return " + ".join([encoder.upper(), *(said.get(part, part.capitalize()) for part in parts)])


def _parts(recipe: str) -> str:
    """What is added to its encoder, as the key of its colour."""
    return recipe.removeprefix(recipe.split("+")[0])
