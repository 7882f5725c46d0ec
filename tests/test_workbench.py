"""The tour on notebooks of a cell or two: one at a time or two, whatever becomes of them."""

import json
import time
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import typer
from typer.testing import CliRunner

from itmlab import workbench
from itmlab.cli import app
from itmlab.storage import ENDS, refuse_foreign
from itmlab.workbench import TOUR, Stop, how_far, summary, tour
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
    monkeypatch.setattr(workbench, "SECONDS_BETWEEN_LINES", 600.0)  # only what is done is said

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


def test_something_moves_while_a_notebook_runs(notebooks, tmp_path, monkeypatch):
    monkeypatch.setattr(workbench, "SECONDS_BETWEEN_LINES", 0.5)
    said: list[str] = []
    tour(notebooks(slow="import time; time.sleep(3)"), tmp_path / "out", say=said.append)
    moving = [line for line in said if line.startswith("  … ")]
    told = [line for line in moving if line.startswith("  … slow: cell 1 of 1, about ")]
    assert len(told) >= 3 and all(line.endswith(" s in all") for line in moving)


def test_folders_that_the_environment_names_are_the_same_in_a_kernel(notebooks, tmp_path, monkeypatch):
    """Whose working directory is its notebook's folder."""
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setenv("ITMLAB_CACHE", "own cache")
    monkeypatch.setenv("ITMLAB_WEIGHTS", "")
    cells = "import os\nassert os.environ['ITMLAB_CACHE'] == {!r}, os.environ['ITMLAB_CACHE']"
    (stop,) = tour(notebooks(one=cells.format(str(tmp_path.parent / "own cache"))), tmp_path / "out", say=list)
    assert stop.passed, stop.error


def test_a_notebook_whose_widgets_say_much_is_run_again(notebooks, tmp_path):
    labels = "import ipywidgets\nipywidgets.VBox([ipywidgets.Label('much ' * 50) for _ in range(60)])"
    found = notebooks(widgets=f"print('much ' * 9_000)\n{labels}")
    for _ in range(2):
        (stop,) = tour(found, tmp_path / "out", say=lambda line: None)
        assert stop.passed
    copy = tmp_path / "out" / "widgets.ipynb"
    assert copy.stat().st_size > 4 * ENDS and refuse_foreign(copy, TOUR)


@pytest.mark.parametrize(
    ("told", "done", "began", "said"),
    [
        ("**How long it takes.** About 20 seconds on two cores.", 0, 0, "cell 1 of 4, about 20 s left"),
        ("**How long it takes.** About half a minute, nothing more.", 1, 2, "cell 2 of 4, about 25 s left"),
        ("**How long it takes.** A minute on two cores, a minute.", 2, 30, "cell 3 of 4, about 30 s left"),
        ("**How long it takes.** A minute on two cores, a minute.", 2, 90, "cell 3 of 4, about 15 s left"),
        ("**How long it takes.** A minute on two cores, a minute.", 3, 200, "cell 4 of 4, about 8 s left"),
        ("**How long it takes.** About 100 seconds on two cores.", 39, 500, "cell 40 of 40, about 10 s left"),
        ("**How long it takes.** About three minutes on two cores.", 0, 0, "cell 1 of 4, about 180 s left"),
        ("No word of it", 4, 100, "cell 4 of 4, about 0 s left"),
    ],
)
def test_the_time_left_is_halfway_between_what_cells_and_the_clock_say(told, done, began, said, monkeypatch):
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    assert how_far(client_of(told, done, cells=int(said.split()[3][:-1])), 1000.0 - began) == said


def client_of(told: str, done: int, cells: int = 4) -> SimpleNamespace:
    """As `nbclient` shows a notebook that says this and has run so many of its cells."""
    content = [nbformat.v4.new_markdown_cell(told), *[nbformat.v4.new_code_cell("1")] * cells]
    return SimpleNamespace(nb=SimpleNamespace(cells=content), code_cells_executed=done)


