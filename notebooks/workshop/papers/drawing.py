"""Claims as figures and lines: the papers' numbers beside ours, and every item by its claims' verdicts."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from ..plots.charts import CLEAR, Dot, Row, draw_forest
from ..plots.results import Result
from ..plots.theme import GREEN, GREY, INK, RULE, VERMILION, WIDTH
from .entry import Entry, by_name, entries

SHADES = {"held": GREEN, "not seen": GREY, "contrary": VERMILION, "no test": "#B3BAC3", "not run": "#D5DAE0"}
TICKS = (0.02, 0.1, 0.25, 0.5, 1, 5, 20, 50, 100, 200, 400)


# Words.


def known(value: float | None) -> bool:
    """Return whether there is such a number."""
    return value is not None and not math.isnan(value)


def number(value: float, sign: str = "+") -> str:
    """Write a number as figures and lines show it: one decimal, two below 1; differences with their sign.

    >>> number(-12.34), number(0.043), number(96.5, "")
    ('−12.3', '+0.04', '96.5')
    """
    return f"{value:{sign}.{1 if abs(value) >= 1 else 2}f}".replace("-", "−")


def measured(row: Mapping[str, Any]) -> str:
    """Write what was measured for a claim: "held: +1.2 (0.3 to 2.1)"."""
    if not known(row["here"]):
        return row["verdict"]
    value, lower, upper = (number(row[key], _sign(row)) for key in ("here", "lower", "upper"))
    return f"{row['verdict']}: {value} ({lower} to {upper})"


def _sign(row: Mapping[str, Any]) -> str:
    return "" if row["mark"] else "+"  # a share is compared with a mark, a difference with 0


def verdicts_in_words(claims: Sequence[Mapping[str, Any]]) -> str:
    """Write how many claims have each verdict; "shown" for an item without claims.

    >>> verdicts_in_words([{"verdict": "held"}, {"verdict": "held"}, {"verdict": "not run"}]), verdicts_in_words([])
    ('2 held, 1 not run', 'shown')
    """
    verdicts = [row["verdict"] for row in claims]
    return ", ".join(f"{verdicts.count(name)} {name}" for name in SHADES if name in verdicts) or "shown"


def entry_in_lines(entry: Entry, result: Result | None = None) -> str:
    """Write an item as lines of text: its table as printed and as measured, then each claim with its verdict."""
    lines = [f"{entry.item}: {entry.title}", f"  {entry.place}"]
    if entry.published is not None:
        frame = entry.table(result)
        for part in dict.fromkeys(frame.columns.get_level_values(0)):
            rows = frame[part].dropna(how="all").to_string(float_format=lambda value: f"{value:.4g}", na_rep="·")
            lines += [f"  {part}", *(f"    {line}" for line in rows.splitlines())]
    for row in entry.verdicts(result):
        paper = f" (the paper: {number(row['printed'], _sign(row))})" if known(row["printed"]) else ""
        lines.append(f"  {measured(row)} {row['unit']}".rstrip() + f"{paper}: {row['claim']}")
        details = [row["why not"], row["by"] or row["command"]]
        if row["verdict"] == "not seen":
            details.append(f"{row['smallest']:.2g} would have been seen")
        lines.append(f"      {'; '.join(filter(None, details))}")
    lines += [f"  note: {note}" for note in entry.notes]
    if not entry.claims:
        shown = f"figures: {', '.join(entry.figures)}" if entry.figures else ""
        lines.append(f"  {'; '.join(filter(None, [entry.without, shown]))}")
    return "\n".join(lines)


# Figures.


def root(value: float) -> float:
    """Return the square root with its sign, which shows small and large differences on one axis.

    >>> root(-25.0), root(4.0)
    (-5.0, 2.0)
    """
    return math.copysign(math.sqrt(abs(value)), value)


def draw_claims(rows: Sequence[Mapping[str, Any]], *, title: str) -> go.Figure:
    """Draw a row per claim: the paper's number as a diamond, ours with its interval in the colour of its verdict.

    A broad grey line shows what counts as equal, a stroke the mark that a share is compared with.
    """
    lines: list[Row] = []
    axis = _root_axis(rows)
    for row in rows:
        dots = []
        if row["margin"]:
            ends = (root(row["mark"] + side * row["margin"]) for side in (0, -1, 1))
            dots.append(Dot(*ends, shade=RULE, thickness=16, size=0))
        elif row["mark"]:
            dots.append(Dot(root(row["mark"]), symbol="line-ns", size=18))
        if known(row["printed"]):
            dots.append(Dot(root(row["printed"]), printed=True))
        if known(row["here"]):
            ends = (root(row[key]) for key in ("here", "lower", "upper"))
            dots.append(Dot(*ends, shade=SHADES[row["verdict"]], thickness=2.5))
        unit = row["unit"] if known(row["here"]) else ""
        dots.append(Dot(axis["range"][1], shade=CLEAR, text=f"{measured(row)} {unit}"))
        lines.append((row["claim"], [dots]))
    subtitle = "diamonds: as printed, on the paper's data; dots: measured here, 95 % intervals; root scale"
    figure = draw_forest(lines, axes=[axis], title=title, subtitle=subtitle, row_height=54)
    figure.update_xaxes(zeroline=True, zerolinecolor=INK, zerolinewidth=1)
    return figure.update_layout(width=WIDTH, margin_r=236, title={"x": 16 / WIDTH, "xref": "container"})


def _root_axis(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return ticks and range of an axis on a root scale that holds all values of the claims."""
    values = [row[key] for row in rows for key in ("printed", "lower", "upper", "mark") if known(row[key])]
    least, most = min([0.0, *values]), max([0.0, *values])
    smallest = 0.02 * max(most, -least)  # ticks nearer to 0 than this would overlap its own
    ticks = [tick for tick in TICKS if tick > smallest]
    shown = [tick for tick in (*(-tick for tick in reversed(ticks)), 0, *ticks) if least <= tick <= most]
    room = 0.05 * (root(most) - root(least) or 1)
    return {
        "tickvals": [root(tick) for tick in shown],
        "ticktext": [f"{tick:g}" for tick in shown],
        "range": [root(least) - room, root(most) + room],
    }


