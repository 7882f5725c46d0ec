"""Negatives from a whole data set, 399 → 31 (TAGS-DC, A.1), and argmax-m (Eq. 6), against slow references."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.samplers import hardest_negatives, mined_negatives, random_negatives
from tests.samplers.test_base import generator


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    images=st.integers(1, 5),
    candidates=st.integers(0, 30),
    anchors=st.integers(0, 5),
    count=st.integers(1, 40),
)
def test_drawn_are_different_candidates_of_other_images_as_many_as_there_are(seed, images, candidates, anchors, count):
    owners = torch.randint(images, (candidates,), generator=generator(seed))
    anchor_images = torch.randint(images + 1, (anchors,), generator=generator(seed + 1))
    drawn = random_negatives(anchor_images[:, None] == owners, count, generator=generator(seed))
    assert drawn.shape == (anchors, count)
    for row, image in zip(drawn.tolist(), anchor_images.tolist(), strict=True):
        others = {index for index, owner in enumerate(owners.tolist()) if owner != image}
        taken = [index for index in row if index >= 0]
        assert len(set(taken)) == len(taken) == min(count, len(others)) and set(taken) <= others
        assert row == taken + [-1] * (count - len(taken))


def test_every_other_candidate_is_as_likely():
    owners = torch.tensor([0, 0, 1, 2, 3, 4])
    drawn = random_negatives((owners == 0).expand(6000, -1), 2, generator=generator())
    shares = torch.bincount(drawn.flatten(), minlength=6) / len(drawn)
    torch.testing.assert_close(shares, torch.tensor([0, 0, 0.5, 0.5, 0.5, 0.5]), atol=0.03, rtol=0)


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(
        st.lists(
            st.tuples(st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 2.0, math.nan]), st.booleans()),
            min_size=4,
            max_size=4,
        ),
        min_size=1,
        max_size=4,
    ),
    count=st.integers(1, 6),
)
def test_argmax_m_is_a_stable_sort_of_what_is_allowed(rows, count):
    scores = torch.tensor([[score for score, _ in row] for row in rows])
    allowed = torch.tensor([[may for _, may in row] for row in rows])
    chosen = hardest_negatives(scores, allowed, count).tolist()
    for row, indices in zip(rows, chosen, strict=True):
        value = [-math.inf if math.isnan(score) else score for score, _ in row]
        best = sorted((index for index, (_, may) in enumerate(row) if may), key=lambda index: -value[index])[:count]
        assert indices == best + [-1] * (min(count, len(row)) - len(best))


def test_mining_scores_what_it_drew_once_without_gradients_and_keeps_the_best():
    owners, anchor_images = torch.arange(200) // 5, torch.tensor([3, 17, 17])
    table = torch.rand(3, 200, generator=generator(1), requires_grad=True)
    asked = []

    def score(anchors, candidates):
        assert not torch.is_grad_enabled()
        asked.append((anchors, candidates))
        return table[anchors, candidates]

    mined = mined_negatives(score, anchor_images[:, None] == owners, candidates=50, top_k=7, generator=generator(2))
    pool = random_negatives(anchor_images[:, None] == owners, 50, generator=generator(2))
    assert len(asked) == 1 and len(asked[0][0]) == 150
    for anchor, row in enumerate(mined.tolist()):
        assert row == sorted(pool[anchor].tolist(), key=lambda candidate: -table[anchor, candidate].item())[:7]
        assert all(owners[candidate] != anchor_images[anchor] for candidate in row)


def test_a_small_set_gives_what_it_has():
    positives, numbers = torch.tensor([[1, 0, 0], [0, 0, 0]]).bool(), {"candidates": 399, "top_k": 31}
    few = mined_negatives(lambda a, c: c.float(), positives, **numbers, generator=generator())
    assert few[:, :4].tolist() == [[2, 1, -1, -1], [2, 1, 0, -1]]
