"""What is told beside the right picture and beside a wrong one: counted by hand, and of a model that knows colours."""

import math
import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional
from workshop.analysis.negatives import SyntheticNegatives
from workshop.analysis.scoring import matching
from workshop.analysis.word_accuracy import KINDS
from workshop.analysis.wrong_picture import masked_words, replaced_phrases, sentences_told, wrong_pictures

from itmlab.scenes import load
from itmlab.text import WordMasking
from itmlab.text.alignment import token_characters
from tests.workshop.colour_cross_encoder import NAMES, ColourCrossEncoder, judging_set
from tests.workshop.small_cross_encoder import small_cross_encoder
from tests.workshop.tags.test_word_accuracy import recoloured, shortest_kind


@given(st.integers(2, 40), st.integers(0, 2**40))
def test_every_picture_has_another_and_is_another_once(count, seed) -> None:
    found = wrong_pictures(count, seed)
    assert sorted(found.tolist()) == list(range(count)) and not (found == torch.arange(count)).any()
    assert found.equal(wrong_pictures(count, seed))


# A model that knows the picture's colour and nothing else.


class Fills(ColourCrossEncoder):
    """Fills every mask with the colour of the picture."""

    def forward(self, tokens, token_mask, regions, *, heads=("itm",), positions=None):
        if "mlm" not in heads:
            return super().forward(tokens, token_mask, regions, heads=heads)
        own = self.names[regions.values[:, 0, 0]][:, None].expand(tokens.shape)
        return SimpleNamespace(mlm=functional.one_hot(own, len(self.tokenizer)).float()[positions])


@pytest.fixture(scope="module")
def squares():
    data = judging_set()
    return data, Fills(data.captions)


@pytest.mark.parametrize("seed", range(3))
def test_a_masked_colour_is_seen_in_the_right_picture_only(squares, seed) -> None:
    data, model = squares
    found = masked_words(model, data, probability=1.0, seed=seed)
    alike = (wrong_pictures(8, seed) % 4 == torch.arange(8) % 4).float().mean().item()
    assert found["attribute"].right.percent == 100 and found["attribute"].right.of == 16
    assert found["attribute"].wrong.percent == pytest.approx(100 * alike)
    assert found["attribute"].gap == pytest.approx(100 - 100 * alike)
    assert found["object"].right.count == found["object"].wrong.count == 0 and found["object"].right.of == 16
    assert found["relation"].right.of == 0 and found["all"].right.count == 16
    assert str(found["all"]) == f"right picture {found['all'].right}, wrong picture {found['all'].wrong}"


@pytest.mark.parametrize("seed", range(3))
def test_a_replaced_colour_is_told_beside_the_right_picture_only(squares, seed) -> None:
    data, model = squares
    made, other = [], {name: NAMES[(at + 1) % 4] for at, name in enumerate(NAMES)}
    for caption in range(16):
        negative = recoloured(data, caption, other[NAMES[caption // 2 % 4]])
        made.append([replace(negative, truth=(False, None, True)[caption % 3])])
    found = replaced_phrases(
        model, data, SyntheticNegatives(data, "recoloured", tuple(range(16)), made, None), seed=seed
    )
    false = [caption // 2 for caption in range(0, 16, 3)]
    wrong = wrong_pictures(8, seed)
    assert (found.right.count, found.right.of) == (6, 6)  # of those that are surely false
    assert found.wrong.count == sum(int(wrong[image] % 4 == image % 4) for image in false)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_told_is_a_mean_over_a_pictures_false_sentences(squares, seed) -> None:
    """Beside a slow count; a picture without a false sentence has no number."""
    data, model = squares
    made, chance = [], random.Random(seed)
    for caption in range(14):  # the last picture has none
        colours = chance.sample(NAMES, 2)
        made.append(
            [replace(recoloured(data, caption, one), truth=chance.choice([False, True, None])) for one in colours]
        )
    sentences = SyntheticNegatives(data, "recoloured", tuple(range(14)), made, None)
    run, other = SimpleNamespace(model=model, recipe=SimpleNamespace(seed=7)), wrong_pictures(8, seed)
    told = {
        beside: sentences_told({7: sentences}, beside, seed=seed)(run, data) for beside in ("right", "wrong", "gap")
    }
    match = matching(run, data)
    for image in range(8):
        false = [one for row in made for one in row if one.image == image and one.truth is False]
        for beside, picture in (("right", image), ("wrong", int(other[image]))):
            above = [
                float(match([picture], [data.captions[one.caption]])) > float(match([picture], [one.sentence]))
                for one in false
            ]
            expected = 100 * sum(above) / len(above) if above else math.nan
            assert told[beside][image] == pytest.approx(expected, nan_ok=True)
    assert np.allclose(told["gap"], told["right"] - told["wrong"], equal_nan=True) and math.isnan(told["right"][7])


# A model with weights of its own, asked for one sentence at a time.


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    data = load(images=5, cache=tmp_path_factory.mktemp("scenes"))
    return data, small_cross_encoder(data.captions)


def one_alone(model, data, image, ids, head):
    with torch.no_grad():
        parts = model.embed_regions(**model.prepare_images([data.images[image]]))
        said = model(torch.tensor([ids]), torch.ones(1, len(ids)), parts, heads=(head,))
    return getattr(said, head)[0]


def test_masked_words_are_those_of_asking_one_by_one(scenes) -> None:
    data, model = scenes
    chosen, other = [0, 3, 7, 12, 24], wrong_pictures(5, 4)
    counts = {kind: [0, 0, 0] for kind in ("all", *KINDS)}
    generator, encode = torch.Generator().manual_seed(4), model.tokenizer.backend_tokenizer.encode
    for caption in chosen:
        graph, image = data.world.graphs[caption], int(data.image_of_caption[caption])
        letters = token_characters(data.captions[caption], graph.tokens)
        hidden = [letters[one.span.start] for one in WordMasking(0.5)(graph, generator=generator)]
        piece = encode(data.captions[caption])
        asked = [
            at
            for at, (start, end) in enumerate(piece.offsets)
            if any(first < end and last > start for first, last in hidden)
        ]
        ids = [model.tokenizer.mask_token_id if at in asked else one for at, one in enumerate(piece.ids)]
        told = [one_alone(model, data, beside, ids, "mlm").argmax(1) for beside in (image, int(other[image]))]
        for at in asked:
            for kind in ("all", shortest_kind(data, caption, *piece.offsets[at])):
                counts[kind][0] += 1
                for which in (0, 1):
                    counts[kind][1 + which] += int(told[which][at] == piece.ids[at])
    found = masked_words(model, data, chosen, probability=0.5, seed=4)
    assert {kind: [one.right.of, one.right.count, one.wrong.count] for kind, one in found.items()} == counts
    assert counts["all"][0] > 10
