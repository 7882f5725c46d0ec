"""Figures on disk: data with provenance, a picture, an interactive page, and the index of them all.

The same figure is the same bytes again, nothing that a figure says takes effect in its page (words are escaped, and a
Content-Security-Policy lets the page's own scripts run and nothing else), and without a Chrome only the picture is
missing.
"""

import asyncio
import atexit
import base64
import hashlib
import html
import io
import json
import os
import platform
import re
import threading
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import plotly.graph_objects as go
import plotly.io
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from plotly.io.base_renderers import MimetypeRenderer

from ...errors import ItmlabError
from ...storage import (
    figure_directory,
    profile,
    read_json,
    refuse_foreign,
    refuse_foreign_files,
    shipped_directory,
    write_bytes,
)
from .theme import FONT, INK, MUTED, PANEL, PAPER, RULE, WIDTH, title_and_subtitle

FIGURE = "itmlab_figure"  # in each file that `write_figure` wrote, and may write again
DIGITS = 6  # significant, of every number in a figure's JSON: enough to draw it, few enough to repeat


def save(
    figure: go.Figure,
    name: str,
    provenance: Mapping[str, Any],
    *,
    directory: str | Path | None = None,
    force: bool = False,
) -> list[Path]:
    """Write NAME.json (data and provenance), NAME.png and NAME.html, and the index anew; returns what was written.

    `provenance` says what the figure shows: recipe, seed, command. Versions and profile are added, a date is not, so
    that the same figure is the same bytes. Without `directory` it goes into `figures`, in the quick profile into
    `figures/quick`. Without a Chrome there is no PNG, and one line says so. A figure saved before is drawn anew; files
    of these names that are no figure are an ItmlabError unless `force`.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ItmlabError(f"{name!r} is no name for a figure", remedy="use letters, digits, _ and - only")
    if directory is None:
        directory = figure_directory() / "quick" if profile() == "quick" else figure_directory()
    path, page, drawn = (Path(directory) / f"{name}.{ending}" for ending in ("json", "html", "png"))
    origin = {**provenance, "profile": profile(), "versions": _versions()}
    refuse_foreign_files(path.parent, [path.name, page.name, drawn.name], '"provenance": {', force=force)
    for other, mark in (("index.html", INDEX), (SCRIPT, "plotly.js")):
        refuse_foreign(path.parent / other, mark, force=force)
    write_bytes(path, figure_json(figure, origin))
    write_page(figure, origin, page)
    picture = draw(figure)
    if isinstance(picture, bytes):
        write_bytes(drawn, smaller(picture))
    else:
        drawn.unlink(missing_ok=True)  # an older picture of other data
        say_once(f"No PNG, only HTML and JSON: {picture}")
    write_index(Path(directory))
    if listed := os.environ.get("ITMLAB_FIGURE_LIST"):  # by it the tour counts each notebook's own figures
        with open(listed, "a", encoding="utf-8") as file:
            file.write(f"{path}\n")
    return [path, page, drawn] if isinstance(picture, bytes) else [path, page]


@cache
def say_once(line: str) -> None:
    """Print a line, unless it was printed before."""
    print(line)


def smaller(picture: bytes) -> bytes:
    """A PNG in 256 colours, a fifth of its size: these are kept in every clone."""
    drawn, buffer = Image.open(io.BytesIO(picture)).convert("RGB"), io.BytesIO()
    drawn.quantize(256, method=Image.Quantize.MEDIANCUT).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def write_figure(figure: go.Figure, path: str | Path, *, force: bool = False) -> Path:
    """Write one figure to a .html (self-contained), .json or .png file by the ending of `path`, and return the path.

    What lies there and is no such figure is an ItmlabError unless `force`.
    """
    path = Path(path)
    refuse_foreign(path, FIGURE, force=force)
    if path.suffix == ".html":
        drawing = figure.to_html(include_plotlyjs=True, full_html=False, div_id="figure", default_width="100%")
        content: bytes | str = _page(title_and_subtitle(figure)[0] or path.stem, drawing, scripts=drawing)
    elif path.suffix == ".json":
        content = figure_json(figure, {FIGURE: 1, "versions": _versions()})
    elif path.suffix == ".png":
        content = draw(figure)
        if isinstance(content, str):
            raise ItmlabError(f"no PNG: {content}", where=str(path), remedy="write .html, which needs no Chrome")
        buffer, origin = io.BytesIO(), PngInfo()
        origin.add_text("Software", FIGURE)
        Image.open(io.BytesIO(content)).save(buffer, "PNG", pnginfo=origin)
        content = buffer.getvalue()
    else:
        raise ItmlabError("no such kind of figure file", where=str(path), remedy="end it in .html, .json or .png")
    write_bytes(path, content)
    return path


def figure_json(figure: go.Figure, provenance: Mapping[str, Any]) -> bytes:
    """The figure and its provenance as JSON, arrays as plain lists, numbers to six significant digits.

    >>> saved = json.loads(figure_json(go.Figure(go.Scatter(y=np.array([1 / 3, np.nan]))), {"seed": 0}))
    >>> saved["figure"]["data"][0]["y"], saved["provenance"]
    ([0.333333, None], {'seed': 0})
    """
    saved = {"provenance": _plain(provenance), "figure": _plain(figure.to_dict())}
    return (json.dumps(saved, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _plain(value: Any) -> Any:
    """Only dictionaries, lists, strings, rounded numbers, truth values and None (which stands for NaN too)."""
    if isinstance(value, Mapping):
        if value.keys() >= {"dtype", "bdata"}:  # plotly's packed arrays
            array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
            return _plain(array.reshape([int(size) for size in str(value.get("shape", array.size)).split(",")]))
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def _versions() -> dict[str, str]:
    packages = ("itmlab", "numpy", "pillow", "plotly", "torch", "transformers")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}


def committed(name: str) -> go.Figure:
    """The figure NAME of the project's `figures`; an unknown one is an ItmlabError that lists those there."""
    if (root := shipped_directory()) is None:
        remedy = "git clone the project, then pip install -e ."
        raise ItmlabError("the figures are not beside the package", remedy=remedy)
    there = {path.stem: path for path in sorted((root / "figures").glob("*.json"))}
    if name not in there:
        remedy = f"there are: {', '.join(there) or 'none'}"
        raise ItmlabError(f"no figure {name!r}", where=str(root / "figures"), remedy=remedy)
    return _read(there[name])[0]


