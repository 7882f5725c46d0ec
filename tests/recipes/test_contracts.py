"""Each contract of an own idea, broken in each way: told when it is handed over, in the contract's words."""

import random
import re

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from itmlab import losses
from itmlab.models.weights.build import build_model
from itmlab.recipes import contracts
from itmlab.samplers import FalseNegativeEliminating, Hardest, Random, Retrieved, SemiHard, Softest
from itmlab.samplers.base import draw
from itmlab.synthesis import FeatureNegatives, Negative, SynHNC
from tests.recipes import ideas
from tests.refusals import refused
from tests.training.world import MICRO


def negatives(scores, positives):
    return scores.masked_fill(positives, -9)


def best_of(scores, positives):
    return torch.where(positives.all(dim=1), -1, negatives(scores, positives).argmax(dim=1))


def in_place(scores, positives, s, *, generator):
    return torch.where(positives.all(dim=1), -1, scores.masked_fill_(positives, -9).argmax(dim=1))


def another_generator(scores, positives, s, *, generator):
    return draw((~positives).float(), generator=torch.Generator().manual_seed(random.randrange(2**40)))


SAMPLERS = {
    "of 12 anchors and 30 candidates it gives a tensor (12, 30) of float32": lambda s, p, o, *, generator: s,
    "it gives a tensor (12,) of float32": lambda s, p, o, *, generator: best_of(s, p).float(),
    "it gives list": lambda s, p, o, *, generator: best_of(s, p).tolist(),
    "it picks a positive, for an anchor with 28 negatives": lambda s, p, o, *, generator: p.int().argmax(dim=1),
    "it picks a positive, for an anchor with 1 negative —": lambda s, p, o, *, generator: (
        negatives(s, p).topk(2).indices[:, 1]
    ),
    "it picks a positive, for an anchor with no negatives": lambda s, p, o, *, generator: negatives(s, p).argmax(dim=1),
    "it picks candidate 30, which is none": lambda s, p, o, *, generator: torch.full((12,), 30),
    "with an equal generator it gives something else": another_generator,
    "it changes scores in place": in_place,
    "it cannot be called so: got an unexpected keyword argument 'generator'": lambda s, p, o: best_of(s, p),
    "it cannot be called so: too many positional arguments": lambda s, p, *, generator: best_of(s, p),
}
LOSSES = {
    "it gives a tensor (12,) of float32": lambda s, p, o: negatives(s, p).amax(1) - o,
    "it gives 1.5": lambda s, p, o: 1.5,
    "it gives a tensor () of int64": lambda s, p, o: torch.tensor(3),
    "it is not differentiable": lambda s, p, o: (negatives(s, p).detach().amax(1) - o.detach()).mean(),
    "it is not differentiable: no gradient reaches the scores": lambda s, p, o: (
        -o.mean() + negatives(s, p).detach().mean()
    ),
    "for negatives": lambda s, p, o: (s.logsumexp(1) - o).mean(),
    "it gives -inf, where an anchor has no negative": lambda s, p, o: (
        s.masked_fill(p, -torch.inf).amax(1).sub(o).mean()
    ),
    "its gradient is not finite": lambda s, p, o: (s * ~p).square().sum(1).sqrt().sub(o).mean(),
    "with equal scores it gives something else": lambda s, p, o: negatives(s, p).mean() * np.random.rand(),
    "it changes s in place": lambda s, p, o: s.masked_fill_(p, -9).amax(1).sub(o).mean(),
    "it cannot be called so": lambda s, p: s.mean(),
}


def features_of(make):
    return lambda a, c, p, *, generator: FeatureNegatives(make(a, c, p), torch.ones(len(a), 1, dtype=torch.bool))


SYNTHESES = {
    "it gives a tensor (12, 16) of float32": lambda a, c, p, *, generator: a,
    "of 12 anchors it gives features (12, 16), allowed": features_of(lambda a, c, p: a),
    "features (1, 12, 16), allowed (12, 1)": features_of(lambda a, c, p: a[None]),
    "not of length 1": features_of(lambda a, c, p: 2 * a[:, None]),
    "allowed is": lambda a, c, p, *, generator: FeatureNegatives(a[:, None], torch.ones(len(a), 1)),
    "changes with the anchor's positives": features_of(lambda a, c, p: normalize((p.float() @ c), dim=1)[:, None]),
    "with an equal generator it gives something else": features_of(
        lambda a, c, p: normalize(torch.tensor(np.random.randn(len(a), 1, a.shape[1])), dim=2).float()
    ),
    "it cannot be called so": lambda a, c, p: a,
}
GENERATORS = {
    "of 2 captions it gives list": lambda c, g, o, *, generator: [[]],
    "of 2 captions it gives None": lambda c, g, o, *, generator: None,
    "it gives 'a cat' for a Negative": lambda c, g, o, *, generator: [["a cat"], []],
    "with an equal generator it gives something else": lambda c, g, o, *, generator: [
        [Negative(f"{one} {random.random()}")] for one in c
    ],
    "it cannot be called so": lambda c, *, generator: [[] for _ in c],
}


