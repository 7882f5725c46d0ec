"""What every notebook keeps to: outputs stripped, an opening that says what and how long, a kernel, a figure early."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request) -> dict:
    return json.loads(request.param.read_text(encoding="utf-8"))


def test_the_ordered_notebooks_are_there() -> None:
    assert [path.name[:2] for path in NOTEBOOKS] == [f"{number:02}" for number in range(16)]


def test_outputs_are_stripped(notebook) -> None:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


def test_a_newcomer_is_never_asked_for_a_kernel(notebook) -> None:
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"


def test_it_opens_with_what_you_will_see_and_how_long_it_takes(notebook) -> None:
    opening = "".join(notebook["cells"][0]["source"])
    assert notebook["cells"][0]["cell_type"] == "markdown" and opening.startswith("# ")
    assert "What you will see" in opening and re.search(r"How long it takes.*(second|minute)", opening, re.DOTALL)


def test_every_code_cell_stands_below_prose_and_is_short(notebook) -> None:
    for before, cell in pairwise(notebook["cells"]):
        if cell["cell_type"] == "code":
            assert before["cell_type"] == "markdown", "one idea a cell: prose above each"
            assert len("".join(cell["source"]).splitlines()) <= 25, "a long cell means that the API is wrong"


def test_only_the_public_api_is_used(notebook) -> None:
    code = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    assert not re.search(r"\b_[a-z]\w*\(|\._[a-z]", code)


def test_prose_is_prose(notebook) -> None:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            lines = "".join(cell["source"]).splitlines()
            assert sum(line.startswith("#") for line in lines) <= 3
            assert not any(re.match(r"#+ #", line) for line in lines)
