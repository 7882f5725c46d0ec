"""InfoNCE and InfoCMR against Eq. 7 written out, and against each other where they are one."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.losses import gaussian_noise, info_cmr, info_nce


def by_loop(scores, positives, matches, temperature, synthetic=None, allowed=None, further=None) -> float:
    """Eq. 7, one direction: the match's share of the denominator, mean over the anchors that have a negative."""
    losses = []
    for anchor, (row, own, match) in enumerate(zip(scores, positives, matches, strict=True)):
        negatives = [score for score, same in zip(row, own, strict=True) if not same]
        if synthetic is not None:
            negatives += [score for score, there in zip(synthetic[anchor], allowed[anchor], strict=True) if there]
        negatives += [] if further is None else further[anchor]
        if negatives:
            share = math.exp(match / temperature)
            losses.append(-math.log(share / (share + sum(math.exp(score / temperature) for score in negatives))))
    return sum(losses) / len(losses) if losses else 0.0


def drawn(seed, anchors=4, candidates=5, synthetic=3, noise=6, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)

    def cosines(*shape):
        return (2 * torch.rand(*shape, generator=generator, dtype=torch.float64) - 1).to(dtype)

    return {
        "scores": cosines(anchors, candidates),
        "positives": torch.rand(anchors, candidates, generator=generator) < 0.4,
        "positive_scores": cosines(anchors),
        "synthetic_scores": cosines(anchors, synthetic),
        "synthetic_allowed": torch.rand(anchors, synthetic, generator=generator) < 0.6,
        "noise_scores": cosines(anchors, noise),
    }


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(0, 5),
    st.integers(0, 4),
    st.integers(0, 6),
    st.floats(0.03, 2),
)
def test_info_cmr_is_the_equation(seed, anchors, candidates, synthetic, noise, temperature):
    given = drawn(seed, anchors, candidates, synthetic, noise)
    expected = by_loop(
        given["scores"].tolist(),
        given["positives"].tolist(),
        given["positive_scores"].tolist(),
        temperature,
        given["synthetic_scores"].tolist(),
        given["synthetic_allowed"].tolist(),
        given["noise_scores"].tolist(),
    )
    assert info_cmr(**given, temperature=temperature).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("nothing", ["None", "no columns", "none allowed"])
def test_without_synthetic_negatives_and_noise_it_is_info_nce_to_the_last_digit(dtype, nothing):
    for seed in range(20):
        given = drawn(seed, 16, 24, dtype=dtype)
        plain = {name: given[name] for name in ("scores", "positives", "positive_scores")}
        extra = {"synthetic_scores": None, "synthetic_allowed": None, "noise_scores": None}
        if nothing == "no columns":
            extra = {name: given[name][:, :0] for name in extra}
        elif nothing == "none allowed":
            extra["synthetic_scores"] = given["synthetic_scores"]
            extra["synthetic_allowed"] = torch.zeros_like(given["synthetic_allowed"])
        results = []
        for loss in (lambda **inputs: info_cmr(**inputs, **extra), info_nce):  # noqa: B023
            inputs = {
                name: value.clone().requires_grad_() if value.is_floating_point() else value
                for name, value in plain.items()
            }
            temperature = torch.tensor(0.05, requires_grad=True)
            value = loss(**inputs, temperature=temperature)
            value.backward()
            results.append((value, inputs["scores"].grad, inputs["positive_scores"].grad, temperature.grad))
        if nothing == "none allowed":  # more columns of zeros are added up in another order
            for ours, theirs in zip(*results, strict=True):
                torch.testing.assert_close(ours, theirs)
        else:
            assert all(torch.equal(ours, theirs) for ours, theirs in zip(*results, strict=True))


def test_captions_of_the_same_image_are_in_no_denominator():
    given = drawn(3)
    first = info_cmr(**given)
    given["scores"] = given["scores"].masked_fill(given["positives"], 0.99)
    assert torch.equal(first, info_cmr(**given))


