"""Figures on disk: data with provenance and a picture; for a folder of them, interactive pages and an index.

Saving the same figure again gives the same bytes. Words in a figure cannot run scripts in its page: they are escaped,
and a Content-Security-Policy allows only the page's own scripts. Without Chrome only the picture is missing.
"""

import asyncio
import atexit
import base64
import hashlib
import html
import io
import json
import re
import threading
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import plotly.graph_objects as go
import plotly.io
from PIL import Image
from plotly.utils import PlotlyJSONEncoder

from itmlab.errors import ItmlabError
from itmlab.storage import read_json, refuse_foreign, refuse_foreign_files, write_bytes

from ..places import figure_directory
from .theme import FONT, WIDTH, night_style, titled

DIGITS = 6  # significant digits of numbers in a figure's JSON


@cache
def figure_settings() -> dict[str, dict[str, Any]]:
    """Return what `figures.toml` says about each of the project's figures, by name."""
    return tomllib.loads((Path(__file__).parent / "figures.toml").read_text(encoding="utf-8"))


def save(figure: go.Figure, name: str, provenance: Mapping[str, Any], directory: Path | None = None) -> bytes | None:
    """Write NAME.json (data and provenance) and NAME.png.

    A figure of the project that has no title gets title and subtitle from `figures.toml`. Without Chrome there is no
    PNG, and one line says so.

    Args:
        figure: any plotly figure.
        name: the files' name: letters, digits, _ and -.
        provenance: what the figure shows, for example recipe, seed and data.
        directory: default: `figures`.

    Returns:
        The picture as PNG in all its colours, or None without Chrome.

    Raises:
        ItmlabError: the name is not a file name, or a file in the way is not a figure.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ItmlabError(f"{name!r} is not a name for a figure", remedy="use letters, digits, _ and - only")
    directory = directory or figure_directory()
    data, picture = directory / f"{name}.json", directory / f"{name}.png"
    refuse_foreign_files(directory, [data.name, picture.name], '"provenance": {')
    settings = figure_settings().get(name)
    if settings and not figure.layout.title.text:
        titled(figure, settings.get("title", ""), settings.get("subtitle", ""))
    write_bytes(data, figure_json(figure, provenance))
    drawn = draw(figure)
    if isinstance(drawn, bytes):
        write_bytes(picture, _smaller(drawn))
        return drawn
    picture.unlink(missing_ok=True)  # it would show older data
    say_once(f"No PNG, only JSON: {drawn}")
    return None


@cache
def say_once(line: str) -> None:
    """Print a line, unless it was printed before."""
    print(line)


def _smaller(picture: bytes) -> bytes:
    """Reduce a PNG to 256 colours, a fifth of its size."""
    buffer = io.BytesIO()
    reduced = Image.open(io.BytesIO(picture)).convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT)
    reduced.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def figure_json(figure: go.Figure, provenance: Mapping[str, Any]) -> bytes:
    """Return the figure and its provenance as JSON, with arrays as lists and numbers of six significant digits.

    >>> saved = json.loads(figure_json(go.Figure(go.Scatter(y=[1 / 3, None])), {"seed": 0}))
    >>> saved["figure"]["data"][0]["y"], saved["provenance"]
    ([0.333333, None], {'seed': 0})
    """
    packed = json.dumps({"provenance": provenance, "figure": figure.to_plotly_json()}, cls=PlotlyJSONEncoder)
    exact = json.dumps(json.loads(packed, object_hook=_unpacked))
    content = json.loads(exact, parse_float=lambda text: float(f"{float(text):.{DIGITS}g}"), parse_constant=_null)
    return (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _unpacked(entry: dict[str, Any]) -> Any:
    """Return one of plotly's packed arrays as lists, and any other object as it is."""
    if not entry.keys() >= {"dtype", "bdata"}:
        return entry
    array = np.frombuffer(base64.b64decode(entry["bdata"]), entry["dtype"])
    return array.reshape([int(size) for size in str(entry.get("shape", len(array))).split(",")]).tolist()


def _null(constant: str) -> None:
    """Return what stands for NaN and infinity, which JSON does not have."""


# Interactive pages around one shared plotly.min.js, and the index.

SCRIPT, INDEX = "plotly.min.js", "itmlab: figures"
STYLE = f"""
:root {{ color-scheme: light dark; }}
body {{ margin: 0 auto; max-width: 1200px; padding: 40px; font: 16px {FONT}; }}
.grid {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(320px, 1fr)); gap: 22px; }}
.card, .sheet {{ border: 1px solid; border-radius: 12px; padding: 12px; overflow: auto; color: inherit; }}
.card img {{ display: block; max-width: 100%; height: 210px; margin: auto; object-fit: contain; }}
pre {{ white-space: pre-wrap; }}
@media (prefers-color-scheme: dark) {{ {night_style("body")} }}
"""


