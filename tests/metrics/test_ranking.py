"""Recall in both senses against sorting, query by query, and the table of both directions against the field's loop."""

import math
from itertools import pairwise, permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import itmlab
from itmlab.data.captionset import CaptionSet
from itmlab.data.pictures import NoPictures
from itmlab.metrics import ranking, recall, retrieval
from tests.refusals import refused


def by_sorting(similarity, positives, k, sense) -> float:
    """A stable sort an anchor in which a negative stands before a positive of the same score."""
    shares = []
    for row, mask in zip(similarity.tolist(), positives.tolist(), strict=True):
        order = sorted(range(len(row)), key=lambda index: (-row[index], mask[index]))
        hits = sum(mask[index] for index in order[:k])
        shares.append(float(hits > 0) if sense == "any" else hits / sum(mask))
    return 100 * sum(shares) / len(shares)


@pytest.mark.parametrize("seed", range(8))
def test_with_ties_at_random_it_is_the_mean_over_all_orders(seed):
    source = torch.Generator().manual_seed(seed)
    similarity = torch.randint(0, 1 + seed % 4, (3, 6), generator=source)
    positives = torch.rand(3, 6, generator=source) < 0.3  # and a query without any finds nothing
    expected = dict.fromkeys(range(1, 7), 0.0)
    for row, mask in zip(similarity.tolist(), positives.tolist(), strict=True):
        orders = [order for order in permutations(range(6)) if all(row[a] >= row[b] for a, b in pairwise(order))]
        for k in expected:
            expected[k] += 100 / 3 * sum(any(mask[item] for item in order[:k]) for order in orders) / len(orders)
    recalls = ranking.expected_recalls(similarity, positives, range(1, 7))
    assert {k: 100 * values.mean().item() for k, values in recalls.items()} == pytest.approx(expected)
    refused("k=7 of 6 candidates", ranking.expected_recalls, similarity, positives, (1, 7))


@st.composite
def matrices(draw):
    source = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    shape = draw(st.integers(1, 7)), draw(st.integers(1, 9))
    levels = draw(st.sampled_from([1, 3, 1000]))  # all tied, many ties, hardly any
    similarity = torch.randint(0, levels, shape, generator=source) / levels
    positives = torch.rand(shape, generator=source) < draw(st.floats(0, 1))
    positives[range(shape[0]), torch.randint(0, shape[1], shape[:1], generator=source)] = True
    return similarity, positives


@pytest.mark.parametrize("sense", ["any", "share"])
@settings(max_examples=150, deadline=None)
@given(matrix=matrices(), data=st.data())
def test_it_is_what_sorting_finds(sense, matrix, data):
    similarity, positives = matrix
    k = data.draw(st.integers(1, similarity.shape[1]))
    expected = by_sorting(similarity, positives, k, sense)
    assert recall(similarity, positives, k, sense=sense) == pytest.approx(expected)
    # the other direction is a transposed view, and walked as it lies in memory
    assert recall(similarity.T.contiguous().T, positives, k, sense=sense) == pytest.approx(expected)


EYE = torch.eye(4, 6).bool()


@pytest.mark.parametrize(
    ("similarity", "positives", "k", "message"),
    [
        *((torch.rand(4, 6), EYE, k, "of 6 candidates — choose k from 1 to 6") for k in (0, 7, 1.5, True)),
        (torch.rand(4, 6).index_fill(1, torch.tensor(5), math.nan), EYE, 1, "NaN between query 0 and candidate 5"),
        (torch.full((6, 4), math.nan).T, EYE, 1, "NaN between query 0 and candidate 0"),
        (torch.rand(4, 6), EYE.T, 1, r"\(4, 6\) and \(6, 4\)"),
        (torch.rand(4, 6), EYE & (torch.arange(6) < 3), 1, "1 of 4 have no positive, the first is query 3"),
        (torch.rand(0, 3), torch.ones(0, 3), 1, "empty"),
    ],
)  # fmt: skip
def test_input_that_cannot_be_ranked_is_refused(similarity, positives, k, message):
    refused(message, recall, similarity, positives, k)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), images=st.integers(5, 12), captions=st.integers(1, 5))
def test_the_table_holds_both_directions_and_their_sum(seed, images, captions):
    similarity = torch.rand(images, images * captions, generator=torch.Generator().manual_seed(seed))
    positives = torch.arange(images * captions) // captions == torch.arange(images)[:, None]
    expected = {
        "i2t": {k: by_sorting(similarity, positives, k, "any") for k in (1, 5)},
        "t2i": {k: by_sorting(similarity.T, positives.T, k, "any") for k in (1, 5)},
    }
    table = retrieval(similarity, positives, ks=(1, 5))
    assert table.pop("rsum") == pytest.approx(sum(sum(side.values()) for side in expected.values()))
    assert table == {side: pytest.approx(recalls) for side, recalls in expected.items()}