def test_what_is_not_allowed_is_not_read_and_gets_no_gradient():
    given = drawn(3)
    spoilt = given["synthetic_scores"].masked_fill(~given["synthetic_allowed"], 50.0).requires_grad_()
    loss = info_cmr(**{**given, "synthetic_scores": spoilt})
    assert torch.equal(loss, info_cmr(**given))
    loss.backward()
    assert (spoilt.grad[~given["synthetic_allowed"]] == 0).all()
    assert (spoilt.grad[given["synthetic_allowed"]] > 0).all()


def test_without_a_word_all_synthetic_negatives_are_there():
    given = drawn(3)
    given["synthetic_allowed"] = None
    spoken = {**given, "synthetic_allowed": torch.ones(4, 3, dtype=torch.bool)}
    assert torch.equal(info_cmr(**given), info_cmr(**spoken))


def test_each_term_makes_it_larger_and_the_harder_the_more():
    given = drawn(5)
    plain = {name: given[name] for name in ("scores", "positives", "positive_scores")}
    with_noise = info_cmr(**plain, noise_scores=given["noise_scores"])
    with_both = info_cmr(**plain, noise_scores=given["noise_scores"], synthetic_scores=given["synthetic_scores"])
    harder = info_cmr(**plain, noise_scores=given["noise_scores"], synthetic_scores=given["synthetic_scores"] + 0.5)
    assert info_cmr(**plain) < with_noise < with_both < harder


def test_an_anchor_without_any_negative_does_not_count_and_noise_is_one():
    scores, positives = torch.zeros(2, 1), torch.tensor([[True], [False]])
    matches, made = torch.ones(2), torch.zeros(2, 1)
    nobody = torch.tensor([[False], [True]])
    counted = info_cmr(scores, positives, matches, 1.0, synthetic_scores=made, synthetic_allowed=nobody)
    assert counted.item() == pytest.approx(math.log(math.e + 2) - 1)
    both = info_cmr(scores, positives, matches, 1.0, noise_scores=torch.zeros(2, 1))
    assert both.item() == pytest.approx((math.log(math.e + 1) + math.log(math.e + 2)) / 2 - 1)


def test_noise_has_unit_length_no_preferred_direction_and_the_generators_numbers():
    like = torch.zeros(3, 32, dtype=torch.float64)
    first, again, other = (gaussian_noise(20_000, like, generator=torch.Generator().manual_seed(n)) for n in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)
    torch.testing.assert_close(first.norm(dim=1), torch.ones(20_000, dtype=torch.float64))
    assert first.mean(0).abs().max() < 0.01
    torch.testing.assert_close(first.T @ first / 20_000, torch.eye(32, dtype=torch.float64) / 32, atol=0.002, rtol=0)
    small = gaussian_noise(4, torch.zeros(1, 8, dtype=torch.bfloat16), generator=torch.Generator())
    assert small.dtype == torch.bfloat16 and small.shape == (4, 8)
    assert gaussian_noise(0, like, generator=torch.Generator()).shape == (0, 32)


def test_shapes_that_do_not_fit_are_one_line():
    given = drawn(0)
    with pytest.raises(ItmlabError, match=r"synthetic scores must be .* 4 anchors, not \(3, 3\)"):
        info_cmr(**{**given, "synthetic_scores": given["synthetic_scores"][:3]})
    with pytest.raises(ItmlabError, match=r"permissions of \(4, 2\)"):
        info_cmr(**{**given, "synthetic_allowed": given["synthetic_allowed"][:, :2]})
    with pytest.raises(ItmlabError, match="temperature"):
        info_cmr(**given, temperature=0.0)


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    anchors=st.integers(1, 6),
    candidates=st.integers(1, 8),
    share=st.floats(0, 1),
    temperature=st.floats(0.03, 2),
    extra=st.integers(0, 4),
)
def test_info_nce_is_the_loop(seed, anchors, candidates, share, temperature, extra):
    source = torch.Generator().manual_seed(seed)
    scores = torch.rand(anchors, candidates, dtype=torch.float64, generator=source) * 2 - 1
    positives = torch.rand(anchors, candidates, generator=source) < share
    positive_scores = torch.rand(anchors, dtype=torch.float64, generator=source)
    lists = [tensor.tolist() for tensor in (scores, positives, positive_scores)]
    assert info_nce(scores, positives, positive_scores, temperature).item() == pytest.approx(
        by_loop(*lists, temperature), abs=1e-12
    )
    further = torch.rand(anchors, extra, dtype=torch.float64, generator=source) * 2 - 1
    assert info_nce(scores, positives, positive_scores, temperature, further).item() == pytest.approx(
        by_loop(*lists, temperature, further=further.tolist()), abs=1e-12
    )


