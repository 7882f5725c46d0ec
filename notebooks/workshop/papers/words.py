"""Claims and items as lines of text: the papers' numbers beside ours, with the verdicts."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..plots.results import Result
from .entry import Entry

VERDICTS = ("held", "not seen", "contrary", "no test", "not run")


def known(value: float | None) -> bool:
    """Return whether there is such a number."""
    return value is not None and not math.isnan(value)


def number(value: float, sign: str = "+") -> str:
    """Write a number as lines show it: one decimal, two below 1; differences with their sign.

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
    return ", ".join(f"{verdicts.count(name)} {name}" for name in VERDICTS if name in verdicts) or "shown"


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
