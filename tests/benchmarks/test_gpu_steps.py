"""On a GPU: seconds a step and peak memory of recipes at base size, in the training loop.

Beside them how long the thread that trains computes itself.

No weights are fetched: models of the published sizes begin at random, with as many word pieces as BERT has. Pictures
are of Flickr30K's size and regions of the published detector's, of random numbers. `ITMLAB_GPU_ROWS` chooses recipes.
"""

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import itmlab
from itmlab.data.captionset import CaptionSet
from itmlab.data.regions import RegionFeatures
from itmlab.models import DualEncoderConfig, build_model
from itmlab.text.tokens import train_wordpiece

FIRST, STEPS = 10, 40  # steps before the clock, as memory is taken and pictures are awaited; and all
PICTURES, SIZE, REGIONS = 600, (500, 375), 36
BERT = {"hidden": 768, "layers": 12, "heads": 12, "intermediate": 3072}
SMALLER = {"data__batch_size": 16, "data__accumulate": 1}  # where one such GPU does not hold the recipe's own batch
ROWS = {
    "fne": {},
    "triplet": {},
    "uniter_pretraining": {},
    "uniter": {"data__accumulate": 1},  # its own step, of four such batches, is of a quarter of a minute
    "tags": SMALLER,
    "tags_dc": SMALLER,
    "scan": {},
    "sgraf": {},
    "vsrn": {},
    "vsepp": {},
    "itcontrast": {},
    "oscar_sgraf": {},
}

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]


def drawn_data() -> CaptionSet:
    """Captions of drawn scenes, with pictures and regions of random numbers in the published sizes."""
    scenes, numbers = itmlab.load("scenes", images=PICTURES), np.random.default_rng(0)
    noise = [Image.fromarray(numbers.integers(0, 256, (*SIZE[::-1], 3), dtype=np.uint8)) for _ in range(32)]
    boxes = torch.rand(REGIONS, 7)
    regions = [RegionFeatures(torch.rand(REGIONS, 2048), boxes, torch.ones(REGIONS), ("dog",) * REGIONS) for _ in noise]
    return CaptionSet(
        name="flickr30k",
        images=[noise[index % 32] for index in range(PICTURES)],
        image_ids=scenes.image_ids,
        captions=scenes.captions,
        caption_ids=scenes.caption_ids,
        image_of_caption=scenes.image_of_caption,
        splits={},
        regions=[regions[index % 32] for index in range(PICTURES)],
    )


def without_weights(config):
    """The configuration with the sizes of the published towers, and nothing to download."""
    if not isinstance(config, DualEncoderConfig):
        return config
    sizes = {f"{side}_{name}": value for side in ("image", "text") for name, value in BERT.items()}
    fetched = dict.fromkeys(("image_pretrained", "text_pretrained", "image_settings", "text_settings"))
    return replace(config, **fetched, **sizes, vocabulary_size=30522, maximum_tokens=512)


def start(config, captions, home: Path):
    """The model at random, with all its word pieces, and the recipe's configuration as it then is."""
    tokenizer = train_wordpiece(captions, 1000)
    tokenizer.add_tokens([f"piece{number}" for number in range(config.vocabulary_size - len(tokenizer))])
    model = build_model(config, tokenizer)
    model.save(home)
    return model.config


@pytest.mark.parametrize("name", os.environ.get("ITMLAB_GPU_ROWS", ",".join(ROWS)).split(","))
def test_a_step_at_base_size(name, tmp_path, capsys, data):
    recipe = itmlab.recipe(name, size="base").replace(data__steps=STEPS, data__validation=0, **ROWS[name])
    recipe = recipe.replace(data__warm_up_epochs=0)
    config = start(without_weights(recipe.model), data.captions, tmp_path / "start")
    recipe = replace(recipe, model=config, start=str(tmp_path / "start"))
    torch.cuda.reset_peak_memory_stats()
    clock = []  # of every tenth step: of the wall, and of the thread that trains
    told = {"progress": False, "on_record": lambda line: clock.append((time.perf_counter(), time.thread_time()))}
    itmlab.train(recipe, data, tmp_path / "run", checkpoint_every=STEPS + 1, **told)
    ends = clock[FIRST // 10 - 1], clock[STEPS // 10 - 1]
    taken, computed = ((last - first) / (STEPS - FIRST) for first, last in zip(*ends, strict=True))
    peak = torch.cuda.max_memory_allocated() / 1e9
    shutil.rmtree(tmp_path)
    with capsys.disabled():
        pairs = recipe.data.batch_size * recipe.data.accumulate
        print(
            f"\n{name}, {pairs} pairs a step: {1000 * taken:.0f} ms "
            f"({1000 * computed:.0f} of its own thread); {peak:.2f} GB",
            flush=True,
        )


@pytest.fixture(scope="module")
def data():
    return drawn_data()
