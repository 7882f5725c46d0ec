"""Where words land, what a score hangs on, and whether maps point at what words mean."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from workshop.analysis.attention import BoxedObjects, Pointing, pointing, relevance, token_pieces, word_maps, word_masks

from tests.refusals import refused
from tests.workshop.small_world import small_set

NOISE = Image.effect_noise((96, 96), 90).convert("RGB")


def test_a_colours_word_lands_on_that_colour(colour_model):
    data = small_set()
    maps = word_maps(colour_model, data.images[13], data.captions[26])
    (attention,) = (entry for entry in maps if entry.word == "blue")
    row, column = np.unravel_index(attention.weights.argmax(), attention.weights.shape)
    mask = data.world.masks(13)[0]
    assert mask[12 * row + 6, 12 * column + 6] and attention.word == "blue"


def test_a_weight_is_the_cosine_of_the_words_mean_piece_and_the_patch(tiny):
    caption = "Two men ride; T-shirt & <b>hat</b>"
    with torch.no_grad():
        tiny.eval()
        patches = tiny.encode_images(tiny.prepare_images([NOISE])).local[0]
        words = tiny.encode_captions(tiny.prepare_captions([caption])).local[0]
    pieces = dict(tiny.caption_words(caption))["shirt"]
    word = sum(words[piece] for piece in pieces) / len(pieces)
    rows, columns = tiny.patch_grid
    expected = [
        [float(word @ patches[columns * r + c] / word.norm() / patches[columns * r + c].norm()) for c in range(columns)]
        for r in range(rows)
    ]
    (shirt,) = (entry for entry in word_maps(tiny, NOISE, caption) if entry.word == "shirt")
    assert np.allclose(shirt.weights, expected, atol=1e-5)


def test_all_words_have_maps_in_order_and_punctuation_has_none(tiny):
    maps = word_maps(tiny, NOISE, "Two men ride; T-shirt & <b>hat</b>")
    assert [attention.word for attention in maps] == ["Two", "men", "ride", "T", "shirt", "b", "hat", "b"]
    assert all(attention.weights.shape == tiny.patch_grid and abs(attention.weights).max() <= 1 for attention in maps)


def test_a_cropping_models_map_covers_the_crop(tiny_clip):
    wide = Image.new("RGB", (192, 96), "red")
    wide.paste("blue", (48, 0, 144, 96))
    attention = word_maps(tiny_clip, wide, "a square")[0]
    assert attention.picture.size == (96, 96)
    assert np.abs(np.asarray(attention.picture).astype(int) - (0, 0, 255)).max() <= 3


def test_a_model_that_sees_squares_points_at_them(colour_model):
    found = pointing(colour_model, small_set())
    assert found.hit.all() and len(found.hit) == 16
    assert np.allclose(found.area, 0.25) and found.chance == 0.25
    assert found.mass.min() > 0.5


def test_intervals_resample_images_not_words():
    """Ten words of each of two images: with images the unit, only shares 0, ½ and 1 can be drawn."""
    image = np.repeat([0, 1], 10)
    found = Pointing(hit=image == 0, mass=np.full(20, 0.3), area=np.full(20, 0.1), image=image)
    assert found.measures()["accuracy"] == (0.5, 0.0, 1.0)
    assert np.allclose(found.measures()["mass"], 0.3)
    assert found.measures() == found.measures()
    assert np.allclose(found.by_image(3), [100, 0, np.nan], equal_nan=True)


def test_words_of_the_graph_are_found_among_the_models_pieces(tiny):
    caption = "Two men; T-shirt’s <b> hat"
    spoken = dict(tiny.caption_words(caption))
    pieces = token_pieces(tiny, caption)
    assert pieces[0] == spoken["Two"] and pieces[1] == spoken["men"]
    assert pieces[3] == [*spoken["T"], *spoken["-"], *spoken["shirt"], *spoken["’"], *spoken["s"]]
    assert pieces[-1] == spoken["hat"]


def test_masks_of_words_go_with_their_maps(tiny):
    data = small_set()
    masks = word_masks(tiny, data, 4)
    words = [entry.word for entry in word_maps(tiny, data.images[2], data.captions[4])]
    assert [mask is not None for mask in masks] == [word == "square" for word in words]
    assert (masks[words.index("square")] == data.world.masks(2)[0]).all()


def boxes(data, **more) -> dict:
    """The squares as COCO writes boxes, and a person to the left of the picture who is in no caption."""
    corners = [data.world.corner(image) for image in range(len(data))]
    squares = [
        {"image_id": data.image_ids[image], "category_id": 7, "bbox": [left, top, 24.0, 24]}
        for image, (left, top) in enumerate(corners)
    ]
    person = {"image_id": data.image_ids[0], "category_id": 1, "bbox": [-9, 0, 12, 48]}
    return {
        "categories": [{"id": 7, "name": "square"}, {"id": 1, "name": "person"}],
        "images": [{"id": one, "height": 48, "width": 48} for one in data.image_ids],
        "annotations": [*squares, person],
    } | more


def test_boxes_of_photographs_are_pointed_at_as_masks_are(colour_model, tmp_path):
    data, file = small_set(), tmp_path / "instances.json"
    file.write_text(json.dumps(boxes(data)))
    wanted = pointing(colour_model, data)
    data.world = None
    found = pointing(colour_model, data, objects=BoxedObjects(small_set(), file))
    for name in ("hit", "mass", "area", "image", "centre"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name))
    assert found.centre.sum() == 4  # of the squares to the right and below


def test_a_word_means_the_objects_of_its_lemma_and_people_are_persons(tmp_path):
    data, file = small_set(2), tmp_path / "instances.json"
    file.write_text(json.dumps(boxes(data)))
    data.captions = ["Two women, squares", "", "a man", ""]
    objects = BoxedObjects(data, file)
    assert [objects.object_of_word(0, token) for token in range(4)] == [[], [1], [], [0]]
    assert objects.object_of_word(2, 1) == [] and objects.masks(0)[1].sum() == 3 * 48  # what lies outside is cut


@pytest.mark.parametrize("wrong", [{"images": 3}, {"categories": []}, {"annotations": [{"image_id": 1}]}])
def test_another_file_than_boxes_is_one_line(wrong, tmp_path):
    file = tmp_path / "instances.json"
    file.write_text(json.dumps(boxes(small_set(), **wrong)))
    refused("instances.json: not COCO's boxes", BoxedObjects, small_set(), file)


def slow_relevance(model, caption: str, layer: int) -> np.ndarray:
    """The directional derivative of the score along each patch's own features, by finite differences."""
    model.eval()
    block = list(
        model.towers.image.encoder.layer if hasattr(model.towers.image, "encoder") else model.towers.image.layers
    )[layer]
    pixels = model.prepare_images([NOISE])
    with torch.no_grad():
        target = model.encode_captions(model.prepare_captions([caption])).pooled[0].double()

        def score(patch: int, factor: float) -> float:
            def stretch(_, __, output):
                hidden = output[0] if isinstance(output, tuple) else output
                hidden = hidden.clone()
                hidden[0, patch + 1] *= factor
                return (hidden, *output[1:]) if isinstance(output, tuple) else hidden

            hook = block.register_forward_hook(stretch)
            pooled = model.encode_images(pixels).pooled[0].double()
            hook.remove()
            return float(torch.cosine_similarity(pooled, target, dim=0))

        step = 1e-2
        count = model.patch_grid[0] * model.patch_grid[1]
        slopes = [(score(patch, 1 + step) - score(patch, 1 - step)) / (2 * step) for patch in range(count)]
    return np.maximum(slopes, 0).reshape(model.patch_grid)


@pytest.mark.parametrize("layer", [0, -2])
def test_relevance_is_the_positive_part_of_how_the_score_rises_with_a_patch(tiny, layer):
    found = relevance(tiny, NOISE, "a red square", layer=layer).weights
    slow = slow_relevance(tiny, "a red square", layer)
    assert found.max() > 0 and np.allclose(found, slow, atol=0.03 * slow.max() + 2e-6)


def test_one_word_has_a_relevance_of_its_own(tiny, tiny_clip):
    whole, word = (relevance(tiny, NOISE, "a red square", word=word) for word in (None, "Red"))
    assert (whole.word, word.word) == ("whole caption", "Red")
    assert not np.allclose(whole.weights, word.weights)
    assert relevance(tiny_clip, NOISE, "a red square", layer=-2).weights.shape == tiny_clip.patch_grid
    one, two = (relevance(tiny, NOISE, "a man and a hat", word="a", occurrence=number).weights for number in (0, 1))
    assert not np.allclose(one, two)
    refused("its words are a, red, square", relevance, tiny, NOISE, "a red square", word="dog")
