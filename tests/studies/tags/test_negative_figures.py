"""Negatives drawn: changed words letter by letter, lists and examples, score against score, difficulty in training."""

import html
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.studies.kit.theme import text_width
from itmlab.studies.tags.negative_figures import (
    Example,
    Pairs,
    changed_parts,
    draw_difficulty,
    draw_negative_list,
    draw_score_scatter,
    draw_synthetic_examples,
    marked,
)
from itmlab.studies.tags.negatives import DifficultyHistory, SyntheticNegatives
from itmlab.synthesis import Negative
from itmlab.synthesis.negative import Change, edited
from itmlab.text import Span
from itmlab.text.alignment import token_characters
from itmlab.text.graph import tokenise
from tests.studies.reading import words
from tests.studies.small_world import small_set

CAPTION = "A man and a dog sit on a red bench near a dog."


def edited_at(*changes: tuple[int, int, str]) -> Negative:
    tokens = tokenise(CAPTION)
    parts = [Change(Span(start, end), words, "word") for start, end, words in changes]
    return edited(CAPTION, tokens, token_characters(CAPTION, tokens), parts)


def test_each_changed_place_is_found_even_if_its_words_stand_elsewhere_too():
    negative = edited_at((4, 5, "cat"), (12, 13, "man"))
    assert changed_parts(negative) == [
        ("A man and a ", False),
        ("cat", True),
        (" sit on a red bench near a ", False),
        ("man", True),
        (".", False),
    ]


def test_words_of_several_tokens_and_a_capital_at_the_beginning():
    negative = edited_at((0, 2, "the old horse"), (6, 7, "in front of"))
    changed = [text for text, is_changed in changed_parts(negative) if is_changed]
    assert changed == ["The old horse", "in front of"]


def test_what_was_not_made_of_a_caption_has_no_changed_part():
    assert changed_parts(Negative("a cat")) == [("a cat", False)] and changed_parts(Negative("")) == []


def test_a_span_that_points_nowhere_is_looked_for_from_the_left():
    negative = Negative("a cat and a dog", spans=(Span(40, 41),), source=("horse",), replacement=("dog",), kind=("",))
    assert changed_parts(negative)[-1] == ("dog", True)


@given(
    st.lists(st.tuples(st.integers(0, 11), st.sampled_from(["cat", "two <b>", "a", "x $y$ z", "&amp;"])), max_size=4)
)
def test_parts_spell_the_sentence_and_markup_stays_letters(places):
    changes = sorted({start: (start, start + 1, words) for start, words in places}.values())
    negative = edited_at(*changes)
    assert "".join(text for text, _ in changed_parts(negative)) == negative.sentence
    written = marked(negative, width=20, lines=9)
    tags = set(re.findall(r"<[^>]*>", written))
    assert tags <= {"<br>", "<b>", "</b>", "<u>", "</u>", "</span>", '<span style="color:#D55E00">'}
    plain = html.unescape(re.sub(r"<[^>]*>", "", written.replace("<br>", " ")))
    assert plain.split() == negative.sentence.split()
    coloured = [html.unescape(words) for words in re.findall(r"<u>(.*?)</u>", written)]
    assert "".join("".join(coloured).split()) == "".join("".join(words.split()) for words in negative.replacement)


@pytest.mark.parametrize("sentence", ["word " * 200, "w" * 500, "\u0000 \u2028 a", "🐕 dog " * 30])
def test_long_and_odd_sentences_are_cut(sentence):
    written = marked(Negative(sentence), width=30, lines=2)
    assert written.count("<br>") <= 1 and len(written) < 80


def negative(word, score, truth=None, fluency=None):
    spans = {"spans": (Span(1, 2),), "source": ("red",), "replacement": (word,), "kind": ("attribute",)}
    return Negative(f"A {word} square.", 0, 0, score=score, truth=truth, fluency=fluency, **spans)


NEGATIVES = [negative("blue", 0.7, False, 12.34), negative("<i>", 0.2, True, 4321.0), negative("odd", 0.1)]


