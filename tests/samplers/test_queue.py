"""The momentum memory against a list that drops its oldest."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.samplers import MomentumQueue


def pairs(first: int, number: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pairs numbered from `first`, recognisable in both queues; caption i of image i has number i + 5000."""
    ids = torch.arange(first, first + number)
    return ids[:, None].float() * torch.ones(3), -ids[:, None].float() * torch.ones(3), ids, ids + 5000


@settings(max_examples=80, deadline=None)
@given(length=st.integers(1, 12), batches=st.lists(st.integers(0, 15), max_size=6))
def test_it_holds_the_latest_pairs_whatever_the_batches(length, batches):
    memory, added = MomentumQueue(length, 3), []
    for number in batches:
        memory.enqueue(*pairs(len(added), number))
        added += range(len(added), len(added) + number)
    images, captions, ids, caption_ids = memory.pool(*pairs(1000, 2))
    assert ids[:2].tolist() == [1000, 1001]
    assert sorted(ids[2:].tolist()) == added[-length:] and memory.filled == min(length, len(added))
    assert torch.equal(images, ids[:, None].float() * torch.ones(3)) and torch.equal(captions, -images)
    assert torch.equal(caption_ids, ids + 5000)


def test_a_pool_outlives_what_is_enqueued_later_and_asks_for_no_gradient():
    memory = MomentumQueue(2, 3)
    images, captions, *ids = pairs(1, 2)
    memory.enqueue(images.requires_grad_(), captions, *ids)
    pool = memory.pool(images, captions, *ids)
    before = pool.image_features.clone()
    memory.enqueue(*pairs(5, 2))
    assert torch.equal(pool.image_features, before) and not pool.image_features.requires_grad
    weight = torch.ones(3, requires_grad=True)
    ((pool.image_features * weight) ** 2).sum().backward()
    assert weight.grad is not None


@settings(max_examples=30, deadline=None)
@given(before=st.integers(0, 9), after=st.integers(0, 9))
def test_a_checkpoint_continues_where_it_was_written(before, after):
    memory, resumed = MomentumQueue(7, 3), MomentumQueue(7, 3)
    memory.enqueue(*pairs(0, before))
    state = memory.state_dict()
    assert all(isinstance(value, torch.Tensor) for value in state.values())
    memory.enqueue(*pairs(50, after))
    resumed.load_state_dict(state)
    resumed.enqueue(*pairs(50, after))
    for value, other in zip(memory.pool(*pairs(90, 1)), resumed.pool(*pairs(90, 1)), strict=True):
        assert torch.equal(value, other)
