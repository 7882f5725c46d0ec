"""Directives that make tables when the book is built: measured results, claims of the papers, help of the commands.

`{results} NAME` shows `results/NAME.json`, one row per compared recipe and one column per measure, with 95 % intervals.
Its options choose and order what is shown, separated by semicolons: `:measures: RSum; i2t mAP@R`, `:groups:`, `:rows:`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

RESULTS = Path(__file__).resolve().parents[2] / "results"
UNITS = {"%": " %"}


def decimals_for(values: Sequence[float]) -> int:
    """Return how many decimals a column needs: one, or more where all of its values are small.

    >>> decimals_for([523.4, 0.12]), decimals_for([0.3, 0.04]), decimals_for([0.03])
    (1, 2, 3)
    """
    largest = max(map(abs, values), default=0)
    return 1 if largest >= 1 else 2 if largest >= 0.1 else 3


def format_number(value: float | None, decimals: int, *, signed: bool = False) -> str:
    """Write a number, or nothing for one that is missing; a difference with its sign.

    >>> format_number(523.456, 1), format_number(-1.25, 1, signed=True), format_number(None, 1)
    ('523.5', '−1.2', '')
    """
    if value is None or math.isnan(value):
        return ""
    rounded = round(value, decimals) + 0.0  # no negative zero
    return f"{rounded:{'+' if signed else ''}.{decimals}f}".replace("-", "−")


def format_interval(row: Mapping[str, Any], decimals: int, *, signed: bool = False) -> str:
    """Write a value with the ends of its interval and its unit: "+1.2 (0.3 to 2.1)"."""
    text = format_number(row["value"], decimals, signed=signed)
    lower, upper = (format_number(row.get(end), decimals) for end in ("lower", "upper"))
    interval = f" ({lower} to {upper})" if text and lower else ""
    return text + interval + UNITS.get(row.get("unit", ""), "")


def make_table(header: Sequence[str], body: Sequence[Sequence[str]], style: str = "measured") -> nodes.table:
    """Build a table of plain text; `style` is its class in `book.css`."""

    def make_row(cells: Sequence[str]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", nodes.paragraph("", cell)) for cell in cells))

    columns = [nodes.colspec(colwidth=1) for _ in header]
    head = nodes.thead("", make_row(header))
    group = nodes.tgroup("", *columns, head, nodes.tbody("", *map(make_row, body)), cols=len(header))
    return nodes.table("", group, classes=[style])


def choose(option: str | None, present: Sequence[str]) -> list[str]:
    """Return the names of an option that are present, in its order; without an option, return all that are present."""
    return [name for name in option.split("; ") if name in present] if option else list(present)


class Results(Directive):
    """The table of a measured result."""

    required_arguments = 1
    option_spec: ClassVar = dict.fromkeys(("measures", "groups", "rows", "only"), directives.unchanged)

    def run(self) -> list[nodes.Node]:
        """Return the table and a line with its source."""
        path = RESULTS / f"{self.arguments[0]}.json"
        if not path.is_file():
            raise self.error(f"there is no result {path.name}")
        self.state.document.settings.env.note_dependency(str(path))
        result = json.loads(path.read_text(encoding="utf-8"))
        rows = [row for row in result["rows"] if row.get("value") is not None]
        if "only" in self.options:
            rows = [row for row in rows if bool(row.get("minus")) == (self.options["only"] == "differences")]
        groups, labels, measures = (choose(self.options.get(f"{key}s"), names_of(rows, key)) for key in KEYS)
        rows = [row for row in rows if row["measure"] in measures and row["row"] in labels]
        rows = [row for row in rows if (row.get("group") or "") in groups]
        if not rows:
            raise self.error(f"no row of {path.name} matches the options")
        rows.sort(key=lambda row: (groups.index(row.get("group") or ""), labels.index(row["row"]), position(row)))
        signed = {kind_of(row) for row in rows if row.get("minus") or min(row["value"], row.get("lower") or 0) < 0}
        decimals = {name: decimals_for([row["value"] for row in rows if row["measure"] == name]) for name in measures}
        body = []
        for (group, label, (base, x)), same in groupby(
            rows, key=lambda row: (row.get("group"), row["row"], position(row))
        ):
            cells = {row["measure"]: row for row in same}
            values = [
                format_interval(cells[name], decimals[name], signed=kind_of(cells[name]) in signed)
                if name in cells
                else ""
                for name in measures
            ]
            place = f"{x:.4g}" if x > -math.inf else ""
            body.append([group or "", f"{label} minus {base}" if base else label, place, *values])
        header = ["setting", "row", result["details"].get("x", "at"), *measures]
        return [make_table(*without_empty_columns(header, body)), source_line(result)]


KEYS = ("group", "row", "measure")


def names_of(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """List the different names under a key, in order of appearance."""
    return list(dict.fromkeys(row.get(key) or "" for row in rows))


def position(row: Mapping[str, Any]) -> tuple[str, float]:
    """Return what a row is compared with, and its place on a curve."""
    return row.get("minus") or "", -math.inf if row.get("x") is None else row["x"]


def kind_of(row: Mapping[str, Any]) -> tuple[str, bool]:
    """Return a row's measure and whether it is a difference: such values are written in the same way."""
    return row["measure"], bool(row.get("minus"))


