"""Where words land, what a score hangs on, and whether maps point at what words mean."""

import math

import numpy as np
import torch
from PIL import Image
from workshop.analysis.attention import Pointing, pointing, relevance, word_maps, word_masks

from tests.workshop.small_world import small_set

NOISE = Image.effect_noise((96, 96), 90).convert("RGB")


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
    (shirt,) = (entry for entry in word_maps(tiny, NOISE, caption) if entry.word == "shirt")
    assert np.allclose(shirt.weights, expected, atol=1e-5)


def test_all_words_have_maps_in_order_and_punctuation_has_none(tiny):
    maps = word_maps(tiny, NOISE, "Two men ride; T-shirt & <b>hat</b>")
    assert [attention.word for attention in maps] == ["Two", "men", "ride", "T", "shirt", "b", "hat", "b"]
    assert all(attention.weights.shape == tiny.patch_grid and abs(attention.weights).max() <= 1 for attention in maps)


def test_a_model_that_sees_squares_points_at_them(colour_model):
    result = pointing(colour_model, small_set())
    assert result.hit.all() and len(result.hit) == 16
    assert np.allclose(result.area, 0.25) and result.chance == 0.25
    assert result.mass.min() > 0.5


def test_intervals_resample_images_not_words():
    """Ten words of each of two images: with images the unit, only shares 0, ½ and 1 can be drawn."""
    image = np.repeat([0, 1], 10)
    result = Pointing(hit=image == 0, mass=np.full(20, 0.3), area=np.full(20, 0.1), image=image)
    assert result.measures()["accuracy"] == (0.5, 0.0, 1.0)
    assert np.allclose(result.measures()["mass"], 0.3)
    assert result.measures() == result.measures()
    assert np.allclose(result.by_image(3), [100, 0, np.nan], equal_nan=True)


def test_masks_of_words_go_with_their_maps(tiny):
    data = small_set()
    masks = word_masks(tiny, data, 4)
    words = [entry.word for entry in word_maps(tiny, data.images[2], data.captions[4])]
    assert [mask is not None for mask in masks] == [word == "square" for word in words]
    assert (masks[words.index("square")] == data.world.masks(2)[0]).all()


def test_relevance_is_the_positive_part_of_how_a_words_score_rises_with_a_patch(tiny):
    """Against the derivative of the score along each patch's own features, by finite differences."""
    result = relevance(tiny, NOISE, "a red square")
    assert [entry.word for entry in result] == ["a", "red", "square"]
    tiny.eval()
    blocks, pixels = tiny.image_tower.modules(), tiny.prepare_images([NOISE])
    block = max((part for part in blocks if isinstance(part, torch.nn.ModuleList)), key=len)[-2]
    step, count = 1e-2, math.prod(tiny.patch_grid)
    with torch.no_grad():
        word = tiny.encode_captions(tiny.prepare_captions(["a red square"])).local[0, 2].double()

        def score(patch: int, factor: float) -> float:
            def stretch(_, __, output):
                hidden = (output[0] if isinstance(output, tuple) else output).clone()
                hidden[0, patch + 1] *= factor
                return (hidden, *output[1:]) if isinstance(output, tuple) else hidden

            with block.register_forward_hook(stretch):
                return float(torch.cosine_similarity(tiny.encode_images(pixels).pooled[0].double(), word, dim=0))

        slopes = [(score(patch, 1 + step) - score(patch, 1 - step)) / (2 * step) for patch in range(count)]
    slow = np.maximum(slopes, 0).reshape(tiny.patch_grid)
    assert slow.max() > 0 and np.allclose(result[1].weights, slow, atol=0.03 * slow.max() + 2e-6)
