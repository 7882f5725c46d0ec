"""Scene graphs as drawings."""

from itmlab.figures import scene_graph
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject

GRAPH = SceneGraph(
    objects=(
        SceneObject("man", (Attribute("old"), Attribute("<tall>")), count=2),
        SceneObject("horse", (), count=1),
        SceneObject("park"),
    ),
    relations=(Relation(0, "ride", 1), Relation(0, "chase", 1), Relation(1, "in", 2)),
)


def test_all_that_a_graph_says_is_there():
    texts = [annotation.text for annotation in scene_graph(GRAPH, title="t").layout.annotations if annotation.text]
    things, said = ["<b>2 × man</b>", "<b>horse</b>", "<b>park</b>"], ["<b>old</b>", "<b>&lt;tall&gt;</b>"]
    assert sorted(texts) == sorted([*things, *said, "<i>ride, chase</i>", "<i>in</i>"])


def test_arrows_run_from_subject_to_object():
    figure = scene_graph(GRAPH, title="t")
    place = {annotation.text: (annotation.x, annotation.y) for annotation in figure.layout.annotations}
    arrows = [((a.ax, a.ay), (a.x, a.y)) for a in figure.layout.annotations if a.arrowhead]
    man, horse, park = (place[f"<b>{name}</b>"] for name in ("2 × man", "horse", "park"))
    assert arrows == [(man, horse), (horse, park)]


def test_nothing_leaves_the_canvas():
    many = SceneGraph(tuple(SceneObject(f"thing {index}", (Attribute("red"),)) for index in range(9)))
    figure = scene_graph(many, title="t")
    for annotation in figure.layout.annotations:
        assert 0 < annotation.x < figure.layout.xaxis.range[1] and 0 < annotation.y < figure.layout.yaxis.range[0]


def test_a_graph_of_nothing_and_one_with_a_self_relation_can_be_drawn():
    assert not scene_graph(SceneGraph(), title="t").layout.annotations
    alone = SceneGraph((SceneObject("dog"),), (Relation(0, "chase", 0),))
    assert scene_graph(alone, title="t").layout.annotations
