"""One transformer reads images and captions apart: no feature knows of the other side."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from itmlab.components import parameters
from itmlab.models import OscarDualEncoder, OscarDualEncoderConfig, build_model
from tests.models import cross_encoders
from tests.models.cross_encoders import CAPTIONS, CLOSE, inputs

FORMS = [("uniter", "regions"), ("oscar", "regions"), ("oscar", "patches")]


@pytest.fixture(params=FORMS, ids="-".join)
def model(request) -> OscarDualEncoder:
    return OscarDualEncoder.converted(cross_encoders.build(*request.param))


def features(model):
    tokens, image = inputs(model.tower)
    with torch.no_grad():
        return model.encode_images(image), model.encode_captions(tokens)


@pytest.fixture
def pair(model):
    return features(model)


def test_pooled_features_are_means_over_the_transformers_own_parts(model, pair):
    images, captions = pair
    tokens, image = inputs(model.tower)
    embedded = model.tower.tagged(model.tower.embed_regions(**image))
    for row in range(4):
        words = tokens["word_mask"][row]
        alone = model.tower.encoder(
            model.tower.text(tokens["input_ids"][row : row + 1, : int(tokens["attention_mask"][row].sum())]),
            torch.ones(1, int(tokens["attention_mask"][row].sum()), dtype=torch.bool),
        )[0, 1:-1]
        assert len(alone) == int(words.sum())
        torch.testing.assert_close(captions.pooled[row], functional.normalize(alone.mean(0), dim=0), **CLOSE)
        values = embedded.values[row][embedded.mask[row]][None]
        alone = model.tower.encoder(values, torch.ones(values.shape[:2], dtype=torch.bool))[0]
        torch.testing.assert_close(images.pooled[row], functional.normalize(alone.mean(0), dim=0), **CLOSE)


def test_alone_and_in_company_features_are_the_same(model, pair):
    _, image = inputs(model.tower)
    for row in range(4):
        with torch.no_grad():
            one = model.encode_images({name: value[row : row + 1] for name, value in image.items()})
            text = model.encode_captions(model.prepare_captions([CAPTIONS[row]]))
        torch.testing.assert_close(one.pooled[0], pair[0].pooled[row], **CLOSE)
        torch.testing.assert_close(text.pooled[0], pair[1].pooled[row], **CLOSE)


def test_every_weight_is_trained_and_no_head_is_left(model):
    tokens, image = inputs(model.tower)
    images, captions = model.train()(image, tokens)
    (images.pooled @ captions.pooled.T).square().sum().backward()
    assert [name for name, one in model.named_parameters() if one.grad is None] == []
    assert not [name for name in model.state_dict() if "heads" in name or "pooler" in name]


def test_a_saved_model_says_the_same_and_knows_what_it_is(model, pair, tmp_path):
    model.save(tmp_path)
    again = OscarDualEncoder.load(tmp_path)
    assert again.config == model.config and not again.training
    for ours, theirs in zip(pair, features(again), strict=True):
        assert torch.equal(ours.pooled, theirs.pooled)


@pytest.mark.parametrize("matcher", ["sgr", "saf", "sgraf"])
def test_sgraf_above_it_compares_what_it_makes_of_regions_and_word_pieces(matcher, tmp_path):
    """ITContrast, Table 1, "Ours (SGRAF)": OSCAR in the place of the recurrent network and the linear map."""
    tower = cross_encoders.build("oscar", "regions")
    config = OscarDualEncoderConfig(**parameters(tower.config), matcher=matcher, similarity_dimension=6)
    model = build_model(replace(config, matcher_dropout=0.0), tower.tokenizer, seed=0).eval()
    plain = OscarDualEncoder.converted(tower)
    model.tower.load_state_dict(plain.tower.state_dict())
    (images, captions), (apart, said) = features(model), features(plain)
    for ours, theirs in ((images, apart), (captions, said)):
        torch.testing.assert_close(ours.pooled, theirs.pooled, **CLOSE)
        units = functional.normalize(theirs.local, dim=-1)[theirs.mask]
        torch.testing.assert_close(ours.local[ours.mask], units, **CLOSE)
    with torch.no_grad():
        scores = model.similarity(images, captions, chunk=3)
        torch.testing.assert_close(scores, model.matcher(images, captions), **CLOSE)
        assert model.similarity(images, model.encode_captions(model.prepare_captions(["", "a dog"]))).isfinite().all()
    assert ((scores > 0) & (scores < 1)).all() and scores.unique().numel() == scores.numel()
    model.save(tmp_path)
    again = OscarDualEncoder.load(tmp_path)
    assert again.config == model.config and torch.equal(again.similarity(images, captions, chunk=3), scores)
    model.train().similarity(
        *[side._replace(local=side.local.requires_grad_()) for side in (images, captions)]
    ).sum().backward()
    assert images.local.grad.abs().sum() > 0 and captions.local.grad.abs().sum() > 0
