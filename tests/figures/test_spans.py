"""Sentences with their phrases in colour, or with what is hidden blotted out."""

from itertools import pairwise

from itmlab.figures import caption_spans
from itmlab.figures.letters import shortened, text_width
from itmlab.figures.spans import KIND_COLOURS
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject, Span
from itmlab.text.masking import Phrase

GRAPH = SceneGraph(
    (SceneObject("dog", (Attribute("red", Span(1, 2)),), span=Span(2, 3)), SceneObject("cat", span=Span(6, 7))),
    (Relation(0, "next to", 1, Span(3, 5)),),
    ("a", "red", "dog", "next", "to", "a", "cat", "."),
)


def words(figure):
    return [annotation.text for annotation in figure.layout.annotations]


def boxes(figure):
    return [shape for shape in figure.layout.shapes if shape.type == "path"]


def test_every_word_is_there_and_every_phrase_has_its_box():
    figure = caption_spans([GRAPH], title="t")
    assert words(figure) == [*GRAPH.tokens, "object", "attribute", "relation"]
    assert len(boxes(figure)) == 4


def test_hidden_words_are_not_there_and_their_boxes_have_the_colour_of_their_kind():
    figure = caption_spans([GRAPH, GRAPH], hidden=[None, [Phrase("relation", Span(3, 5))]], title="t")
    assert words(figure).count("next") == 1 and words(figure).count("cat") == 2
    assert boxes(figure)[-1].fillcolor == KIND_COLOURS["relation"]


def test_boxes_lie_about_their_words_and_no_two_words_overlap():
    figure = caption_spans([GRAPH], title="t")
    places = [(a.x, text_width(a.text, 19)) for a in figure.layout.annotations[: len(GRAPH.tokens)]]
    for (left, width), (right, other) in pairwise(places):
        assert left + width / 2 <= right - other / 2


def test_a_long_sentence_is_broken_into_lines_and_cut():
    long = SceneGraph((SceneObject("x", span=Span(0, 500)),), tokens=("extraordinarily",) * 1_000)
    figure = caption_spans([long], title="t")
    assert words(figure)[-2] == "…" and len(words(figure)) < 100 and figure.layout.height < 600
    assert max(a.x for a in figure.layout.annotations) < figure.layout.width
    assert len(boxes(figure)) == 8


def test_markup_is_shown_letter_for_letter_and_endless_words_are_cut():
    odd = SceneGraph(tokens=("<b>x</b>", "w" * 900))
    first, second = words(caption_spans([odd], title="t", names=["<i>name</i>"]))[1:]
    assert first == "&lt;b&gt;x&lt;/b&gt;" and second.endswith("…") and len(second) < 80


def test_sentences_without_words_can_be_shown():
    assert words(caption_spans([SceneGraph()], title="t", hidden=[[]])) == []


def test_widths_are_those_of_the_house_font():
    assert text_width("il.", 1000) < text_width("Wm", 1000) == 944 + 833
    assert text_width("犬", 10) == 10 and text_width("\u0301", 10) == 0
    assert shortened("short", 10, 100) == "short" and text_width(shortened("w" * 50, 10, 100), 10) <= 100
