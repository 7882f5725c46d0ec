"""The difficulty of negatives as a run recorded it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from itmlab.errors import ItmlabError
from itmlab.metrics import CausalModel
from itmlab.models import TwoTowerConfig, build_model
from itmlab.scenes import load
from itmlab.studies.tags.negatives import Made, synthetic_negatives
from itmlab.studies.tags.tables import (
    DifficultyHistory,
    difficulty_history,
    discriminated,
    fluency_table,
    synthesis_sweep,
    truth_by_filter,
)
from itmlab.synthesis import Negative
from itmlab.text import Span
from tests.studies.small_tower import small_tower
from tests.studies.small_world import small_set


def recorded(*counts: list[int]) -> SimpleNamespace:
    """A run that recorded these every tenth step, among other records."""
    history = [{"kind": "epoch", "epoch": 1, "step": 5}]
    history += [
        {"kind": "step", "step": 10 * (row + 1), "difficulty": {"synthetic": mine, "retrieved": mine[::-1]}}
        for row, mine in enumerate(counts)
    ]
    return SimpleNamespace(history=history, directory="runs/one")


def test_the_record_is_read_as_it_stands():
    history = difficulty_history(recorded([1, 0, 2, 0], [0, 3, 0, 0]))
    assert history.steps.tolist() == [10, 20] and history.counts.tolist() == [[1, 0, 2, 0], [0, 3, 0, 0]]
    assert history.edges.tolist() == [-1, -0.5, 0, 0.5, 1]
    assert difficulty_history(recorded([1, 0, 2, 0]), "retrieved").counts.tolist() == [[0, 2, 0, 1]]


def test_as_hard_counts_what_scores_at_least_as_high_as_the_caption():
    hard = difficulty_history(recorded([1, 0, 2, 0], [4, 4, 4, 4], [0, 0, 0, 0])).as_hard()
    assert hard[:2].tolist() == pytest.approx([2 / 3, 1 / 2]) and np.isnan(hard[2])


def test_quantiles_of_one_bin_are_even_within_it():
    history = difficulty_history(recorded([0, 0, 8, 0], [0, 0, 0, 0]))
    assert history.quantile(0.25)[0] == pytest.approx(0.125) and np.isnan(history.quantile(0.5)[1])
    assert history.quantile(1.0)[0] == pytest.approx(0.5)


@given(arrays(np.int64, (3, 8), elements=st.integers(0, 9)), st.floats(0.01, 0.99))
def test_quantiles_are_those_of_points_spread_evenly_in_their_bins(counts, share):
    """Beside numpy's interpolation of the cumulative counts."""
    history = DifficultyHistory(np.arange(3), counts)
    for row, found in enumerate(history.quantile(share)):
        total = counts[row].sum()
        if total == 0:
            assert np.isnan(found)
            continue
        below = sum(
            min(max((found - low) / 0.25, 0), 1) * n for low, n in zip(history.edges, counts[row], strict=False)
        )
        assert below == pytest.approx(share * total, abs=1e-6)


def test_neighbouring_steps_are_added_up_and_nothing_is_lost():
    history = DifficultyHistory(np.arange(10, 80, 10), np.arange(28).reshape(7, 4))
    grouped = history.grouped(3)
    assert grouped.steps.tolist() == [20, 45, 65] and grouped.counts.shape == (3, 4)
    assert grouped.counts.sum(axis=0).tolist() == history.counts.sum(axis=0).tolist()
    assert history.grouped(100).counts.tolist() == history.counts.tolist()


def test_a_run_without_such_negatives_is_refused_in_one_line():
    with pytest.raises(ItmlabError, match="no difficulty of 'swapped' negatives — there are retrieved, synthetic"):
        difficulty_history(recorded([1, 0]), "swapped")
    with pytest.raises(ItmlabError, match=r"runs/one: .* — take a run of"):
        difficulty_history(SimpleNamespace(history=[{"kind": "epoch"}], directory="runs/one"))


