"""Small models, captions and pictures that the model tests share."""

import numpy as np
import pytest
import torch
from PIL import Image

from itmlab.models import DualEncoderConfig, build_model

CAPTIONS = [
    "a dog runs on the grass",
    "two red cars next to a tree",
    "a man rides a horse under the sun in a wide green field",
    "a cat",
    "three birds above the sea",
]
SMALL = dict(image_size=32, patch_size=8, dimension=24, image_hidden=32, image_layers=2, image_intermediate=48,
             text_hidden=24, text_layers=2, text_intermediate=40, vocabulary_size=120, maximum_tokens=64)  # fmt: skip


def configuration(kind: str, **changes) -> DualEncoderConfig:
    if kind == "stem":
        changes = {"stem": "convolutional"} | changes
    return DualEncoderConfig(**(SMALL | changes))


@pytest.fixture(params=["vit", "stem"])
def kind(request) -> str:
    return request.param


@pytest.fixture
def model(kind):
    return build_model(configuration(kind), CAPTIONS, seed=3).eval()


@pytest.fixture
def configure():
    """`configuration`, for tests that vary it."""
    return configuration


@pytest.fixture
def captions() -> list[str]:
    return CAPTIONS


@pytest.fixture
def pictures() -> list[Image.Image]:
    numbers = np.random.default_rng(0)
    sizes = [(32, 32), (40, 20), (17, 64), (100, 90)]
    return [Image.fromarray(numbers.integers(0, 256, (height, width, 3), np.uint8)) for width, height in sizes]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
