"""The convolutional stem keeps ViT's patch grid and never looks at another picture."""

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.models.stem import ConvolutionalStem


@pytest.mark.parametrize(("patch", "grid"), [(8, 12), (12, 8), (16, 6), (32, 3)])
def test_one_feature_per_patch(patch, grid):
    assert ConvolutionalStem(patch, 32)(torch.rand(2, 3, 96, 96)).shape == (2, grid * grid, 32)


def test_a_patchs_feature_follows_its_own_pixels_in_reading_order():
    torch.manual_seed(0)
    stem, pixels = ConvolutionalStem(12, 32), torch.rand(1, 3, 96, 96)
    changed = pixels.clone()
    changed[:, :, 24:36, 60:72] += 1  # row 2, column 5
    moved = (stem(changed) - stem(pixels)).abs().sum(-1)[0]
    assert moved.argmax() == 2 * 8 + 5


def test_in_training_too_a_picture_is_alone():
    stem, pixels = ConvolutionalStem(12, 32).train(), torch.rand(3, 3, 96, 96)
    torch.testing.assert_close(stem(pixels)[:1], stem(pixels[:1]))


@pytest.mark.parametrize("patch", [4, 6, 14])
def test_a_patch_that_three_convolutions_cannot_make_is_refused(patch):
    with pytest.raises(ItmlabError, match="cannot make patches"):
        ConvolutionalStem(patch, 32)