def test_captions_in_any_order_and_number_are_folded_with_their_images():
    image_of_caption = torch.tensor([3, 0, 1, 2, 0, 3, 1, 1, 2, 0])
    similarity = torch.rand(4, 10, generator=torch.Generator().manual_seed(0))
    for fold in ranking.blocks(image_of_caption, 4, folds=2):
        images = range(4)[fold.images]
        captions = [caption for caption, image in enumerate(image_of_caption.tolist()) if image in images]
        assert fold.of(similarity).equal(similarity[images][:, captions])
    refused("4 images cannot be cut into folds=3", ranking.blocks, image_of_caption, 4, folds=3)


def captioned(captions: list[str], image_of_caption: list[int]) -> CaptionSet:
    images = max(image_of_caption) + 1
    return CaptionSet(
        name="few",
        images=NoPictures(images),
        image_ids=[str(number) for number in range(images)],
        captions=captions,
        caption_ids=[str(number) for number in range(len(captions))],
        image_of_caption=torch.tensor(image_of_caption),
        splits={},
    )


def test_the_corrected_protocol_accepts_equal_captions_of_other_images():
    """A model that cannot know which image an equal caption was written for loses nothing by it."""
    data = captioned(["A dog.", "a red car", "a dog", "two cats", "A  dog", "Two men"], [0, 0, 1, 1, 2, 3])
    positives = {name: ranking.positives_by(name, data) for name in ranking.PROTOCOLS}
    added = positives["corrected"] & ~positives["field"]
    assert added.nonzero().tolist() == [[0, 2], [0, 4], [1, 0], [1, 4], [2, 0], [2, 2]]
    scores = torch.tensor([[1.0, 2, 3, 0, 0, 0], [3, 0, 1, 2, 0, 0], [3, 0, 2, 0, 1, 0], [0, 0, 0, 0, 0, 1]])
    tables = {name: retrieval(scores, mask, ks=(1,)) for name, mask in positives.items()}
    assert (tables["field"]["i2t"][1], tables["corrected"]["i2t"][1]) == (25, 100)
    assert (tables["field"]["t2i"][1], tables["corrected"]["t2i"][1]) == (pytest.approx(200 / 3), 100)
    refused("no protocol 'strict'", ranking.positives_by, "strict", data)


def test_evaluate_takes_a_protocol_and_refuses_more_pairs_than_memory_before_it_scores(monkeypatch):
    data = itmlab.load("scenes", images=60).select(range(20))
    data.captions = [*data.captions[:-1], data.captions[0]]
    run = itmlab.pretrained("triplet")
    tables = {name: run.evaluate(data, split=None, protocol=name) for name in ranking.PROTOCOLS}
    assert tables["field"]["rsum"] < tables["corrected"]["rsum"]
    expected = {name: retrieval(run.similarity(data), ranking.positives_by(name, data)) for name in ranking.PROTOCOLS}
    assert tables == expected
    monkeypatch.setattr("itmlab.train.scores.free_memory", lambda: 100)
    monkeypatch.setattr("itmlab.train.scores.side_of", None)  # nothing is encoded
    refused("GB are free", run.evaluate, data, split=None)


@pytest.mark.parametrize(
    ("similarity", "positives", "message"),
    [
        (torch.rand(4), torch.eye(4), "must be matrices"),
        (torch.rand(4, 8), torch.eye(4).repeat(1, 2), "k=5 of 4 candidates"),
        (torch.rand(4, 8), torch.eye(4), r"\(4, 8\) and \(4, 4\)"),
        (torch.rand(4, 5), torch.eye(4, 5), "1 of 5 have no positive, the first is query 4"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_made_is_refused(similarity, positives, message):
    refused(message, retrieval, similarity, positives.bool(), ks=(1, 5) if "k=5" in message else (1,))


@pytest.mark.parametrize(("images", "per_image"), [(30, 1), (100, 5)])
def test_few_random_orders_reach_more_than_chance(images, per_image):
    positives = torch.eye(images, dtype=torch.bool).repeat_interleave(per_image, dim=1)
    bound, source = ranking.chance_rsum(positives, (1, 5, 10)), torch.Generator().manual_seed(0)
    orders = (torch.rand(positives.shape, generator=source) for _ in range(200))
    sums = torch.tensor([retrieval(order, positives)["rsum"] for order in orders])
    assert (sums <= bound).double().mean() > 0.9 and float(sums.mean()) < bound < 1.5 * float(sums.mean())
