"""The momentum copy follows slowly, silently and without dropout."""

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.models import Momentum, build_model


@pytest.fixture
def pair(configure, captions):
    model = build_model(configure("vit", dropout=0.3), captions, seed=3)
    return model, Momentum(model, 0.9)


def shift(model):
    with torch.no_grad():
        for one in model.parameters():
            one.add_(torch.ones_like(one))


def test_it_starts_as_the_model(pair):
    model, momentum = pair
    for slow, fast in zip(momentum.model.parameters(), model.parameters(), strict=True):
        assert torch.equal(slow, fast) and slow.data_ptr() != fast.data_ptr()


def test_each_update_is_the_papers_average(pair):
    model, momentum = pair
    expected = [one.detach().clone() for one in model.parameters()]
    for _ in range(3):
        shift(model)
        momentum.update(model)
        expected = [0.9 * slow + 0.1 * fast.detach() for slow, fast in zip(expected, model.parameters(), strict=True)]
    for slow, wanted in zip(momentum.model.parameters(), expected, strict=True):
        torch.testing.assert_close(slow.detach(), wanted)


def test_buffers_are_copied(pair):
    model, momentum = pair
    for owner in (model, momentum.model):
        owner.register_buffer("steps", torch.zeros(1, dtype=torch.long))
    model.steps += 5
    momentum.update(model)
    assert momentum.model.steps == 5


def test_it_never_drops_out_nor_asks_for_gradients(pair, pictures, captions):
    model, momentum = pair
    model.train()
    momentum.train()
    assert not any(one.training for one in momentum.modules())
    pixels, tokens = model.prepare_images(pictures), model.prepare_captions(captions)
    first, second = momentum.encode_images(pixels), momentum.encode_images(pixels)
    assert torch.equal(first.pooled, second.pooled) and not first.pooled.requires_grad
    assert not momentum.encode_captions(tokens).pooled.requires_grad
    assert not any(one.requires_grad for one in momentum.parameters())
    assert model.training and all(one.requires_grad for one in model.parameters())  # the model itself is untouched


def test_a_wrapped_model_is_followed_like_itself(pair):
    model, momentum = pair
    shift(model)
    momentum.update(torch.nn.DataParallel(model))
    first = next(momentum.model.parameters())
    torch.testing.assert_close(first.detach(), next(model.parameters()).detach() - 0.9)


def test_resuming_restores_it(pair, configure, captions):
    model, momentum = pair
    shift(model)
    momentum.update(model)
    other = Momentum(build_model(configure("vit", dropout=0.3), captions, seed=9), 0.9)
    other.load_state_dict(momentum.state_dict())
    for ours, theirs in zip(momentum.parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("m", [1.0, -0.1, 2])
def test_a_momentum_that_never_follows_is_refused(pair, m):
    with pytest.raises(ItmlabError, match="never follows"):
        Momentum(pair[0], m)
