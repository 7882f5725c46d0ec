"""The tour over notebooks of a cell or two, JupyterLab's environment, the doctor."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
import typer
from workshop import tour as module
from workshop.tour import TOUR, tour

from itmlab.storage import refuse_foreign
from tests.refusals import refused

SAVE = """
import plotly.graph_objects as go
from workshop.plots import saving
saving.shared_browser = lambda: "no Chrome in this test"
for name in {names!r}:
    saving.save(go.Figure(go.Bar(y=[1])), name, {{}})
"""


@pytest.fixture
def notebooks(tmp_path, monkeypatch):
    """Writes notebooks from names and sources, beside a folder for their figures."""
    monkeypatch.setenv("ITMLAB_FIGURES", str(tmp_path / "figures"))

    def write(**sources: str) -> list[Path]:
        paths = []
        for name, source in sources.items():
            content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
            paths.append(tmp_path / f"{name}.ipynb")
            nbformat.write(content, paths[-1])
        return paths

    return write


def test_each_notebook_is_run_and_its_figures_are_counted(notebooks, tmp_path):
    """A figure that is saved twice counts once, though two notebooks write into one folder at the same time."""
    paths = notebooks(one=SAVE.format(names=["a", "b", "a"]), two=SAVE.format(names=["c"]))
    stops = tour(paths, tmp_path / "out", jobs=2)
    assert [(stop.notebook, stop.passed, stop.figures) for stop in stops] == [("one", True, 2), ("two", True, 1)]
    index = (tmp_path / "figures" / "quick" / "index.html").read_text()
    assert all(f"{name}.html" in index for name in ("a", "b", "c"))
    executed = json.loads((tmp_path / "out" / "one.ipynb").read_text())
    assert executed["cells"][0]["execution_count"] == 1
    assert refuse_foreign(tmp_path / "out" / "one.ipynb", TOUR)
    refused("one.ipynb", refuse_foreign, paths[0], TOUR)


def test_the_tour_goes_on_after_a_failure(notebooks, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CELL_TIMEOUT", 4)
    paths = notebooks(raises="1 / 0", hangs="import time; time.sleep(600)", dies="import os; os._exit(1)", works="1")
    stops = tour(paths, tmp_path / "out", jobs=2)
    errors = {stop.notebook: stop.error for stop in stops if stop.error}
    assert [stop.passed for stop in stops] == [False, False, False, True]
    assert "ZeroDivisionError" in errors["raises"] and "timed out" in errors["hangs"] and "died" in errors["dies"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {path.name for path in paths}


def test_a_workshop_is_prepared_without_network(notebooks, tmp_path, monkeypatch, capsys):
    for name in module.WITHOUT_NETWORK:  # restored after the test
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))
    fetches = "import urllib.request\nurllib.request.urlopen('http://example.org', timeout=5)"
    paths = notebooks(fetches=fetches)
    monkeypatch.setattr(module, "find_notebooks", lambda only: paths)
    monkeypatch.setattr("itmlab.data.load", lambda name: None)
    with pytest.raises(typer.Exit):
        module.run_tour(only=None, out=tmp_path / "out", jobs=1, workshop=True, profile="quick", force=False)
    assert "URLError" in capsys.readouterr().out
    assert (tmp_path / "cache" / "lab").is_dir()


def test_an_interrupted_tour_ends_its_kernels(notebooks, tmp_path):
    pid_file = tmp_path / "pid"
    source = f"import os, pathlib, time\npathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))\ntime.sleep(600)"
    (path,) = notebooks(hangs=source)
    call = f"tour([Path({str(path)!r})], Path({str(tmp_path / 'out')!r}))"
    code = f"from pathlib import Path; from workshop.tour import tour; {call}"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while not pid_file.exists() or not pid_file.read_text():
        assert process.poll() is None
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
