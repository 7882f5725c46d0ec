"""A scene graph: tuples in lemmas, spans over tokens, JSON and back."""

import json

import pytest

from itmlab.errors import ItmlabError
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject, Span, tokenise

GRAPH = SceneGraph(
    (
        SceneObject("dog", (Attribute("brown", Span(1, 2)),), count=1, span=Span(2, 3)),
        SceneObject("ball", (), count=None, plural=True, span=Span(5, 6)),
    ),
    (Relation(0, "chase", 1, Span(4, 5)),),
    tokenise("A brown dog is chasing balls."),
)


def test_json_and_back_is_the_same_graph():
    assert SceneGraph.from_dict(json.loads(json.dumps(GRAPH.to_dict()))) == GRAPH


def test_meaning_forgets_where_things_were_said():
    same = SceneGraph(
        (SceneObject("dog", (Attribute("brown"),), count=1), SceneObject("ball", (), None, True)),
        (Relation(0, "chase", 1),),
    )
    assert GRAPH.meaning() == same.meaning() == same
    assert hash(GRAPH.meaning()) == hash(same)


@pytest.mark.parametrize("relation", [Relation(0, "on", 2), Relation(-1, "on", 0)])
def test_a_relation_to_an_object_that_is_not_there_is_one_clear_error(relation):
    with pytest.raises(ItmlabError, match="joins objects"):
        SceneGraph((SceneObject("dog"),), (relation,))
