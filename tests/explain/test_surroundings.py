"""A batch as one anchor sees it, beside the same told candidate by candidate."""

import pytest
import torch
from torch.nn.functional import normalize

from itmlab.errors import ItmlabError
from itmlab.explain import Surroundings, surroundings
from itmlab.synthesis import SynHNC
from itmlab.training.evaluation import Embeddings

from .small_world import small_set

OPTIONS = {"pictures": 10, "perplexity": 3, "cache": False}


def features(images: int = 16, captions: int = 32) -> Embeddings:
    source = torch.Generator().manual_seed(1)
    return Embeddings(*(normalize(torch.randn(n, 6, generator=source), dim=1) for n in (images, captions)))


@pytest.mark.parametrize("direction, anchor", [("image", 5), ("caption", 11)])
def test_positives_hard_and_easy_negatives_are_those_of_the_definition(direction, anchor):
    data, embeddings = small_set(), features()
    batch = surroundings(embeddings, data, anchor, direction, margin=0.3, **OPTIONS)
    images, captions = embeddings
    own = anchor if direction == "image" else anchor // 2
    scores, expected = [], []
    for index in batch.index.tolist():
        image, caption = (anchor, index) if direction == "image" else (index, anchor)
        scores.append(float(images[image] @ captions[caption]))
        expected.append((index // 2 if direction == "image" else index) == own)
    positive = [score for score, matches in zip(scores, expected, strict=True) if matches]
    threshold = sum(positive) / len(positive) - 0.3
    assert batch.positives.tolist() == expected and len(positive) == (2 if direction == "image" else 1)
    assert batch.scores.tolist() == pytest.approx(scores, abs=1e-6)
    assert batch.threshold == pytest.approx(threshold, abs=1e-6)
    assert batch.hard.tolist() == [s > threshold and not m for s, m in zip(scores, expected, strict=True)]
    assert len(batch.index.unique()) == len(batch.index) == (11 if direction == "image" else 10)
    assert batch.anchor_place.shape == (1, 2) and batch.places.shape == (len(scores), 2)


def test_the_world_says_which_negatives_are_true():
    data = small_set()
    batch = surroundings(features(), data, 4, **OPTIONS)
    colours = [data.captions[index] for index in batch.index.tolist()]
    expected = ["red" in caption and index // 2 != 4 for caption, index in zip(colours, batch.index, strict=True)]
    assert batch.true.tolist() == expected and any(expected)
    data.world = None
    assert surroundings(features(), data, 4, **OPTIONS).true is None


def test_synthesised_negatives_lie_on_the_same_map():
    batch = surroundings(features(), small_set(), 3, synthesis=SynHNC(clusters=3), **OPTIONS)
    assert batch.synthetic_scores.shape == (3,) and batch.synthetic_places.shape == (3, 2)
    assert (batch.synthetic_scores.abs() <= 1 + 1e-6).all()
    assert len(surroundings(features(), small_set(), 3, **OPTIONS).synthetic_scores) == 0


def test_the_seed_alone_draws_the_batch():
    first, again, other = (surroundings(features(), small_set(), 0, seed=seed, **OPTIONS) for seed in (0, 0, 1))
    assert torch.equal(first.index, again.index) and (first.places == again.places).all()
    assert not torch.equal(first.index, other.index)


def test_a_batch_larger_than_the_data_is_all_of_it(tiny):
    batch = surroundings(tiny, small_set(), 0, **{**OPTIONS, "pictures": 500})
    assert isinstance(batch, Surroundings) and len(batch.index) == 17


def test_an_anchor_that_is_not_there_is_refused_in_one_line():
    with pytest.raises(ItmlabError, match="no image number 16 — 0 to 15"):
        surroundings(features(), small_set(), 16)
    with pytest.raises(ItmlabError, match="no caption number -1 — 0 to 31"):
        surroundings(features(), small_set(), -1, "caption")
