"""Algorithm 1 with a small cross-encoder on scenes, and rules on scenes."""

import pytest
import torch

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.models import CrossEncoder, CrossEncoderConfig
from itmlab.models.pairs import pieces_read
from itmlab.scenes import load
from itmlab.synthesis import generate_negatives
from itmlab.synthesis.rules import vse_c
from itmlab.synthesis.tags import Tags, cross_encoder_score
from itmlab.text.tokens import train_wordpiece


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(images=4, cache=tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def tower(data):
    tokenizer = train_wordpiece(data.captions, 150)
    sizes = dict(hidden=24, layers=1, heads=3, intermediate=40, region_dimension=16, maximum_tokens=60, positions=60,
                 image_size=32, patch_size=8)  # fmt: skip
    torch.manual_seed(0)
    model = CrossEncoder(
        CrossEncoderConfig(form="uniter", visual="patches", vocabulary_size=len(tokenizer), **sizes), tokenizer
    )
    for weights in model.parameters():  # larger than at the start, so that the picture has its say
        weights.data += 0.3 * torch.randn_like(weights)
    return model.train()


def assert_scores_are_the_towers(negatives, data, tower):
    tower.eval()
    with torch.no_grad():
        captions = tower.prepare_captions([negative.sentence for negative in negatives])
        similarity = tower.similarity(tower.prepare_images(list(data.images)), captions)
    expected = [float(similarity[negative.image, at]) for at, negative in enumerate(negatives)]
    assert [negative.score for negative in negatives] == pytest.approx(expected, rel=1e-4, abs=1e-4)
    tower.train()


def test_the_tower_refills_and_scores_against_the_captions_own_image(data, tower):
    generate = Tags(tower, data, maskings=3, samples=3, keep=4)
    negatives = list(generate_negatives(data, generate, conditioned=True))
    assert len(negatives) > 20 and tower.training
    for caption in range(len(data.captions)):
        scores = [negative.score for negative in negatives if negative.caption == caption]
        assert len(scores) <= 4 and scores == sorted(scores, reverse=True)
    assert_scores_are_the_towers(negatives, data, tower)
    assert negatives == list(generate_negatives(data, generate, conditioned=True))


def test_captions_of_other_words_are_refused_before_anything_is_made(data, tower):
    foreign = ["A hairy snowboarder photographs her grandmother's trombone beside skyscrapers."]
    other = CaptionSet(name="mine", images=[data.images[0]], image_ids=["a"], captions=foreign, caption_ids=["0"],
                       image_of_caption=[0], splits={})  # fmt: skip
    with pytest.raises(ItmlabError, match=r"mine: the refiller's vocabulary holds \d+% .*or a model"):
        Tags(tower, other)
    assert Tags(tower, other, fresh=True).data is other  # which is to learn them


def test_a_negative_that_differs_behind_the_cut_is_none(data, tower):
    long = " ".join(["a red dog"] * 20)
    assert pieces_read(tower, [f"{long} runs", f"{long} sits"])[0] == pieces_read(tower, [f"{long} sits"])[0]
    assert len(pieces_read(tower, [long])[0]) == tower.config.maximum_tokens


def test_rules_know_the_words_of_scenes_and_a_tower_scores_what_they_make(data, tower):
    negatives = list(generate_negatives(data, vse_c(data, 3), score=cross_encoder_score(tower, data)))
    labels = [negative.truth for negative in negatives if negative.truth is not None]
    assert len(negatives) > 20 and labels.count(False) > 0.8 * len(labels)
    assert_scores_are_the_towers(negatives, data, tower)