@pytest.mark.parametrize(
    ("part", "words", "idea"),
    [
        *(("sampler", words, idea) for words, idea in SAMPLERS.items()),
        *(("loss", words, idea) for words, idea in LOSSES.items()),
        *(("synthesis", words, idea) for words, idea in SYNTHESES.items()),
        ("loss", "int cannot be called", 5),
    ],
)
def test_a_broken_contract_is_told_in_its_words(part, words, idea):
    refused(re.escape(words), contracts.kept, part, idea, f"{part} mine")
    refused(f"{part} mine: .* — .*{re.escape(contracts.WORDS[part])}", contracts.kept, part, idea, f"{part} mine")


@pytest.mark.parametrize(("words", "idea"), GENERATORS.items())
def test_a_broken_generator_of_sentences(words, idea):
    given = ["a dog", "a cow"], [None, None], [["a dog"], ["a cow"]]
    refused(f"generator mine: {words}.* — {contracts.WORDS['generator'][:30]}".replace("(", r"\("), try_it, idea, given)


def try_it(idea, given):
    contracts.try_generator(idea, "generator mine", *given)


OURS = [
    *(("sampler", each()) for each in (Hardest, Softest, SemiHard, Random, Retrieved, FalseNegativeEliminating)),
    *(("sampler", each) for each in (ideas.FifthHardest(), ideas.Within(0.1), ideas.any_negative)),
    *(("loss", getattr(losses, name)) for name in ("sum_of_hinges", "max_of_hinges", "info_nce", "info_cmr")),
    *(("loss", each) for each in (ideas.soft_hinges, ideas.LearntTemperature())),
    *(("synthesis", each) for each in (SynHNC(), SynHNC(clusters=2, detach=False), ideas.Between())),
]


@pytest.mark.parametrize(("part", "idea"), OURS)
def test_what_is_ours_keeps_to_them(part, idea):
    before = torch.get_rng_state()
    assert contracts.kept(part, idea, "ours") is idea or part == "sampler"
    assert torch.equal(before, torch.get_rng_state())
    contracts.try_generator(ideas.other_colour, "ours", ["a red dog"], [None], [["a red dog"]])


# Encoders.

CAPTIONS = ["a red dog", "a green cow that sleeps", "a cat"]


@pytest.fixture(scope="module")
def pictures():
    from PIL import Image

    return [Image.new("RGB", (32, 32), colour) for colour in ("red", "green", "blue")]


@pytest.fixture(scope="module")
def model():
    return build_model(MICRO, CAPTIONS * 2)


def changed(model, **how):
    """The model with its features of captions changed."""

    def encode(tokens, **options):
        found = type(model).encode_captions(model, tokens, **options)
        return found._replace(**{name: change(getattr(found, name)) for name, change in how.items()})

    return encode


ENCODERS = {
    r"of 3 captions pooled is a tensor \(3, 4\) of float32, dimension 16": {"pooled": lambda f: f[:, :4]},
    "pooled of captions is not of length 1": {"pooled": lambda f: 2 * f},
    "encode_captions is not differentiable": {"pooled": torch.Tensor.detach},
    "a feature of captions changes with the others of its batch": {
        "pooled": lambda f: normalize(f - f.mean(0) / 2, dim=1)
    },
    r"encode_captions gives local .* and mask a tensor \(1, ": {"mask": lambda m: m[:1]},
}


@pytest.mark.parametrize(("words", "how"), ENCODERS.items())
def test_a_broken_encoder(model, pictures, words, how, monkeypatch):
    contracts.try_encoder(model, "encoder mine", pictures, CAPTIONS)
    monkeypatch.setattr(model, "encode_captions", changed(model, **how))
    refused(f"encoder mine: {words}", contracts.try_encoder, model, "encoder mine", pictures, CAPTIONS)


def test_an_encoder_that_gives_no_encoded(model, pictures, monkeypatch):
    monkeypatch.setattr(model, "encode_images", lambda pixels: pixels.flatten(1))
    refused(r"encode_images gives a tensor \(3, 3072\)", contracts.try_encoder, model, "mine", pictures, CAPTIONS)
    assert model.training, "it is left in the mode it was in"
