"""Figures on disk: JSON, pages, the index, and PNG through one Chrome."""

import base64
import hashlib
import io
import json
import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image
from workshop.plots import saving
from workshop.plots.canvas import draw_gallery
from workshop.plots.saving import committed, save, write_figure, write_pages
from workshop.plots.theme import styled

from tests.refusals import refused


@pytest.fixture
def fresh(monkeypatch):
    """No browser shared with other tests."""
    saving.shared_browser.cache_clear()
    yield
    saving.shared_browser.cache_clear()


def test_figures_are_drawn_at_twice_their_size_by_one_browser():
    if isinstance(saving.shared_browser(), str):
        pytest.skip(f"no chromium: {saving.shared_browser()}")
    figure = styled(go.Figure(go.Bar(y=[1, 2])), "title", height=300).update_layout(width=500)
    first, second = saving.draw(figure), saving.draw(figure)
    assert Image.open(io.BytesIO(first)).size == (1000, 600)
    assert first == second


def test_a_chrome_that_does_not_start_is_a_line_not_an_error(fresh, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chrome")
    reason = saving.draw(go.Figure())
    assert isinstance(reason, str) and "\n" not in reason and reason


@pytest.mark.parametrize(
    "error, told",
    [
        (TimeoutError(), "Chrome drew nothing in 300 seconds"),
        (OSError("broken pipe\nand more"), "Chrome failed: broken pipe"),
    ],
)
def test_a_chrome_that_draws_nothing_is_told_as_it_is_and_the_next_figure_begins_with_another(monkeypatch, error, told):
    def png(figure):
        raise error

    begun = []
    shared = cache(lambda: begun.append(1) or SimpleNamespace(png=png))
    monkeypatch.setattr(saving, "shared_browser", shared)
    assert [saving.draw(go.Figure()), saving.draw(go.Figure())] == [told, told] and len(begun) == 2


def test_a_committed_figure_is_read_back(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(saving, "notebook_directory", lambda: tmp_path / "notebooks")
    save(go.Figure(go.Bar(x=["a"], y=[2.5])), "bars", {"seed": 0}, directory=tmp_path / "figures")
    assert list(committed("bars").data[0].y) == [2.5]
    refused("there are: bars", committed, "lines")


def test_every_page_and_the_index_can_be_made_from_the_json_alone(tmp_path, monkeypatch, pictures):
    monkeypatch.setattr(saving, "shared_browser", lambda: "no Chrome was found")
    save(draw_gallery(pictures, ["a <b>"] * 6, title="Six & more"), "six", {"seed": 0}, directory=tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for path in tmp_path.iterdir():
        if path.suffix != ".json":
            path.unlink()
    assert write_pages(tmp_path) == tmp_path / "index.html"
    again = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert again.keys() == made.keys()
    assert again["index.html"] == made["index.html"] and b"Six &amp; more" in again["index.html"]


def test_json_that_is_no_figure_is_named(tmp_path):
    (tmp_path / "other.json").write_text("[1]")
    refused(r"other\.json: not a saved figure", write_pages, tmp_path)


HOSTILE = "</script><script>alert(1)</script>"
PROVENANCE = {"recipe": {"name": "fne", "prior": 1e-4}, "seed": 3, "command": HOSTILE}


def figure() -> go.Figure:
    made = go.Figure(go.Scatter(x=np.arange(3), y=np.array([0.1, np.nan, 1 / 3]), text=[HOSTILE] * 3))
    return styled(made, HOSTILE, height=300)


@pytest.fixture
def no_chrome(monkeypatch):
    """Drawing without a Chrome, which also makes these tests quick."""
    monkeypatch.setattr(saving, "shared_browser", lambda: "no Chrome was found")


def test_the_json_is_the_figure_and_where_it_comes_from(tmp_path, no_chrome):
    save(figure(), "name", PROVENANCE, directory=tmp_path)
    saved = json.loads((tmp_path / "name.json").read_text())
    again = go.Figure(saved["figure"])
    assert list(again.data[0].x) == [0, 1, 2] and list(again.data[0].y) == [0.1, None, 0.333333]
    assert saved["provenance"]["recipe"] == {"name": "fne", "prior": 1e-4} and saved["provenance"]["seed"] == 3
    assert saved["provenance"]["versions"].keys() >= {"itmlab", "torch", "plotly", "python"}


def test_nothing_said_in_a_figure_is_obeyed_by_its_pages(tmp_path, no_chrome):
    save(figure(), "name", PROVENANCE, directory=tmp_path)
    for page in ("name.html", "index.html"):
        assert "<script>alert" not in (tmp_path / page).read_text()


def test_a_page_lets_its_own_scripts_run_and_nothing_else(tmp_path, no_chrome):
    save(figure(), "name", PROVENANCE, directory=tmp_path)
    write_figure(figure(), tmp_path / "alone.html")
    scripts = {"name": 1, "alone": 3, "index": 0}  # inline ones: plotly itself is one where a page stands alone
    for name, count in scripts.items():
        page = (tmp_path / f"{name}.html").read_text()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
        inline = list(filter(None, re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)))
        hashes = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in inline}
        assert len(inline) == count and set(re.findall(r"sha256-([^']+)", rules["script-src"])) == hashes
        assert re.findall(r'nonce="([^"]+)"', page) == re.findall(r"nonce-([^']+)", rules["script-src"])
        assert "unsafe" not in rules["script-src"] and page.index(policy) < page.index("<title>")


def test_the_index_leads_to_files_whatever_they_are_called(tmp_path, no_chrome):
    save(figure(), "name", PROVENANCE, directory=tmp_path)
    (tmp_path / "name.json").rename(tmp_path / "javascript:alert(1)%41?#.json")
    index = write_pages(tmp_path).read_text()
    assert 'href="./javascript%3Aalert%281%29%2541%3F%23.html"' in index


def test_json_that_plotly_does_not_draw_is_refused_in_a_line(tmp_path, no_chrome):
    (tmp_path / "name.json").write_text(json.dumps({"figure": {"data": [{"type": "bar", "x": 3}]}, "provenance": {}}))
    refused(r"name\.json: not a figure: ", write_pages, tmp_path)


def test_without_chrome_one_line_says_so_once(tmp_path, no_chrome, capsys):
    saving.say_once.cache_clear()
    save(figure(), "a", PROVENANCE, directory=tmp_path)
    (tmp_path / "a.png").write_bytes(b"its picture, of older data")
    for name in "ab":
        written = save(figure(), name, PROVENANCE, directory=tmp_path)
        assert [path.suffix for path in written] == [".json", ".html"]
    assert capsys.readouterr().out.count("\n") == 1
    assert not (tmp_path / "a.png").exists()


def test_the_quick_profile_has_a_folder_of_its_own(tmp_path, no_chrome, monkeypatch):
    monkeypatch.setenv("ITMLAB_FIGURES", str(tmp_path))
    monkeypatch.setenv("ITMLAB_PROFILE", "quick")
    assert save(figure(), "a", PROVENANCE)[0] == tmp_path / "quick" / "a.json"
    monkeypatch.setenv("ITMLAB_PROFILE", "full")
    assert save(figure(), "a", PROVENANCE)[0] == tmp_path / "a.json"


@pytest.mark.parametrize("name", ["", "../a", "a/b", "a b", ".a", "a.png"])
def test_names_that_are_no_file_names_are_refused(tmp_path, name):
    refused("name for a figure", save, figure(), name, PROVENANCE, directory=tmp_path)


def test_one_figure_goes_to_a_file_by_its_ending(tmp_path, no_chrome):
    assert "plotly" in write_figure(figure(), tmp_path / "a.html").read_text()
    assert json.loads(write_figure(figure(), tmp_path / "a.json").read_text())["figure"]["data"]
    refused("no PNG: no Chrome was found", write_figure, figure(), tmp_path / "a.png")
    refused("kind of figure file", write_figure, figure(), tmp_path / "a.pdf")
