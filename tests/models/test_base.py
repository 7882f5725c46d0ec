"""A saved model gives the same features back, or one line that says why not; pictures are prepared as published."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps
from safetensors.torch import load_file, save_file

from itmlab.errors import ItmlabError
from itmlab.models import DualEncoder, ImagePreparation, build_model
from itmlab.models.weights.build import CLIP_PICTURES
from tests.refusals import refused


def features(model, pictures, captions):
    with torch.no_grad():
        images = model.encode_images(model.prepare_images(pictures))
        return images, model.encode_captions(model.prepare_captions(captions))


def test_reloading_gives_bit_identical_features(model, pictures, captions, tmp_path):
    model.save(tmp_path)
    again = DualEncoder.load(tmp_path)
    assert not again.training and again.config == model.config
    for ours, theirs in zip(features(model, pictures, captions), features(again, pictures, captions), strict=True):
        assert torch.equal(ours.pooled, theirs.pooled) and torch.equal(ours.local, theirs.local)


def test_half_precision_storage_halves_the_file_and_hardly_moves_the_features(model, pictures, captions, tmp_path):
    model.save(tmp_path / "whole")
    model.save(tmp_path / "half", dtype="float16")
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("half", "whole")]
    assert sizes[0] < 0.6 * sizes[1]
    again = DualEncoder.load(tmp_path / "half")
    assert all(one.dtype == torch.float32 for one in again.parameters())
    for ours, theirs in zip(features(model, pictures, captions), features(again, pictures, captions), strict=True):
        torch.testing.assert_close(ours.pooled, theirs.pooled, rtol=0, atol=5e-3)
    again.save(tmp_path / "again", dtype="float16")  # storing what was stored loses nothing more
    halves = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("half", "again")]
    assert halves[0] == halves[1]


def test_loading_leaves_the_callers_random_numbers_alone(model, tmp_path):
    model.save(tmp_path)
    before = torch.get_rng_state()
    DualEncoder.load(tmp_path)
    assert torch.equal(torch.get_rng_state(), before)


def test_weights_that_do_not_fit_are_named(configure, captions, tmp_path):
    build_model(configure("vit"), captions, seed=3).save(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    weights["towers.surplus"] = weights.pop("towers.image_projection.bias")
    weights["towers.text_projection.bias"] = torch.zeros(7)
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(ItmlabError) as caught:
        DualEncoder.load(tmp_path)
    line = str(caught.value)
    assert "missing: towers.image_projection.bias" in line
    assert "unexpected: towers.surplus" in line
    assert "misshapen: towers.text_projection.bias (7,) for (24,)" in line
    assert str(tmp_path / "model.safetensors") in line and "\n" not in line


def test_a_truncated_a_missing_and_a_foreign_file_are_one_line_each(configure, captions, tmp_path):
    build_model(configure("vit"), captions, seed=3).save(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    refused("not a safetensors file", DualEncoder.load, tmp_path)
    path.unlink()
    refused(r"model\.safetensors: no such file", DualEncoder.load, tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    refused("wanted a ModelConfig", DualEncoder.load, tmp_path)
    refused("no such file", DualEncoder.load, tmp_path / "elsewhere")


def test_weights_that_are_not_finite_are_not_saved_over_good_ones(configure, captions, tmp_path):
    model = build_model(configure("vit"), captions, seed=3)
    model.save(tmp_path)
    good = (tmp_path / "model.safetensors").read_bytes()
    model.towers.text_projection.weight.data[0, 0] = 1e6
    refused(r"not finite as float16: towers\.text_projection\.weight", model.save, tmp_path, dtype="float16")
    assert (tmp_path / "model.safetensors").read_bytes() == good
    refused("int8", model.save, tmp_path, dtype="int8")


SIZES = st.tuples(st.integers(1, 70), st.integers(1, 70)).filter(lambda size: max(size) <= 8 * min(size))


def picture(width, height, seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8))


@settings(max_examples=40, deadline=None)
@given(SIZES, st.sampled_from([15, 24]))  # a crop larger than the resized picture is padded with black
def test_shortest_edge_and_centre_as_clip(size, edge):
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    theirs = CLIPImageProcessorPil(size={"shortest_edge": edge}, crop_size={"height": 24, "width": 24})
    ours = ImagePreparation(24, edge, "bicubic", CLIP_PICTURES["image_mean"], CLIP_PICTURES["image_std"])
    expected = theirs(images=picture(*size), return_tensors="pt").pixel_values
    torch.testing.assert_close(ours([picture(*size)]), expected, rtol=0, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(SIZES)
def test_squeezed_as_vit(size):
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    theirs = ViTImageProcessorPil(size={"height": 24, "width": 24})
    expected = theirs(images=picture(*size), return_tensors="pt").pixel_values
    torch.testing.assert_close(ImagePreparation(24)([picture(*size)]), expected, rtol=0, atol=1e-6)


def test_each_picture_is_prepared_by_itself():
    prepare, both = ImagePreparation(16), [picture(20, 31), picture(9, 5, seed=1)]
    assert torch.equal(prepare(both), torch.cat([prepare(both[:1]), prepare(both[1:])]))


def test_a_change_gets_the_picture_in_colour_and_what_resizes_it():
    prepare, image = ImagePreparation(24, 24, "bicubic"), picture(40, 30)
    left = image.crop((0, 0, 20, 30))
    cropped = prepare([image.convert("RGBA")], [lambda picture, fitted: fitted(picture.crop((0, 0, 20, 30)))])
    assert torch.equal(cropped, prepare([left]))
    mirrored = prepare([image], [lambda picture, fitted: ImageOps.mirror(fitted(picture))])
    assert torch.equal(mirrored, prepare([image]).flip(3))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "CMYK", "I", "F"])
def test_any_mode_of_pillow_is_read_as_rgb(mode):
    assert ImagePreparation(16)([picture(20, 20).convert("RGB").convert(mode)]).shape == (1, 3, 16, 16)


def test_a_picture_a_pixel_high_does_not_take_gigabytes():
    values = ImagePreparation(16, 16, "bicubic")([Image.new("RGB", (60_000, 1), (255, 255, 255))])
    assert torch.equal(values, torch.ones(1, 3, 16, 16))


def test_no_picture_is_refused():
    refused("no picture", ImagePreparation(16), [])


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"image_layers": 20_000}, "image_layers is 20000, wanted 1 to 256"),
        ({"text_hidden": 10**9}, "text_hidden is 1000000000, wanted 1 to 1048576"),
        ({"text_intermediate": 2**20, "text_hidden": 2**20}, "the weights do not fit config.json: misshapen"),
        ({"text_settings": {"num_hidden_layers": 20_000}}, "another number of layers"),
        ({"text_settings": {"hidden_size": "wide"}}, "no model can be made of it"),
    ],
)
def test_a_configuration_is_held_against_the_file_before_a_model_is_made(change, line, configure, captions, tmp_path):
    build_model(configure("vit"), captions, seed=3).save(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ItmlabError, match=line) as caught:
        DualEncoder.load(tmp_path)
    assert "\n" not in str(caught.value)
