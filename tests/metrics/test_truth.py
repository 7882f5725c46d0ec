"""mAP@R, R-Precision and measures against the truth, from their definitions, query by query."""

from itertools import pairwise, permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.metrics.ranking import positive_pairs
from itmlab.metrics.truth import PLACES, at_r_of_each, oracle_recall, truth_retrieval
from tests.refusals import refused


def at_r(similarity, positives) -> tuple[float, float]:
    """mAP@R and R-Precision in percent."""
    values = at_r_of_each(similarity, *positive_pairs(similarity, positives))
    return 100 * values["map_at_r"].mean().item(), 100 * values["rprecision"].mean().item()


def by_query(similarity, positives) -> tuple[float, float]:
    """Both, from a ranking in which a negative stands before a positive of the same score."""
    maps, precisions = [], []
    for row, mask in zip(similarity.tolist(), positives.tolist(), strict=True):
        order = sorted(range(len(row)), key=lambda index: (-row[index], mask[index]))
        hits = [mask[index] for index in order[: sum(mask)]]
        precisions.append(sum(hits) / sum(mask))
        at = [sum(hits[: place + 1]) / (place + 1) if hits[place] else 0 for place in range(sum(mask))]
        maps.append(sum(at) / sum(mask))
    return 100 * sum(maps) / len(maps), 100 * sum(precisions) / len(precisions)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_they_are_the_equations(data):
    source = torch.Generator().manual_seed(data.draw(st.integers(0, 10**6)))
    shape = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 12))
    levels = data.draw(st.sampled_from([1, 3, 1000]))
    similarity = torch.randint(0, levels, shape, generator=source) / levels
    positives = torch.rand(shape, generator=source) < data.draw(st.floats(0, 1))
    positives[range(shape[0]), torch.randint(0, shape[1], shape[:1], generator=source)] = True
    for matrix in (similarity, similarity.T.contiguous().T):
        assert at_r(matrix, positives) == pytest.approx(by_query(similarity, positives))


def test_input_that_cannot_be_ranked_is_refused():
    refused("1 of 2 have no positive", at_r, torch.rand(2, 3), torch.tensor([[True] * 3, [False] * 3]))
    scores, positives = torch.rand(2, 4), torch.ones(2, 4, dtype=torch.bool)
    refused(r"\(2, 4\) and \(4, 2\)", truth_retrieval, scores, torch.ones(4, 2, dtype=torch.int8), positives, ks=(1,))
    refused("nothing is true", truth_retrieval, scores, torch.zeros(2, 4, dtype=torch.int8), positives, ks=(1,))


def truth_by_query(similarity, truth, positives, k) -> dict[str, float]:
    """What `truth_retrieval` returns for one direction, from the definitions, a query at a time."""
    of_queries, first, oracles = [], [], {"truth": [], "specific": []}
    breadth = [sum(row[item] == 1 for row in truth) for item in range(len(truth[0]))]
    for row, known, annotated in zip(similarity, truth, positives, strict=True):
        decided = [item for item in range(len(row)) if known[item] != -1]
        true = [known[item] == 1 for item in decided]
        if any(true):
            of_queries.append(by_query(torch.tensor([[row[item] for item in decided]]), torch.tensor([true])))
        worth = [
            "annotated" if positive else {0: "false", -1: "undecided", 1: "unannotated"}[label]
            for positive, label in zip(annotated, known, strict=True)
        ]
        against = sorted(range(len(row)), key=lambda item: (-row[item], PLACES.index(worth[item])))
        first.append(worth[against[0]])
        for name, hits in oracles.items():
            level = [
                ({1: 2, -1: 1, 0: 0}[label], -breadth[item] * (name == "specific" and label == 1))
                for item, label in enumerate(known)
            ]
            every = permutations(range(len(row)))
            orders = [order for order in every if all(level[a] >= level[b] for a, b in pairwise(order))]
            hits.append(sum(any(annotated[item] for item in order[:k]) for order in orders) / len(orders))
    return {
        "map_at_r": sum(values[0] for values in of_queries) / len(of_queries),
        "rprecision": sum(values[1] for values in of_queries) / len(of_queries),
        "left_out": len(truth) - len(of_queries),
        **{name: 100 * first.count(name) / len(first) for name in PLACES},
        **{f"oracle {name}": 100 * sum(hits) / len(hits) for name, hits in oracles.items()},
    }


def flat(table, side, k) -> dict[str, float]:
    plain = {name: value for name, value in table[side].items() if name != "first"} | table[side]["first"]
    return plain | {f"oracle {name}": table["oracle"][name][side][k] for name in ("truth", "specific")}


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_against_the_truth_it_is_the_definitions_in_any_order(data):
    source = torch.Generator().manual_seed(data.draw(st.integers(0, 10**6)))
    images, captions = data.draw(st.integers(2, 4)), data.draw(st.integers(4, 6))
    k = data.draw(st.integers(1, images))
    owner = torch.cat([torch.arange(images), torch.randint(0, images, (captions - images,), generator=source)])
    positives = owner == torch.arange(images)[:, None]
    truth = torch.randint(-1, 2, (images, captions), generator=source, dtype=torch.int8)  # may leave a query without
    truth[0, 0] = 1
    levels = data.draw(st.sampled_from([1, 3, 1000]))
    similarity = torch.randint(0, levels, truth.shape, generator=source) / levels
    table = truth_retrieval(similarity, truth, positives, ks=(k,))
    sides = {"i2t": (similarity, truth, positives), "t2i": (similarity.T, truth.T, positives.T)}
    for side, matrices in sides.items():
        assert flat(table, side, k) == pytest.approx(truth_by_query(*(matrix.tolist() for matrix in matrices), k))
    rows, columns = torch.randperm(images, generator=source), torch.randperm(captions, generator=source)
    again = truth_retrieval(*(matrix[rows][:, columns] for matrix in sides["i2t"]), ks=(k,))
    for side in sides:
        assert flat(again, side, k) == pytest.approx(flat(table, side, k))
    assert table["oracle"] == oracle_recall(truth, positives, ks=(k,))
