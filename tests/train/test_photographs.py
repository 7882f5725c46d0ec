"""The recipes for photographs: what they share, and that each takes steps on a few pictures."""

import numpy as np
import pytest
import torch
from PIL import Image

import itmlab
from itmlab.data.captionset import CaptionSet
from itmlab.models.photographs import with_photo_features
from itmlab.train import train

CAPTIONS = ("a dog runs on the green grass", "two men ride a horse", "a girl in a red dress", "a cat on a bench")


@pytest.fixture(scope="module")
def data() -> CaptionSet:
    """Sixteen pictures of noise with a caption each."""
    pixels = np.random.default_rng(0).integers(0, 255, (16, 32, 32, 3), dtype=np.uint8)
    ids = [str(number) for number in range(16)]
    captions = [CAPTIONS[number % 4] for number in range(16)]
    images = [Image.fromarray(picture) for picture in pixels]
    noise = CaptionSet(
        **{"name": "noise", "images": images, "image_ids": ids, "captions": captions, "caption_ids": ids},
        image_of_caption=torch.arange(16),
        splits={"train": torch.arange(16)},
    )
    return with_photo_features(noise, progress=False)


@pytest.mark.parametrize("name", ["fne", "sam", "itcontrast", "sgraf", "vsrn"])
def test_each_takes_steps(name, data, tmp_path) -> None:
    few = {"data__batch_size": 8, "data__warm_up_epochs": 0, "data__validation": 0, "model__dimension": 16}
    run = train(itmlab.recipe(name, on="photos").replace(**few), data, tmp_path, progress=False, max_steps=2)
    assert run.epochs and np.isfinite(run.epochs[0]["loss"])
