"""Parts of different papers train together: an encoder, a loss, a memory, a margin, and synthetic negatives."""

import pytest
import torch

from itmlab.losses import InfoCMR, TripletLoss
from itmlab.samplers import FalseNegativeEliminating, SemiHard
from itmlab.scenes import load
from itmlab.synthesis import Negative, SynHNC, generate_negatives, write_negatives
from itmlab.train.loop import train
from tests.train.test_dual_encoder import small
from tests.train.towers import tower
from tests.train.world import micro

FNE = {"sampler": FalseNegativeEliminating(), "loss": TripletLoss()}
MEMORY = {"memory": {"length": 9, "momentum": 0.9}}
REGIONS = {"model__visual": "regions", "model__region_dimension": 192}
MIXTURES = {
    "FNE, memory, SAM, SynHNC, file": lambda file: micro("info_nce", **FNE, **MEMORY, adaptive_margin={}, **file),
    "VSE++, InfoCMR, memory, SAM": lambda file: small("vsepp", loss=InfoCMR(), **MEMORY, adaptive_margin={}),
    "VSRN, semi-hard, SynHNC": lambda file: small("vsrn").replace(sampler=SemiHard(), synthesis=SynHNC()),
    "SCAN, FNE, SAM, SynHNC, file": lambda file: small("scan").replace(
        **FNE, adaptive_margin={}, synthesis=SynHNC(clusters=2), global_features=True, **file
    ),
    "OSCAR with SGRAF, SAM as released": lambda file: small("oscar_sgraf").replace(
        loss=TripletLoss(reduce="sum"), adaptive_margin={"preset": "released"}, synthesis=SynHNC(clusters=2)
    ),
    "TAGS": lambda file: tower(**REGIONS),
    "WM": lambda file: tower("wm", **REGIONS),
}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return load(images=16, size=32, cache=tmp_path_factory.mktemp("scenes"), regions=True)


@pytest.fixture(scope="module")
def file(scenes, tmp_path_factory):
    def reversed_words(captions, graphs, image_captions, *, generator):
        return [[Negative(" ".join(caption.split()[::-1]))] for caption in captions]

    path = tmp_path_factory.mktemp("file") / "negatives.jsonl"
    negatives = generate_negatives(scenes, reversed_words)
    return {"extra_negatives": {"path": str(write_negatives(path, scenes, negatives).path)}}


@pytest.mark.parametrize("name", MIXTURES)
def test_a_mixture_trains(name, scenes, file, tmp_path):
    steps = {"data__batch_size": 4, "data__steps": 4, "data__warm_up_epochs": 0, "data__validation": 0}
    run = train(MIXTURES[name](file).replace(**steps), scenes, tmp_path, progress=False)
    assert all(torch.isfinite(weight).all() for weight in run.model.state_dict().values() if weight.is_floating_point())
    assert run.history[-1]["step"] == 4
