"""Pictures on a canvas: beside captions, in a gallery, painted over, encoded."""

import base64
import io

import numpy as np
import pytest
from PIL import Image
from workshop.plots.canvas import data_uri, heat, outlined, tinted

GREY = Image.new("RGB", (40, 40), (128, 128, 128))


def test_the_largest_weight_is_the_most_coloured_place():
    weights = np.zeros((4, 4))
    weights[1, 2] = 1
    pixels = np.asarray(heat(GREY, weights, size=80), dtype=int)
    row, column = np.unravel_index(np.ptp(pixels, axis=2).argmax(), (80, 80))
    assert (row // 20, column // 20) == (1, 2)


def test_places_below_the_average_stay_uncovered():
    weights = np.zeros((4, 4))
    weights[0, 0] = 1
    painted, flat = (np.asarray(heat(GREY, values, size=80), dtype=int) for values in (weights, np.ones((4, 4))))
    assert (painted[40:, 40:] == flat[40:, 40:]).all() and (painted[:10, :10] != flat[:10, :10]).any()


def test_an_outline_runs_inside_the_mask_only():
    mask = np.zeros((40, 40), dtype=bool)
    mask[10:30, 5:35] = True
    changed = (np.asarray(outlined(GREY, mask, "#FFFFFF", rim=False)) != 128).any(axis=2)
    expected = mask.copy()
    expected[12:28, 7:33] = False  # two pixels wide
    assert (changed == expected).all()


def test_masks_of_another_resolution_fit():
    mask = np.zeros((10, 10), dtype=bool)
    mask[:, :5] = True
    changed = (np.asarray(tinted(GREY, mask, "#FF0000", 0.5)) != 128).any(axis=2)
    assert changed[:, :20].all() and not changed[:, 20:].any()


@pytest.mark.parametrize("size", [(1, 1), (300, 2)])
def test_odd_pictures_can_be_painted(size):
    assert max(heat(Image.new("RGB", size), np.eye(3), size=60).size) == 60


def decoded(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(uri.split(",", 1)[1])))


def test_a_picture_that_was_painted_on_is_encoded_anew():
    picture = Image.new("RGB", (8, 8), "white")
    before = data_uri(picture)
    picture.putpixel((3, 3), (255, 0, 0))
    assert data_uri(picture) != before and decoded(data_uri(picture)).getpixel((3, 3)) == (255, 0, 0)


def test_large_pictures_are_made_small_in_proportion():
    uri = data_uri(Image.new("RGB", (1000, 500)), largest=100, photographic=True)
    assert uri.startswith("data:image/jpeg;") and decoded(uri).size == (100, 50)
