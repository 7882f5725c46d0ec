"""Every page that leaves the package, opened in Chromium with hostile words in every place: nothing of them runs.

Words are escaped, which the first test shows without any policy. The pages also carry a Content-Security-Policy, which
the others show: with markup written into a finished page as if an escape had been forgotten, still nothing runs, and
nothing is asked of the network.
"""

import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image
from workshop.analysis.attention import AttentionMap
from workshop.plots import saving
from workshop.plots.canvas import draw_gallery, draw_table
from workshop.plots.maps import draw_attention_maps

from itmlab.data.captionset import CaptionSet
from itmlab.metrics.by_image import RECALLS
from itmlab.train.comparison import Comparison
from itmlab.train.run import Hits
from tests.browser.conftest import PATIENCE

pytestmark = pytest.mark.browser

FIGURES = Path(__file__).parents[2] / "figures"
RUN = "document.title='it ran'"
HOSTILE = [
    f"<script>{RUN}</script>",
    f'</title></style></script><script>{RUN}</script><img src=x onerror="{RUN}">',
    f'"><img src=x onerror="{RUN}"><svg onload="{RUN}">',
    f"' onmouseover='{RUN}' onfocus='{RUN}' autofocus='",
    f'<a href="javascript:{RUN}">here</a>',
    f"<a href='data:text/html,<script>opener.{RUN}</script>' target=_blank>there</a>",
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    f"$\\href{{javascript:{RUN}}}{{x}}$",
    f"-->]]><!--<math><mtext></form><form><mglyph><style></math><img src onerror={RUN}>",
]
NAMES = [f"javascript:{RUN}", "data:text,x", '"><img src=x onerror=document.title=1>', "a b%41#?&amp;"]


@pytest.fixture
def website() -> Iterator[SimpleNamespace]:
    """A server on loopback that keeps what it was asked for."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield SimpleNamespace(asked=asked, address=f"http://127.0.0.1:{server.server_port}")
    server.shutdown()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of every kind, with hostile words wherever words stand."""
    pages = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saving, "draw", lambda figure: "no Chrome is needed here")
        write_hostile(pages)
    return pages


@pytest.fixture
def folder(pages: Path, tmp_path: Path) -> Path:
    """A copy of them, to be changed."""
    return shutil.copytree(pages, tmp_path / "pages")


def write_hostile(pages: Path) -> None:
    picture = Image.new("RGB", (32, 24), "teal")
    gallery = draw_gallery([picture] * len(HOSTILE), HOSTILE, title=" ".join(HOSTILE))
    saving.save(gallery, "gallery", {words: HOSTILE for words in HOSTILE}, directory=pages)
    bars = go.Figure(go.Bar(x=HOSTILE, y=np.arange(len(HOSTILE)), text=HOSTILE, name=HOSTILE[0], hovertext=HOSTILE))
    saving.save(bars.update_layout(title=HOSTILE[1]), "plain", {}, directory=pages)  # of words that are not escaped
    for name in NAMES:
        shutil.copy(pages / "plain.json", pages / f"{name}.json")
    saving.write_pages(pages)
    maps = [AttentionMap(np.eye(4), words, picture) for words in HOSTILE]
    attention = draw_attention_maps({words: maps for words in HOSTILE[:2]}, title=HOSTILE[0], subtitle=HOSTILE[1])
    saving.write_page(attention, {}, pages / f"attention {NAMES[2]}.html")
    table = draw_table({words: HOSTILE for words in HOSTILE[:2]}, title=HOSTILE[2], picture=picture)
    saving.write_page(table, {}, pages / "table.html")


def fragments() -> dict[str, str]:
    """What a notebook shows of search results and of comparisons, which is no page of its own."""
    count = len(HOSTILE)
    ids = {"image_ids": HOSTILE, "caption_ids": [f"{words}#0" for words in HOSTILE]}
    data = CaptionSet(
        name=HOSTILE[0],
        images=[Image.new("RGB", (8, 8))] * count,
        captions=HOSTILE,
        image_of_caption=range(count),
        splits={},
        **ids,
    )
    matches = [
        Hits(HOSTILE[0], "images", [0.5] * count, list(range(count)), data),
        Hits(data.images[0], "captions", [0.5] * count, list(range(count)), data),
    ]
    reached = {words: np.zeros((1, 6, 2)) for words in HOSTILE}
    compared = Comparison(reached, np.ones((6, 2)), RECALLS, HOSTILE[0], [0], {})
    return {"images": matches[0]._repr_html_(), "captions": matches[1]._repr_html_(), "table": compared._repr_html_()}


def opened(page, path: Path, *, drawn: bool = True) -> None:
    """Open a page, and wait for its figure if it is to have one."""
    page.goto(path.as_uri(), timeout=PATIENCE)
    if drawn:
        page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=PATIENCE)


