"""SAM beside the recipe's loss (Eq. 7), against plain loops."""

import pytest
import torch

from tests.train.test_objective import IDS, ROWS, features
from tests.train.test_objective import objective as plain_objective

RELEVANCE = torch.rand(100, 100, generator=torch.Generator().manual_seed(7)) * 10  # φ[image, caption], not symmetric


def relevance(captions, images):
    return RELEVANCE[images, captions]


def objective(name="sam", **changes):
    return plain_objective(name, relevance, data__warm_up_epochs=0, **changes)


def by_loops(batch, pool, rows, *, negatives="softest", temperature=10.0, rank=0, weight=1.0, reading="pairs"):
    """L_SAM of Eq. 7, anchor by anchor; `batch` and `pool` are features of images and captions, `rows` their ids."""
    (images, captions, matches), (image_ids, caption_ids), (pool_images, pool_captions) = batch, rows, pool
    total, choices = [], {}
    sides = (("i2t", images, matches[1], captions), ("t2i", captions, matches[0], images))
    for direction, anchors, _, candidates in sides:
        for row in range(len(anchors)):
            others = [column for column in range(len(pool_images)) if pool_images[column] != image_ids[row]]
            scores = {column: (anchors[row] @ candidates[column]).item() for column in others}
            choices[direction, row] = sorted(others, key=scores.get, reverse=negatives == "hardest")[rank]
    for direction, anchors, matches, candidates in sides:
        for row in range(len(anchors)):
            taken = choices[direction, row]
            image, caption = image_ids[row], caption_ids[row]
            as_image = RELEVANCE[image, pool_captions[taken]]
            other = as_image if direction == "i2t" else RELEVANCE[pool_images[taken], caption]
            if reading != "pairs":  # φ(G_p, ·) of the caption of this hinge's negative, or as printed of the other's
                asked = {"i2t": "t2i", "t2i": "i2t"}[direction] if reading == "printed" else direction
                other = RELEVANCE[image, pool_captions[choices[asked, row]]]
            margin = min(1.0, ((RELEVANCE[image, caption] - other) / temperature).item())
            hinge = margin + anchors[row] @ candidates[taken] - anchors[row] @ matches[row]
            total.append(hinge.clamp(min=0))
    return weight * sum(total) / len(images)


def in_batch(images, captions, **settings):
    batch = images, captions, (images, captions)
    return by_loops(batch, (IDS, ROWS), (IDS, ROWS), **settings)


@pytest.mark.parametrize("negatives", ["softest", "hardest"])
@pytest.mark.parametrize("temperature", [3.0, 10.0])
def test_it_is_equation_7(negatives, temperature):
    settings = {"negatives": negatives, "temperature": temperature, "with_triplet": False}
    images, captions = features(0)
    loss, chosen = objective(adaptive_margin=settings)(images, captions, IDS, ROWS, None, epoch=1)
    expected = in_batch(images, captions, negatives=negatives, temperature=temperature)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5) and loss.item() > 0
    assert len(chosen) == 12
    gradients = [torch.autograd.grad(value, (images, captions)) for value in (loss, expected)]
    for gradient, slow in zip(*gradients, strict=True):
        torch.testing.assert_close(gradient, slow)


@pytest.mark.parametrize(
    "settings",
    [
        {"reading": "corrected"},
        {"reading": "printed"},
        {"weight": 5.0},
        {"rank": 2},
        {"negatives": "hardest", "rank": 1, "reading": "printed", "weight": 0.5},
    ],
)
def test_its_other_readings_are_those_of_the_loops(settings):
    images, captions = features(0)
    loss = objective(adaptive_margin={"with_triplet": False, **settings})(images, captions, IDS, ROWS, None, epoch=1)
    assert loss.loss.item() == pytest.approx(in_batch(images, captions, **settings).item(), rel=1e-5)
    assert abs(loss.loss.item() - in_batch(images, captions).item()) > 1e-3


@pytest.mark.parametrize("name", ["hardest", "triplet", "semi_hard", "info_nce"])
def test_it_is_added_to_any_loss(name):
    images, captions = features(0)
    plain = objective(name)(images, captions, IDS, ROWS, None, epoch=1)
    loss, chosen = objective(name, adaptive_margin={})(images, captions, IDS, ROWS, None, epoch=1)
    assert loss.item() == pytest.approx((plain.loss + in_batch(images, captions)).item(), rel=1e-5)
    assert len(chosen) == (24 if plain.chosen is not None else 12)  # the recipe's own choices come first
    if plain.chosen is not None:
        assert chosen[:12].equal(plain.chosen)
