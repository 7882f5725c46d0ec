"""Pretraining of both encoders apart: masked words, questions about patches, and that neither learns of the other."""

from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from torch import Tensor

import itmlab
from itmlab.data import load
from itmlab.data.batches import PairBatches
from itmlab.train.directory import first_model
from itmlab.train.loop import train
from itmlab.train.state import State
from tests.refusals import refused
from tests.train.test_resume import same_bytes
from tests.train.world import micro


@pytest.fixture(scope="module")
def data():
    return load("scenes", images=30, size=32)


def towers(**changes):
    return micro("towers", data__warm_up_epochs=0, data__validation=0, **changes)


def gradients(data, order: list[int]) -> dict[str, Tensor]:
    """Of a batch's loss, with captions of the images in this order beside the pictures."""
    torch.manual_seed(0)
    recipe = towers(data__captions_per_image=1)
    state = State(recipe, data, Accelerator(cpu=True), Path("unused"))
    batches = PairBatches(data, batch_size=4, seed=0, captions_per_image=1, **state.task.preparation())
    batch = next(iter(batches.epoch(0)))
    tokens = {name: value[order] for name, value in batch.tokens.items()}
    state.task.generator.manual_seed(1)
    state.task(type(batch)(**{**vars(batch), "tokens": tokens}), 0).loss.backward()
    return {name: weight.grad for name, weight in state.model.named_parameters() if weight.grad is not None}


def test_no_tower_hears_which_caption_belongs_to_which_picture(data) -> None:
    matched, shuffled = gradients(data, [0, 1, 2, 3]), gradients(data, [2, 3, 0, 1])
    of_pictures = [name for name in matched if name.startswith("towers.image.")]
    assert of_pictures and all(torch.equal(matched[name], shuffled[name]) for name in of_pictures)
    assert not any(name.startswith(("towers.image_projection", "towers.text_projection")) for name in matched)


# A run.


def falls(steps, name):
    """Whether a loss falls; one batch alone is noisy, as it hides other words each time."""
    return sum(losses[name] for losses in steps[-3:]) / 3 < 0.95 * steps[0][name]


def test_both_losses_fall_a_stopped_run_ends_the_same_and_others_begin_with_it(data, tmp_path) -> None:
    recipe = towers(data__epochs=20)
    run = train(recipe, data, tmp_path / "once", progress=False)
    steps = [line["losses"] for line in run.history if line["kind"] == "step"]
    assert falls(steps, "images") and falls(steps, "words")
    train(recipe, data, tmp_path / "twice", progress=False, max_steps=14)
    assert same_bytes(train(recipe, data, tmp_path / "twice", progress=False), run)
    begun = first_model(micro("info_nce", start=str(run.directory)), []).state_dict()
    assert all(torch.equal(value, run.model.state_dict()[name]) for name, value in begun.items())


def test_regions_and_words_of_a_transformer_are_learnt_apart(tmp_path) -> None:
    data = load("scenes", images=30, size=32, regions="pixels")
    few = {"model__hidden": 16, "model__layers": 1, "model__intermediate": 16, "model__region_dimension": 192}
    recipe = itmlab.recipe("region_towers").replace(**few, data__batch_size=8, data__epochs=30)
    run = train(recipe, data, tmp_path / "towers", progress=False)
    steps = [line["losses"] for line in run.history if line["kind"] == "step"]
    assert falls(steps, "images") and falls(steps, "words")
    fne = itmlab.recipe("fne", on="regions").replace(**few, start=str(run.directory))
    begun = first_model(fne, []).state_dict()
    assert all(torch.equal(value, run.model.state_dict()[name]) for name, value in begun.items())


def test_pictures_of_which_no_world_knows_are_refused(data, tmp_path) -> None:
    without = load("scenes", images=12)
    without.world = None
    refused("nothing is known of the patches", train, towers(), without, tmp_path / "run", progress=False)
