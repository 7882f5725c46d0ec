"""Regions of scenes: a box for every visible thing, some around nothing, pixels as features."""

import pytest
import torch

from itmlab.data.scenes import load


@pytest.fixture(scope="module")
def regions(cache):
    return load(images=30, cache=cache, regions=True)


def test_every_region_has_a_box_a_feature_and_a_confidence(regions):
    for at in range(30):
        found = regions.regions[at]
        count = len(found.features)
        assert found.features.shape == (count, 192) and found.boxes.shape == (count, 7)
        assert found.confidence.shape == (count,) and 0 <= found.features.min() <= found.features.max() <= 1
        left, top, right, bottom, wide, high, area = found.boxes.T
        assert (left < right).all() and (top < bottom).all() and 0 <= found.boxes.min() <= found.boxes.max() <= 1
        assert torch.allclose(wide * high, area) and torch.allclose(right - left, wide)


def test_three_are_spurious_and_the_others_lie_on_their_objects(regions):
    for at in range(30):
        numbers, found = regions.regions.objects(at), regions.regions[at]
        assert (numbers == -1).sum() == 3
        boxes = regions.world.boxes(at).float() / 96
        for number, box in zip(numbers.tolist(), found.boxes, strict=True):
            if number >= 0:
                assert (box[:4] - boxes[number]).abs().max() < 0.1


def test_regions_follow_their_images(regions):
    part = regions.select([7, 2])
    assert torch.equal(part.regions[0].features, regions.regions[7].features)
    assert torch.equal(part.regions[1].boxes, regions.regions[2].boxes)
    assert torch.equal(part.select([1]).regions[0].boxes, regions.regions[2].boxes)
