"""Pictures become the numbers that `transformers`' own Pillow processors make of them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from itmlab.errors import ItmlabError
from itmlab.models import ImagePreparation, TwoTowerConfig
from itmlab.models.pretrained import CLIP_PICTURES

SIZES = st.tuples(st.integers(1, 70), st.integers(1, 70)).filter(lambda size: max(size) <= 8 * min(size))


def picture(width, height, seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8))


@settings(max_examples=40, deadline=None)
@given(SIZES)
def test_shortest_edge_and_centre_as_clip(size):
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    theirs = CLIPImageProcessorPil(size={"shortest_edge": 24}, crop_size={"height": 24, "width": 24})
    ours = ImagePreparation(24, 24, "bicubic", CLIP_PICTURES["image_mean"], CLIP_PICTURES["image_std"])
    expected = theirs(images=picture(*size), return_tensors="pt").pixel_values
    torch.testing.assert_close(ours([picture(*size)]), expected, rtol=0, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(SIZES)
def test_squeezed_as_vit(size):
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    theirs = ViTImageProcessorPil(size={"height": 24, "width": 24})
    expected = theirs(images=picture(*size), return_tensors="pt").pixel_values
    torch.testing.assert_close(ImagePreparation(24)([picture(*size)]), expected, rtol=0, atol=1e-6)


def test_a_crop_wider_than_the_resized_picture_is_padded_with_black_as_clip_does():
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    theirs = CLIPImageProcessorPil(size={"shortest_edge": 15}, crop_size={"height": 24, "width": 24})
    ours = ImagePreparation(24, 15, "bicubic", CLIP_PICTURES["image_mean"], CLIP_PICTURES["image_std"])
    expected = theirs(images=picture(20, 31), return_tensors="pt").pixel_values
    torch.testing.assert_close(ours([picture(20, 31)]), expected, rtol=0, atol=1e-6)


def test_each_picture_is_prepared_by_itself():
    prepare, both = ImagePreparation(16), [picture(20, 31), picture(9, 5, seed=1)]
    assert torch.equal(prepare(both), torch.cat([prepare(both[:1]), prepare(both[1:])]))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "CMYK", "I", "F"])
def test_any_mode_of_pillow_is_read_as_rgb(mode):
    assert ImagePreparation(16)([picture(20, 20).convert("RGB").convert(mode)]).shape == (1, 3, 16, 16)


def test_a_picture_a_pixel_high_does_not_take_gigabytes():
    values = ImagePreparation(16, 16, "bicubic")([Image.new("RGB", (60_000, 1), (255, 255, 255))])
    assert torch.equal(values, torch.ones(1, 3, 16, 16))


def test_no_picture_is_refused():
    with pytest.raises(ItmlabError, match="no picture"):
        ImagePreparation(16)([])


def test_the_configuration_says_how():
    assert ImagePreparation.of(TwoTowerConfig.tiny()) == ImagePreparation(96)
