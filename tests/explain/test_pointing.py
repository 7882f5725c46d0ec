"""Pointing at objects whose masks are known."""

import numpy as np
import pytest

from itmlab.errors import ItmlabError
from itmlab.explain import Pointing, pointing, word_maps, word_masks
from itmlab.explain.pointing import enlarge, token_pieces

from .small_world import small_set


def test_a_model_that_sees_squares_points_at_them(colour_model):
    found = pointing(colour_model, small_set())
    assert found.hit.all() and len(found.hit) == 16
    assert np.allclose(found.area, 0.25) and found.chance == 0.25
    assert found.mass.min() > 0.5


def test_more_captions_are_more_words_of_the_same_images(colour_model):
    found = pointing(colour_model, small_set(), captions_per_image=None)
    assert sorted(found.image.tolist()) == sorted([*range(16), *range(16)])


def test_a_model_that_has_learnt_nothing_is_near_chance(tiny):
    found = pointing(tiny, small_set(64))
    accuracy, mass = (found.measures()[name] for name in ("accuracy", "mass"))
    assert 0 <= accuracy[1] <= accuracy[0] <= accuracy[2] <= 1
    assert abs(mass[0] - found.chance) < 0.15


def test_enlarging_is_bilinear_with_pixel_centres():
    weights = np.array([[0.0, 1.0]], dtype=np.float32)
    slow = [min(max((x + 0.5) * 2 / 8 - 0.5, 0), 1) for x in range(8)]
    assert np.allclose(enlarge(weights, 3, 8), [slow] * 3)


def test_intervals_resample_images_not_words():
    """Ten words of each of two images: with images the unit, only shares 0, ½ and 1 can be drawn."""
    image = np.repeat([0, 1], 10)
    found = Pointing(hit=image == 0, mass=np.full(20, 0.3), area=np.full(20, 0.1), image=image)
    assert found.measures()["accuracy"] == (0.5, 0.0, 1.0)
    assert np.allclose(found.measures()["mass"], 0.3)
    assert found.measures() == found.measures()


def test_words_of_the_graph_are_found_among_the_models_pieces(tiny):
    caption = "Two men; T-shirt’s <b> hat"
    spoken = dict(tiny.caption_words(caption))
    pieces = token_pieces(tiny, caption)
    assert pieces[0] == spoken["Two"] and pieces[1] == spoken["men"]
    assert pieces[3] == [*spoken["T"], *spoken["-"], *spoken["shirt"], *spoken["’"], *spoken["s"]]
    assert pieces[-1] == spoken["hat"]


def test_masks_of_words_go_with_their_maps(tiny):
    data = small_set()
    masks = word_masks(tiny, data, 4)
    words = [entry.word for entry in word_maps(tiny, data.images[2], data.captions[4])]
    assert [mask is not None for mask in masks] == [word == "square" for word in words]
    assert (masks[words.index("square")] == data.world.masks(2)[0]).all()


def test_without_a_world_there_is_nothing_to_point_at(tiny):
    data = small_set()
    data.world = None
    assert word_masks(tiny, data, 0) == [None, None, None]
    with pytest.raises(ItmlabError, match="masks of the objects"):
        pointing(tiny, data)
