"""The nearest of many vectors, against a plain sort."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import normalize

from itmlab.runs import search
from itmlab.runs.search import Index
from tests.refusals import refused


def unit_vectors(count, dimension, seed):
    return normalize(torch.randn(count, dimension, generator=torch.Generator().manual_seed(seed)), dim=1)


def obvious(features, query, k):
    """Sorted by score from above, then by index."""
    scores = (features.double() @ query.double()).float().tolist()
    return sorted(range(len(scores)), key=lambda index: (-scores[index], index))[:k]


@settings(deadline=None, max_examples=25)
@given(count=st.integers(1, 60), copies=st.integers(1, 4), k=st.integers(1, 30), seed=st.integers(0, 1000))
def test_it_is_a_sort_with_ties_by_index(count, copies, k, seed):
    features = unit_vectors(count, 8, seed).repeat(copies, 1)
    queries = torch.cat([unit_vectors(2, 8, seed + 1), features[:1]])
    scores, indices = Index(features).search(queries, k)
    assert indices.shape == (3, min(k, len(features)))
    for query, row, found in zip(queries, indices.tolist(), scores.tolist(), strict=True):
        assert row == obvious(features, query, k)
        assert found == sorted(found, reverse=True)


def test_chunks_do_not_show(monkeypatch):
    features = unit_vectors(100, 8, 0).repeat(3, 1)
    whole = Index(features).search(features[:5], 17)
    monkeypatch.setattr(search, "CHUNK", 7)
    parts = Index(features).search(features[:5], 17)
    assert all(one.equal(other) for one, other in zip(whole, parts, strict=True))


def test_what_cannot_be_searched_is_said():
    index = Index(unit_vectors(4, 8, 0))
    for queries, k, said in ((torch.ones(1, 8), 0, "k is 0"), (torch.ones(1, 7), 1, r"queries of shape \(1, 7\)")):
        refused(said, index.search, queries, k)
    for features, said in ((torch.empty(0, 8), r"not \(0, 8\)"), (torch.full((2, 2), torch.nan), "finite")):
        refused(said, Index, features)
