"""Scene graphs as drawings."""

import re

import pytest

from itmlab.figures import scene_graph
from itmlab.figures.boxes import Box
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject

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
    return [Box(min(all_[::2]), min(all_[1::2]), max(all_[::2]), max(all_[1::2])) for all_ in numbers]


def test_all_that_a_graph_says_is_there():
    things = ["<b>2 × man</b>", "<b>horse</b>", "<b>park</b>", "<b>sky</b>"]
    said = ["<b>old</b>", "<b>&lt;tall&gt;</b>", "<b>blue</b>"]
    legend = ["object", "attribute", "relation"]
    assert sorted(texts(scene_graph(GRAPH, title="t"))) == sorted(
        [*things, *said, *legend, "<i>ride, chase</i>", "<i>in</i>"]
    )


def test_arrows_run_from_subject_to_object_and_subjects_stand_left():
    figure = scene_graph(GRAPH, title="t")
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
        figure = scene_graph(SceneGraph(things, relations), title="t")
        placed = boxes(figure)
        for box in placed:
            assert 0 < box.left < box.right < figure.layout.xaxis.range[1]
            assert 0 < box.top < box.bottom < figure.layout.yaxis.range[0]
        for index, one in enumerate(placed):
            for other in placed[index + 1 :]:
                apart = one.right <= other.left or other.right <= one.left
                assert apart or one.bottom <= other.top or other.bottom <= one.top


def test_a_graph_of_nothing_and_one_with_a_self_relation_can_be_drawn():
    assert not scene_graph(SceneGraph(), title="t").layout.annotations
    alone = SceneGraph((SceneObject("dog"),), (Relation(0, "chase", 0),))
    assert "<i>↻ chase</i>" in texts(scene_graph(alone, title="t"))


def test_of_very_many_objects_the_first_are_drawn_and_it_says_so():
    many = SceneGraph(tuple(SceneObject(f"thing{index}") for index in range(2_000)), (Relation(0, "on", 1_999),))
    figure = scene_graph(many, title="t", subtitle="s")
    assert len(boxes(figure)) == 24 and "the first 24 of 2,000 objects" in figure.layout.title.text


def test_lines_leave_a_box_at_its_edge():
    box = Box(0, 0, 20, 10)
    assert box.edge_towards(100, 5) == pytest.approx((20, 5))
    assert box.edge_towards(10, -50, room=2) == pytest.approx((10, -2))
    assert box.edge_towards(10, 5) == (10, 5)