def test_it_is_the_share_of_pairs_in_which_the_caption_scores_higher(tmp_path):
    data = load(images=4, cache=tmp_path)
    towers = {"one": small_tower(data.captions), "another": small_tower(data.captions, seed=3)}
    pair = build_model(TwoTowerConfig.tiny(), data.captions, seed=1).eval()
    settings = {"maskings": 2, "samples": 3, "truth": False}
    made = {
        "tags": synthetic_negatives(data, [0, 6, 11], "tags", run=towers["one"], **settings),
        "rules": synthetic_negatives(data, [2, 7], "vse_c", keep=3, truth=False),
    }
    table = discriminated(made, {**towers, "pair": pair})
    assert {name: list(row) for name, row in table.items()} == {
        name: ["one", "another", "pair"] for name in ("tags", "rules")
    }
    for name, found in made.items():
        for tower_name, tower in towers.items():
            higher = 0
            for negative in found.all():
                picture = tower.prepare_images([data.images[negative.image]])
                said = tower.prepare_captions([data.captions[negative.caption], negative.sentence])
                own, other = tower.similarity(picture, said)[0].tolist()
                higher += own > other
            share = table[name][tower_name]
            assert (share.count, share.of) == (higher, len(found))
            assert share.percent == pytest.approx(100 * higher / len(found))


def negative(caption: int, image: int, sentence: str, word: str, truth: bool | None) -> Negative:
    return Negative(sentence, image, caption, (Span(1, 2),), ("red",), (word,), ("attribute",), truth=truth)


@pytest.fixture
def made() -> Made:
    data = small_set(2)  # "A red square.", "there is a square that is red"; the same in blue
    first = [
        negative(0, 0, "A there square.", "there", True),
        negative(0, 0, "A blue square.", "blue", False),
        negative(0, 0, "A crimson square.", "crimson", True),
        negative(0, 0, "A odd square.", "odd", None),
    ]
    return Made(data, "tags", (0, 2), [first, [negative(2, 1, "A red square.", "red", False)]], None)


def test_each_form_of_the_filter_chooses_from_the_same_candidates(made):
    table = truth_by_filter(made, keep=3, implied={"red": {"crimson"}})
    assert list(table) == ["before the filter", "after the filter", "with implied words"]
    counts = [(one.share.count, one.share.of, one.undecided) for one in table.values()]
    assert counts == [(2, 4, 0), (2, 3, 1), (2, 2, 1)]


def test_without_implied_words_there_are_two_forms(made):
    assert list(truth_by_filter(made, keep=None, implied={})) == ["before the filter", "after the filter"]


def test_without_a_world_nobody_can_say(made):
    data = small_set(2)
    data.world = None
    with pytest.raises(ItmlabError, match="nobody says what is true"):
        truth_by_filter(Made(data, "tags", (0,), [[]], torch.zeros(1)))


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


def test_each_setting_is_what_the_one_call_makes(tmp_path, monkeypatch):
    data = load(images=3, cache=tmp_path)
    tower = small_tower(data.captions)
    asked = []

    def counted(*given, **options):
        asked.append(options)
        return synthetic_negatives(*given, **options)

    monkeypatch.setattr("itmlab.studies.tags.tables.synthetic_negatives", counted)
    monkeypatch.setattr(
        "itmlab.studies.tags.tables.PAPER_SWEEP", {"maskings": 3, "samples": 2, "temperature": 1.5, "masking": "phrase"}
    )
    table = synthesis_sweep(tower, data, [0, 5, 10], maskings=(1, 3), samples=(2,), temperature=(1.5, 0.5), keep=2)
    assert [[one.value for one in row] for row in table.values()] == [[1, 3], [2], [1.5, 0.5], ["phrase", "word"]]
    assert len(asked) == 4  # the paper's setting once, and three that differ from it in one knob
    usual = table["maskings"][1]
    assert usual.difficulty == table["samples"][0].difficulty == table["temperature"][0].difficulty
    expected = synthetic_negatives(
        data, [0, 5, 10], "tags", run=tower, maskings=3, samples=2, temperature=1.5, keep=2, fluent="scenes"
    )
    assert usual.difficulty.value == pytest.approx(expected.difficulty.mean().item(), abs=1e-6)
    assert usual.fluency.value == pytest.approx(np.median([one.fluency for one in expected.all()]))
    assert str(usual.truth) == str(expected.truth) and usual.negatives == len(expected)
