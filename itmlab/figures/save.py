"""Figures on disk: data with provenance, a picture, an interactive page, and the index of them all."""

import io
import json
import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from ..errors import ItmlabError
from ..project import figure_directory, profile
from ..storage import write_bytes
from .browser import draw, say_once
from .pages import write_index, write_page

DIGITS = 6  # significant, of every number in a figure's JSON: enough to draw it, few enough to repeat


def save(
    figure: go.Figure, name: str, provenance: Mapping[str, Any], *, directory: str | Path | None = None
) -> list[Path]:
    """Write NAME.json (data and provenance), NAME.png and NAME.html, and the index anew; returns what was written.

    `provenance` says what the figure shows: recipe, seed, command. Versions and profile are added, a date is not, so
    that the same figure is the same bytes. Without `directory` it goes into `figures`, in the quick profile into
    `figures/quick`. Without a Chrome there is no PNG, and one line says so.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ItmlabError(f"{name!r} is no name for a figure", remedy="use letters, digits, _ and - only")
    if directory is None:
        directory = figure_directory() / "quick" if profile() == "quick" else figure_directory()
    directory = Path(directory)
    path = directory / f"{name}.json"
    origin = {**provenance, "profile": profile(), "versions": _versions()}
    written = [path, path.with_suffix(".html")]
    write_bytes(path, figure_json(figure, origin))
    write_page(figure, origin, path.with_suffix(".html"))
    picture = draw(figure)
    if isinstance(picture, bytes):
        write_bytes(path.with_suffix(".png"), smaller(picture))
        written.append(path.with_suffix(".png"))
    else:
        path.with_suffix(".png").unlink(missing_ok=True)  # an older picture of other data
        say_once(f"No PNG, only HTML and JSON: {picture} (apt-get install chromium)")
    write_index(directory)
    return written


def smaller(picture: bytes) -> bytes:
    """A PNG in 256 colours, a fifth of its size: these are kept in every clone."""
    drawn, buffer = Image.open(io.BytesIO(picture)).convert("RGB"), io.BytesIO()
    drawn.quantize(256, method=Image.Quantize.MEDIANCUT).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def write_figure(figure: go.Figure, path: str | Path) -> Path:
    """Write one figure to a .html (self-contained), .json or .png file by the ending of `path`, and return the path."""
    path = Path(path)
    if path.suffix == ".html":
        content: bytes | str = figure.to_html(include_plotlyjs=True, div_id="figure").encode()
    elif path.suffix == ".json":
        content = figure_json(figure, {"versions": _versions()})
    elif path.suffix == ".png":
        content = draw(figure)
        if isinstance(content, str):
            raise ItmlabError(
                f"no PNG without a Chrome: {content}",
                where=str(path),
                remedy="apt-get install chromium, or write .html",
            )
    else:
        raise ItmlabError("no such kind of figure file", where=str(path), remedy="end it in .html, .json or .png")
    write_bytes(path, content)
    return path


def figure_json(figure: go.Figure, provenance: Mapping[str, Any]) -> bytes:
    """The figure and its provenance as JSON, arrays as plain lists, numbers to six significant digits."""
    saved = {"provenance": _plain(provenance), "figure": _plain(figure.to_dict())}
    return (json.dumps(saved, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _plain(value: Any) -> Any:
    """Only dictionaries, lists, strings, rounded numbers, truth values and None (which stands for NaN too)."""
    if isinstance(value, Mapping):
        if value.keys() >= {"dtype", "bdata"}:  # plotly's packed arrays
            return _plain(_unpacked(value))
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    return str(value)


def _unpacked(packed: Mapping[str, Any]) -> np.ndarray:
    import base64

    array = np.frombuffer(base64.b64decode(packed["bdata"]), dtype=packed["dtype"])
    shape = packed.get("shape")
    return array if shape is None else array.reshape([int(size) for size in str(shape).split(",")])


def _versions() -> dict[str, str]:
    packages = ("itmlab", "numpy", "pillow", "plotly", "torch", "transformers")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}
