"""One transformer reads images and captions separately: no feature depends on the other side."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from itmlab.components import parameters
from itmlab.models import OscarDualEncoder, OscarDualEncoderConfig, build_model
from tests.models import cross_encoders
from tests.models.cross_encoders import CLOSE, inputs

FORMS = [("uniter", "regions"), ("oscar", "regions")]


@pytest.fixture(params=FORMS, ids="-".join)
def model(request) -> OscarDualEncoder:
    return OscarDualEncoder.converted(cross_encoders.build(*request.param))


def features(model):
    tokens, image = inputs(model.tower)
    with torch.no_grad():
        return model.encode_images(image), model.encode_captions(tokens)


def test_pooled_features_are_means_over_the_parts_of_one_side(model):
    (images, captions), (tokens, image) = features(model), inputs(model.tower)
    embedded = model.tower.tagged(model.tower.embed_regions(**image))
    for row in range(4):
        length = int(tokens["attention_mask"][row].sum())
        states = model.tower.text(tokens["input_ids"][row : row + 1, :length])
        words = model.tower.encoder(states, torch.ones(1, length, dtype=torch.bool))[0, 1:-1]
        assert len(words) == int(tokens["word_mask"][row].sum())
        torch.testing.assert_close(captions.pooled[row], functional.normalize(words.mean(0), dim=0), **CLOSE)
        values = embedded.values[row][embedded.mask[row]][None]
        parts = model.tower.encoder(values, torch.ones(values.shape[:2], dtype=torch.bool))[0]
        torch.testing.assert_close(images.pooled[row], functional.normalize(parts.mean(0), dim=0), **CLOSE)


def test_every_weight_is_trained_and_no_head_remains(model):
    tokens, image = inputs(model.tower)
    images, captions = model.train()(image, tokens)
    (images.pooled.sum() + captions.pooled.sum()).backward()
    assert [name for name, weights in model.named_parameters() if weights.grad is None] == []
    assert not [name for name in model.state_dict() if "heads" in name or "pooler" in name]


@pytest.mark.parametrize("matcher", [None, "sgr", "saf", "sgraf"])
def test_a_matcher_of_sgraf_compares_regions_with_word_pieces(matcher, tmp_path):
    """ITContrast, Table 1, "Ours (SGRAF)": OSCAR in place of the recurrent network and the linear map."""
    tower = cross_encoders.build("oscar", "regions")
    config = OscarDualEncoderConfig(**parameters(tower.config), matcher=matcher, similarity_dimension=6)
    model = build_model(replace(config, matcher_dropout=0.0), tower.tokenizer, seed=0).eval()
    plain = OscarDualEncoder.converted(tower)
    model.tower.load_state_dict(plain.tower.state_dict())
    images, captions = features(model)
    for encoded, reference in zip((images, captions), features(plain), strict=True):
        torch.testing.assert_close(encoded.pooled, reference.pooled, **CLOSE)
        if matcher is not None:
            units = functional.normalize(reference.local, dim=-1)[reference.mask]
            torch.testing.assert_close(encoded.local[encoded.mask], units, **CLOSE)
    scores = model.similarity(images, captions)
    assert scores.unique().numel() == scores.numel()
    empty = model.encode_captions(model.prepare_captions(["", "a dog"]))
    assert model.similarity(images, empty).isfinite().all()
    model.save(tmp_path)
    again = OscarDualEncoder.load(tmp_path)
    assert again.config == model.config and torch.equal(again.similarity(images, captions), scores)
    assert torch.equal(features(again)[1].pooled, captions.pooled)
