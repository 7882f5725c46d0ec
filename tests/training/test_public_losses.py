"""Training calls exactly the public losses: what a student changes in `itmlab.losses` changes what is learnt."""

import sys
from functools import partial

import pytest
import torch

from itmlab import losses
from itmlab.recipes.settings import LossSettings, TagsSettings
from itmlab.training.objective import Objective
from tests.training.test_extra_negatives import extras
from tests.training.test_objective import IDS, ROWS, features
from tests.training.test_tags import first_batch, task_of
from tests.training.towers import tower
from tests.training.world import micro

FACTOR = 3.0
SAMPLED = {"sampler": {"kind": "hardest"}}
OBJECTIVES = {kind: {"loss__kind": kind} | (SAMPLED if kind == "sampled_triplet" else {})
              for kind in LossSettings.__annotations__["kind"].__args__[0].__args__}  # fmt: skip
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


def objective(epoch, changes):
    """The loss of a batch of features with negatives of the image anchors' own."""
    images, captions = features(0)

    def loss():
        recipe = micro("triplet", **changes)
        made = Objective(recipe, None, torch.Generator().manual_seed(0), lambda captions, images: images + 0.0)
        return made(images, captions, IDS, ROWS, None, epoch, (extras() if epoch else None, None)).loss

    return loss, [images, captions]


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_an_objectives_loss_is_the_public_one(kind, monkeypatch):
    grown(*both(monkeypatch, kind, *objective(1, OBJECTIVES[kind])))


def test_so_is_the_warm_ups(monkeypatch):
    grown(*both(monkeypatch, "info_nce", *objective(0, {})))


def test_sams_triplets_and_their_margins_are_the_public_ones(monkeypatch):
    settings = {"adaptive_margin": {"with_triplet": False, "temperature": 100.0, "negatives": "hardest"}}
    with monkeypatch.context() as patch:
        grown(*both(patch, "sampled_triplet", *objective(1, settings)))
    (loss, _), (moved, _) = both(monkeypatch, "adaptive_margin", *objective(1, settings))
    assert moved != loss


def test_synthetic_negatives_and_noise_reach_info_cmr_by_name(monkeypatch):
    given = []
    monkeypatch.setattr(losses, "info_cmr", lambda *_, **named: given.append(named) or torch.zeros(()))
    objective(1, OBJECTIVES["info_cmr"] | {"loss__noise": 7})[0]()
    assert given[0]["synthetic_scores"].shape == (6, 3) and given[0]["synthetic_allowed"].equal(extras().allowed)
    assert given[1]["synthetic_scores"] is None and given[1]["noise_scores"].shape == (6, 7)


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


def test_alignment_is_the_public_info_nce(data, monkeypatch):
    build = partial(term, data, name="uniter_pretraining")
    alone = {"tags__mining": "set", "tags__matching_begins": 0.0}
    without, weights = build({"tags__alignment": 0.0, **alone})
    rest = value_and_gradient(without, weights)[0]
    (before, _), (after, _) = both(monkeypatch, "info_nce", *build({"tags__alignment": 0.5, **alone}))
    assert before > rest
    torch.testing.assert_close(after - rest, FACTOR * (before - rest), rtol=1e-3, atol=1e-5)