def test_with_one_positive_an_anchor_it_is_cross_entropy():
    scores = torch.rand(6, 6, generator=torch.Generator().manual_seed(0))
    expected = torch.nn.functional.cross_entropy(scores / 0.05, torch.arange(6))
    torch.testing.assert_close(info_nce(scores, torch.eye(6).bool(), scores.diagonal(), 0.05), expected)


def test_captions_of_the_same_image_are_in_no_denominator_and_get_no_gradient():
    scores = torch.rand(4, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    ids = torch.tensor([3, 3, 8, 9])
    positives = ids[:, None] == ids
    value = info_nce(scores, positives, scores.diagonal().detach(), 0.05)
    raised = info_nce(scores + positives * 5, positives, scores.diagonal().detach(), 0.05)
    assert torch.equal(value, raised)
    value.backward()
    assert (scores.grad[positives] == 0).all() and (scores.grad[~positives] > 0).all()


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (0, 0), (2, 0)])
def test_without_any_negative_the_loss_is_exactly_zero_and_has_a_gradient(shape):
    scores, positive_scores = torch.rand(shape, requires_grad=True), torch.rand(shape[0], requires_grad=True)
    value = info_nce(scores, torch.ones(shape).bool(), positive_scores, 0.05)
    value.backward()
    assert value.item() == 0 and (positive_scores.grad == 0).all()


def test_an_anchor_without_negatives_in_the_batch_still_has_the_extra_ones():
    value = info_nce(torch.ones(1, 1), torch.ones(1, 1).bool(), torch.tensor([0.5]), 1.0, torch.tensor([[0.5]]))
    assert value.item() == pytest.approx(math.log(2))


def test_gradients_are_right_and_finite_at_the_extremes():
    scores = torch.rand(3, 4, dtype=torch.float64, requires_grad=True)
    positive_scores = torch.rand(3, dtype=torch.float64, requires_grad=True)
    extra = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
    temperature = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1]]).bool()
    inputs = (scores, positive_scores, temperature, extra)
    assert torch.autograd.gradcheck(lambda s, p, t, e: info_nce(s, mask, p, t, e), inputs)
    wild = torch.tensor([[1.0, -math.inf, 300.0], [math.nan, -300.0, -math.inf]], requires_grad=True)
    own = torch.tensor([1.0, 2.0], requires_grad=True)
    value = info_nce(wild, torch.tensor([[True, False, False], [True, False, False]]), own, 0.01)
    value.backward()
    assert value.isfinite() and wild.grad.isfinite().all() and own.grad.isfinite().all()


def test_half_precision_scores_make_a_single_precision_loss():
    scores = torch.rand(4, 4).bfloat16()
    value = info_nce(scores, torch.eye(4).bool(), scores.diagonal(), 0.05)
    assert value.dtype == torch.float32


def test_what_does_not_fit_is_said():
    with pytest.raises(ItmlabError, match="temperature"):
        info_nce(torch.zeros(2, 2), torch.eye(2).bool(), torch.zeros(2), 0.0)
    with pytest.raises(ItmlabError, match=r"\(anchor, extra\) with 2 anchors, not \(3, 1\)"):
        info_nce(torch.zeros(2, 2), torch.eye(2).bool(), torch.zeros(2), 1.0, torch.zeros(3, 1))
    with pytest.raises(ItmlabError, match="one positive score an anchor"):
        info_nce(torch.zeros(2, 2), torch.eye(2).bool(), torch.zeros(3))
