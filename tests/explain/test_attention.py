"""Where words land."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from itmlab.errors import ItmlabError
from itmlab.explain import word_maps, word_to_patch

from .small_world import small_set

NOISE = Image.effect_noise((96, 96), 90).convert("RGB")


def test_a_colours_word_lands_on_that_colour(colour_model):
    data = small_set()
    attention = word_to_patch(colour_model, data.images[13], data.captions[26], "BLUE")
    row, column = np.unravel_index(attention.weights.argmax(), attention.weights.shape)
    mask = data.world.masks(13)[0]
    assert mask[12 * row + 6, 12 * column + 6] and attention.word == "blue"


def test_a_weight_is_the_cosine_of_the_words_mean_piece_and_the_patch(tiny):
    caption = "Two men ride; T-shirt & <b>hat</b>"
    with torch.no_grad():
        tiny.eval()
        patches = tiny.encode_images(tiny.prepare_images([NOISE])).local[0]
        words = tiny.encode_captions(tiny.prepare_captions([caption])).local[0]
    pieces = dict(tiny.caption_words(caption))["shirt"]
    word = sum(words[piece] for piece in pieces) / len(pieces)
    rows, columns = tiny.patch_grid
    expected = [
        [float(word @ patches[columns * r + c] / word.norm() / patches[columns * r + c].norm()) for c in range(columns)]
        for r in range(rows)
    ]
    assert np.allclose(word_to_patch(tiny, NOISE, caption, "shirt").weights, expected, atol=1e-5)


def test_all_words_have_maps_in_order_and_punctuation_has_none(tiny):
    maps = word_maps(tiny, NOISE, "Two men ride; T-shirt & <b>hat</b>")
    assert [attention.word for attention in maps] == ["Two", "men", "ride", "T", "shirt", "b", "hat", "b"]
    assert all(attention.weights.shape == tiny.patch_grid and abs(attention.weights).max() <= 1 for attention in maps)


def test_moving_patches_moves_the_map(colour_model):
    """The fake model has no positions, so a mirrored picture has a mirrored map."""
    data = small_set()
    mirrored = data.images[1].transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    one, two = (
        word_to_patch(colour_model, picture, "a blue square", "blue").weights for picture in (data.images[1], mirrored)
    )
    assert np.allclose(one, two[:, ::-1], atol=1e-6)


def test_the_second_occurrence_is_another_word(tiny):
    caption = "a man and a hat"
    first, second = (word_to_patch(tiny, NOISE, caption, "a", occurrence=number) for number in (0, 1))
    assert not np.allclose(first.weights, second.weights)
    with pytest.raises(ItmlabError, match="'a' does not occur 3 times"):
        word_to_patch(tiny, NOISE, caption, "a", occurrence=2)


def test_a_word_that_is_not_there_is_said_with_those_that_are(tiny):
    with pytest.raises(ItmlabError, match="its words are a, man"):
        word_to_patch(tiny, NOISE, "a man a", "dog")


def test_a_run_is_as_good_as_its_model_and_the_models_mode_is_kept(tiny):
    tiny.train()
    run = SimpleNamespace(model=tiny)
    assert np.array_equal(word_maps(run, NOISE, "a man")[1].weights, word_maps(tiny, NOISE, "a man")[1].weights)
    assert tiny.training


def test_a_cropping_models_map_covers_the_crop(tiny_clip):
    wide = Image.new("RGB", (192, 96), "red")
    wide.paste("blue", (48, 0, 144, 96))
    attention = word_maps(tiny_clip, wide, "a square")[0]
    assert attention.picture.size == (96, 96)
    assert np.abs(np.asarray(attention.picture).astype(int) - (0, 0, 255)).max() <= 3


def test_a_model_without_patches_is_refused():
    with pytest.raises(ItmlabError, match="no features of words and patches"):
        word_maps(nn.Linear(2, 2), NOISE, "a man")
