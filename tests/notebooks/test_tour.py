"""The tour runs every notebook in order from a clean kernel, without a screen, and leaves figures behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from workshop.tour import find_notebooks

pytestmark = pytest.mark.notebook


@pytest.fixture(scope="module")
def toured(tmp_path_factory):
    """One run of the whole tour: its printed words, the executed notebooks, the figures."""
    out, figures = tmp_path_factory.mktemp("executed"), tmp_path_factory.mktemp("figures")
    result = subprocess.run(
        [sys.executable, "-m", "workshop", "tour", "--out", str(out)],
        env={**os.environ, "ITMLAB_FIGURES": str(figures)},
        capture_output=True,
        text=True,
    )
    print(result.stdout)
    return result, out, figures


def test_every_notebook_passes(toured) -> None:
    result, _, _ = toured
    assert result.returncode == 0, result.stdout + result.stderr
    for path in find_notebooks():
        assert f"{path.stem}" in result.stdout


@pytest.mark.parametrize("path", find_notebooks(), ids=lambda path: path.stem)
def test_it_ran_in_order_and_shows_a_figure_in_its_first_cells(toured, path: Path) -> None:
    cells = [c for c in json.loads((toured[1] / path.name).read_text())["cells"] if c["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    early = [output for cell in cells[:2] for output in cell["outputs"]]
    assert any("application/vnd.plotly.v1+json" in output.get("data", {}) for output in early)


def test_the_figures_are_on_disk_with_their_index(toured) -> None:
    saved = toured[2] / "tour"
    drawn = sorted(path.stem for path in saved.glob("*.json"))
    assert len(drawn) >= 15
    index = (saved / "index.html").read_text()
    assert all(f"{name}.html" in index for name in drawn)
    assert str(saved / "index.html") in toured[0].stdout


def test_each_figure_is_a_picture_too(toured, chrome) -> None:
    saved = toured[2] / "tour"
    assert {path.stem for path in saved.glob("*.png")} == {path.stem for path in saved.glob("*.json")}