# Interactive pages of saved figures around one shared plotly.min.js, and the page that lists them all.

SCRIPT, INDEX = "plotly.min.js", "itmlab: figures"
STYLE = f"""
body {{ margin: 0; background: {PANEL}; color: {INK}; font: 16px/1.5 {FONT}; }}
main {{ max-width: 1200px; margin: 0 auto; padding: 40px 24px 64px; }}
h1 {{ font-size: 30px; margin: 0 0 4px; }}
h2 {{ font-size: 20px; margin: 36px 0 14px; }}
p {{ color: {MUTED}; margin: 0 0 28px; }}
a {{ color: inherit; text-decoration: none; }}
.grid {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(320px, 1fr)); gap: 22px; }}
.card {{ background: white; border: 1px solid {RULE}; border-radius: 12px; overflow: hidden; display: block;
  transition: box-shadow .15s; }}
.card:hover {{ box-shadow: 0 8px 28px rgba(31, 41, 51, .13); }}
.card .picture {{ height: 210px; display: flex; align-items: center; justify-content: center; padding: 12px;
  border-bottom: 1px solid {RULE}; box-sizing: border-box; color: {MUTED}; }}
.card img {{ max-width: 100%; max-height: 100%; }}
.card div.words {{ padding: 12px 16px 14px; }}
.card b {{ display: block; line-height: 1.3; }}
.card small {{ color: {MUTED}; }}
.sheet {{ background: white; border: 1px solid {RULE}; border-radius: 12px; padding: 16px; overflow-x: auto; }}
table {{ border-collapse: collapse; background: white; }}
td, th {{ border: 1px solid {RULE}; padding: 5px 12px; text-align: left; font-weight: 400; vertical-align: top; }}
td a {{ text-decoration: underline; }}
nav {{ margin-bottom: 16px; color: {MUTED}; }}
nav a:hover {{ text-decoration: underline; }}
details {{ margin-top: 20px; color: {MUTED}; }}
pre {{ white-space: pre-wrap; }}
"""


