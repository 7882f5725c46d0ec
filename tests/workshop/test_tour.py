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
from workshop.outputs import keep_outputs, outputs_belong
from workshop.tour import TOUR, tour

from itmlab.storage import refuse_foreign
from tests.refusals import refused

SHOW = "import workshop.plots.saving, plotly.graph_objects as go\ngo.Figure(go.Bar(y=[{height}])).show()"


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


def test_each_notebook_is_run_and_what_it_shows_is_saved(notebooks, tmp_path):
    twice = SHOW.format(height=1) + "\n" + SHOW.format(height=2)
    paths = notebooks(**{"01_one": twice, "02_two": SHOW.format(height=3)})
    stops = tour(paths, tmp_path / "out", jobs=2)
    assert [(stop.notebook, stop.error, stop.figures) for stop in stops] == [("01_one", None, 2), ("02_two", None, 1)]
    index = (tmp_path / "figures" / "tour" / "index.html").read_text()
    assert all(f"{name}.html" in index for name in ("01_1", "01_2", "02_1"))
    executed = json.loads((tmp_path / "out" / "01_one.ipynb").read_text())
    assert executed["cells"][0]["execution_count"] == 1
    assert refuse_foreign(tmp_path / "out" / "01_one.ipynb", TOUR)
    refused("01_one.ipynb", refuse_foreign, paths[0], TOUR)


def test_outputs_are_kept_as_text_and_pictures_and_belong_to_the_code(notebooks, tmp_path):
    (path,) = notebooks(one="import sys\nprint('said')\nprint('noise', file=sys.stderr)\n" + SHOW.format(height=1))
    (stop,) = tour([path], tmp_path / "out")
    assert stop.error is None and not outputs_belong(path)
    keep_outputs(path, tmp_path / "out" / "one.ipynb")
    said, shown = json.loads(path.read_text())["cells"][0]["outputs"]
    assert "".join(said["text"]) == "said\n" and set(shown["data"]) == {"image/jpeg"}
    assert outputs_belong(path)
    path.write_text(path.read_text().replace("'said'", "'other'"))
    assert not outputs_belong(path)
    refused("other code", keep_outputs, path, tmp_path / "out" / "one.ipynb")


def test_the_tour_goes_on_after_a_failure(notebooks, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CELL_TIMEOUT", 4)
    paths = notebooks(raises="1 / 0", hangs="import time; time.sleep(600)", dies="import os; os._exit(1)", works="1")
    stops = tour(paths, tmp_path / "out", jobs=2)
    errors = {stop.notebook: stop.error for stop in stops if stop.error}
    assert [stop.error is None for stop in stops] == [False, False, False, True]
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
        module.run_tour(only=None, out=tmp_path / "out", jobs=1, workshop=True, force=False)
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
