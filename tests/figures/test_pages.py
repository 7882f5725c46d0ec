"""Pages made again from committed JSON."""

import pytest

from itmlab.errors import ItmlabError
from itmlab.figures import browser, gallery, save, write_pages


def test_every_page_and_the_index_can_be_made_from_the_json_alone(tmp_path, monkeypatch, pictures):
    monkeypatch.setattr(browser, "shared_browser", lambda: "no Chrome was found")
    save(gallery(pictures, ["a <b>"] * 6, title="Six & more"), "six", {"seed": 0}, directory=tmp_path)
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
    with pytest.raises(ItmlabError, match=r"other\.json: not a saved figure"):
        write_pages(tmp_path)


def test_a_folder_without_figures_has_an_index_that_says_so(tmp_path):
    assert "0 figures" in write_pages(tmp_path).read_text()