def write_pages(directory: str | Path) -> Path:
    """Write NAME.html for every NAME.json of saved figures in `directory`, and the index; returns the index's path."""
    directory = Path(directory)
    refuse_foreign(directory / "index.html", INDEX)
    for path in sorted(directory.glob("*.json")):
        write_page(*_read(path), path.with_suffix(".html"))
    return write_index(directory)


def write_page(figure: go.Figure, provenance: Mapping[str, Any], path: Path) -> None:
    """One figure as an interactive page beside the shared plotly.min.js, which is written if it is not there yet."""
    from plotly.offline import get_plotlyjs

    script, library = path.parent / SCRIPT, get_plotlyjs().encode()
    if not script.exists() or script.stat().st_size != len(library):
        write_bytes(script, library)
    config = {"displaylogo": False, "responsive": True, "toImageButtonOptions": {"scale": 2, "filename": path.stem}}
    page = {"include_plotlyjs": False, "full_html": False, "div_id": "figure", "default_width": "100%"}
    try:
        drawing = figure.to_html(**page, config=config)
    except (TypeError, ValueError) as error:  # of a file: numbers of more than 64 bits, text that is none
        raise ItmlabError(f"not a figure that has a page: {_first_line(error)}", where=str(path)) from None
    origin = html.escape(json.dumps(provenance, indent=2, ensure_ascii=False))
    body = f"""<nav><a href="index.html">← all figures</a></nav>
<div class="sheet" style="max-width: {WIDTH + 40}px">{drawing}</div>
<details><summary>Where it comes from</summary><pre>{origin}</pre></details>"""
    write_bytes(path, _page(title_and_subtitle(figure)[0] or path.stem, body, scripts=drawing, library=True))


def write_index(directory: Path) -> Path:
    """The page that lists every saved figure of `directory` with a thumbnail, under the question that it answers.

    Where a figure's provenance has "items" (what the papers print, each with its verdict), they are a table below.
    """
    cards, items = {}, ""
    for path in sorted(directory.glob("*.json")):
        heading, origin = _heading(path, path.lstat().st_mtime_ns)
        title = heading or path.stem
        items += _items(origin, directory)
        address = f"./{quote(path.stem)}"  # a name such as javascript:… would be an address of its own
        drawn = path.with_suffix(".png").exists()
        picture = f'<img src="{address}.png" alt="" loading="lazy">' if drawn else "no PNG: Chrome was not found"
        cards[path.stem] = (
            f'<a class="card" href="{address}.html"><div class="picture">{picture}</div>'
            f'<div class="words"><b>{html.escape(title)}</b><small>{html.escape(path.stem)}</small></div></a>'
        )
    body = f"<h1>itmlab</h1><p>{len(cards)} {'figure' if len(cards) == 1 else 'figures'}, each interactive</p>\n"
    for question, names in {**questions(), "Others": dict.fromkeys(list(cards))}.items():
        if grouped := "".join(cards.pop(name, "") for name in names):
            body += f"<h2>{html.escape(question)}</h2><div class='grid'>{grouped}</div>"
    index = directory / "index.html"
    write_bytes(index, _page(INDEX, body + items))
    return index


