"""The book: built without a warning, whole, self-contained, its links lead somewhere; notebooks show their figures."""

import base64
import html
import io
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import nbformat
import pytest
from PIL import Image
from typer.testing import CliRunner

from itmlab import book
from itmlab.book import BOOK, PAGES, PLOTLY, build, filled, with_terms
from itmlab.cli import app
from itmlab.storage import read_json
from itmlab.studies.kit.saving import questions
from itmlab.studies.kit.theme import WIDTH
from itmlab.studies.tour import TOUR, Stop, find_notebooks
from tests.refusals import refused

ROOT = Path(__file__).resolve().parents[1]
HOSTILE = '</script><img src=x onerror="alert(1)">'


def jpeg() -> str:
    Image.new("RGB", (8, 8), "red").save(buffer := io.BytesIO(), "JPEG")
    return base64.b64encode(buffer.getvalue()).decode()


def figure(title: str, width: int = 860) -> dict:
    return {"data": [{"type": "bar", "y": [1, 2]}], "layout": {"title": {"text": title}, "width": width}}


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, str]:
    """The book of all notebooks as they are stored; the first of them has run, and says something hostile."""
    pytest.importorskip("myst_nb")
    out, executed = tmp_path_factory.mktemp("book"), tmp_path_factory.mktemp("executed")
    first, *others = find_notebooks()
    notebook = nbformat.read(first, as_version=4)
    data = {PLOTLY: figure(f"<b>{HOSTILE}</b>"), "image/jpeg": jpeg()}
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
    cell.outputs = [nbformat.v4.new_output("display_data", data)]
    notebook.metadata[TOUR] = 1
    nbformat.write(notebook, executed / first.name)
    command = [sys.executable, "-m", "itmlab", "book", "--no-run", "--executed", str(executed), "--out", str(out)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert first.stem not in result.stdout and all(path.stem in result.stdout for path in others)
    files = [path for path in out.rglob("*.*") if path.suffix in (".html", ".js")]
    return {"": str(out), **{str(path.relative_to(out)): path.read_text(encoding="utf-8") for path in files}}


class Links(HTMLParser):
    """The addresses that a page names, and the places that it has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given or "href" in given:
            self.loaded.append(given.get("src") or given["href"])


def test_every_link_within_the_book_leads_somewhere(pages) -> None:
    out = Path(pages[""])
    read = {out / name: Links(page) for name, page in pages.items() if name.endswith(".html")}
    assert len(read) > 45
    lost = []
    for path, page in read.items():
        for link in page.links + page.loaded:
            address, place = urldefrag(link)
            if re.match(r"[a-z]+:", address):
                continue
            target = (path.parent / unquote(address.partition("?")[0])).resolve() if address else path
            there = target in read and (not place or unquote(place) in read[target].places)
            if not (there or (target.is_file() and target not in read)):
                lost.append(f"{path.relative_to(out)}: {link}")
    assert lost == []


def test_nothing_is_loaded_from_elsewhere(pages) -> None:
    for name, page in pages.items():
        if name.endswith(".html"):
            assert not [link for link in Links(page).loaded if re.match(r"https?:|//", link)], name
            assert "default-src 'none'" in page[:1000] and BOOK in page[:1500]


def test_a_figure_is_a_picture_that_comes_to_life_and_its_words_stay_words(pages) -> None:
    page = pages["notebooks/00_start_here.html"]
    (name,) = re.findall(r'data-figure="(\w+)"', page)
    assert f'src="../_static/figures/{name}.jpg"' in page and 'data-width="860"' in page
    assert "onerror=" not in re.sub(r'alt="[^"]*"', "", page)
    assert (Path(pages[""]) / "_static" / "figures" / f"{name}.jpg").stat().st_size > 50
    told = re.fullmatch(r'itmlabFigure\("\w+", (.*)\);', pages[f"_static/figures/{name}.js"], re.DOTALL)[1]
    assert json.loads(told) == figure(f"<b>{HOSTILE}</b>")


def test_every_public_function_has_its_reference(pages) -> None:
    page = pages["reference/itmlab.losses.html"]
    words = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert 'id="itmlab.losses.TripletLoss"' in page and "VSE++, Eqs. 4 and 5" in words
    assert "Float[Tensor, 'anchor candidate']" in words and ">>> scores = torch.tensor(" in words
    assert re.search(r'href="[^"]*METHODS.html#methods-1-2"', pages["reference/itmlab.samplers.html"])
    assert "region_dual_encoder" in pages["reference/itmlab.train.html"]


def test_formulas_are_mathml(pages) -> None:
    page = pages["notebooks/09_semantic_metrics.html"]
    assert "<math" in page and r"\tilde" not in page and "MathJax" not in page


def test_it_can_be_searched_and_has_the_pages_of_the_project(pages) -> None:
    assert "posterior" in pages["searchindex.js"]
    for name in ("CONTRIBUTING", "SECURITY", "itmlab/METHODS", "glossary", "papers", "commands", "genindex", "search"):
        assert f"{name}.html" in pages
    assert 'id="term-false-negative"' in pages["glossary.html"]
    assert "--max-steps" in pages["commands.html"]


def test_each_item_of_a_paper_has_notebook_figure_and_command(pages) -> None:
    words = " ".join(re.sub(r"<[^>]+>", " ", pages["papers.html"]).split())
    items = [item for figures in questions().values() for item, _ in figures.values() if item]
    assert len(items) > 20 and all(item in words for item in items)
    assert "python -m itmlab tour --profile full --only 06" in words


def test_the_glossary_is_plain_where_it_lies_and_sphinxs_in_the_book(pages) -> None:
    page = (PAGES / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r'^<a id="term-(.+?)"></a>\*\*(.+?)\*\*\. ', page, re.MULTILINE)
    assert len(entries) > 50 and [place for place, _ in entries] == [re.sub(r"\W", "-", term) for _, term in entries]
    assert set(re.findall(r"\]\(#term-(.+?)\)", page)) <= {place for place, _ in entries}
    assert "{term}" not in page and "```" not in page
    assert "<a id=" not in with_terms(page) and with_terms(page).count("```{glossary}\n") == len(entries)
    assert [place for place, _ in entries if f'id="term-{place}"' not in pages["glossary.html"]] == []
    assert 'href="glossary.html#term-anchor"' in pages["genindex.html"]


def test_what_a_page_says_of_the_book_gives_way_to_it(pages) -> None:
    """Where a table is made for the book, the page says so where it lies."""
    for name in ("index", "figures", "papers", "claims", "reference"):
        page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        assert f"<!-- {name} -->\n\nIn the book" in page
        assert "Without building it" not in pages["reference/index.html" if name == "reference" else f"{name}.html"]
    with pytest.raises(ValueError, match="a page without <!-- rows -->"):
        filled("<!-- rows -->", "rows", "")


def test_what_the_readme_shows_of_a_command_is_what_it_prints() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"^python -m itmlab (reproduce .*?) +#.*\n((?:#.*\n)+)", text, re.MULTILINE)
    result = CliRunner().invoke(app, shown[1].split())
    lines = [line.removeprefix("# ").removesuffix(" …") for line in shown[2].splitlines()]
    printed = iter(result.output.splitlines())
    lost = [line for line in lines if not any(whole.startswith(line) for whole in printed)]  # in this order
    assert len(lines) > 5 and lost == [], result.output


def test_every_committed_figure_answers_a_question_and_fits_a_page() -> None:
    listed = [name for figures in questions().values() for name in figures]
    assert len(listed) == len(set(listed))
    assert set(listed) == {path.stem for path in (ROOT / "figures").glob("*.json")}
    for path in (ROOT / "figures").glob("*.json"):
        saved = read_json(path)
        assert (saved["figure"]["layout"].get("width") or 0) <= WIDTH, f"{path.stem} is wider than a notebook's page"
        notebook = saved["provenance"]["notebook"]
        (stored,) = (ROOT / "notebooks").glob(f"{notebook}_*.ipynb")
        assert f'\\"{path.stem}\\"' in stored.read_text(encoding="utf-8"), f"{stored.name} does not save {path.stem}"


@pytest.mark.filterwarnings("ignore:.*is deprecated. Check CHANGES for Sphinx API")  # myst-parser's
def test_a_link_that_leads_nowhere_is_one_line_and_no_book(tmp_path, monkeypatch) -> None:
    pytest.importorskip("myst_nb")
    monkeypatch.setattr(book, "reference_pages", lambda: [("reference/index.md", "# Reference")])
    cells = [nbformat.v4.new_markdown_cell("# One\n\n[there](nowhere.md)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "00_one.ipynb")
    refused("notebooks/00_one.ipynb.*nowhere.md", build, [tmp_path / "00_one.ipynb"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_else_stays_as_it_is(tmp_path) -> None:
    pytest.importorskip("myst_nb")
    (tmp_path / "mine.txt").write_text("mine")
    refused("something else is in this folder", build, [], tmp_path)
    (tmp_path / "index.html").write_text("mine")
    refused("not written by itmlab", build, [], tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_notebook_counts_as_run_only_as_it_now_reads(tmp_path) -> None:
    now = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])
    nbformat.write(now, tmp_path / "now.ipynb")
    ran = nbformat.from_dict(now)
    for change, counts in ({TOUR: 1}, True), ({}, False):
        ran.metadata = nbformat.from_dict(change)
        nbformat.write(ran, tmp_path / "ran.ipynb")
        assert book._ran(tmp_path / "ran.ipynb", tmp_path / "now.ipynb") is counts
    ran.metadata, ran.cells[0].source = nbformat.from_dict({TOUR: 1}), "1 + 2"
    nbformat.write(ran, tmp_path / "ran.ipynb")
    assert not book._ran(tmp_path / "ran.ipynb", tmp_path / "now.ipynb")
    assert not book._ran(tmp_path / "absent.ipynb", tmp_path / "now.ipynb")


def test_a_notebook_that_the_tour_leaves_out_is_shown_as_it_is_written(tmp_path, monkeypatch) -> None:
    """One on photographs, where the extra that reads them is not installed."""
    ours = [tmp_path / "13_tables.ipynb", tmp_path / "14_on_photographs.ipynb"]
    ran, shown = Stop("13_tables", 1.0, None, 0), []
    monkeypatch.setattr(book, "find_notebooks", lambda: ours)
    monkeypatch.setattr(book, "tour", lambda *asked, **options: [ran])
    monkeypatch.setattr(book, "build", lambda notebooks, *asked, **options: shown.extend(notebooks))
    result = CliRunner().invoke(app, ["book", "--executed", str(tmp_path / "ran"), "--out", str(tmp_path / "book")])
    assert result.exit_code == 0 and "without outputs: 14_on_photographs\n" in result.output
    assert shown == [tmp_path / "ran" / "13_tables.ipynb", ours[1]]


SHOWS = """
import plotly.graph_objects as go
from itmlab.studies import kit
kit.save  # the room is imported, as every notebook does
go.Figure(go.Bar(y=[1, 2]))
"""


def test_nbconvert_shows_the_figures_of_a_notebook(tmp_path, chrome) -> None:
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SHOWS)])
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    (output,) = notebook.cells[0].outputs
    assert output["data"].keys() >= {PLOTLY, "image/jpeg"}
    page, _ = HTMLExporter().from_notebook_node(notebook)
    (drawn,) = re.findall(r'src="data:image/jpeg;base64,\s*([^"]+)"', page)
    assert Image.open(io.BytesIO(base64.b64decode(drawn))).size[0] == 1720
