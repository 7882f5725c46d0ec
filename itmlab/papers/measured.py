"""Where in a committed file an interval lies, a figure's or one of `papers/results`, and how it is read out of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..metrics.statistics import Interval, wilson
from ..storage import read_json, shipped_directory

RESULTS = Path(__file__).parent / "results"


@cache
def saved(path: Path) -> dict[str, Any]:
    """A JSON file, read once."""
    return read_json(path)


def figure_file(name: str) -> dict[str, Any]:
    """A committed figure as it was saved: "figure" and "provenance"."""
    if (root := shipped_directory()) is None:
        raise ItmlabError("the figures are not beside the package", remedy="git clone the project, pip install -e .")
    return saved(root / "figures" / f"{name}.json")


@dataclass(frozen=True)
class Measured:
    """An interval in a committed file (a figure's, or one of `papers/results`), and how it is read out of it."""

    file: str
    read: Callable[[dict[str, Any]], Interval]

    def interval(self) -> Interval:
        """The value and the ends of its 95 % interval."""
        result = RESULTS / f"{self.file}.json"
        return self.read(saved(result) if result.exists() else figure_file(self.file))


def noted(file: str, *path: str) -> Measured:
    """An interval that stands in a figure's provenance, or in a result, under these keys."""

    def read(content: dict[str, Any]) -> Interval:
        value: Any = content.get("provenance", {}) if "figure" in content else content
        for key in path:
            value = value[key]
        return Interval(*value)

    return Measured(file, read)


def row(file: str, label: str, column: str | None = None, **asked: Any) -> Measured:
    """The difference to the baseline of a comparison's table, or of a list of differences, by the row's fields."""

    def read(content: dict[str, Any]) -> Interval:
        provenance = content["provenance"]
        wanted = {"recipe": label, **asked, **({"measure": column} if column else {})}
        rows = provenance.get("table") or provenance["differences"]
        (found,) = [each for each in rows if wanted.items() <= each.items()]
        return Interval(found["difference"], found["lower"], found["upper"])

    return Measured(file, read)


def drawn(
    file: str, label: Any, *, panel: int = 1, heading: str | None = None, name: str | None = None, nth: int = 0
) -> Measured:
    """A point with its interval in a figure: in which panel, in which row (below a heading), of which trace.

    In a row that has several it is the `nth`.
    """

    def read(content: dict[str, Any]) -> Interval:
        figure = content["figure"]
        axis = "x" if panel == 1 else f"x{panel}"
        ticks = figure["layout"].get("yaxis", {})
        labels = dict(zip(ticks.get("tickvals", ()), ticks.get("ticktext", ()), strict=True))
        below: Any = None
        places, found = [], []
        for place, text in labels.items():
            below = text if text.startswith("<b>") else below
            if text == label and heading in (None, (below or "").removeprefix("<b>").removesuffix("</b>")):
                places.append(place)
        for trace in figure["data"]:
            for way, across in (("error_x", "y"), ("error_y", "x")):
                whiskers, where = trace.get(way) or {}, trace.get("xaxis", "x")
                if where != axis or "arrayminus" not in whiskers or name not in (None, trace.get("name")):
                    continue
                along = "x" if way == "error_x" else "y"
                for at, each in enumerate(trace[across]):
                    if each == label or each in places:
                        value = trace[along][at]
                        found.append(Interval(value, value - whiskers["arrayminus"][at], value + whiskers["array"][at]))
        if nth >= len(found):
            raise ItmlabError(f"no row {label!r} with an interval", where=f"{file}, panel {panel}")
        return found[nth]

    return Measured(file, read)


def share(file: str, count: Callable[[dict[str, Any]], tuple[float, int]]) -> Measured:
    """A share counted in a figure's points (0 to 1, and of how many), in percent with Wilson's interval."""

    def read(content: dict[str, Any]) -> Interval:
        part, of = count(content["figure"])
        lower, upper = wilson(part, of)
        return Interval(100 * part, 100 * float(lower), 100 * float(upper))

    return Measured(file, read)


def apart(one: Measured, other: Measured) -> Measured:
    """One minus the other, as if they were independent: from their intervals' ends (Zou and Donner 2008).

    Both are of the same pictures, so that the interval is too wide rather than too narrow.
    """

    def read(_: dict[str, Any]) -> Interval:
        (a, low, high), (b, least, most) = one.interval(), other.interval()
        return Interval(a - b, a - b - math.hypot(a - low, most - b), a - b + math.hypot(high - a, b - least))

    return Measured(one.file, read)
