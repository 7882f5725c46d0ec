"""A model of one's own, derived from `Model` alone, is trained by a recipe that it is passed to."""

import json
from dataclasses import dataclass

import torch
from torch import nn

from itmlab.models import Encoded, Model, ModelConfig, build_model, load_model
from itmlab.models.encoded import unit
from itmlab.train import Run
from itmlab.train.loop import train
from itmlab.train.recipes import Recipe
from tests.refusals import refused
from tests.train.world import micro, small_world


@dataclass(frozen=True)
class ColourConfig(ModelConfig):
    dimension: int = 16
    vocabulary_size: int = 200
    maximum_tokens: int = 20


class Colours(Model):
    """A picture is its mean colour, a caption the mean of its words."""

    config_class = ColourConfig

    def __init__(self, config, tokenizer):
        super().__init__(config, tokenizer)
        self.colours = nn.Linear(3, config.dimension)
        self.words = nn.EmbeddingBag(config.vocabulary_size, config.dimension)

    def prepare_images(self, pictures):
        return torch.tensor([picture.convert("RGB").resize((1, 1)).getpixel((0, 0)) for picture in pictures]) / 255

    def encode_images(self, colours):
        return Encoded(unit(self.colours(colours)))

    def encode_captions(self, tokens):
        return Encoded(unit(self.words(tokens["input_ids"])))


def test_it_trains_and_its_run_opens(tmp_path):
    data = small_world()
    recipe = micro("fne", encoder=Colours, model=ColourConfig(dimension=8), data__epochs=2)
    assert Recipe.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe
    train(recipe, data, tmp_path / "run", progress=False)
    run = Run(tmp_path / "run")
    assert type(run.model) is Colours and run.model.config.dimension == 8
    assert run.evaluate(data, ks=(1, 5))["rsum"] > 0
    assert len(run.search(data.captions[0], data=data.split("test"))) > 0


def test_its_configuration_comes_with_it():
    recipe = micro("info_nce").replace(encoder=Colours)
    assert recipe.model == ColourConfig() and recipe.replace(model__dimension=4).model.dimension == 4
    refused("ColourConfig", micro("info_nce", encoder=Colours).replace, model=micro("info_nce").model)


def test_a_saved_one_is_read_by_its_import_path(tmp_path):
    model = build_model(ColourConfig(), ["a red bus", "a blue dog"], seed=0, encoder=f"{__name__}:Colours")
    model.save(tmp_path)
    again = load_model(tmp_path, f"{__name__}:Colours")
    tokens = model.prepare_captions(["a red dog"])
    assert torch.equal(again.encode_captions(tokens).pooled, model.encode_captions(tokens).pooled)
    refused("names no model", load_model, tmp_path)


class ByParts(Colours):
    """Has its own way to score pairs."""

    @dataclass(frozen=True)
    class Config(ColourConfig):
        compares_parts = True

    config_class = Config

    def similarity(self, images, captions):
        return images.pooled @ captions.pooled.T - 1


def test_its_own_similarity_is_trained_and_ranks(tmp_path):
    data = small_world()
    recipe = micro("info_nce").replace(encoder=ByParts, data__epochs=1)
    run = train(recipe, data, tmp_path / "run", progress=False)
    assert run.search(data.captions[0], data=data.split("test")).scores[0] <= 0
