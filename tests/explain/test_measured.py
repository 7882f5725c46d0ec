"""Measures query by query, against loops written from the definitions (methods, section 2; SAM, Eq. 1–5)."""

import dataclasses

import numpy as np
import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.explain import measured, semantic_recalls, truth_among_relevant
from itmlab.metrics import recall

from .small_retrievals import small_retrievals

K, M = 3, 4


@pytest.fixture(scope="module")
def found():
    """Invented similarities and relevance without ties, so that there is one order only."""
    known = small_retrievals()
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


def test_the_mean_is_recall_as_the_metrics_have_it(found):
    table = measured(found, "i2t", k=K).table()["two"]
    scores, positives = found.similarity["two"], found.positives
    assert table["R@3"][0] == pytest.approx(recall(scores, positives, K, sense="share"))
    assert table["Rⱽ@3"][0] == pytest.approx(recall(scores, positives, K, sense="any"))


def test_the_truth_is_a_relevance_of_its_own(found):
    """A ranking by the truth finds all of it that k places can hold."""
    perfect = dataclasses.replace(found, similarity={"perfect": (found.truth == 1).float()})
    assert measured(perfect, "i2t", k=K).values["perfect"]["NCS@3 truth"] == pytest.approx(100)


def test_a_query_with_nothing_to_find_is_left_out_and_not_zero(found):
    nothing = found.relevance["CIDEr"].clone()
    nothing[0] = 0
    partly = measured(dataclasses.replace(found, relevance={"CIDEr": nothing}), "i2t", k=K)
    values = partly.values["one"]["NCS@3 CIDEr"]
    assert np.isnan(values[0]) and partly.table()["one"]["NCS@3 CIDEr"][0] == pytest.approx(np.nanmean(values))


def test_intervals_hold_the_mean_and_a_model_differs_from_itself_by_nothing(found):
    measures = measured(found, "t2i", k=K)
    for value, lower, upper in measures.table()["one"].values():
        assert lower <= value <= upper
    assert all(each == (0, 0, 0) for each in measures.difference("one", "one").values())
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


def test_without_a_world_nothing_is_true(found):
    with pytest.raises(ItmlabError, match="scenes"):
        truth_among_relevant(dataclasses.replace(found, truth=None), [1])