def watched(page) -> list[str]:
    """What pages ask for beyond the disk and themselves, from now on, and the dialogs that they open."""
    requests: list[str] = []
    page.on("dialog", lambda dialog: (requests.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: requests.append(request.url) if request.url.startswith("http") else None)
    page.on("popup", lambda other: requests.append(f"window {other.url}"))
    return requests


def provoke(page) -> None:
    """Point at everything, focus it, and press every link that does not lead to another page."""
    page.evaluate(
        """() => { for (const one of document.querySelectorAll('body *'))
            for (const kind of ['mouseover', 'mouseenter', 'focus', 'click', 'error', 'load', 'toggle'])
                if (kind !== 'click' || !/^(file|https?):/.test(one.href?.baseVal ?? one.href ?? ''))
                    one.dispatchEvent(new Event(kind, {bubbles: kind === 'click'})); }"""
    )
    page.wait_for_timeout(50)


def test_no_word_of_a_page_takes_effect(page, pages: Path) -> None:
    requests = watched(page)
    paths = sorted(pages.glob("*.html"))
    assert len(paths) == 2 + len(NAMES) + 3  # gallery and plain, names, attention and table and index
    for path in paths:
        opened(page, path, drawn=path.name != "index.html")
        title = page.title()
        provoke(page)
        assert page.title() == title != "it ran" and page.url == path.as_uri() and requests == [], path.name


def test_nor_does_one_of_a_notebook_where_no_policy_helps(page, tmp_path: Path) -> None:
    requests = watched(page)
    for name, fragment in fragments().items():
        path = tmp_path / "fragment.html"
        path.write_text(f"<!doctype html><meta charset=utf-8><title>{name}</title>{fragment}", encoding="utf-8")
        opened(page, path, drawn=False)
        provoke(page)
        assert page.title() == name and requests == []
        assert page.locator("script, iframe, a, [onerror], [onload], [onmouseover]").count() == 0


def test_every_card_of_the_index_leads_to_its_page(page, folder: Path) -> None:
    opened(page, folder / "index.html", drawn=False)
    addresses = page.locator("a.card").evaluate_all("cards => cards.map(card => card.href)")
    assert sorted(addresses) == sorted(path.with_suffix(".html").as_uri() for path in folder.glob("*.json"))


REACH: list[Callable[[str], str]] = [
    lambda host: f"<script>{RUN}</script>",
    lambda host: f"<script src='{host}/x.js'></script>",
    lambda host: "<script src='other.js'></script>",  # beside the page
    lambda host: f"<img src='{host}/x.png' onerror=\"{RUN}\">",
    lambda host: f"<link rel=stylesheet href='{host}/x.css'><style>@import '{host}/y.css';</style>",
    lambda host: f"<div style=\"background: url('{host}/z.png')\">words</div>",
    lambda host: f"<iframe src='{host}/frame'></iframe><object data='{host}/object'></object>",
    lambda host: f"<base href='{host}/'><form action='{host}/form'><button>send</button></form>",
    lambda host: f'<a href="javascript:{RUN}">here</a><iframe src="javascript:parent.{RUN}"></iframe>',
    lambda host: f"<video src='{host}/film' autoplay></video><audio src='{host}/sound' autoplay></audio>",
]


@pytest.mark.parametrize("name", ["index", "plain", "table"])
def test_the_policy_holds_where_an_escape_were_forgotten(page, folder: Path, website, name: str) -> None:
    (folder / "other.js").write_text(RUN)
    path = folder / f"{name}.html"
    forgotten = "".join(reach(website.address) for reach in REACH)
    content = path.read_text(encoding="utf-8").replace("<body>", f"<body>{forgotten}", 1)
    assert forgotten in content
    path.write_text(content, encoding="utf-8")
    opened(page, path, drawn=name != "index")
    title = page.title()
    for pressed in ("a", "form > button"):
        page.evaluate(f"for (const one of document.querySelectorAll('body > {pressed}')) one.click()")
        page.wait_for_timeout(200)
        assert page.title() != "it ran" != title and website.asked == [] and page.url == path.as_uri()


def test_without_the_policy_it_would_have_run(page, folder: Path, website) -> None:
    """So that the test before shows something."""
    path = folder / "index.html"
    bare = path.read_text(encoding="utf-8").replace('http-equiv="Content-Security-Policy"', "", 1)
    path.write_text(bare.replace("<body>", f"<body><img src='{website.address}/x.png' onerror=\"{RUN}\">", 1))
    opened(page, path, drawn=False)
    page.wait_for_function("document.title === 'it ran'")
    assert website.asked == ["/x.png"]


# One figure of each kind of drawing that the committed ones hold (all of them were opened once).
DRAWN = ["true_images", "truth_by_knob", "pointing", "kernel_memory", "difficulty"]


def test_committed_figures_draw_under_the_policy(page, tmp_path: Path) -> None:
    for name in DRAWN:
        shutil.copy(FIGURES / f"{name}.json", tmp_path)
    saving.write_pages(tmp_path)
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    for name in DRAWN:
        opened(page, tmp_path / f"{name}.html")
        assert errors == [], name
