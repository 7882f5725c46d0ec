"""Negatives of a caption as rows, and Figure 1b's examples."""

import pytest
import torch

from itmlab.explain import Made
from itmlab.figures import Example, negative_list, synthetic_examples
from itmlab.synthesis import Negative
from itmlab.text import Span
from tests.explain.small_world import small_set


def words(figure):
    return [note.text for note in figure.layout.annotations]


def negative(word, score, truth=None, fluency=None):
    spans = {"spans": (Span(1, 2),), "source": ("red",), "replacement": (word,), "kind": ("attribute",)}
    return Negative(f"A {word} square.", 0, 0, score=score, truth=truth, fluency=fluency, **spans)


NEGATIVES = [negative("blue", 0.7, False, 12.34), negative("<i>", 0.2, True, 4321.0), negative("odd", 0.1)]


def test_each_negative_is_a_row_with_score_perplexity_and_verdict(pictures):
    figure = negative_list(
        pictures[0], "A red square.", NEGATIVES, title="t", score=0.5, scores=[0.7, 0.2, 0.1], own_captions=["Red."]
    )
    said = words(figure)
    assert any("<u>blue</u>" in text for text in said) and any("<u>&lt;i&gt;</u>" in text for text in said)
    assert {"12.3", "4,321", "<b>0.700</b>", "<b>✗ false</b>", "<b>✓ true</b>", "<b>? undecided</b>"} <= set(said)
    assert "A red square." in said and "Red." in said and "<b>the caption</b> · 0.500" in said
    bars = [shape.x1 - shape.x0 for shape in figure.layout.shapes if shape.fillcolor == "#AA4499"]
    assert bars == pytest.approx([76, 76 * 2 / 7, 76 / 7])


def test_no_negative_and_no_score_are_said(pictures):
    assert "no negative came out of it" in words(negative_list(pictures[0], "x", [], title="t"))
    figure = negative_list(pictures[0], "x", NEGATIVES[:1], title="t")
    assert not any(shape.fillcolor == "#AA4499" for shape in figure.layout.shapes)


def test_many_or_long_rows_make_the_figure_taller_not_fuller(pictures):
    short, long = (negative_list(pictures[0], "x", NEGATIVES * times, title="t") for times in (3, 6))
    assert long.layout.height - short.layout.height == 9 * 50


def test_an_example_holds_the_hardest_of_each_source():
    data = small_set(2)
    positive = torch.tensor([0.1, 0.2])
    made = {
        "set": Made(data, "whole_set", (0, 2), [[NEGATIVES[0]], [NEGATIVES[1], NEGATIVES[2]]], positive, object()),
        "generated": Made(data, "tags", (0, 2), [[], []], positive, object()),
    }
    example = Example.of(made, 1)
    assert example.caption == data.captions[2] and example.negatives == {"set": NEGATIVES[1]}
    assert example.score == pytest.approx(0.2) and example.scores == pytest.approx({"set": 0.2})
    assert Example.of(made, 0).picture is data.images[0]


def test_examples_stand_one_below_the_other(pictures):
    one = Example(pictures[0], "A red <square>", 0.5, {"hard": NEGATIVES[0]}, {"hard": 0.25})
    single, double = (synthetic_examples([one] * times, title="t") for times in (1, 2))
    assert words(double).count("<b>hard</b>") == 2 and "A red &lt;square&gt;" in words(single)
    assert {"<b>0.500</b>", "0.250", "<b>✗ false</b>"} <= set(words(single))
    assert double.layout.height - single.layout.height == 188