def draw_costs(result: Result) -> go.Figure:
    """Draw what each part costs a step, from `result`, beside what it brings, from the ledger's claims.

    `result.details["parts"]` lists the parts: the rows `without` and `with` them, and the claim about the gain.
    """
    seconds = {row["row"]: row for row in result.rows}
    rows: list[Row] = []
    heading = ""
    for part in result.details["parts"]:
        base, added = seconds[part["without"]], seconds[part["with"]]
        if base["group"] != heading:
            heading = base["group"]
            rows.append((f"{heading}: {base['value']:.2f} s", []))
        ratios = [with_part / without for with_part, without in zip(added["per_turn"], base["per_turn"], strict=True)]
        cost = sum(ratios) / len(ratios)
        gain = claim_row(part["item"], part["claim"])
        brings = Dot(0.0, shade=CLEAR, text=gain["verdict"])
        if known(gain["here"]):
            brings = Dot(gain["here"], gain["lower"], gain["upper"], text=number(gain["here"]))
        rows.append((part["name"], [Dot(cost, min(ratios), max(ratios), text=f"{cost:.2f} ×"), brings]))
    return draw_forest(
        rows,
        axes=[{"title": "times the step without it"}, {"title": "points of RSum"}],
        panels=["what it costs", "what it brings"],
        title="What a part costs a step, and what it brings",
        subtitle="CPU seconds, mean and range of three turns; gains from the ledger with 95 % intervals",
    )


def claim_row(item: str, claim: str) -> dict[str, Any]:
    """Return the ledger's row of a claim of an item."""
    rows = {row["claim"]: row for row in entries(item)[item].verdicts()}
    return by_name(claim, rows, "claim")
