"""Scene graphs, sentences with phrases, what maskings hide, and scenes, as drawings."""

import re
from itertools import pairwise

import numpy as np
import pytest

from itmlab.studies.kit.canvas import Box
from itmlab.studies.kit.theme import text_width
from itmlab.studies.scene_graphs import (
    KIND_COLOURS,
    draw_caption_spans,
    draw_masked_shares,
    draw_phrase_kinds,
    draw_scene,
    draw_scene_graph,
)
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject, Span
from itmlab.text.masking import Phrase
from tests.studies.reading import words

GRAPH = SceneGraph(
    objects=(
        SceneObject("man", (Attribute("old"), Attribute("<tall>")), count=2),
        SceneObject("horse", (), count=1),
        SceneObject("park"),
        SceneObject("sky", (Attribute("blue"),)),
    ),
    relations=(Relation(0, "ride", 1), Relation(0, "chase", 1), Relation(1, "in", 2)),
)


def texts(figure):
    return [annotation.text for annotation in figure.layout.annotations if annotation.text]


def boxes(figure):
    """The corners of every chip."""
    numbers = [list(map(float, re.findall(r"-?\d+\.\d", shape.path))) for shape in figure.layout.shapes if shape.path]
    return [Box(min(each[::2]), min(each[1::2]), max(each[::2]), max(each[1::2])) for each in numbers]


def test_all_that_a_graph_says_is_there():
    things = ["<b>2 × man</b>", "<b>horse</b>", "<b>park</b>", "<b>sky</b>"]
    said = ["<b>old</b>", "<b>&lt;tall&gt;</b>", "<b>blue</b>"]
    legend = ["object", "attribute", "relation"]
    assert sorted(texts(draw_scene_graph(GRAPH, title="t"))) == sorted(
        [*things, *said, *legend, "<i>ride, chase</i>", "<i>in</i>"]
    )


def test_arrows_run_from_subject_to_object_and_subjects_stand_left():
    figure = draw_scene_graph(GRAPH, title="t")
    place = {annotation.text: annotation for annotation in figure.layout.annotations}
    arrows = [annotation for annotation in figure.layout.annotations if annotation.arrowhead]
    man, horse, park = (place[f"<b>{name}</b>"] for name in ("2 × man", "horse", "park"))
    assert man.x < horse.x < park.x and len(arrows) == 2
    assert man.x < arrows[0].ax < arrows[0].x < horse.x < arrows[1].ax < arrows[1].x < park.x


def test_nothing_leaves_the_canvas_and_no_two_boxes_overlap():
    said = tuple(Attribute(word) for word in ("red", "very tall", "striped", "old"))
    names = ["man", "woman", "dog", "bicycle", "umbrella", "street", "building", "tree", "sky", "playground"]
    things = tuple(SceneObject(name, said[: at % 5], 1 + at % 3) for at, name in enumerate(names))
    pairs = [(0, 3), (0, 1), (1, 0), (1, 4), (0, 2), (3, 5), (5, 6), (7, 6), (2, 5), (2, 2)]
    for links in ((), pairs[:4], pairs):
        relations = tuple(Relation(start, "next to", end) for start, end in links)
        figure = draw_scene_graph(SceneGraph(things, relations), title="t")
        placed = boxes(figure)
        for box in placed:
            assert 0 < box.left < box.right < figure.layout.xaxis.range[1]
            assert 0 < box.top < box.bottom < figure.layout.yaxis.range[0]
        for index, one in enumerate(placed):
            for other in placed[index + 1 :]:
                apart = one.right <= other.left or other.right <= one.left
                assert apart or one.bottom <= other.top or other.bottom <= one.top


def test_a_graph_of_nothing_and_one_with_a_self_relation_can_be_drawn():
    assert not draw_scene_graph(SceneGraph(), title="t").layout.annotations
    alone = SceneGraph((SceneObject("dog"),), (Relation(0, "chase", 0),))
    assert "<i>↻ chase</i>" in texts(draw_scene_graph(alone, title="t"))


def test_of_very_many_objects_the_first_are_drawn_and_it_says_so():
    many = SceneGraph(tuple(SceneObject(f"thing{index}") for index in range(2_000)), (Relation(0, "on", 1_999),))
    figure = draw_scene_graph(many, title="t", subtitle="s")
    assert len(boxes(figure)) == 24 and "the first 24 of 2,000 objects" in figure.layout.title.text


def test_lines_leave_a_box_at_its_edge():
    box = Box(0, 0, 20, 10)
    assert box.edge_towards(100, 5) == pytest.approx((20, 5))
    assert box.edge_towards(10, -50, room=2) == pytest.approx((10, -2))
    assert box.edge_towards(10, 5) == (10, 5)


def test_a_bar_for_each_kind_of_each_set_of_captions():
    figure = draw_phrase_kinds({"scenes": {"object": 2.0, "relation": 1.0}, "<b>": {"object": 3.0}}, title="t")
    assert [list(bar.y) for bar in figure.data] == [[2.0, 1.0], [3.0]]
    assert list(figure.data[0].x) == ["objects", "relations"] and "&lt;b&gt;" in figure.data[1].text[0]


