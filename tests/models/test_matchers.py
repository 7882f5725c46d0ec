"""Scores of SCAN and SGRAF are those of their equations, computed pair by pair and part by part."""

import math

import pytest
import torch

from itmlab.models.matchers import Sgraf
from tests.models.fragments import CAPTIONS, CLOSE, build, direction, encoded, parts, records


def cosine(first: torch.Tensor, second: torch.Tensor) -> float:
    return float(first @ second / (first.norm() * second.norm()))


def stacked_attention(queries: torch.Tensor, contexts: torch.Tensor, pooling: str, sharp: float, lse: float) -> float:
    """S of one pair: every query part attends to the context's (SCAN, Sec. 3.1), λ₁ = `sharp`, λ₂ = `lse`."""
    likeness = [[max(cosine(query, context), 0.0) for query in queries] for context in contexts]
    for row in likeness:  # [s]₊ / sqrt(Σ [s]₊²) over the query's parts
        length = math.sqrt(sum(value**2 for value in row))
        row[:] = [value / length if length else 0.0 for value in row]
    relevance = []
    for number, query in enumerate(queries):
        weights = [math.exp(sharp * row[number]) for row in likeness]
        attended = sum(weight / sum(weights) * context for weight, context in zip(weights, contexts, strict=True))
        relevance.append(cosine(query, attended))
    if pooling == "mean":
        return sum(relevance) / len(relevance)
    return math.log(sum(math.exp(lse * value) for value in relevance)) / lse


@pytest.mark.parametrize("pooling", ["lse", "mean"])
@pytest.mark.parametrize("kind", ["scan_t2i", "scan_i2t"])
@pytest.mark.parametrize("sharp, lse", [(9.0, 6.0), (4.0, 5.0)])
def test_each_score_of_scan_is_the_papers(kind, pooling, sharp, lse):
    model = build(kind, aggregation=pooling, lambda_softmax=sharp, lambda_lse=lse)
    images, captions = encoded(model)
    scores = model.similarity(images, captions)
    for i in range(4):
        for c in range(4):
            regions, words = parts(images, i).double(), parts(captions, c).double()
            pair = (words, regions) if kind == "scan_t2i" else (regions, words)
            assert float(scores[i, c]) == pytest.approx(stacked_attention(*pair, pooling, sharp, lse), abs=1e-5)


@pytest.mark.parametrize("kind", ["scan_t2i", "scan_i2t", "sgr", "saf", "sgraf"])
def test_scoring_without_padding_gives_the_scores_of_training(kind):
    model = build(kind)
    images, captions = encoded(model, captions=[*CAPTIONS, "", "a dog"])
    assert len({*captions.mask.sum(dim=1).tolist()}) > 2
    with torch.no_grad():
        scored = model.similarity(images, captions)
    torch.testing.assert_close(scored, model.similarity(images, captions).detach())


def test_parts_are_the_mapped_regions_and_the_mean_of_both_directions_at_length_one():
    model = build("scan_t2i")
    images, captions = encoded(model)
    mapped = model.images.map(records([3, 5, 1, 4])[1].features)
    torch.testing.assert_close(parts(images, 1), mapped / mapped.norm(dim=1, keepdim=True), **CLOSE)
    torch.testing.assert_close(images.pooled[1], direction(parts(images, 1).mean(0)))
    ids = model.prepare_captions([CAPTIONS[0]])["input_ids"]
    forth, back = model.captions.network(model.captions.embedding(ids))[0][0, 1:-1].chunk(2, dim=-1)
    words = (forth + back) / 2
    torch.testing.assert_close(parts(captions, 0), words / words.norm(dim=1, keepdim=True), **CLOSE)
    torch.testing.assert_close(captions.pooled[0], direction(parts(captions, 0).mean(0)))


def likeness(first: torch.Tensor, second: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """s(x, y; W) = W|x − y|² / ‖W|x − y|²‖."""
    return direction(weights @ (first - second).abs() ** 2)


def global_feature(attention, local: torch.Tensor) -> torch.Tensor:
    """The parts weighted by attention whose query is their mean."""
    query = torch.tanh(attention.mean(local.mean(0)))
    logits = torch.stack([attention.weigh(torch.tanh(attention.part(part)) * query)[0] for part in local])
    return direction(sum(weight * part for weight, part in zip(logits.softmax(0), local, strict=True)))


def nodes(matcher: Sgraf, regions: torch.Tensor, words: torch.Tensor) -> list[torch.Tensor]:
    """The global likeness, then that of each word with what it attends to of the image."""
    wholes = global_feature(matcher.of_images, regions), global_feature(matcher.of_captions, words)
    likenesses = [likeness(*wholes, matcher.whole.weight)]
    cosines = torch.stack([torch.stack([region @ word for word in words]) for region in regions]).clamp_min(0)
    cosines = cosines / cosines.pow(2).sum(1, keepdim=True).sqrt().clamp_min(1e-8)
    for number, word in enumerate(words):
        weights = (9.0 * cosines[:, number]).softmax(0)
        attended = direction(sum(weight * region for weight, region in zip(weights, regions, strict=True)))
        likenesses.append(likeness(attended, word, matcher.part.weight))
    return likenesses


def reasoned(branch, likenesses: list[torch.Tensor]) -> torch.Tensor:
    """Every step: each node becomes ReLU(W_r Σ_q e_pq s_q); the global node's answer after the last."""
    for inwards, outwards, update in zip(branch.inwards, branch.outwards, branch.update, strict=True):
        changed = []
        for node in likenesses:
            edges = torch.stack([inwards(node) @ outwards(other) for other in likenesses]).softmax(0)
            changed.append(update(sum(edge * other for edge, other in zip(edges, likenesses, strict=True))).relu())
        likenesses = changed
    return branch.answer(likenesses[0])[0].sigmoid()


def filtered(branch, likenesses: list[torch.Tensor]) -> torch.Tensor:
    """The nodes' sum, each by its significance's share."""
    shares = [branch.significance(node)[0].sigmoid() for node in likenesses]
    mixed = sum(share / sum(shares) * node for share, node in zip(shares, likenesses, strict=True))
    return branch.answer(mixed)[0].sigmoid()


@pytest.mark.parametrize("kind, steps", [("sgr", 3), ("sgr", 1), ("saf", 3), ("sgraf", 2)])
def test_each_score_of_sgraf_is_the_papers(kind, steps):
    model = build(kind, reasoning_steps=steps)
    images, captions = encoded(model)
    scores, answers = model.similarity(images, captions), {"sgr": [reasoned], "saf": [filtered]}
    for i in range(4):
        for c in range(4):
            likenesses = nodes(model.matcher, parts(images, i), parts(captions, c))
            methods = answers.get(kind, [reasoned, filtered])
            expected = [
                method(branch, likenesses) for method, branch in zip(methods, model.matcher.branches, strict=True)
            ]
            torch.testing.assert_close(scores[i, c], sum(expected) / len(expected), **CLOSE)
