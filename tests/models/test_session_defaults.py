"""Torch's defaults of a session do not change what models compute, and models built under them can be trained."""

import copy

import pytest
import torch

from itmlab.models import LateInteractionConfig, OscarDualEncoderConfig, build_model, load_model
from itmlab.models.pairs import on_device
from tests.models import cross_encoders, fragments
from tests.models.conftest import CAPTIONS, configuration
from tests.models.cross_encoders import pictures
from tests.sessions import SESSIONS

KINDS = ["vit", "sgraf", "scan_i2t", "vsrn", "vsepp", "cross-encoder", "oscar"]


def built(kind: str):
    if kind == "vit":
        return build_model(configuration(kind), CAPTIONS, seed=3)
    if kind == "cross-encoder":
        return build_model(cross_encoders.build().config, CAPTIONS, seed=3)
    if kind == "oscar":
        sizes = {"region_dimension": 16, "hidden": 24, "layers": 1, "heads": 3, "intermediate": 40}
        return build_model(OscarDualEncoderConfig("oscar", **sizes, matcher="saf"), CAPTIONS, seed=3)
    sizes = {"region_dimension": 10, "dimension": 16, "word_dimension": 12, "similarity_dimension": 8}
    return build_model(LateInteractionConfig(kind, **sizes), CAPTIONS, seed=3)


def scores(model) -> torch.Tensor:
    """The similarity of three images with all captions; inputs are made outside the session's defaults."""
    if model.reads == "pictures":
        images = pictures(3)
    else:
        images = (cross_encoders if model.config.region_dimension == 16 else fragments).records([3, 5, 1])
    prepared = on_device(model, model.prepare_images(images))
    tokens = on_device(model, model.prepare_captions(CAPTIONS))
    if not model.encodes_apart:
        return model.similarity(prepared, tokens)
    return model.similarity(model.encode_images(prepared), model.encode_captions(tokens))


@pytest.fixture(scope="module", params=KINDS)
def usual(request):
    model = built(request.param).eval()
    return request.param, scores(copy.deepcopy(model)).detach()


@pytest.mark.parametrize("session", SESSIONS)
def test_models_compute_the_same_and_can_be_trained(session, usual, tmp_path, monkeypatch):
    kind, expected = usual
    inputs = [cross_encoders.records([3, 5, 1]), fragments.records([3, 5, 1])]  # before the session's defaults
    monkeypatch.setattr(cross_encoders, "records", lambda counts: inputs[0])
    monkeypatch.setattr(fragments, "records", lambda counts: inputs[1])
    with SESSIONS[session]():
        model = built(kind).eval()
        model.save(tmp_path)
        for current in (model, load_model(tmp_path)):
            similarity = scores(current)
            assert similarity.dtype == torch.float32
            torch.testing.assert_close(similarity, expected, rtol=1e-4, atol=1e-5)
    assert all(weights.dtype == torch.float32 and not weights.is_inference() for weights in model.parameters())
    if model.encodes_apart:
        scores(model).sum().backward()
