"""Rankings, and measures query by query against loops written from the definitions (METHODS 2; SAM, Eq. 1–5)."""

import dataclasses

import numpy as np
import pytest
import torch
from workshop.analysis.rankings import measured, rank, semantic_recalls, truth_among_relevant

from tests.workshop.small_retrievals import small_retrievals

K, M = 3, 4


@pytest.fixture(scope="module")
def known():
    return small_retrievals()


@pytest.fixture(scope="module")
def found(known):
    """Invented similarities and relevance without ties, so that there is one order only."""
    shape, generator = known.positives.shape, torch.Generator().manual_seed(1)
    similarity = {name: torch.rand(shape, generator=generator) for name in ("one", "two")}
    return dataclasses.replace(
        known, similarity=similarity, relevance={"CIDEr": torch.rand(shape, generator=generator)}
    )


def best(values, count, allowed):
    return sorted((item for item in range(len(values)) if allowed[item]), key=lambda item: -values[item])[:count]


def slow(scores, phi, positives):
    """One query's measures, item by item."""
    everything, others = [True] * len(scores), [not positive for positive in positives]
    top = best(scores, K, everything)
    relevant = best(phi, M, everything)
    hits = sum(positives[item] for item in top)
    top_n, ideal_n = best(scores, K, others), best(phi, K, others)
    return {
        "R@3": hits / sum(positives),
        "Rⱽ@3": float(hits > 0),
        "SR@3 CIDEr": len(set(top) & set(relevant)) / M,
        "NCS@3 CIDEr": sum(phi[i] for i in top) / sum(phi[i] for i in best(phi, K, everything)),
        "NCS@3 CIDEr (N)": sum(phi[i] for i in top_n) / sum(phi[i] for i in ideal_n),
    }


@pytest.mark.parametrize("direction", ["t2i", "i2t"])
def test_every_measure_is_what_its_definition_says(found, direction):
    side = found.side(direction)
    matrices = (side.similarity["one"], side.relevance["CIDEr"], side.positives)
    rows = [slow(*(matrix[query].tolist() for matrix in matrices)) for query in range(len(side.picture))]
    values = measured(found, direction, k=K, relevant=M).values["one"]
    for name in rows[0]:
        if name in values:
            assert values[name] == pytest.approx([100 * row[name] for row in rows], abs=1e-3), name
    assert ("Rⱽ@3" in values) == (direction == "i2t")


def test_intervals_hold_the_mean_and_a_model_differs_from_itself_by_nothing(found):
    measures = measured(found, "t2i", k=K)
    for value, lower, upper in measures.table()["one"].values():
        assert lower <= value <= upper
    assert all(item == (0, 0, 0) for item in measures.difference("one", "one").values())
    forth, back = measures.difference("one", "two"), measures.difference("two", "one")
    assert forth["R@3"] == pytest.approx([-back["R@3"][at] for at in (0, 2, 1)])


def test_recall_of_the_most_relevant_rises_in_one_sense_and_is_bounded_in_the_other(found):
    relevant = [1, 2, 5, 10]
    for by_direction in semantic_recalls(found, relevant, k=K).values():
        for senses in by_direction.values():
            assert senses["any"][0] == pytest.approx(senses["share"][0]), "of one, any is all"
            assert (np.diff(senses["any"]) >= 0).all()
            assert (senses["share"] <= [100 * min(1, K / m) + 1e-6 for m in relevant]).all()


def test_truth_among_relevant_is_counted_without_ground_truth(found):
    shares, most = truth_among_relevant(found, [1, 4])
    side = found.side("i2t")
    for at, m in enumerate((1, 4)):
        by_hand = []
        for query in range(len(side.picture)):
            top = best(side.relevance["CIDEr"][query].tolist(), m, (~side.positives[query]).tolist())
            by_hand.append(sum(int(side.truth[query, item] == 1) for item in top) / m)
        assert shares["CIDEr"]["i2t"][at] == pytest.approx(100 * np.mean(by_hand), abs=1e-3)
    assert all((shares[name]["i2t"] <= most["i2t"] + 1e-6).all() for name in ("CIDEr", "one", "two"))


SCORES = torch.tensor([0.1, 0.9, 0.5, 0.7])
RELEVANCE = torch.tensor([2.0, 1.0, 4.0, 0.0])
POSITIVES = torch.tensor([True, False, False, False])


def test_the_best_come_first_with_measures_of_what_is_known():
    ranking = rank(SCORES, RELEVANCE, k=3, positives=POSITIVES, truth=torch.tensor([1, 0, -1, 0]), relevant=2)
    assert ranking.index.tolist() == [1, 3, 2] and ranking.relevance.tolist() == [1, 0, 4] and ranking.best == 4
    assert ranking.annotated.tolist() == [False] * 3 and ranking.truth_label.tolist() == [0, 0, -1]
    assert ranking.measures == pytest.approx({"R@3": 0.0, "SR@3": 50.0, "NCS@3": 100 * 5 / 7})
    typed = rank(torch.zeros(4), RELEVANCE, k=2)  # ties go by number, and a typed query has no ground truth
    assert typed.index.tolist() == [0, 1] and typed.annotated is None and set(typed.measures) == {"SR@2", "NCS@2"}
    assert rank(SCORES, torch.zeros(4), k=2).measures == {}


def test_a_caption_typed_ranks_as_the_caption_itself(known):
    typed, own_values = (
        known.of_sentence("b", known.data.captions[8], k=8),
        known.of_caption("b", 8, k=8),
    )
    assert typed.index.tolist() == own_values.index.tolist()
    assert typed.relevance == pytest.approx(own_values.relevance, abs=1e-5) and typed.annotated is None


def test_the_world_judges_what_is_typed_where_it_can_read_it(known):
    red = known.of_sentence("a", "something red", k=16)
    assert red.truth_label.tolist() == [int(image % 4 == 0) for image in red.index.tolist()]
    assert known.of_sentence("a", "colourless", k=3).truth_label is None
