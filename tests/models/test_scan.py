"""SCAN's scores are those of its equations, worked out pair by pair and part by part."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.models.fragment_attention import attended_norms, cross_attention

from .fragments import CAPTIONS, CLOSE, build, encoded, parts, records


def cosine(one: torch.Tensor, other: torch.Tensor) -> float:
    return float(one @ other / (one.norm() * other.norm()))


def stacked_attention(queries: torch.Tensor, contexts: torch.Tensor, pooling: str, sharp: float, lse: float) -> float:
    """S of one pair: every query part attends to the context's (SCAN, Sec. 3.1), λ₁ = `sharp`, λ₂ = `lse`."""
    likeness = [[max(cosine(query, context), 0.0) for query in queries] for context in contexts]
    for row in likeness:  # [s]₊ / sqrt(Σ [s]₊²) over the query's parts
        length = math.sqrt(sum(value**2 for value in row))
        row[:] = [value / length if length else 0.0 for value in row]
    found = []
    for number, query in enumerate(queries):
        weights = [math.exp(sharp * row[number]) for row in likeness]
        attended = sum(weight / sum(weights) * context for weight, context in zip(weights, contexts, strict=True))
        found.append(cosine(query, attended))
    if pooling == "mean":
        return sum(found) / len(found)
    return math.log(sum(math.exp(lse * value) for value in found)) / lse


@pytest.mark.parametrize("pooling", ["lse", "mean"])
@pytest.mark.parametrize("kind", ["scan_t2i", "scan_i2t"])
@pytest.mark.parametrize("sharp, lse", [(9.0, 6.0), (4.0, 5.0)])
def test_each_score_is_the_papers(kind, pooling, sharp, lse):
    model = build(kind, aggregation=pooling, lambda_softmax=sharp, lambda_lse=lse)
    images, captions = encoded(model)
    scores = model.similarity(images, captions)
    for i in range(4):
        for c in range(4):
            regions, words = parts(images, i).double(), parts(captions, c).double()
            pair = (words, regions) if kind == "scan_t2i" else (regions, words)
            assert float(scores[i, c]) == pytest.approx(stacked_attention(*pair, pooling, sharp, lse), abs=1e-5)


def test_parts_are_the_mapped_regions_and_the_mean_of_both_directions_at_length_one():
    model = build("scan_t2i")
    images, captions = encoded(model)
    mapped = model.images.map(records([3, 5, 1, 4])[1].features)
    torch.testing.assert_close(parts(images, 1), mapped / mapped.norm(dim=1, keepdim=True), **CLOSE)
    torch.testing.assert_close(images.pooled[1], torch.nn.functional.normalize(parts(images, 1).mean(0), dim=0))
    ids = model.prepare_captions([CAPTIONS[0]])["input_ids"]
    forth, back = model.captions.network(model.captions.embedding(ids))[0][0, 1:-1].chunk(2, dim=-1)
    words = (forth + back) / 2
    torch.testing.assert_close(parts(captions, 0), words / words.norm(dim=1, keepdim=True), **CLOSE)
    torch.testing.assert_close(captions.pooled[0], torch.nn.functional.normalize(parts(captions, 0).mean(0), dim=0))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000), regions=st.integers(1, 6), words=st.integers(1, 5), dimension=st.integers(1, 8))
def test_attention_is_a_distribution_over_regions_and_norms_are_those_of_its_vectors(seed, regions, words, dimension):
    torch.manual_seed(seed)
    contexts = torch.nn.functional.normalize(torch.randn(3, regions, dimension), dim=-1)
    queries = torch.nn.functional.normalize(torch.randn(2, words, dimension), dim=-1)
    mask = torch.rand(3, regions) < 0.7
    mask[:, 0] = True
    contexts = contexts * mask[..., None]
    cosines, weights = cross_attention(contexts, mask, queries, 9.0)
    assert (weights[~mask] == 0).all() and cosines.abs().max() <= 1 + 1e-5
    torch.testing.assert_close(weights.sum(1), torch.ones(3, 2, words))
    attended = torch.einsum("irqw,ird->iqwd", weights, contexts).norm(dim=-1)
    torch.testing.assert_close(attended_norms(contexts, weights), attended.clamp_min(1e-4), rtol=1e-3, atol=1e-3)


def test_words_unlike_every_region_attend_to_all_alike():
    contexts = torch.tensor([[[1.0, 0.0], [0.6, 0.8]]])
    queries = torch.tensor([[[-1.0, 0.0]]])
    _, weights = cross_attention(contexts, torch.ones(1, 2, dtype=torch.bool), queries, 9.0)
    torch.testing.assert_close(weights.flatten(), torch.tensor([0.5, 0.5]))