def test_each_negative_is_a_row_with_score_perplexity_and_truth_label(pictures):
    figure = draw_negative_list(
        pictures[0], "A red square.", NEGATIVES, title="t", score=0.5, scores=[0.7, 0.2, 0.1], own_captions=["Red."]
    )
    said = words(figure)
    assert any("<u>blue</u>" in text for text in said) and any("<u>&lt;i&gt;</u>" in text for text in said)
    assert {"12.3", "4,321", "<b>0.700</b>", "<b>✗ false</b>", "<b>✓ true</b>", "<b>? undecided</b>"} <= set(said)
    assert "A red square." in said and "Red." in said and "<b>the caption</b> · 0.500" in said
    bars = [shape.x1 - shape.x0 for shape in figure.layout.shapes if shape.fillcolor == "#AA4499"]
    assert bars == pytest.approx([76, 76 * 2 / 7, 76 / 7])


def test_a_sentence_ends_before_the_bar_of_its_score(pictures):
    long = Negative(
        "A man wearing an orange hat with a wide brim is holding the woman beside the tram", 0, 0, score=0.7
    )
    figure = draw_negative_list(pictures[0], "x", [long, NEGATIVES[0]], title="t", score=0.5, scores=[0.7, 0.2])
    (text,) = (one for one in figure.layout.annotations if "orange hat" in one.text)
    bar = next(shape.x0 for shape in figure.layout.shapes if shape.fillcolor == "#AA4499")
    assert max(text.x + text_width(line, 13) for line in text.text.split("<br>")) < bar
    assert figure.layout.height > draw_negative_list(pictures[0], "x", NEGATIVES[:2], title="t").layout.height - 1


def test_no_negative_and_no_score_are_said(pictures):
    assert "no negative came out of it" in words(draw_negative_list(pictures[0], "x", [], title="t"))
    figure = draw_negative_list(pictures[0], "x", NEGATIVES[:1], title="t")
    assert not any(shape.fillcolor == "#AA4499" for shape in figure.layout.shapes)


def test_many_or_long_rows_make_the_figure_taller_not_fuller(pictures):
    short, long = (draw_negative_list(pictures[0], "x", NEGATIVES * times, title="t") for times in (3, 6))
    assert long.layout.height - short.layout.height == 9 * 50


def test_an_example_holds_the_hardest_of_each_source():
    data = small_set(2)
    positive = torch.tensor([0.1, 0.2])
    made = {
        "set": SyntheticNegatives(
            data, "whole_set", (0, 2), [[NEGATIVES[0]], [NEGATIVES[1], NEGATIVES[2]]], positive, object()
        ),
        "generated": SyntheticNegatives(data, "tags", (0, 2), [[], []], positive, object()),
    }
    example = Example.of(made, 1)
    assert example.caption == data.captions[2] and example.negatives == {"set": NEGATIVES[1]}
    assert example.score == pytest.approx(0.2) and example.scores == pytest.approx({"set": 0.2})
    assert Example.of(made, 0).picture is data.images[0]


def test_examples_stand_one_below_the_other(pictures):
    one = Example(pictures[0], "A red <square>", 0.5, {"hard": NEGATIVES[0]}, {"hard": 0.25})
    single, double = (draw_synthetic_examples([one] * times, title="t") for times in (1, 2))
    assert words(double).count("<b>hard</b>") == 2 and "A red &lt;square&gt;" in words(single)
    assert {"<b>0.500</b>", "0.250", "<b>✗ false</b>"} <= set(words(single))
    assert double.layout.height - single.layout.height == 188


def test_a_dot_a_triple_and_shares_beside_the_lines():
    pairs = Pairs(np.array([0.5, 0.6, 0.7, 0.8]), np.array([0.5, 0.7, 0.66, 0.2]))
    figure = draw_score_scatter({"batch <1>": pairs}, title="t")
    (dots,) = figure.data
    assert list(dots.x) == [0.5, 0.6, 0.7, 0.8] and list(dots.y) == [0.5, 0.7, 0.66, 0.2]
    assert words(figure) == ["<b>batch &lt;1&gt;</b><br>50 % at least as high<br>25 % more than 0.05 below"]
    assert not dots.showlegend and figure.layout.xaxis.range == figure.layout.yaxis.range


