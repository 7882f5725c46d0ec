"""Table 3 on a language model whose perplexities are known."""

import math

import numpy as np
import pytest
import torch

from itmlab.explain import Made, fluency_table
from itmlab.metrics import CausalModel
from itmlab.synthesis import Negative

from .small_tower import small_tower
from .small_world import small_set


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
        "tags": Made(data, "tags", (0, 2), rows, None),
        "vse_c": Made(data, "vse_c", (0,), [[Negative("a", 0, 0)]], None),
    }
    table = fluency_table(made, model=model_of_lengths())
    assert list(table) == ["positive", "tags", "vse_c"]
    captions = [perplexity(data.captions[number]) for number in (0, 2)]
    assert table["positive"].mean.value == pytest.approx(np.mean(captions))
    values = [perplexity(sentence) for sentence in ("a a b", "a b", "b b")]
    assert table["tags"].mean.value == pytest.approx(np.mean(values))
    assert table["tags"].median.value == pytest.approx(np.median(values)) and table["tags"].sentences == 3
    assert table["tags"].mean.lower <= table["tags"].mean.value <= table["tags"].mean.upper


def test_the_first_ones_corrected_stand_behind_them():
    data = small_set(4)
    tower = small_tower(data.captions, image_size=48, patch_size=12)
    rows = [[Negative("A blue square.", 0, 0)]]
    made = {name: Made(data, name, (0,), rows, None) for name in ("tags", "wm")}
    table = fluency_table(made, model=model_of_lengths(), corrected_by=tower)
    assert list(table) == ["positive", "tags", "corrected", "wm"] and table["corrected"].sentences == 1
