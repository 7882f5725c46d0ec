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
from workshop.plots.saving import save, write_pages
from workshop.plots.theme import styled

from tests.refusals import refused

HOSTILE = "</script><script>alert(1)</script>"
PROVENANCE = {"recipe": {"name": "fne", "prior": 1e-4}, "seed": 3, "command": HOSTILE}


def figure() -> go.Figure:
    line = go.Scatter(x=np.arange(3), y=np.array([0.1, np.nan, 1 / 3]), text=[HOSTILE] * 3)
    return styled(go.Figure(line), HOSTILE, height=300)


@pytest.fixture
def no_chrome(monkeypatch):
    """Drawing without a Chrome, which also makes these tests quick."""
    monkeypatch.setattr(saving, "draw", lambda figure: "no Chrome was found")


@pytest.fixture
def folder(tmp_path, no_chrome):
    """A folder with one saved figure."""
    save(figure(), "name", PROVENANCE, directory=tmp_path)
    write_pages(tmp_path)
    return tmp_path


def test_figures_are_drawn_at_twice_their_size_by_one_browser():
    bars = styled(go.Figure(go.Bar(y=[1, 2])), height=300).update_layout(width=500)
    first, second = saving.draw(bars), saving.draw(bars)
    if isinstance(first, str):
        pytest.skip(first)
    assert Image.open(io.BytesIO(first)).size == (1000, 600) and first == second


def test_a_chrome_that_does_not_start_is_a_line_not_an_error(monkeypatch):
    monkeypatch.setattr(saving, "broken", [])
    saving.shared_browser.cache_clear()
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chrome")
    reason = saving.draw(go.Figure())
    assert isinstance(reason, str) and "\n" not in reason and reason
    monkeypatch.delenv("BROWSER_PATH")
    assert saving.draw(go.Figure()) == reason  # it is not tried again


@pytest.mark.parametrize("error, starts", [(TimeoutError(), 1), (OSError("broken pipe\nand more"), 2)])
def test_a_chrome_that_hung_is_not_tried_again_and_one_that_was_killed_is(monkeypatch, error, starts):
    def png(figure):
        raise error

    started = []
    monkeypatch.setattr(saving, "broken", [])
    monkeypatch.setattr(saving, "shared_browser", cache(lambda: started.append(1) or SimpleNamespace(png=png)))
    reasons = [saving.draw(go.Figure()), saving.draw(go.Figure())]
    assert all(reason.startswith("Chrome") and "\n" not in reason for reason in reasons) and len(started) == starts


def test_the_json_is_the_figure_and_where_it_comes_from(folder):
    saved = json.loads((folder / "name.json").read_text())
    again = go.Figure(saved["figure"])
    assert list(again.data[0].x) == [0, 1, 2] and list(again.data[0].y) == [0.1, None, 0.333333]
    assert saved["provenance"]["recipe"] == {"name": "fne", "prior": 1e-4} and saved["provenance"]["seed"] == 3


def test_a_figure_of_the_project_gets_its_title(tmp_path, no_chrome):
    drawn = styled(go.Figure(), height=300)
    save(drawn, "words", {}, tmp_path)
    assert "Which word is wrong, and what should stand there" in drawn.layout.title.text


@pytest.mark.parametrize("content", [[1], {"figure": {"data": [{"type": "bar", "x": 3}]}, "provenance": {}}])
def test_json_that_is_not_a_figure_is_refused(tmp_path, content):
    (tmp_path / "other.json").write_text(json.dumps(content))
    refused(r"other\.json: not a", write_pages, tmp_path)


def test_no_word_in_a_figure_takes_effect_in_its_pages(folder):
    for page in ("name.html", "index.html"):
        assert "<script>alert" not in (folder / page).read_text()


def test_a_page_lets_its_own_scripts_run_and_nothing_else(folder):
    scripts = {"name": 1, "index": 0}  # inline ones
    for name, count in scripts.items():
        page = (folder / f"{name}.html").read_text()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
        inline = list(filter(None, re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)))
        hashes = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in inline}
        assert len(inline) == count and set(re.findall(r"sha256-([^']+)", rules["script-src"])) == hashes
        assert re.findall(r'nonce="([^"]+)"', page) == re.findall(r"nonce-([^']+)", rules["script-src"])
        assert "unsafe" not in rules["script-src"] and page.index(policy) < page.index("<title>")


def test_the_index_leads_to_files_of_any_name(folder):
    (folder / "name.json").rename(folder / "javascript:alert(1)%41?#.json")
    index = write_pages(folder).read_text()
    assert 'href="./javascript%3Aalert%281%29%2541%3F%23.html"' in index


def test_without_chrome_one_line_says_so_once_and_an_older_picture_goes(folder, capsys):
    saving.say_once.cache_clear()
    (folder / "name.png").write_bytes(b"a picture of older data")
    for name in ("name", "other"):
        save(figure(), name, PROVENANCE, folder)
    assert capsys.readouterr().out.count("\n") == 1 and not list(folder.glob("*.png"))


@pytest.mark.parametrize("name", ["", "../a", "a/b", "a b", ".a", "a.png"])
def test_names_that_are_not_file_names_are_refused(tmp_path, name):
    refused("name for a figure", save, figure(), name, PROVENANCE, directory=tmp_path)
