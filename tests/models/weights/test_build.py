"""From a configuration to a model: the same seed, the same weights."""

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.models import TwoTowerConfig, build_model
from itmlab.text.tokens import train_wordpiece


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(configure, kind, captions):
    same = [build_model(configure(kind), captions, seed=4).state_dict() for _ in range(2)]
    assert all(torch.equal(same[0][name], same[1][name]) for name in same[0])
    other = build_model(configure(kind), captions, seed=5).state_dict()
    assert any(not torch.equal(same[0][name], other[name]) for name in other)


def test_without_a_seed_the_callers_generator_decides_and_with_one_it_is_left_alone(configure, captions):
    torch.manual_seed(4)
    state = torch.get_rng_state()
    given = build_model(configure("vit"), captions, seed=4).state_dict()
    assert torch.equal(torch.get_rng_state(), state)
    drawn = build_model(configure("vit"), captions).state_dict()
    assert all(torch.equal(given[name], drawn[name]) for name in given)


def test_the_configuration_says_how_large_the_vocabulary_really_is(configure, captions):
    model = build_model(configure("vit", vocabulary_size=5000), captions)
    assert model.config.vocabulary_size == len(model.tokenizer) < 5000
    assert model.towers.text.embeddings.word_embeddings.num_embeddings == len(model.tokenizer)


def test_a_tokeniser_may_be_given_instead_of_captions(configure, captions):
    tokenizer = train_wordpiece(captions, 90)
    assert build_model(configure("vit"), tokenizer).tokenizer is tokenizer


def test_a_vocabulary_has_to_come_from_somewhere(configure):
    with pytest.raises(ItmlabError, match="no vocabulary"):
        build_model(configure("vit"))


def test_tiny_is_tiny(captions):
    model = build_model(TwoTowerConfig.tiny(), captions * 20)
    missing_words = (1000 - model.config.vocabulary_size) * model.config.text_hidden
    assert sum(one.numel() for one in model.parameters()) + missing_words <= 750_000
    assert model.patch_grid == (8, 8) and model.config.image_size == 96