def test_a_cell_that_takes_long_lets_the_time_left_fall_and_never_rise(monkeypatch):
    """Eight seconds a line, and after two minutes the next cell."""
    monkeypatch.setattr(time, "monotonic", lambda: now)
    left = []
    for line in range(30):
        now = 8.0 * line
        left.append(workbench.seconds_left(client_of("How long it takes: a minute", done=1 + line // 15), 0.0))
    assert left == sorted(left, reverse=True) and left[0] - left[5] == 20 and min(left) >= 6
    assert workbench.seconds_left(client_of("How long it takes: a minute", done=4), 0.0) == 0


@pytest.mark.parametrize(
    ("running", "finished", "jobs", "told"),
    [
        ({}, [], 1, "about 4 min in all"),
        ({"one": 20.0, "two": 10.0}, [], 2, "about 2 min in all"),  # as long as the longest takes alone
        ({"two": 10.0}, [Stop("one", 60.0, None, 1)], 2, "about 4 min in all"),  # twice as long as it said
        ({"two": 10.0}, [Stop("one", 1.0, "raised", 0)], 2, "about 2 min in all"),
        ({"four": 80.0}, [Stop(name, 30.0, None, 1) for name in ("one", "two", "three")], 2, "about 60 s in all"),
    ],
)
def test_the_time_left_of_the_whole_tour_goes_by_what_notebooks_say_and_took(running, finished, jobs, told):
    said = {"one": 30.0, "two": 30.0, "three": 60.0, "four": 120.0}
    if len(finished) == 3:
        said |= {"one": 40.0, "two": 40.0, "three": 40.0}
    assert workbench.left_in_all(said, running, finished, jobs) == told


def test_a_workshop_is_prepared_as_in_a_room_without_network(notebooks, tmp_path, monkeypatch, capsys):
    for name in workbench.WITHOUT_NETWORK:  # put back afterwards
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))
    fetches = """
import os, urllib.request
assert os.environ["HF_HUB_OFFLINE"] == "1"
urllib.request.urlopen("http://example.org", timeout=5)
"""
    found = notebooks(fetches=fetches, works="1")
    monkeypatch.setattr(workbench, "find_notebooks", lambda only: found)
    monkeypatch.setattr("itmlab.data.load", lambda name: None)
    with pytest.raises(typer.Exit):
        workbench.run_tour(only=None, out=tmp_path / "out", jobs=1, workshop=True, profile="quick", force=False)
    said = capsys.readouterr().out
    drawn, starting, _ = said.split("\n", 2)
    assert drawn.startswith("drawing the scenes world") and starting == "starting kernels …"
    assert "URLError" in said and "fetches: FAILED" in said and "works: done" in said
    assert (tmp_path / "cache" / "lab").is_dir()


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


def test_lab_of_an_installed_wheel_opens_copies_that_stay_the_readers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(workbench, "project_directory", lambda: None)
    called = []
    monkeypatch.setattr(workbench.subprocess, "call", lambda command, **options: called.append((command, options)) or 0)
    first = tmp_path / "notebooks" / "00_start_here.ipynb"
    for _ in range(2):
        with pytest.raises(typer.Exit):
            workbench.lab(SimpleNamespace(args=["--no-browser"]))
        first.write_text("mine")
    assert [command[-2:] for command, _ in called] == [[str(first), "--no-browser"]] * 2
    assert called[0][1]["cwd"] == first.parent and len(list(first.parent.iterdir())) == len(workbench.find_notebooks())
    assert first.read_text() == "mine"


def test_lab_is_told_the_whole_paths_of_the_folders_that_the_environment_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ITMLAB_CACHE", "my cache")
    assert workbench.whole_paths()["ITMLAB_CACHE"] == str(tmp_path / "my cache")
    monkeypatch.setattr(workbench, "find_notebooks", lambda: [tmp_path / "elsewhere" / "00_start.ipynb"])
    seen = {}
    monkeypatch.setattr(workbench.subprocess, "call", lambda command, **given: seen.update(given) or 0)
    monkeypatch.setattr(workbench, "project_directory", lambda: tmp_path)
    CliRunner().invoke(app, ["lab"])
    assert seen["env"]["ITMLAB_CACHE"] == str(tmp_path / "my cache")
    assert seen["env"]["JUPYTER_CONFIG_PATH"].startswith(str(tmp_path / "my cache" / "lab"))
