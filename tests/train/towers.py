"""Micro recipes of a cross-encoder, so that a run takes a second or two."""

import dataclasses

import itmlab
from itmlab.models import CrossEncoderConfig
from itmlab.train.recipes import Recipe

MICRO_TOWER = CrossEncoderConfig(
    visual="patches",
    region_dimension=8,
    hidden=16,
    layers=1,
    heads=2,
    intermediate=24,
    vocabulary_size=80,
    maximum_tokens=16,
    positions=16,
    dropout=0.1,
    image_size=32,
    patch_size=16,
)
FEW = {"candidates": 5, "top_k": 2, "maskings": 2, "samples": 3, "hardest": 2}


def tower(name: str = "tags_dc", **changes) -> Recipe:
    """A named recipe at a size for tests: fresh weights, batches of 6, 9 steps in epochs of 5, dropout on.

    All losses that it has count alike, so that a fault in any of them changes the run.
    """
    recipe = itmlab.recipe(name).replace(model=MICRO_TOWER, start=None, data__batch_size=6, data__steps=9)
    alike = dict.fromkeys(recipe.tags.weights.wanted, 1.0)
    tags = dataclasses.replace(recipe.tags, weights=dataclasses.replace(recipe.tags.weights, **alike), **FEW)
    recipe = recipe.replace(tags=tags)
    return recipe.replace(data__validation=4, optimiser__learning_rate=3e-3).replace(**changes)
