"""A training step at base size, beside a plain loop over Hugging Face's ViT and BERT in the same run.

Operator calls are counted on a CPU with narrow towers of 12 + 12 layers: their number does not depend on the width. On
a GPU, where a step waits for launches, they decide its time, which is measured there. No weights are fetched: models of
the published sizes begin at random.
"""

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn.functional import normalize
from torch.profiler import ProfilerActivity, profile

import itmlab
from itmlab.data.captionset import CaptionSet
from itmlab.models import DualEncoderConfig, build_model
from itmlab.train.recipes import Recipe
from itmlab.train.step_dual import DualEncoderTask

FIRST_COMPILED = 60  # steps in which captions of every padded length come, and are compiled
FIRST, STEPS = 10, 40  # steps before the clock, as memory is taken and pictures are awaited; and all
BERT = {"hidden": 768, "layers": 12, "heads": 12, "intermediate": 3072}
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
SIDES = ("image", "text")
NARROW = {f"{side}_{name}": value for side in SIDES for name, value in (BERT | {"hidden": 32, "heads": 2}).items()}
NARROW |= {"dimension": 32, "image_size": 32, "patch_size": 16, "vocabulary_size": 300, "dropout": 0.1}
MOST_CALLS = {"triplet": 1.25, "fne": 1.55}  # of a plain loop's
COUNTED = 13  # a step of the second epoch, when the memory is used, and one that is not recorded


class Enough(Exception):
    """Stops training."""


def train_until(
    recipe: Recipe, data: CaptionSet, directory: Path, patch: pytest.MonkeyPatch, before_step: Callable[[int], None]
) -> None:
    """Train, calling `before_step` with the number of each step until it raises `Enough`."""
    numbers, step = itertools.count(), DualEncoderTask.__call__

    def counted(task, *arguments):
        before_step(next(numbers))
        return step(task, *arguments)

    with patch.context() as patched, pytest.raises(Enough):
        patched.setattr(DualEncoderTask, "__call__", counted)
        itmlab.train(recipe, data, directory, progress=False, checkpoint_every=10**6)


def plain_loop(config: DualEncoderConfig, data: CaptionSet, pairs: int, device: str) -> Callable[[], None]:
    """A step as one writes it with transformers: two towers, two linear maps, hinges, fused AdamW."""
    model = build_model(config, data.captions).to(device)
    towers, rows = model.towers.train(), torch.arange(pairs, device=device)
    optimiser = torch.optim.AdamW(towers.parameters(), lr=2e-5, fused=True)
    pixels = model.prepare_images([data.images[row] for row in range(pairs)]).to(device)
    tokens = model.prepare_captions([data.captions[5 * row] for row in range(pairs)])
    read = {name: tokens[name].to(device) for name in ("input_ids", "attention_mask")}

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            patches = towers.image_projection(towers.image(pixel_values=pixels).last_hidden_state[:, 1:])
            words = towers.text_projection(towers.text(**read).last_hidden_state)
        images, captions = (normalize(side.float().mean(dim=1), dim=1) for side in (patches, words))
        scores, positives = images @ captions.T, rows[:, None] == rows
        sides = (scores, scores.T)
        hinges = [(0.2 + side - scores.diagonal()[:, None]).relu().masked_fill(positives, 0) for side in sides]
        sum(side.sum(dim=1).mean() for side in hinges).backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


def operator_calls(profiler: profile) -> int:
    return sum(event.name.startswith("aten::") for event in profiler.events())


@pytest.mark.parametrize("name", MOST_CALLS)
def test_operator_calls_of_a_step_beside_a_plain_loops(name, tmp_path, monkeypatch, capsys):
    scenes, config = itmlab.load("scenes", images=8), DualEncoderConfig(**NARROW)
    scenes.splits.clear()
    step = plain_loop(config, scenes, 4, "cpu")
    step()
    with profile(activities=[ProfilerActivity.CPU]) as plain:
        step()
    recipe = itmlab.recipe(name, size="base").replace(model=config, data__batch_size=4, data__validation=0)
    if recipe.memory:
        recipe = recipe.replace(memory__length=16, sampler__minimum_positives=1)
    ours = profile(activities=[ProfilerActivity.CPU])

    def around_one_step(number: int) -> None:
        if number == COUNTED:
            ours.start()
        elif number == COUNTED + 1:
            ours.stop()
            raise Enough

    train_until(recipe, scenes, tmp_path / "run", monkeypatch, around_one_step)
    ratio = operator_calls(ours) / operator_calls(plain)
    with capsys.disabled():
        print(f"\n{name}: {operator_calls(ours):,} operator calls a step, {ratio:.2f} times a plain loop's", flush=True)
    assert ratio <= MOST_CALLS[name]


@needs_gpu
@pytest.mark.gpu
@pytest.mark.parametrize("compiled", ["off", "default", "reduce-overhead"])
@pytest.mark.parametrize("name", MOST_CALLS)
def test_time_of_a_step_beside_a_plain_loops(name, compiled, tmp_path, monkeypatch, capsys):
    data = itmlab.load("scenes", images=600)
    recipe = itmlab.recipe(name, size="base").replace(data__validation=0, optimiser__compile=compiled)
    sizes = {f"{side}_{name}": value for side in SIDES for name, value in BERT.items()}
    fetched = dict.fromkeys(("image_pretrained", "text_pretrained", "image_settings", "text_settings"))
    recipe = replace(recipe, model=replace(recipe.model, **fetched, **sizes, vocabulary_size=30522, maximum_tokens=512))
    step, times = plain_loop(recipe.model, data, recipe.data.batch_size, "cuda"), {}

    def at(name: str) -> None:
        torch.cuda.synchronize()
        times[name] = time.perf_counter()

    for number in range(STEPS):
        if number == FIRST:
            at("plain")
        step()
    at("end of plain")

    def before_step(number: int) -> None:
        if number in (FIRST_COMPILED, FIRST_COMPILED + STEPS):
            at("ours" if number == FIRST_COMPILED else "end of ours")
        if number == FIRST_COMPILED + STEPS:
            raise Enough

    train_until(recipe, data, tmp_path / "run", monkeypatch, before_step)
    plain = (times["end of plain"] - times["plain"]) / (STEPS - FIRST)
    ours = (times["end of ours"] - times["ours"]) / STEPS
    with capsys.disabled():
        line = f"{name}, compile {compiled}: {1000 * ours:.0f} ms a step, {1000 * plain:.0f} ms of a plain loop"
        print(f"\n{line}, {ours / plain:.2f} times", flush=True)