def _items(origin: Any, directory: Path) -> str:
    """The items of a figure's provenance as a table: what each is, what became of its claims, what shows it."""
    rows, given = "", origin.get("items") if isinstance(origin, Mapping) else None
    for item in given if isinstance(given, list) else ():
        told = item if isinstance(item, Mapping) else {}
        said = [html.escape(str(told.get(name, ""))) for name in ("item", "title", "verdict", "why not")]
        names = map(str, shown if isinstance(shown := told.get("figures"), list) else ())
        there = [name for name in names if re.fullmatch(r"[\w-]+", name) and (directory / f"{name}.json").exists()]
        links = ", ".join(f'<a href="./{quote(name)}.html">{html.escape(name)}</a>' for name in there)
        rows += f"<tr><th>{said[0]}</th><td>{said[1]}</td><td>{said[2]}</td><td>{links or said[3]}</td></tr>"
    head = "<tr><th>item</th><th>of what</th><th>here its claims are</th><th>shown by, or why not</th></tr>"
    return f"<h2>What four papers print, item by item</h2><table>{head}{rows}</table>" if rows else ""


@cache
def questions() -> dict[str, dict[str, tuple[str, str]]]:
    """The project's figures by question: the item of a paper that each shows again ("" for none), and what it shows."""
    return tomllib.loads((Path(__file__).parent / "figures.toml").read_text(encoding="utf-8"))


INLINE = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)


