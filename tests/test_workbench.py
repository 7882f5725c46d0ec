"""The tour on notebooks of a cell or two: one at a time or two, whatever becomes of them."""

import json
import time
from pathlib import Path

import nbformat
import pytest

from itmlab import workbench
from itmlab.storage import refuse_foreign
from itmlab.workbench import TOUR, Stop, summary, tour
from tests.refusals import refused

SAVE = """
import plotly.graph_objects as go
from itmlab.studies.kit import saving
saving.shared_browser = lambda: "no Chrome was asked for"
for name in {names!r}:
    saving.save(go.Figure(go.Bar(y=[1])), name, {{}})
"""
DIES = "import os; os._exit(1)"


@pytest.fixture
def notebooks(tmp_path, monkeypatch):
    """Makes notebooks by name and source, in a folder beside which their figures are written."""
    monkeypatch.setenv("ITMLAB_FIGURES", str(tmp_path / "figures"))

    def make(**sources: str) -> list[Path]:
        for name, source in sources.items():
            content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
            nbformat.write(content, tmp_path / f"{name}.ipynb")
        return [tmp_path / f"{name}.ipynb" for name in sources]

    return make


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_notebook_is_run_said_and_counted_by_itself(notebooks, tmp_path, jobs):
    """Though both write into one folder, a figure twice, and what was there before is not theirs."""
    (tmp_path / "figures" / "quick").mkdir(parents=True)
    (tmp_path / "figures" / "quick" / "old.json").write_text('{"figure": {}, "provenance": {}}')
    said: list[str] = []
    paths = notebooks(one=SAVE.format(names=["a", "b", "a"]), two=SAVE.format(names=["c"]))
    stops = tour(paths, tmp_path / "out", jobs=jobs, say=said.append)
    assert [(stop.notebook, stop.passed, stop.figures) for stop in stops] == [("one", True, 2), ("two", True, 1)]
    assert len(said) == 3 and {line.split(": done in ")[0][6:] for line in said[1:]} == {"one", "two"}
    assert said[0] == f"running 2 notebooks{', 2 at a time' if jobs == 2 else ''} …"
    assert [line[:5] for line in said[1:]] == ["[1/2]", "[2/2]"]
    index = (tmp_path / "figures" / "quick" / "index.html").read_text()
    assert all(f"{name}.html" in index for name in ("a", "b", "c", "old"))
    executed = json.loads((tmp_path / "out" / "one.ipynb").read_text())
    assert executed["cells"][0]["execution_count"] == 1
    assert refuse_foreign(tmp_path / "out" / "one.ipynb", TOUR)  # the next tour may overwrite it, but not:
    refused("one.ipynb: itmlab did not write this file", refuse_foreign, paths[0], TOUR)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_fails_hangs_or_dies_is_said_and_the_tour_goes_on(notebooks, tmp_path, monkeypatch, jobs):
    monkeypatch.setattr(workbench, "LONGEST_CELL", 4)
    paths = notebooks(raises="1 / 0", hangs="import time; time.sleep(600)", dies=DIES, works="1 + 1")
    said: list[str] = []
    stops = tour(paths, tmp_path / "out", jobs=jobs, say=said.append)
    assert [stop.passed for stop in stops] == [False, False, False, True]
    errors = {stop.notebook: stop.error for stop in stops if stop.error}
    assert "ZeroDivisionError" in errors["raises"] and "timed out" in errors["hangs"] and "died" in errors["dies"]
    assert sum("FAILED" in line for line in said) == 3 and set(errors.values()) <= set(said)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {path.name for path in paths}


def test_an_interrupted_tour_ends_its_kernels(notebooks, tmp_path):
    def interrupt(line: str) -> None:
        if "works" in line:
            raise KeyboardInterrupt

    paths = notebooks(works="1", hangs="import time; time.sleep(600)", waits="import time; time.sleep(600)")
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        tour(paths, tmp_path / "out", jobs=2, say=interrupt)
    assert time.monotonic() - started < 100


def test_the_table_has_a_line_for_each_notebook_and_the_time_that_passed_in_all(tmp_path):
    """Of two at a time the times overlap: 61 and 2 seconds are over after 62."""
    lines = summary([Stop("00_one", 61.4, None, 3), Stop("01_two", 2.0, "error", 1)], tmp_path, 61.6).splitlines()
    assert lines[1].split() == ["00_one", "passed", "61", "3"] and lines[2].split() == ["01_two", "FAILED", "2", "1"]
    assert lines[3].split() == ["all", "(wall", "time)", "62", "4"] and lines[5].endswith(str(tmp_path))
