"""Towers pretrained apart: what the ViT and BERT are asked, that neither hears of the other, and that a run resumes."""

import math

import pytest
import torch
from accelerate import Accelerator
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import itmlab
from itmlab.data import load
from itmlab.data.batches import PairBatches
from itmlab.train.checkpoint import CHECKPOINT_FILE, load_checkpoint
from itmlab.train.loop import train
from itmlab.train.pretraining import KEPT, UNASKED, TowerTask, masked_words, patch_loss
from itmlab.train.state import State
from itmlab.train.step_dual import DualEncoderTask
from tests.refusals import refused
from tests.train.world import micro


@pytest.fixture(scope="module")
def data():
    return load("scenes", images=30, size=32)


def towers(**changes):
    return micro("towers", data__warm_up_epochs=0, data__validation=0, **changes)


class Pieces:
    """A tokeniser of twenty pieces, of which number 4 hides another."""

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
    asked = labels != KEPT
    assert asked.any() and not (asked & ~words).any()
    assert torch.equal(labels[asked], pieces[asked]) and torch.equal(hidden[~asked], pieces[~asked])


def test_eight_of_ten_are_hidden_one_is_another_and_one_stays() -> None:
    pieces = torch.full((1000, 100), 7)
    hidden, labels = masked_words(pieces, torch.ones_like(pieces), Pieces(), 0.15, torch.Generator().manual_seed(0))
    asked = labels != KEPT
    assert math.isclose(asked.float().mean(), 0.15, abs_tol=0.01)
    given_pieces = hidden[asked]
    assert math.isclose((given_pieces == 4).float().mean(), 0.8 + 0.1 / 20, abs_tol=0.01)
    assert math.isclose((given_pieces == 7).float().mean(), 0.1 + 0.1 / 20, abs_tol=0.01)


# What is asked of the patches.


def test_patches_are_asked_each_question_that_arises() -> None:
    torch.manual_seed(0)
    numbers, told = [3, 2], torch.randn(2, 4, 5)
    asked = torch.stack([torch.randint(3, (2, 4)), torch.randint(-1, 2, (2, 4))], dim=2)
    total = 0.0
    for image in range(2):
        for patch in range(4):
            for first, (question, count) in zip((0, 3), enumerate(numbers), strict=True):
                answer = asked[image, patch, question].item()
                if answer != UNASKED:
                    total -= told[image, patch, first : first + count].log_softmax(0)[answer].item()
    assert math.isclose(patch_loss(told, asked, numbers).item(), total / 8, rel_tol=1e-5)


def gradients(data, order: list[int]) -> dict[str, Tensor]:
    """Of a batch's loss, with captions of the images in this order beside the pictures."""
    torch.manual_seed(0)
    recipe = towers(data__captions_per_image=1)
    state = State(recipe, data, Accelerator(cpu=True), TowerTask)
    batches = PairBatches(data, batch_size=4, seed=0, captions_per_image=1, **state.task.preparation())
    batch = next(iter(batches.epoch(0)))
    tokens = {name: value[order] for name, value in batch.tokens.items()}
    state.task.generator.manual_seed(1)
    made = state.task(type(batch)(**{**vars(batch), "tokens": tokens}), 0)
    made.loss.backward()
    return {name: weight.grad for name, weight in state.model.named_parameters() if weight.grad is not None}


def test_no_tower_hears_which_caption_belongs_to_which_picture(data) -> None:
    one, other = gradients(data, [0, 1, 2, 3]), gradients(data, [2, 3, 0, 1])
    seen = [name for name in one if name.startswith("towers.image.")]
    assert seen and all(torch.equal(one[name], other[name]) for name in seen)
    assert not any(name.startswith(("towers.image_projection", "towers.text_projection")) for name in one)


# A run.


def test_both_losses_fall_and_a_stopped_run_ends_the_same(data, tmp_path) -> None:
    recipe = towers(data__epochs=20)
    run = train(recipe, data, tmp_path / "once", progress=False)
    steps = [line["losses"] for line in run.history if line["kind"] == "step"]
    for name in ("images", "words"):
        last = [losses[name] for losses in steps[-3:]]  # one batch alone is noisy: it hides other words each time
        assert sum(last) / len(last) < 0.95 * steps[0][name], name
    stopped = train(recipe, data, tmp_path / "twice", progress=False, max_steps=14)
    heads = load_checkpoint(stopped.directory / CHECKPOINT_FILE)["task"]["heads"]
    assert {name.split(".")[0] for name in heads} == {"images", "words"}
    again = train(recipe, data, tmp_path / "twice", progress=False)
    for name in ("model.safetensors", "history.jsonl"):
        assert (run.directory / name).read_bytes() == (again.directory / name).read_bytes()


def test_regions_and_words_of_a_transformer_are_learnt_apart(tmp_path) -> None:
    data = load("scenes", images=30, size=32, regions="pixels")
    few = {"model__hidden": 16, "model__layers": 1, "model__intermediate": 16, "model__region_dimension": 192}
    recipe = itmlab.recipe("region_towers").replace(**few, data__batch_size=8, data__epochs=30)
    run = train(recipe, data, tmp_path / "towers", progress=False)
    steps = [line["losses"] for line in run.history if line["kind"] == "step"]
    for name in ("images", "words"):
        assert sum(losses[name] for losses in steps[-3:]) / 3 < 0.95 * steps[0][name], name
    fne = itmlab.recipe("fne", on="regions").replace(**few, start=str(run.directory))
    state = State(fne, data, Accelerator(cpu=True), DualEncoderTask)
    assert all(torch.equal(value, run.model.state_dict()[name]) for name, value in state.model.state_dict().items())


def test_a_dual_encoder_begins_with_both_towers(data, tmp_path) -> None:
    run = train(towers(), data, tmp_path / "towers", progress=False)
    recipe = micro("info_nce", start=str(run.directory))
    state = State(recipe, data, Accelerator(cpu=True), DualEncoderTask)
    learnt = run.model.state_dict()
    assert all(torch.equal(value, learnt[name]) for name, value in state.model.state_dict().items())


def test_pictures_of_which_no_world_knows_are_refused(data, tmp_path) -> None:
    without = load("scenes", images=12)
    without.world = None
    refused("nothing is known of the patches", train, towers(), without, tmp_path / "run", progress=False)
