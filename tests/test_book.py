"""The book: it builds without a warning, its links lead somewhere, it loads nothing, and text stays text."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

pytest.importorskip("myst_nb")
pytestmark = pytest.mark.slow  # every test needs the book
ROOT = Path(__file__).resolve().parents[1]
FETCHING = '<script src="https://example.org/plotly.js"></script>'  # as libraries write beside a picture
PICTURE = base64.b64encode((ROOT / "figures" / "search.png").read_bytes()).decode()
HOSTILE = '</td><img src=x onerror="alert(1)"><script>alert(1)</script>'


def sphinx_build(source: Path, target: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-d", str(target.with_suffix(".trees"))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([*command, source, target], capture_output=True, text=True, env=environment)


class Page(HTMLParser):
    """The links, the loaded addresses and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a":
            self.links += [values["href"]] if "href" in values else []
        else:
            self.loaded += [values[name] for name in ("src", "href") if name in values]


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    """The pages, built from a copy of the sources in which a notebook and a result contain markup."""
    import nbformat

    root = tmp_path_factory.mktemp("book")
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    for name in files.stdout.splitlines():
        if name.startswith(("notebooks/", "figures/", "results/")) or name.endswith(".md"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    first = min((root / "notebooks").glob("[0-9]*.ipynb"))
    notebook = nbformat.read(first, as_version=4)
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
    outputs = ({"text/plain": HOSTILE}, {"text/html": FETCHING, "image/png": PICTURE, "text/plain": "a figure"})
    cell.outputs = [nbformat.v4.new_output("display_data", data) for data in outputs]
    nbformat.write(notebook, first)
    path = root / "results" / "noisy_correspondence.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    for row in result["rows"]:
        row["row"] = HOSTILE if row["row"] == "random" else row["row"]
    path.write_text(json.dumps(result), encoding="utf-8")
    built = sphinx_build(root / "notebooks", root / "html")
    assert built.returncode == 0, built.stdout + built.stderr
    return root / "html"


@pytest.fixture(scope="module")
def pages(book) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in book.rglob("*.html")}


def test_every_link_within_the_book_leads_somewhere(book, pages) -> None:
    lost = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            address, anchor = urldefrag(link)
            if re.match(r"[a-z]+:", address):
                continue
            target = (path.parent / unquote(address.partition("?")[0])).resolve() if address else path
            if not target.is_file() or (anchor and target in pages and unquote(anchor) not in pages[target].anchors):
                lost.append(f"{path.relative_to(book)}: {link}")
    assert lost == [] and len(pages) > 40


def test_no_page_loads_anything_from_a_network(book, pages) -> None:
    for path, page in pages.items():
        assert not [link for link in page.loaded if re.match(r"https?:|//", link)], path.name
        assert "default-src 'none'" in path.read_text(encoding="utf-8")[:1500]


def test_captions_and_labels_are_escaped(book) -> None:
    for name in ("00_start_here.html", "report/R2.html"):
        text = (book / name).read_text(encoding="utf-8")
        assert "alert(1)" in text and "<script>alert" not in text and "<img src=x" not in text


def test_the_reference_the_report_and_the_search_are_there(book) -> None:
    samplers = (book / "reference" / "generated" / "itmlab.samplers.html").read_text(encoding="utf-8")
    assert 'id="itmlab.samplers.FalseNegativeEliminating"' in samplers
    assert re.search(r'href="[^"]*guide/methods.html#methods-1-2"', samplers)
    assert (book / "reference" / "generated" / "workshop.plots.html").is_file()
    assert "−" in (book / "report" / "R1.html").read_text(encoding="utf-8")
    assert 'id="term-false-negative"' in (book / "guide" / "glossary.html").read_text(encoding="utf-8")
    assert "posterior" in (book / "searchindex.js").read_text(encoding="utf-8")
