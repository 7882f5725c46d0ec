"""A run's record logged to trackio as well: curves of many runs on one local page (extra: track)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import MissingPart
from .recipe import Recipe


@contextmanager
def tracked(project: str, recipe: Recipe, directory: str | Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """What to hand to `train(on_record=…)`: each record goes to the trackio project, under the run directory's name.

    Everything stays on this machine; `trackio show` opens the page. Without trackio this is a MissingPart.
    """
    try:
        import trackio
    except ImportError:
        remedy = "pip install -c constraints.txt -e '.[track]'"
        raise MissingPart("trackio", remedy, needed_for="tracking") from None
    name = Path(directory).resolve().name
    trackio.init(project, name=name, config=recipe.to_json(), resume="allow", embed=False, auto_log_cpu=False)
    try:
        yield lambda record: trackio.log(flat(record), step=record["step"])
    finally:
        trackio.finish()


def flat(record: dict[str, Any]) -> dict[str, float]:
    """The numbers of a record under one name each, such as "epoch/i2t R@1"."""
    kind, numbers = record["kind"], {}
    for name, value in record.items():
        if isinstance(value, dict):
            named = {key if isinstance(key, str) else f"R@{key}": number for key, number in value.items()}
            numbers |= {f"{kind}/{name} {key}": one for key, one in named.items() if isinstance(one, int | float)}
        elif isinstance(value, int | float) and name != "step":
            numbers[f"{kind}/{name}"] = value
    return numbers
