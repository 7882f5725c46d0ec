"""Training calls exactly the public losses: what a student changes in `itmlab.losses` changes what is learnt."""

import sys
from functools import partial

import pytest
import torch

from itmlab import losses
from itmlab.train.settings import TagsSettings
from tests.train.test_tags import first_batch, task_of
from tests.train.towers import tower

FACTOR = 3.0
WEIGHTED = {  # name in Eq. 10, the function
    "retrieved": "retrieved_matching",
    "masked_language": "masked_language",
    "synthetic": "synthetic_matching",
    "discrimination": "word_discrimination",
    "correction": "word_correction",
}


def scaled(monkeypatch, name):
    """The public loss of this name returns so many times its value, wherever it is asked for."""
    loss = getattr(losses, name)
    for module in (losses, sys.modules[loss.__module__]):
        monkeypatch.setattr(module, name, lambda *given, **named: FACTOR * loss(*given, **named))


def value_and_gradient(loss_of, weights):
    """The loss, and its gradient of all that there are of `weights`, flat."""
    loss = loss_of()
    found = torch.autograd.grad(loss, weights, allow_unused=True)
    return loss.detach(), torch.cat([one.flatten() for one in found if one is not None])


def both(monkeypatch, name, loss_of, weights):
    """Loss and gradient as they are, then with the public loss scaled."""
    before = value_and_gradient(loss_of, weights)
    scaled(monkeypatch, name)
    return before, value_and_gradient(loss_of, weights)


def grown(before, after, factor=FACTOR):
    """Nothing but by the factor, and not from nothing."""
    for one, other in zip(before, after, strict=True):
        assert one.abs().max() > 0
        torch.testing.assert_close(other, factor * one, rtol=1e-4, atol=1e-6)


def term(data, changes, name="tags_dc"):
    """The loss of a cross-encoder batch, the same at each call."""
    training = data.split("train")
    task, batch = task_of(tower(name, model__dropout=0.0, **changes), training), first_batch(training)

    def loss():
        task.generator.manual_seed(0)
        return task(batch, epoch=0).loss

    return loss, list(task.model.parameters())


@pytest.mark.parametrize("name", WEIGHTED)
def test_each_term_of_equation_10_is_the_public_loss(name, data, monkeypatch):
    alone = {f"tags__weights__{other}": 0.0 for other in WEIGHTED if other != name}
    grown(*both(monkeypatch, WEIGHTED[name], *term(data, alone)))


@pytest.mark.parametrize("kind", TagsSettings.__annotations__["matching"].__args__)
@pytest.mark.parametrize("name", ["retrieved", "synthetic"])
def test_every_kind_of_matching_is_the_public_one(name, kind, data, monkeypatch):
    alone = {f"tags__weights__{other}": 0.0 for other in WEIGHTED if other != name}
    grown(*both(monkeypatch, f"matching_{kind}", *term(data, alone | {"tags__matching": kind})))


def test_their_sum_is_the_public_one(data, monkeypatch):
    grown(*both(monkeypatch, "weighted_sum", *term(data, {})))


def test_alignment_is_info_nce(data, monkeypatch):
    build = partial(term, data, name="uniter_pretraining")
    alone = {"tags__mining": "set", "tags__matching_begins": 0.0}
    without, weights = build({"tags__alignment": 0.0, **alone})
    rest = value_and_gradient(without, weights)[0]
    loss, forward = build({"tags__alignment": 0.5, **alone})[0], losses.InfoNCE.forward
    before = loss().detach()
    monkeypatch.setattr(losses.InfoNCE, "forward", lambda *given: FACTOR * forward(*given))
    assert before > rest
    torch.testing.assert_close(loss().detach() - rest, FACTOR * (before - rest), rtol=1e-3, atol=1e-5)