def write_pages(directory: str | Path) -> Path:
    """Write NAME.html for every NAME.json in `directory`, and the index of all figures; return the index's path."""
    from plotly.offline import get_plotlyjs

    directory = Path(directory)
    index, cards = directory / "index.html", ""
    refuse_foreign(index, INDEX)
    write_bytes(directory / SCRIPT, get_plotlyjs().encode())
    for path in sorted(directory.glob("*.json")):
        content = read_json(path)
        try:
            write_page(go.Figure(content["figure"]), content["provenance"], path.with_suffix(".html"))
        except (KeyError, TypeError, ValueError):
            remedy = "move it out of the figures' folder"
            raise ItmlabError("not a saved figure", where=str(path), remedy=remedy) from None
        address = f"./{quote(path.stem)}"  # without "./" a name like javascript:… would be an address
        picture = f'<img src="{address}.png" alt="no PNG: Chrome was not found" loading="lazy">'
        cards += f'<a class="card" href="{address}.html">{picture}{html.escape(path.stem)}</a>'
    write_bytes(index, _page(INDEX, f"<h1>itmlab</h1><div class='grid'>{cards}</div>"))
    return index


def write_page(figure: go.Figure, provenance: Mapping[str, Any], path: Path) -> None:
    """Write one figure as an interactive page, beside which `write_pages` has put plotly.min.js."""
    page = {"include_plotlyjs": False, "full_html": False, "div_id": "figure", "default_width": "100%"}
    drawing = figure.to_html(**page, config={"displaylogo": False, "responsive": True})
    origin = html.escape(json.dumps(provenance, indent=2, ensure_ascii=False))
    body = f"""<p><a href="index.html">← all figures</a></p>
<div class="sheet" style="max-width: {WIDTH + 40}px">{drawing}</div>
<details><summary>Where it comes from</summary><pre>{origin}</pre></details>"""
    write_bytes(path, _page(path.stem, body, drawing))


def _page(title: str, body: str, drawing: str = "") -> bytes:
    """Return a page in which only the inline scripts of `drawing` and the shared plotly run, and nothing else loads.

    The policy names each inline script by its hash. The library is allowed by a nonce, because a page opened from the
    disk has no origin. The nonce is a hash of all words on the page, so that none of them can contain it.
    """
    nonce = _hash(title + body)
    scripts = "'none'"
    if drawing:
        inline = re.findall(r"<script[^>]*>(.*?)</script>", drawing, re.DOTALL)
        scripts = " ".join([*(f"'sha256-{_hash(script)}'" for script in inline), f"'nonce-{nonce}'"])
    kept = "base-uri 'none'; form-action 'none'"
    rules = f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src 'self' data: blob:; {kept}"
    library = f'<script nonce="{nonce}" src="{SCRIPT}"></script>' if drawing else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{rules}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title><style>{STYLE}</style>{library}</head>
<body>{body}</body></html>
""".encode(errors="replace")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode(errors="replace")).digest()).decode()


# One Chrome for the whole process, started at the first picture: 0.15 s per PNG instead of 2 s.

PATIENCE = 300  # seconds until a Chrome that does not answer is given up


broken: list[str] = []  # why Chrome is not tried again in this process: each try could take all of PATIENCE


def draw(figure: go.Figure) -> bytes | str:
    """Return `figure` as PNG bytes, or one line that says why it was not drawn.

    A Chrome that did not start or did not answer is not tried again. One that was killed is: a start takes 2 s.
    """
    if broken:
        return broken[0]
    started = False
    try:
        browser = shared_browser()
        started = True
        return browser.png(figure)
    except Exception as error:  # kaleido raises many kinds
        shared_browser.cache_clear()
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = f"Chrome drew nothing: {lines[0]}"
        if not started or isinstance(error, TimeoutError):
            broken.append(reason)
        return reason


if plotly.io.renderers.default == "plotly_mimetype":  # in a Jupyter kernel where no other renderer was chosen
    from IPython.display import HTML, display

    display(HTML(f"<style>{night_style()}</style>"))  # figures follow JupyterLab's theme


@cache
def shared_browser() -> "Browser":
    """Return the process's browser."""
    return Browser()


class Browser:
    """A headless Chrome on an event loop in its own thread, because a notebook's loop is in use.

    `kaleido.start_sync_server` does the same, but waits forever where Chrome cannot start.
    """

    def __init__(self) -> None:
        from kaleido import Kaleido

        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="figures", daemon=True).start()

        async def opened() -> Kaleido:
            kaleido = Kaleido(n=1, mathjax=False, timeout=None)  # MathJax would come from the network
            await kaleido.open()
            return kaleido

        self.kaleido = self.wait(opened())
        atexit.register(lambda: self.wait(self.kaleido.close(), seconds=10))

    def wait(self, work: Any, seconds: float = PATIENCE) -> Any:
        """Run a coroutine on the browser's loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(seconds)

    def png(self, figure: go.Figure) -> bytes:
        """Return `figure` as a PNG at twice its size in pixels."""
        size = {"width": figure.layout.width or WIDTH, "height": figure.layout.height or 460, "scale": 2}
        return self.wait(self.kaleido.calc_fig(figure.to_dict(), opts={"format": "png", **size}))
