"""A saved model has the same features, or one line says why not; pictures are prepared like those of checkpoints."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from safetensors.torch import load_file, save_file

from itmlab.models import DualEncoder, ImagePreparation, build_model
from tests.models.conftest import CAPTIONS, configuration
from tests.refusals import refused


def features(model, pictures, captions):
    with torch.no_grad():
        images = model.encode_images(model.prepare_images(pictures))
        return images, model.encode_captions(model.prepare_captions(captions))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_saved_model_has_the_same_features(dtype, model, pictures, captions, tmp_path):
    model.save(tmp_path / "first", dtype=dtype)
    state = torch.get_rng_state()
    again = DualEncoder.load(tmp_path / "first")
    assert torch.equal(torch.get_rng_state(), state)  # the caller's random numbers are left alone
    assert not again.training and again.config == model.config
    assert all(weights.dtype == torch.float32 for weights in again.parameters())
    tolerance = 0 if dtype == "float32" else 5e-3
    pairs = zip(features(model, pictures, captions), features(again, pictures, captions), strict=True)
    for before, after in pairs:
        torch.testing.assert_close(before.pooled, after.pooled, rtol=0, atol=tolerance)
    again.save(tmp_path / "again", dtype=dtype)  # storing it once more loses nothing
    first, second = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("first", "again"))
    assert first == second


def test_weights_that_do_not_fit_are_named(configure, captions, tmp_path):
    build_model(configure("vit"), captions, seed=3).save(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    weights["towers.surplus"] = weights.pop("towers.image_projection.bias")
    weights["towers.text_projection.bias"] = torch.zeros(7)
    save_file(weights, tmp_path / "model.safetensors")
    refused(r"size mismatch for towers\.text_projection\.bias", DualEncoder.load, tmp_path)
    save_file(weights | {"towers.text_projection.bias": torch.zeros(24)}, tmp_path / "model.safetensors")
    refused(r"missing: towers.image_projection.bias; unexpected: towers.surplus", DualEncoder.load, tmp_path)


def test_damaged_missing_and_foreign_files_are_one_line_each(configure, captions, tmp_path):
    build_model(configure("vit"), captions, seed=3).save(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    refused("not a safetensors file", DualEncoder.load, tmp_path)
    path.unlink()
    refused(r"model\.safetensors: no such file", DualEncoder.load, tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    refused("must be a DualEncoderConfig", DualEncoder.load, tmp_path)
    with open(tmp_path / "config.json", "wb") as file:
        file.truncate(20 * 2**30)  # sparse: takes no room on the disk
    refused("more than .* bytes", DualEncoder.load, tmp_path)
    refused("no such file", DualEncoder.load, tmp_path / "elsewhere")


def test_weights_that_are_not_finite_are_not_saved_over_good_ones(configure, captions, tmp_path):
    model = build_model(configure("vit"), captions, seed=3)
    model.save(tmp_path)
    good = (tmp_path / "model.safetensors").read_bytes()
    model.towers.text_projection.weight.data[0, 0] = 1e6
    refused(r"not finite as float16: towers\.text_projection\.weight", model.save, tmp_path, dtype="float16")
    assert (tmp_path / "model.safetensors").read_bytes() == good


SIZES = st.tuples(st.integers(1, 70), st.integers(1, 70)).filter(lambda size: max(size) <= 8 * min(size))


def picture(width, height, seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8))


@settings(max_examples=25, deadline=None)
@given(SIZES)
def test_squeezed_as_vit(size):
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    reference = ViTImageProcessorPil(size={"height": 24, "width": 24})
    expected = reference(images=picture(*size), return_tensors="pt").pixel_values
    torch.testing.assert_close(ImagePreparation(24)([picture(*size)]), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"image_layers": 20_000}, "image_layers must be 1 to 256, got 20000"),
        ({"text_intermediate": 2**12, "text_hidden": 2**12}, "the weights do not fit .*: .* size mismatch"),
        ({"text_intermediate": 2**20, "text_hidden": 2**20}, "GiB of memory"),
        ({"text_settings": {"num_hidden_layers": 20_000}}, "num_hidden_layers must be text_layers"),
        ({"text_settings": {"hidden_size": "wide"}}, "no model can be made of it"),
    ],
)
def test_a_configuration_is_checked_against_the_file_before_a_model_is_built(change, words, saved_vit, tmp_path):
    path = tmp_path / "config.json"
    for name in ("tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        (tmp_path / name).symlink_to(saved_vit / name)
    path.write_text(json.dumps(json.loads((saved_vit / "config.json").read_text()) | change))
    refused(words, DualEncoder.load, tmp_path)


@pytest.fixture(scope="module")
def saved_vit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vit")
    build_model(configuration("vit"), CAPTIONS, seed=3).save(folder)
    weights = folder / "model.safetensors"
    save_file(load_file(weights), weights)  # without the digest, so that the configuration alone is judged
    return folder