def test_bars_are_percentages_of_the_maskings_and_lines_stand_at_the_means():
    shares = {"scenes": {"phrases": np.array([0.11, 0.12, 0.31, 1.0]), "words": np.array([0.2])}}
    figure = draw_masked_shares(shares, {"scenes": {"phrases": 0.17, "words": 0.16}}, title="t")
    phrases, words = figure.data
    assert sum(phrases.y) == pytest.approx(100) and phrases.y[2] == 50 and words.y[4] == 100
    assert phrases.y[-1] == 25 and phrases.x[-1] == 62.5  # a share of 1, where all from 0.6 are
    assert sorted(shape.x0 for shape in figure.layout.shapes) == [16, 17]


def test_two_sets_stand_side_by_side_and_each_way_is_named_once():
    shares = {name: {"phrases": np.array([0.1]), "words": np.array([0.2])} for name in ("one", "two")}
    figure = draw_masked_shares(shares, {name: {"phrases": 0.1, "words": 0.2} for name in shares}, title="t")
    assert [bar.showlegend for bar in figure.data] == [True, True, False, False]


def test_boxes_lie_on_the_things_they_name(pictures):
    masks = np.zeros((2, 32, 32), dtype=bool)
    masks[0, 8:16, 4:12] = True
    masks[1] = True
    boxes = np.array([[4, 8, 12, 16], [0, 0, 32, 32]])
    figure = draw_scene(pictures[0], ["<dog>", "road"], boxes, masks, title="t", captions=["a dog", "a & b"])
    right = figure.layout.images[1]
    scale = right.sizex / 32
    box = figure.layout.shapes[0]
    assert np.isclose(box.x0, right.x + 4 * scale) and np.isclose(box.x1, right.x + 12 * scale)
    assert np.isclose(box.y0, 8 * scale) and np.isclose(box.y1, 16 * scale)
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert texts == ["<b>&lt;dog&gt;</b>", "<b>road</b>", "a dog", "a &amp; b"]


def test_no_name_covers_another_or_leaves_the_picture(pictures):
    names, boxes = (
        ["sky", "boy", "hat", "backpack"],
        [[0, 0, 32, 32], [20, 12, 30, 30], [21, 12, 29, 14], [28, 12, 32, 20]],
    )
    figure = draw_scene(pictures[0], names, np.array(boxes), np.zeros((4, 32, 32), dtype=bool), title="t")
    right = figure.layout.images[1]
    placed = [(one.x, one.y, text_width(name, 12)) for one, name in zip(figure.layout.annotations, names, strict=True)]
    assert all(x + width <= right.x + right.sizex for x, _, width in placed)
    for at, (x, y, width) in enumerate(placed):
        assert all(abs(y - b) > 20 or x + width <= a or a + w <= x for a, b, w in placed[:at])


def test_a_wide_picture_is_centred(pictures):
    wide = pictures[4].resize((64, 32))
    figure = draw_scene(wide, ["all"], np.array([[0, 0, 64, 32]]), np.ones((1, 32, 64), dtype=bool), title="t")
    right, box = figure.layout.images[1], figure.layout.shapes[0]
    assert np.isclose(box.x1 - box.x0, right.sizex) and np.isclose(box.y0, right.sizey / 4)


SENTENCE = SceneGraph(
    (SceneObject("dog", (Attribute("red", Span(1, 2)),), span=Span(2, 3)), SceneObject("cat", span=Span(6, 7))),
    (Relation(0, "next to", 1, Span(3, 5)),),
    ("a", "red", "dog", "next", "to", "a", "cat", "."),
)


def painted(figure):
    return [shape for shape in figure.layout.shapes if shape.type == "path"]


def test_every_word_is_there_and_every_phrase_has_its_box():
    figure = draw_caption_spans([SENTENCE], title="t")
    assert words(figure) == [*SENTENCE.tokens, "object", "attribute", "relation"]
    assert len(painted(figure)) == 4


def test_hidden_words_are_not_there_and_their_boxes_have_the_colour_of_their_kind():
    figure = draw_caption_spans([SENTENCE, SENTENCE], hidden=[None, [Phrase("relation", Span(3, 5))]], title="t")
    assert words(figure).count("next") == 1 and words(figure).count("cat") == 2
    assert painted(figure)[-1].fillcolor == KIND_COLOURS["relation"]


def test_boxes_lie_about_their_words_and_no_two_words_overlap():
    figure = draw_caption_spans([SENTENCE], title="t")
    places = [(a.x, text_width(a.text, 19)) for a in figure.layout.annotations[: len(SENTENCE.tokens)]]
    for (left, width), (right, other) in pairwise(places):
        assert left + width / 2 <= right - other / 2


def test_a_long_sentence_is_broken_into_lines_and_cut():
    long = SceneGraph((SceneObject("x", span=Span(0, 500)),), tokens=("extraordinarily",) * 1_000)
    figure = draw_caption_spans([long], title="t")
    assert words(figure)[-2] == "…" and len(words(figure)) < 100 and figure.layout.height < 600
    assert max(a.x for a in figure.layout.annotations) < figure.layout.width
    assert len(painted(figure)) == 8


def test_markup_is_shown_letter_for_letter_and_endless_words_are_cut():
    odd = SceneGraph(tokens=("<b>x</b>", "w" * 900))
    first, second = words(draw_caption_spans([odd], title="t", names=["<i>name</i>"]))[1:]
    assert first == "&lt;b&gt;x&lt;/b&gt;" and second.endswith("…") and len(second) < 80


def test_sentences_without_words_can_be_shown():
    assert words(draw_caption_spans([SceneGraph()], title="t", hidden=[[]])) == []
