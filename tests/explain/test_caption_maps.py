"""All maps of one caption at once are those of each word, by checkpoint, with what each word means."""

import numpy as np

from itmlab.explain import caption_maps, relevance, word_maps, word_masks
from itmlab.models import TwoTowerConfig, build_model

from .small_world import small_set


def two_models(data):
    return {name: build_model(TwoTowerConfig.tiny(), data.captions, seed=seed) for seed, name in enumerate("ab")}


def test_they_are_the_maps_of_each_word_for_each_checkpoint() -> None:
    data = small_set(4)
    models = two_models(data)
    maps, outlines = caption_maps(models, data, 3)
    picture = data.images[int(data.image_of_caption[3])]
    for name, model in models.items():
        expected = word_maps(model, picture, data.captions[3])
        assert [entry.word for entry in maps[name]] == [entry.word for entry in expected]
        assert all(np.array_equal(a.weights, b.weights) for a, b in zip(maps[name], expected, strict=True))
    assert len(outlines) == len(maps["a"])


def test_named_keeps_the_words_that_mean_something_visible() -> None:
    data = small_set(4)
    maps, outlines = caption_maps(two_models(data), data, 3, named=True)
    every = word_masks(two_models(data)["a"], data, 3)
    assert all(outline is not None for outline in outlines)
    assert len(maps["a"]) == len(outlines) == sum(outline is not None for outline in every) > 0


def test_repeated_words_have_gradients_of_their_own() -> None:
    data = small_set(4)
    models = two_models(data)
    number = next(n for n, text in enumerate(data.captions) if text.lower().split().count("is") == 2)
    maps, _ = caption_maps(models, data, number, measure="gradient")
    picture = data.images[int(data.image_of_caption[number])]
    second = [entry for entry in maps["a"] if entry.word == "is"][1]
    assert np.array_equal(
        second.weights, relevance(models["a"], picture, data.captions[number], word="is", occurrence=1).weights
    )