def test_dots_have_the_colour_of_the_truth_label_and_each_is_named_once():
    pairs = Pairs(np.full(3, 0.5), np.array([0.1, 0.2, 0.3]), np.array([0, 1, 0]))
    figure = draw_score_scatter({"one": pairs, "two": pairs}, title="t")
    named = [(trace.name, trace.showlegend, list(trace.y)) for trace in figure.data]
    assert named == [
        ("false of the picture: a true negative", True, [0.1, 0.3]),
        ("true: a false negative", True, [0.2]),
        ("false of the picture: a true negative", False, [0.1, 0.3]),
        ("true: a false negative", False, [0.2]),
    ]
    assert len(figure.layout.shapes) == 4


def test_the_hardest_of_each_caption_that_has_negatives():
    data = small_set(2)
    rows = [[Negative("a", 0, 0, score=0.9, truth=True), Negative("b", 0, 0, score=0.1, truth=False)], []]
    made = SyntheticNegatives(data, "vse_c", (0, 2), rows, torch.tensor([0.5, 0.6]), object())
    pairs = Pairs.of(made)
    assert (
        pairs.positive.tolist() == [0.5] and np.allclose(pairs.negative, [0.9]) and pairs.truth_labels.tolist() == [1]
    )
    assert np.allclose(Pairs.of(made, logits=True).negative, [0.9])


def test_no_pair_is_one_line():
    with pytest.raises(ItmlabError, match="no pair to draw"):
        draw_score_scatter({"none": Pairs(np.zeros(0), np.zeros(0))}, title="t")


STEPS = np.arange(10, 100, 10)
SHARP = DifficultyHistory(STEPS, np.tile([0, 0, 6, 2, 0, 0, 0, 0], (9, 1)))
WIDE = DifficultyHistory(STEPS, np.tile([0, 5, 5, 5, 5, 5, 0, 0], (9, 1)))


def heatmaps(figure):
    return [trace for trace in figure.data if trace.type == "heatmap"]


def test_every_column_adds_up_to_all_negatives_and_panels_share_a_scale():
    sharp, wide = heatmaps(draw_difficulty({"static": SHARP, "dynamic": WIDE}, title="t"))
    for heatmap in (sharp, wide):
        assert np.asarray(heatmap.z).sum(axis=0) == pytest.approx(np.full(9, 100))
        assert heatmap.zmin == 0 and heatmap.zmax == pytest.approx(75)
    assert list(sharp.x) == STEPS.tolist() and np.asarray(sharp.z)[2, 0] == pytest.approx(75)


def test_the_median_is_drawn_in_every_panel_and_named_once():
    figure = draw_difficulty({"static": SHARP, "<b>dynamic</b>": WIDE}, title="t")
    solid = [trace for trace in figure.data if trace.type == "scatter" and trace.line.dash == "solid"]
    assert [bool(trace.showlegend) for trace in solid] == [True, False]
    assert list(solid[0].y) == pytest.approx(SHARP.quantile(0.5).tolist())
    assert not any("<b>" in note.text for note in figure.layout.annotations)


def test_the_axis_reaches_over_all_that_holds_anything_and_over_zero():
    low, high = draw_difficulty({"static": SHARP}, title="t").layout.yaxis.range
    assert low == pytest.approx(-0.52) and high > 0


def test_a_single_stray_negative_does_not_stretch_the_axis():
    stray = SHARP.counts * 1000
    stray[0, 0] = 1
    low, _ = draw_difficulty({"static": DifficultyHistory(STEPS, stray)}, title="t").layout.yaxis.range
    assert low == pytest.approx(-0.52)


def test_long_runs_are_drawn_in_few_columns():
    steps = np.arange(5000)
    (heatmap,) = heatmaps(draw_difficulty({"one": DifficultyHistory(steps, np.ones((5000, 8), dtype=int))}, title="t"))
    assert len(heatmap.x) <= 60


@pytest.mark.parametrize("histories", [{}, {"none": DifficultyHistory(STEPS, np.zeros((9, 8), dtype=int))}])
def test_nothing_recorded_is_a_figure_too(histories):
    assert draw_difficulty(histories, title="t").layout.height
