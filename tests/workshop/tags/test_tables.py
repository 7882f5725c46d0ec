"""TAGS-DC's tables: each number by hand or one by one, and each figure with the paper's beside it."""

import math

import numpy as np
import pytest
import torch
from workshop.analysis.negatives import SyntheticNegatives
from workshop.plots.negative_tables import fluency_table, truth_by_filter

from itmlab.errors import ItmlabError
from itmlab.metrics import CausalModel
from itmlab.synthesis import Negative
from itmlab.text import Span
from tests.workshop.small_world import small_set


def negative(caption: int, image: int, sentence: str, word: str, truth: bool | None) -> Negative:
    return Negative(sentence, image, caption, (Span(1, 2),), ("red",), (word,), ("attribute",), truth=truth)


@pytest.fixture
def made() -> SyntheticNegatives:
    data = small_set(2)  # "A red square.", "there is a square that is red"; the same in blue
    first = [
        negative(0, 0, "A there square.", "there", True),
        negative(0, 0, "A blue square.", "blue", False),
        negative(0, 0, "A crimson square.", "crimson", True),
        negative(0, 0, "A odd square.", "odd", None),
    ]
    return SyntheticNegatives(data, "tags", (0, 2), [first, [negative(2, 1, "A red square.", "red", False)]], None)


def test_each_form_of_the_filter_chooses_from_the_same_candidates(made):
    table = truth_by_filter(made, keep=3, implied={"red": {"crimson"}})
    assert list(table) == ["before the filter", "after the filter", "with implied words"]
    counts = [(one.share.count, one.share.of, one.undecided) for one in table.values()]
    assert counts == [(2, 4, 0), (2, 3, 1), (2, 2, 1)]


def test_without_a_world_nobody_can_say(made):
    data = small_set(2)
    data.world = None
    with pytest.raises(ItmlabError, match="no ground truth"):
        truth_by_filter(SyntheticNegatives(data, "tags", (0,), [[]], torch.zeros(1)))


def model_of_lengths(letters: int = 30) -> CausalModel:
    """Every piece has the probability of softmax([0, …, log 4 for piece 2]); a word is piece 1 + its first letter."""

    def encode(sentences):
        return [[2 if word[0].lower() == "a" else 3 for word in sentence.split()] for sentence in sentences]

    def logits(ids, mask):
        row = torch.zeros(letters)
        row[2] = math.log(4)
        return row.expand(*ids.shape, letters)

    return CausalModel(encode, logits, beginning=0)


def perplexity(sentence: str) -> float:
    """By hand: 4/33 for a word that begins with an a, 1/33 for another."""
    chances = [4 / 33 if word[0].lower() == "a" else 1 / 33 for word in sentence.split()]
    return math.exp(-sum(map(math.log, chances)) / len(chances))


def test_means_and_medians_of_each_kind_of_sentence():
    data = small_set(4)
    rows = [[Negative("a a b", 0, 0), Negative("a b", 0, 0)], [Negative("b b", 1, 2)]]
    made = {
        "tags": SyntheticNegatives(data, "tags", (0, 2), rows, None),
        "vse_c": SyntheticNegatives(data, "vse_c", (0,), [[Negative("a", 0, 0)]], None),
    }
    table = fluency_table(made, model=model_of_lengths())
    assert list(table) == ["positive", "tags", "vse_c"]
    captions = [perplexity(data.captions[number]) for number in (0, 2)]
    assert table["positive"].mean.value == pytest.approx(np.mean(captions))
    values = [perplexity(sentence) for sentence in ("a a b", "a b", "b b")]
    assert table["tags"].mean.value == pytest.approx(np.mean(values))
    assert table["tags"].median.value == pytest.approx(np.median(values)) and table["tags"].sentences == 3
    assert table["tags"].mean.lower <= table["tags"].mean.value <= table["tags"].mean.upper
