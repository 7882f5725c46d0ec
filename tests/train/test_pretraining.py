"""Pretraining of both encoders apart: masked words, questions about patches, and that neither learns of the other."""

import pytest
import torch
from accelerate import Accelerator
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import itmlab
from itmlab.data import load
from itmlab.data.batches import PairBatches
from itmlab.train.directory import first_model
from itmlab.train.loop import train
from itmlab.train.pretraining import KEPT, TowerTask, masked_words
from itmlab.train.state import State
from tests.refusals import refused
from tests.train.test_resume import same_bytes
from tests.train.world import micro


@pytest.fixture(scope="module")
def data():
    return load("scenes", images=30, size=32)


def towers(**changes):
    return micro("towers", data__warm_up_epochs=0, data__validation=0, **changes)


class Pieces:
    """A tokeniser of twenty pieces; number 4 hides another."""

    mask_token_id = 4

    def __len__(self) -> int:
        return 20


# Masked words (Devlin et al., 2019, Sec. 3.1).


@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 9), st.floats(0.01, 0.99))
def test_only_words_are_hidden_and_only_the_hidden_are_predicted(seed, captions, length, share) -> None:
    generator = torch.Generator().manual_seed(seed)
    pieces = torch.randint(5, 20, (captions, length), generator=generator)
    words = torch.rand(captions, length, generator=generator) < 0.7
    words[0, 0] = True
    hidden, labels = masked_words(pieces, words, Pieces(), share, generator)
    predicted = labels != KEPT
    assert predicted.any() and not (predicted & ~words).any()
    assert torch.equal(labels[predicted], pieces[predicted]) and torch.equal(hidden[~predicted], pieces[~predicted])


def gradients(data, order: list[int]) -> dict[str, Tensor]:
    """Of a batch's loss, with captions of the images in this order beside the pictures."""
    torch.manual_seed(0)
    recipe = towers(data__captions_per_image=1)
    state = State(recipe, data, Accelerator(cpu=True), TowerTask)
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
