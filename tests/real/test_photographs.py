"""Real photographs end to end, in Python and by command: load, train a little, search."""

import pytest
import torch
from typer.testing import CliRunner

import itmlab
from itmlab.cli import app

pytestmark = pytest.mark.real
FEW = ["data.epochs=2", "data.batch_size=8", "data.warm_up_epochs=1", "memory.length=32"]


@pytest.fixture(scope="module")
def where(photographs) -> list[object]:
    """The options of a command that name the photographs."""
    return ["--data", "folder", "--root", photographs.root, "--option", f"captions={photographs.captions}"]


@pytest.fixture(scope="module")
def run(where, tmp_path_factory):
    """Ten steps on forty photographs by the command of the README."""
    directory = tmp_path_factory.mktemp("photographs") / "run"
    words = [word for change in FEW for word in ("--set", change)]
    command("train", directory, "--recipe", "fne", "--start", "scratch", *words, *where)
    return itmlab.Run(directory)


def command(*words) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_few_steps_make_a_model_that_scores_every_pair(run, photographs) -> None:
    data = photographs.load()
    assert len(run.epochs) == 2 and all(torch.isfinite(torch.tensor(epoch["loss"])) for epoch in run.epochs)
    scores = run.evaluate(data, split=None)
    assert 0 < scores["rsum"] <= 600


def test_they_are_searched_by_sentence_and_by_picture(run, photographs, where) -> None:
    data = ("--split", "all", *where)
    lines = command("search", run.directory, "a cat on a sofa", "-k", 5, *data).strip().splitlines()
    assert len(lines) == 1 + 5 + 1 and lines[-1] == "searched among all 50 pictures"
    photograph = next((photographs.root / "images").glob("*.jpg"))
    lines = command("search", run.directory, photograph, "--picture", "-k", 3, *data).strip().splitlines()
    assert len(lines) == 1 + 3 + 1 and lines[-1].startswith("searched among all 2")
