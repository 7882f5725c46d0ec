"""Numbers that figures show: calibration, areas, shares, changed words, perplexities, what a filter lets through."""

import html
import math
import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from workshop import analysis, plots
from workshop.analysis.negatives import SyntheticNegatives
from workshop.plots.negatives import changed_parts
from workshop.plots.theme import rich_label

from itmlab.metrics import CausalModel
from itmlab.synthesis import Negative
from itmlab.synthesis.negative import Change, edited
from itmlab.text import Span
from itmlab.text.alignment import token_characters
from itmlab.text.graph import tokenise
from tests.refusals import refused
from tests.workshop.small_world import small_set

GENERATOR = np.random.default_rng(0)
CAPTION = "A man and a dog sit on a red bench near a dog."


def test_a_calibrated_posterior_is_as_often_true_as_it_claims():
    posterior = GENERATOR.uniform(0.02, 0.98, 200_000)
    measured = analysis.Calibration(posterior, GENERATOR.random(200_000) < posterior)
    assert np.allclose(measured.claimed, measured.share, atol=0.02) and measured.count.sum() == 200_000
    certain = analysis.Calibration(np.array([0.0, 0.0, 1.0, 1.0]), np.array([False, False, True, True]))
    assert certain.share.tolist() == [0, 1] and certain.count.sum() == 4


def test_the_area_is_the_chance_that_a_hidden_positive_outscores_a_true_negative():
    scores, truth = GENERATOR.integers(0, 7, 60).astype(float), GENERATOR.random(60) < 0.4
    (name,) = analysis.roc_curves({"s": scores}, truth)
    differences = scores[truth][:, None] - scores[~truth]
    area = float(re.search(r"area ([\d.]+)", name)[1])
    assert area == pytest.approx(np.mean((differences > 0) + 0.5 * (differences == 0)), abs=6e-4)


def test_captions_are_counted_by_the_number_of_images_they_are_true_of():
    shares = analysis.true_images(np.array([1, 2, 3, 4]))
    assert shares == {"1: its own only": 25.0, "2 images": 25.0, "3–4 images": 50.0}


def test_gains_are_drawn_with_their_intervals():
    figure = plots.draw_gains({"": {"fne": {"RSum": (-9.0, -12.0, -6.0)}}}, {"RSum": "RSum"})
    (dot,) = (trace for trace in figure.data if trace.error_x.arrayminus)
    assert list(dot.x) == [-9.0] and dot.error_x.array[0] == 3.0 and dot.error_x.arrayminus[0] == 3.0


def edited_at(*changes):
    tokens = tokenise(CAPTION)
    parts = [Change(Span(start, end), words, "word") for start, end, words in changes]
    return edited(CAPTION, tokens, token_characters(CAPTION, tokens), parts)


def test_each_changed_place_is_found_even_if_its_words_stand_elsewhere_too():
    parts = changed_parts(edited_at((4, 5, "cat"), (12, 13, "man")))
    assert [text for text, changed in parts if changed] == ["cat", "man"]
    assert [text for text, changed in parts if not changed] == ["A man and a ", " sit on a red bench near a ", "."]


@given(
    st.lists(
        st.tuples(st.integers(0, 11), st.sampled_from(["cat", "two <b>", "a", "x $y$ z", "&amp;"])),
        min_size=1,
        max_size=4,
    )
)
def test_parts_spell_the_sentence_and_markup_stays_letters(places):
    negative = edited_at(*sorted({start: (start, start + 1, words) for start, words in places}.values()))
    parts = changed_parts(negative)
    assert "".join(text for text, _ in parts) == negative.sentence
    written = rich_label([(text, "#D55E00" if changed else "") for text, changed in parts], width=20)
    tags = set(re.findall(r"<[^>]*>", written))
    assert tags <= {"<br>", "<b>", "</b>", "</span>", '<span style="color:#D55E00">'}
    plain = html.unescape(re.sub(r"<[^>]*>", "", written.replace("<br>", " ")))
    assert "".join(plain.split()) == "".join(negative.sentence.split())


@pytest.mark.parametrize("sentence", ["word " * 200, "w" * 500, "\u0000 \u2028 a", "🐕 dog " * 30])
def test_long_and_odd_sentences_are_wrapped(sentence):
    lines = rich_label([(sentence, "")], width=30).split("<br>")
    assert all(len(line) <= 30 for line in lines) and "".join("".join(lines).split()).isprintable()


@pytest.fixture
def negatives() -> SyntheticNegatives:
    data = small_set(2)  # "A red square.", "there is a square that is red"; the same in blue
    change = partial(Negative, spans=(Span(1, 2),), source=("red",), kind=("attribute",))
    truths = {"there": True, "blue": False, "crimson": True, "odd": None}
    first = [change(f"A {word} square.", 0, 0, replacement=(word,), truth=truth) for word, truth in truths.items()]
    second = [change("A red square.", 1, 2, replacement=("red",), truth=False)]
    return SyntheticNegatives(data, "tags", (0, 2), [first, second], None)


def test_each_form_of_the_filter_chooses_from_the_same_candidates(negatives):
    negatives.data.world.implied_words = lambda: {"red": {"crimson"}}
    table = analysis.truth_by_filter(negatives, keep=3)
    assert list(table) == ["before the filter", "after the filter", "with implied words"]
    counts = [(rate.share.count, rate.share.of, rate.undecided) for rate in table.values()]
    assert counts == [(2, 4, 0), (2, 3, 1), (2, 2, 1)]
    negatives.data.world = None
    refused("no ground truth", analysis.truth_by_filter, negatives)


def model_of_letters() -> CausalModel:
    """Words that begin with an a have probability 4/33, all others 1/33."""

    def encode(sentences, **options):
        ids = [[2 if word[0].lower() == "a" else 3 for word in sentence.split()] for sentence in sentences]
        return {"input_ids": ids}

    def network(input_ids, **options):
        row = torch.zeros(30)
        row[2] = math.log(4)
        return SimpleNamespace(logits=row.expand(*input_ids.shape, 30))

    network.config, encode.bos_token_id = SimpleNamespace(), 0
    return CausalModel(network, encode)


def perplexity(sentence: str) -> float:
    chances = [4 / 33 if word[0].lower() == "a" else 1 / 33 for word in sentence.split()]
    return math.exp(-sum(map(math.log, chances)) / len(chances))


def test_means_and_medians_of_each_kind_of_sentence():
    data = small_set(4)
    rows = [[Negative("a a b", 0, 0), Negative("a b", 0, 0)], [Negative("b b", 1, 2)]]
    sources = {"generated": SyntheticNegatives(data, "tags", (0, 2), rows, None)}
    table = analysis.fluency_table(sources, model=model_of_letters())
    captions = [perplexity(data.captions[number]) for number in (0, 2)]
    assert table["captions"]["mean perplexity"].value == pytest.approx(np.mean(captions))
    values = [perplexity(sentence) for sentence in ("a a b", "a b", "b b")]
    mean, median = table["generated"]["mean perplexity"], table["generated"]["median perplexity"]
    assert mean.value == pytest.approx(np.mean(values)) and median.value == pytest.approx(np.median(values))
    assert mean.lower <= mean.value <= mean.upper
