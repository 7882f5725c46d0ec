"""Torch's defaults of a session change nothing (issue 44, entry 20)."""

import pytest
import torch

import itmlab
from itmlab.train.scores import embed
from tests.sessions import SESSIONS
from tests.train.world import micro


def answers(run, other, data):
    """Everything that is asked of runs, as numbers and texts."""
    run = itmlab.Run(run.directory)  # its model is loaded within the session
    mined = itmlab.mine(run, data, relative_margin=0.0)
    yield run.evaluate(data, relevance="cider", ks=(1, 5))
    yield itmlab.ensemble([run, other]).evaluate(data, ks=(1, 5))
    yield repr(run.search("a red field", data=data)), repr(run.search(data.images[3], data=data))
    yield mined.captions.negatives.tolist(), mined.images.negatives.tolist(), str(mined)
    yield embed(run.model, data).captions.tolist()


def compared(data, root):
    recipe = micro("triplet", data__epochs=1, data__warm_up_epochs=0)
    options = {"seeds": [0], "run_root": root, "split": "train", "jobs": 1, "progress": False}
    table = itmlab.compare([recipe], data, **options)
    return table.per_seed(recipe.name), {path.name: path.read_bytes() for path in root.rglob("*.safetensors")}


@pytest.fixture(scope="module")
def usual(finished_once, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("usual")
    other = itmlab.Run(finished_once.directory)
    return list(answers(finished_once, other, data)), compared(data, folder / "runs")


@pytest.mark.parametrize("session", SESSIONS)
def test_every_answer_is_the_same_in_any_session(session, usual, finished_once, data, tmp_path):
    with SESSIONS[session]():
        other = itmlab.Run(finished_once.directory)
        assert list(answers(finished_once, other, data)) == usual[0]
        assert compared(data, tmp_path / "runs") == usual[1]
        assert torch.get_default_dtype() in (torch.float32, torch.float64, torch.bfloat16)
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
