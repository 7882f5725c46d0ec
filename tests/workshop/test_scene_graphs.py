"""Each drawing of scene graphs, phrases, maskings and scenes is drawn once, its texts escaped."""

import numpy as np
import pytest
from PIL import Image
from workshop.plots import scene_graphs

from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject, Span
from itmlab.text.masking import Phrase
from tests.workshop.reading import words

MAN = SceneObject("man", (Attribute("old"), Attribute("<tall>")), count=2)
OBJECTS = (MAN, SceneObject("horse", (), count=1), SceneObject("park"), SceneObject("sky", (Attribute("blue"),)))
GRAPH = SceneGraph(OBJECTS, (Relation(0, "ride", 1), Relation(1, "like", 0), Relation(1, "in", 2)))
SELF = SceneGraph((SceneObject("snake"),), (Relation(0, "bite", 0),))
SENTENCE = SceneGraph((SceneObject("<dog>", (), span=Span(1, 2)),), (), ("A", "<dog>", "runs", "."))
LONG = SceneGraph((), (), ("word",) * 500 + ("w" * 900,))


def drawn_graph(graph):
    return scene_graphs.draw_scene_graph(graph, title="t")


def drawn_scene():
    masks = np.zeros((2, 64, 64), dtype=bool)
    masks[0, :32], masks[1, 10:20, 10:20] = True, True
    boxes = np.array([[0, 0, 64, 32], [10, 10, 20, 20]])
    return scene_graphs.draw_scene(
        Image.new("RGB", (64, 64)), ["sky", "<b>"], boxes, masks, title="t", captions=["<i>"]
    )


DRAWN = {
    "graph": lambda: drawn_graph(GRAPH),
    "self relation": lambda: drawn_graph(SELF),
    "nothing": lambda: drawn_graph(SceneGraph()),
    "many objects": lambda: drawn_graph(SceneGraph(tuple(SceneObject(f"thing {n}") for n in range(90)), ())),
    "phrases": lambda: scene_graphs.draw_caption_spans(
        [SENTENCE, SENTENCE, LONG, SceneGraph()], hidden=[None, [Phrase("object", Span(1, 2))], None, None], title="t"
    ),
    "scene": drawn_scene,
}


@pytest.mark.parametrize("name", DRAWN)
def test_it_is_drawn_and_its_texts_are_escaped(name):
    figure = DRAWN[name]()
    assert not any(tag in text for text in words(figure) for tag in ("<tall>", "<dog>"))
    assert figure.layout.height < 4000 and len(figure.layout.annotations) < 500 and figure.to_json()


def test_all_that_a_graph_says_is_there_and_subjects_stand_left():
    figure = drawn_graph(GRAPH)
    things = {"<b>2 × man</b>", "<b>horse</b>", "<b>park</b>", "<b>sky</b>", "<b>old</b>", "<b>&lt;tall&gt;</b>"}
    assert things | {"<i>ride</i>", "<i>like</i>", "<i>in</i>"} <= set(words(figure))
    place = {note.text: note.x for note in figure.layout.annotations}
    assert place["<b>2 × man</b>"] < place["<b>horse</b>"] < place["<b>park</b>"]


def test_hidden_words_are_not_written():
    shown = scene_graphs.draw_caption_spans([SENTENCE], title="t")
    hidden = scene_graphs.draw_caption_spans([SENTENCE], hidden=[[Phrase("object", Span(1, 2))]], title="t")
    assert "&lt;dog&gt;" in words(shown) and "&lt;dog&gt;" not in words(hidden)
