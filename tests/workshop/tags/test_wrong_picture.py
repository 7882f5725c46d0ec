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
from workshop.analysis.negatives import SyntheticNegatives
from workshop.analysis.scoring import matching
from workshop.analysis.wrong_picture import replaced_phrases, sentences_told, wrong_pictures

from tests.workshop.colour_cross_encoder import NAMES, ColourCrossEncoder, judging_set
from tests.workshop.tags.test_word_accuracy import recoloured


@given(st.integers(2, 40))
def test_every_picture_has_another_and_is_another_once(count) -> None:
    result = wrong_pictures(count)
    assert sorted(result.tolist()) == list(range(count)) and not (result == torch.arange(count)).any()
    assert result.equal(wrong_pictures(count))


# A model that knows the picture's colour and nothing else.


@pytest.fixture(scope="module")
def squares():
    data = judging_set()
    return data, ColourCrossEncoder(data.captions)


@pytest.mark.parametrize("seed", range(3))
def test_a_replaced_colour_is_seen_beside_the_right_picture_only(squares, seed) -> None:
    """Against a slow count, of all sentences and by picture; a picture without a false sentence has no number."""
    data, model = squares
    rows, chance = [], random.Random(seed)
    for caption in range(14):  # the last picture has none
        truth, colours = chance.choice([False, True, None]), chance.sample(NAMES, 2)
        rows.append([replace(recoloured(data, caption, colour), truth=truth) for colour in colours])
    sentences = SyntheticNegatives(data, "recoloured", tuple(range(14)), rows, None)
    run, other = SimpleNamespace(model=model, recipe=SimpleNamespace(seed=7)), wrong_pictures(8)
    measured = {beside: sentences_told({7: sentences}, beside)(run, data) for beside in ("right", "wrong", "gap")}
    match, counts = matching(run, data), {"right": [], "wrong": []}
    for image in range(8):
        false = [entry for row in rows for entry in row if entry.image == image and entry.truth is False]
        for beside, picture in (("right", image), ("wrong", int(other[image]))):
            pairs = [(data.captions[entry.caption], entry.sentence) for entry in false]
            above = [bool(match([picture], [caption]) > match([picture], [sentence])) for caption, sentence in pairs]
            expected = 100 * sum(above) / len(above) if above else math.nan
            assert measured[beside][image] == pytest.approx(expected, nan_ok=True)
            counts[beside] += above
    both = replaced_phrases(run, data, sentences)
    assert (both.right.count, both.wrong.count) == (sum(counts["right"]), sum(counts["wrong"]))
    assert np.allclose(measured["gap"], measured["right"] - measured["wrong"], equal_nan=True)
    assert math.isnan(measured["right"][7])
