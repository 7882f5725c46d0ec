"""Gradient times activation."""

import numpy as np
import pytest
import torch
from PIL import Image

from itmlab.errors import ItmlabError
from itmlab.explain import relevance

NOISE = Image.effect_noise((96, 96), 90).convert("RGB")


def slow_relevance(model, caption: str, layer: int) -> np.ndarray:
    """The directional derivative of the score along each patch's own features, by finite differences."""
    model.eval()
    block = list(
        model.towers.image.encoder.layer if hasattr(model.towers.image, "encoder") else model.towers.image.layers
    )[layer]
    pixels, target = model.prepare_images([NOISE]), None
    with torch.no_grad():
        target = model.encode_captions(model.prepare_captions([caption])).pooled[0].double()

        def score(patch: int, factor: float) -> float:
            def stretch(_, __, output):
                hidden = output[0] if isinstance(output, tuple) else output
                hidden = hidden.clone()
                hidden[0, patch + 1] *= factor
                return (hidden, *output[1:]) if isinstance(output, tuple) else hidden

            hook = block.register_forward_hook(stretch)
            pooled = model.encode_images(pixels).pooled[0].double()
            hook.remove()
            return float(torch.cosine_similarity(pooled, target, dim=0))

        step = 1e-2
        count = model.patch_grid[0] * model.patch_grid[1]
        slopes = [(score(patch, 1 + step) - score(patch, 1 - step)) / (2 * step) for patch in range(count)]
    return np.maximum(slopes, 0).reshape(model.patch_grid)


@pytest.mark.parametrize("layer", [0, -2])
def test_it_is_the_positive_part_of_how_the_score_rises_with_a_patch(tiny, layer):
    found = relevance(tiny, NOISE, "a red square", layer=layer).weights
    slow = slow_relevance(tiny, "a red square", layer)
    assert found.max() > 0 and np.allclose(found, slow, atol=0.03 * slow.max() + 2e-6)


def test_nothing_is_left_behind(tiny):
    before = {name: value.clone() for name, value in tiny.state_dict().items()}
    tiny.zero_grad()
    relevance(tiny, NOISE, "a red square")
    assert all(parameter.grad is None for parameter in tiny.parameters())
    assert all(torch.equal(before[name], value) for name, value in tiny.state_dict().items())
    assert not any(module._forward_hooks for module in tiny.modules())


def test_frozen_models_and_no_grad_blocks_do_not_hinder_it(tiny):
    expected = relevance(tiny, NOISE, "a red square").weights
    tiny.requires_grad_(False)
    with torch.no_grad():
        found = relevance(tiny, NOISE, "a red square").weights
    tiny.requires_grad_(True)
    assert np.allclose(found, expected)


def test_one_word_has_a_relevance_of_its_own(tiny, tiny_clip):
    whole, word = relevance(tiny, NOISE, "a red square"), relevance(tiny, NOISE, "a red square", word="Red")
    assert (whole.word, word.word) == ("whole caption", "Red")
    assert not np.allclose(whole.weights, word.weights)
    assert relevance(tiny_clip, NOISE, "a red square", layer=-2).weights.shape == tiny_clip.patch_grid
    one, two = (relevance(tiny, NOISE, "a man and a hat", word="a", occurrence=number).weights for number in (0, 1))
    assert not np.allclose(one, two)
    with pytest.raises(ItmlabError, match="its words are a, red, square"):
        relevance(tiny, NOISE, "a red square", word="dog")


def test_a_block_that_is_not_there_is_said(tiny):
    with pytest.raises(ItmlabError, match="no block 9"):
        relevance(tiny, NOISE, "a red square", layer=9)
