"""The tour over notebooks of a cell or two, JupyterLab's environment, the doctor."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from workshop import tour as module
from workshop.outputs import keep_outputs, outputs_belong
from workshop.tour import TOUR, tour

from itmlab.storage import refuse_foreign
from tests.refusals import refused

SHOW = "import workshop.plots.saving, plotly.graph_objects as go\ngo.Figure(go.Bar(y=[{height}])).show()"


def write_notebooks(folder: Path, **sources: str) -> list[Path]:
    """Write notebooks of one cell each, from names and sources."""
    paths = []
    for name, source in sources.items():
        content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
        paths.append(folder / f"{name}.ipynb")
        nbformat.write(content, paths[-1])
    return paths


@pytest.fixture(scope="module")
def toured(tmp_path_factory):
    """The folder of two notebooks, with figures/ and out/ of their tour, and how it went."""
    folder = tmp_path_factory.mktemp("toured")
    words = "import sys\nprint('said')\nprint('noise', file=sys.stderr)\n"
    twice = words + SHOW.format(height=1) + "\n" + SHOW.format(height=2)
    paths = write_notebooks(folder, **{"01_one": twice, "02_two": SHOW.format(height=3)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ITMLAB_FIGURES", str(folder / "figures"))
        return folder, tour(paths, folder / "out", jobs=2)


@pytest.fixture
def own_figures(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_FIGURES", str(tmp_path / "figures"))


def test_each_notebook_is_run_and_what_it_shows_is_saved(toured):
    folder, stops = toured
    assert [(stop.notebook, stop.error, stop.figures) for stop in stops] == [("01_one", None, 2), ("02_two", None, 1)]
    index = (folder / "figures" / "tour" / "index.html").read_text()
    assert all(f"{name}.html" in index for name in ("01_1", "01_2", "02_1"))
    executed = json.loads((folder / "out" / "01_one.ipynb").read_text())
    assert executed["cells"][0]["execution_count"] == 1
    assert refuse_foreign(folder / "out" / "01_one.ipynb", TOUR)
    refused("01_one.ipynb", refuse_foreign, folder / "01_one.ipynb", TOUR)


def test_outputs_are_kept_as_text_and_pictures_and_belong_to_the_code(toured, tmp_path):
    path, executed = tmp_path / "01_one.ipynb", toured[0] / "out" / "01_one.ipynb"
    shutil.copy(toured[0] / path.name, path)
    assert not outputs_belong(path)
    keep_outputs(path, executed)
    said, *shown = json.loads(path.read_text())["cells"][0]["outputs"]
    assert "".join(said["text"]) == "said\n" and [set(output["data"]) for output in shown] == [{"image/jpeg"}] * 2
    assert outputs_belong(path)
    path.write_text(path.read_text().replace("'said'", "'other'"))
    assert not outputs_belong(path)
    refused("other code", keep_outputs, path, executed)


def test_the_tour_goes_on_after_a_failure(own_figures, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CELL_TIMEOUT", 4)
    hangs, dies = "import time; time.sleep(600)", "import os; os._exit(1)"
    paths = write_notebooks(tmp_path, raises="1 / 0", hangs=hangs, dies=dies, works="1")
    stops = tour(paths, tmp_path / "out", jobs=2)
    errors = {stop.notebook: stop.error for stop in stops if stop.error}
    assert [stop.error is None for stop in stops] == [False, False, False, True]
    assert "ZeroDivisionError" in errors["raises"] and "timed out" in errors["hangs"] and "died" in errors["dies"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {path.name for path in paths}


def test_an_interrupted_tour_ends_its_kernels(own_figures, tmp_path):
    pid_file = tmp_path / "pid"
    source = f"import os, pathlib, time\npathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))\ntime.sleep(600)"
    (path,) = write_notebooks(tmp_path, hangs=source)
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