def _page(title: str, body: str, *, scripts: str = "", library: bool = False) -> bytes:
    """A page where only the inline `scripts` of `body` run, and the shared plotly; it reaches for nothing elsewhere.

    The policy names each by its hash. The library is allowed by a nonce, as a page opened from the disk has no origin:
    a hash of all the words on the page, so that none of these words can hold it.
    """
    nonce = _hash(title + body)
    runs = [f"'sha256-{_hash(script)}'" for script in INLINE.findall(scripts)] + [f"'nonce-{nonce}'"] * library
    policy = {
        "default-src": "'none'",
        "script-src": " ".join(runs) or "'none'",
        "style-src": "'unsafe-inline'",  # plotly's
        "img-src": "'self' data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    said = "; ".join(map(" ".join, policy.items()))
    head = f'<script nonce="{nonce}" src="{SCRIPT}"></script>' if library else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{said}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="generator" content="{FIGURE}">
<title>{html.escape(title)}</title><style>{STYLE}</style>{head}</head>
<body><main>{body}</main></body></html>
""".encode(errors="replace")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode(errors="replace")).digest()).decode()


def _read(path: Path, *, title_only: bool = False) -> tuple[go.Figure, Mapping[str, Any]]:
    """The figure and the provenance of a NAME.json; what is none is an ItmlabError."""
    saved, remedy = read_json(path), "move it out of the figures' folder"
    if not isinstance(saved, dict) or not {"figure", "provenance"} <= saved.keys():
        raise ItmlabError("not a saved figure", where=str(path), remedy=remedy)
    try:
        content = saved["figure"]
        if title_only:
            content = {"layout": {"title": (content.get("layout") or {}).get("title")}}
        return go.Figure(content, skip_invalid=title_only), saved["provenance"]
    except Exception as error:  # plotly refuses in many ways, in many lines
        raise ItmlabError(f"not a figure: {_first_line(error)}", where=str(path), remedy=remedy) from None


@lru_cache(1000)
def _heading(path: Path, changed: int) -> tuple[str, Mapping[str, Any]]:
    """A figure's title and provenance, read once while its file has not `changed`: each save lists all of them."""
    figure, origin = _read(path, title_only=True)
    return title_and_subtitle(figure)[0], {"items": origin.get("items")} if isinstance(origin, Mapping) else {}


# One Chrome for the whole process, started at the first picture: 0.15 s a PNG instead of 2 s.

PATIENCE = 300  # seconds: a Chrome that has not started or drawn a figure by then will not, however busy the machine


def draw(figure: go.Figure) -> bytes | str:
    """`figure` as PNG bytes, or in one line why there is none."""
    browser = shared_browser()
    if isinstance(browser, str):
        return browser
    told = json.dumps(json.loads(figure.to_json(validate=False)), sort_keys=True)  # a shown one has another order
    try:
        picture = _DRAWN.pop(told, None) or browser.png(figure)
    except Exception as error:  # Chrome was killed, or hangs: the next figure begins with another
        shared_browser.cache_clear()
        return _no_picture(error, "drew nothing")
    _DRAWN[told] = picture
    if len(_DRAWN) > 4:
        del _DRAWN[next(iter(_DRAWN))]
    return picture


_DRAWN: dict[str, bytes] = {}  # by their JSON the last few, for a notebook shows what it has just saved


def carried(figures: Sequence[go.Figure]) -> dict[str, str]:
    """What a cell's output carries for pages that draw none (GitHub's, nbconvert's): a JPEG of figures in a column.

    By its media type, in base64; nothing without a Chrome. Not a PNG: plotly's extension of JupyterLab takes one beside
    a figure for its own memory of it, and shows that, as wide as it is, until the mouse enters.
    """
    drawn = [Image.open(io.BytesIO(one)) for one in map(draw, figures) if isinstance(one, bytes)]
    if not drawn:
        return {}
    size = max(one.width for one in drawn), sum(one.height for one in drawn)
    column, buffer = Image.new("RGB", size, PAPER), io.BytesIO()
    for number, one in enumerate(drawn):
        column.paste(one, (0, sum(above.height for above in drawn[:number])))
    column.save(buffer, "JPEG", progressive=True, optimize=True)  # at twice its size, nothing is seen of the loss
    return {"image/jpeg": base64.b64encode(buffer.getvalue()).decode()}


class Picture(MimetypeRenderer):
    """A figure in a notebook is a picture, too."""

    def to_mimebundle(self, fig_dict: dict[str, Any]) -> dict[str, str]:
        """`carried` of this figure."""
        return carried([go.Figure(fig_dict, _validate=False)])


if plotly.io.renderers.default == "plotly_mimetype":  # a Jupyter kernel's; who has chosen another keeps it
    plotly.io.renderers["itmlab_picture"] = Picture()
    plotly.io.renderers.default = "plotly_mimetype+itmlab_picture"


@cache
def shared_browser() -> "Browser | str":
    """The process's browser, or in one line why there is none."""
    try:
        return Browser()
    except Exception as error:  # no Chrome, or one that cannot start: kaleido raises many kinds
        return _no_picture(error, "did not start")


def _no_picture(error: Exception, late: str) -> str:
    if isinstance(error, TimeoutError):
        return f"Chrome {late} in {PATIENCE} seconds"
    missing = type(error).__name__ == "ChromeNotFoundError"
    return "no Chrome was found (apt-get install chromium)" if missing else f"Chrome failed: {_first_line(error)}"


class Browser:
    """A headless Chrome on an event loop of its own thread (a notebook's loop is taken already)."""

    def __init__(self) -> None:
        from kaleido import Kaleido

        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="figures", daemon=True).start()

        async def opened() -> Kaleido:
            kaleido = Kaleido(n=1, mathjax=False, timeout=None)  # MathJax would be fetched from the network
            await kaleido.open()
            return kaleido

        self.kaleido = self.wait(opened())
        atexit.register(lambda: self.wait(self.kaleido.close()))

    def wait(self, work: Any) -> Any:
        """Run a coroutine on the browser's loop and wait for what it gives."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def png(self, figure: go.Figure) -> bytes:
        """`figure` as a PNG at twice its size in pixels."""
        size = {"width": figure.layout.width or WIDTH, "height": figure.layout.height or 460, "scale": 2}
        return self.wait(self.kaleido.calc_fig(figure.to_dict(), opts={"format": "png", **size}))


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
