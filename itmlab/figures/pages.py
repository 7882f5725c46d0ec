"""Interactive pages of saved figures around one shared plotly.min.js, and the page that lists them all."""

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from ..errors import ItmlabError
from ..storage import read_json, write_bytes
from .theme import FONT, INK, MUTED, PANEL, RULE, WIDTH, title_and_subtitle

SCRIPT = "plotly.min.js"
STYLE = f"""
body {{ margin: 0; background: {PANEL}; color: {INK}; font: 16px/1.5 {FONT}; }}
main {{ max-width: 1200px; margin: 0 auto; padding: 40px 24px 64px; }}
h1 {{ font-size: 30px; margin: 0 0 4px; }}
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
nav {{ margin-bottom: 16px; color: {MUTED}; }}
nav a:hover {{ text-decoration: underline; }}
details {{ margin-top: 20px; color: {MUTED}; }}
pre {{ white-space: pre-wrap; }}
"""


def write_pages(directory: str | Path) -> Path:
    """Write NAME.html for every NAME.json of saved figures in `directory`, and the index; returns the index's path."""
    directory = Path(directory)
    for path in sorted(directory.glob("*.json")):
        saved = _read(path)
        write_page(go.Figure(saved["figure"]), saved["provenance"], path.with_suffix(".html"))
    return write_index(directory)


def write_page(figure: go.Figure, provenance: Mapping[str, Any], path: Path) -> None:
    """One figure as an interactive page beside the shared plotly.min.js, which is written if it is not there yet."""
    from plotly.offline import get_plotlyjs

    script = path.parent / SCRIPT
    library = get_plotlyjs().encode()
    if not script.exists() or script.stat().st_size != len(library):
        write_bytes(script, library)
    drawing = figure.to_html(
        include_plotlyjs=False,
        full_html=False,
        div_id="figure",
        default_width="100%",
        config={"displaylogo": False, "responsive": True, "toImageButtonOptions": {"scale": 2, "filename": path.stem}},
    )
    origin = html.escape(json.dumps(provenance, indent=2, ensure_ascii=False))
    body = f"""<nav><a href="index.html">← all figures</a></nav>
<div class="sheet" style="max-width: {WIDTH + 40}px">{drawing}</div>
<details><summary>Where it comes from</summary><pre>{origin}</pre></details>"""
    write_bytes(path, _page(title_and_subtitle(figure)[0] or path.stem, body, head=f'<script src="{SCRIPT}"></script>'))


def write_index(directory: Path) -> Path:
    """The page that lists every saved figure of `directory` with a thumbnail."""
    cards = []
    for path in sorted(directory.glob("*.json")):
        title = title_and_subtitle(go.Figure(_read(path)["figure"], skip_invalid=True))[0] or path.stem
        name = html.escape(path.stem)
        drawn = path.with_suffix(".png").exists()
        picture = f'<img src="{name}.png" alt="" loading="lazy">' if drawn else "no PNG: Chrome was not found"
        cards.append(
            f'<a class="card" href="{name}.html"><div class="picture">{picture}</div>'
            f'<div class="words"><b>{html.escape(title)}</b><small>{name}</small></div></a>'
        )
    noun = "figure" if len(cards) == 1 else "figures"
    body = f"<h1>itmlab</h1><p>{len(cards)} {noun}, each interactive</p>\n<div class='grid'>{''.join(cards)}</div>"
    index = directory / "index.html"
    write_bytes(index, _page("itmlab: figures", body))
    return index


def _page(title: str, body: str, head: str = "") -> bytes:
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title><style>{STYLE}</style>{head}</head>
<body><main>{body}</main></body></html>
""".encode()


def _read(path: Path) -> dict[str, Any]:
    saved = read_json(path)
    if not isinstance(saved, dict) or not {"figure", "provenance"} <= saved.keys():
        raise ItmlabError("not a saved figure", where=str(path), remedy="move it out of the figures' folder")
    return saved
