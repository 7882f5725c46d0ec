"""Hardest, softest, semi-hard, random, retrieved and oracle against what their names say, candidate by candidate."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from itmlab.context import Context
from itmlab.errors import ItmlabError
from itmlab.samplers import Hardest, Oracle, Random, SemiHard, Softest
from tests.refusals import refused
from tests.samplers.test_base import generator


def by_rule(scores, positives, positive_scores, rule) -> list[int]:
    """A loop over anchors; `rule` picks from [(score, index)] in ascending order of the index."""
    chosen = []
    for row, mask, positive in zip(scores.tolist(), positives.tolist(), positive_scores.tolist(), strict=True):
        allowed = [(score, index) for index, score in enumerate(row) if not mask[index]]
        chosen.append(rule(allowed, positive)[1] if allowed else -1)
    return chosen


def hardest(allowed, positive):
    return max(allowed, key=lambda pair: pair[0])


def softest(allowed, positive):
    return min(allowed, key=lambda pair: pair[0])


def semi_hard(allowed, positive, margin=0.25):
    inside = [pair for pair in allowed if positive - margin < pair[0] < positive]
    above = [pair for pair in allowed if pair[0] >= positive]
    return hardest(inside, positive) if inside else softest(above, positive) if above else hardest(allowed, positive)


@pytest.mark.parametrize(
    ("sampler", "rule"),
    [(Hardest(), hardest), (Softest(), softest), (SemiHard(0.25), semi_hard)],
    ids=("hardest", "softest", "semi_hard"),
)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), anchors=st.integers(1, 6), candidates=st.integers(1, 12), share=st.floats(0, 1))
def test_the_deterministic_ones_do_what_the_loop_does(sampler, rule, seed, anchors, candidates, share):
    source = generator(seed)
    scores = torch.randint(-8, 9, (anchors, candidates), generator=source) / 8  # exact in any precision, with ties
    positives = torch.rand(anchors, candidates, generator=source) < share
    positive_scores = torch.randint(-8, 9, (anchors,), generator=source) / 8
    chosen = sampler(scores, positives, positive_scores, generator=source)
    assert chosen.tolist() == by_rule(scores, positives, positive_scores, rule)
    half = sampler(scores.bfloat16(), positives, positive_scores.bfloat16(), generator=source)
    assert half.tolist() == chosen.tolist()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(0, 7), share=st.floats(0, 1))
def test_so_many_stand_before_the_one_at_a_rank(seed, rank, share):
    """In the order of a stable sort; an anchor with too few takes its last."""
    source = generator(seed)
    scores, positives = torch.randint(-4, 5, (4, 6), generator=source) / 4, torch.rand(4, 6, generator=source) < share
    for sampler, sign in ((Hardest(rank), -1), (Softest(rank), 1)):
        chosen = sampler(scores, positives, scores[:, 0], generator=source).tolist()
        for row, mask, index_found in zip(scores.tolist(), positives.tolist(), chosen, strict=True):
            others = sorted((index for index in range(6) if not mask[index]), key=lambda index: sign * row[index])
            assert index_found == (others[: rank + 1][-1] if others else -1)
    with pytest.raises(ItmlabError, match="rank must be 0 or more"):
        Softest(-1)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), anchors=st.integers(1, 6), candidates=st.integers(1, 12), share=st.floats(0, 1))
def test_an_oracle_takes_the_hardest_of_what_is_false_or_of_what_is_true(seed, anchors, candidates, share):
    source = generator(seed)
    scores = torch.randint(-8, 9, (anchors, candidates), generator=source) / 8
    positives = torch.rand(anchors, candidates, generator=source) < share / 2
    truth = torch.randint(-1, 2, (anchors, candidates), generator=source).to(torch.int8)
    for take, wanted in (("true_negatives", 0), ("false_negatives", 1)):
        expected = []
        for row, mask, labels in zip(scores.tolist(), positives.tolist(), truth.tolist(), strict=True):
            allowed = [(score, index) for index, score in enumerate(row) if not mask[index]]
            fit = [pair for pair in allowed if labels[pair[1]] == wanted] or (
                allowed if take == "false_negatives" else []
            )
            expected.append(hardest(fit, None)[1] if fit else -1)
        context = Context(truth=truth)
        chosen = Oracle(take)(scores, positives, scores[:, 0], generator=source, context=context)
        assert chosen.tolist() == expected


def test_an_oracle_needs_the_truth_of_every_pair():
    given_without = torch.zeros(2, 3), torch.zeros(2, 3).bool(), torch.zeros(2)
    refused("sampler.take must be", Oracle, "all")
    refused(r"truth of every pair, of shape \(2, 3\)", Oracle(), *given_without, generator=generator())
    wide = torch.zeros(2, 4, dtype=torch.int8)
    refused("truth of every pair", Oracle(), *given_without, generator=generator(), context=Context(truth=wide))


def test_random_takes_each_negative_equally_often():
    positives = torch.tensor([False, True, False, False, True, False, False]).expand(20_000, 7)
    chosen = Random()(torch.rand(20_000, 7), positives, torch.zeros(20_000), generator=generator())
    counts = torch.bincount(chosen, minlength=7)
    assert counts[[1, 4]].tolist() == [0, 0]
    assert chisquare(counts[[0, 2, 3, 5, 6]].numpy()).pvalue > 1e-3