def without_empty_columns(header: list[str], body: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Leave out columns in which no row has anything."""
    used = [place for place in range(len(header)) if any(row[place] for row in body)]
    return [header[place] for place in used], [[row[place] for place in used] for row in body]


def source_line(result: Mapping[str, Any]) -> nodes.paragraph:
    """Say from which file and command a table comes, and with which seeds."""
    seeds = f"{len(result['seeds'])} seeds; " if result["seeds"] else ""
    line = nodes.paragraph(classes=["measured-source"])
    line += nodes.literal(text=f"results/{result['name']}.json")
    line += nodes.Text(f": {seeds}repeat it with ")
    line += nodes.literal(text=result["command"])
    return line


class Ledger(Directive):
    """The claims of a paper: its number, ours, and the verdict."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return one row per claim."""
        from workshop.papers import ledger

        header = ["item", "claim", "kind", "paper", "here (95 % interval)", "headroom", "verdict", "how, or why not"]
        body = []
        for row in ledger(self.arguments[0]).to_dict("records"):
            signed = not row["mark"]  # a share is compared with a mark, a difference with 0
            decimals = decimals_for([row[key] for key in ("printed", "here") if not math.isnan(row[key])])
            here = format_interval({**row, "value": row["here"], "unit": ""}, decimals, signed=signed)
            printed, headroom = (format_number(row[key], decimals, signed=signed) for key in ("printed", "headroom"))
            how = "; ".join(row[key] for key in ("why not", "by", "command") if row[key])
            measured = f"{here} {row['unit']}" if here else ""
            kind = "own question" if row["kind"] == "own" else row["kind"]
            body.append([row["item"], row["claim"], kind, printed, measured, headroom, row["verdict"], how])
        return [make_table(*without_empty_columns(header, body), "listed")]


class Items(Directive):
    """The tables and figures of a paper, with what shows or repeats each."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return one row per table or figure."""
        from workshop.papers import entries
        from workshop.papers.words import verdicts_in_words

        header = ["item", "what it shows", "verdicts here", "figures", "command"]
        body = [
            [
                entry.item,
                entry.title,
                verdicts_in_words(entry.verdicts()),
                ", ".join(entry.figures),
                f"python -m workshop reproduce {entry.name}",
            ]
            for entry in entries(self.arguments[0]).values()
        ]
        return [make_table(header, body, "listed")]


class Commands(Directive):
    """The help of every command of a typer application."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return one section per command."""
        from importlib import import_module

        import click
        from typer.main import get_command

        module = self.arguments[0]
        shown: list[nodes.Node] = []
        for name, command in sorted(get_command(import_module(module).app).commands.items()):
            title = f"python -m {module.partition('.')[0]} {name}"
            section = nodes.section("", nodes.title("", title), ids=[nodes.make_id(title)])
            text = command.get_help(click.Context(command, info_name=title, terminal_width=100))
            section += nodes.literal_block(text, text, language="text")
            shown.append(section)
        return shown


def setup(app: Any) -> dict[str, bool]:
    """Add the directives to Sphinx."""
    for name, directive in {"results": Results, "ledger": Ledger, "items": Items, "commands": Commands}.items():
        app.add_directive(name, directive)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
