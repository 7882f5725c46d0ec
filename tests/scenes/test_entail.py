"""What a sentence says, judged against a scene: wider words, attributes, counts, relations, and what is left open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from itmlab.scenes.entail import FALSE, OPEN, TRUE, entails
from itmlab.scenes.lexicon import attributes, nouns, relations
from itmlab.scenes.scene import Thing
from itmlab.text.graph import Attribute, Relation, SceneGraph, SceneObject
from tests.scenes.make import facts, noun, says

# a man in a red-and-white striped shirt rides a brown horse in a park; two dogs, one black and small, one spotted
SCENE = facts(
    Thing("man", 0.3, 0.6, 0.5, pose="mount", age="old", hair="gray"),
    Thing("horse", 0.3, 0.9, 0.5, colour="brown", pose="walk"),
    Thing("dog", 0.68, 0.9, 0.2, colour="black", size="small", pose="sit"),
    Thing("dog", 0.9, 0.9, 0.2, colour="white", second="black", pattern="spotted", pose="sit"),
    Thing("shirt", 0.3, 0.6, 0.5, colour="red", second="white", pattern="striped", wearer=0),
    known=((0, "ride", 1), (0, "on", 1), (0, "wear", 4)),
)
VERDICTS = [
    # names, wider and narrower
    (says("man"), TRUE),
    (says("person"), TRUE),
    (says("guy"), TRUE),
    (says("woman"), FALSE),
    (says("animal"), TRUE),
    (says("pet"), TRUE),
    (says("cat"), FALSE),
    (says("puppy"), TRUE),
    (says("pony"), OPEN),
    (says("building"), FALSE),
    (says("tree"), OPEN),  # a park's background may show some
    (says("dog", "tree", link="under"), OPEN),
    (says("man", "tree", link="hold"), FALSE),
    (says("unicorn"), OPEN),
    # attributes
    (says("brown horse"), TRUE),
    (says("black horse"), FALSE),
    (says("big horse"), OPEN),
    (says("small dog"), TRUE),
    (says("large dog"), OPEN),  # the other dog is of no special size
    (says("large brown dog"), FALSE),
    (says("black small dog"), TRUE),
    (says("black dog"), TRUE),
    (says("striped shirt"), TRUE),
    (says("spotted shirt"), FALSE),
    (says("white shirt"), OPEN),
    (says("red white shirt"), TRUE),
    (says("elderly man"), TRUE),
    (says("young man"), FALSE),
    (says("happy man"), OPEN),
    (says("happy cat"), FALSE),
    (says("walk horse"), TRUE),
    (says("run horse"), FALSE),
    (says("move horse"), TRUE),
    (says("sleep dog"), FALSE),
    # counts
    (says(noun("dog", 2)), TRUE),
    (says(noun("dog", 1)), TRUE),
    (says(noun("dog", 3)), FALSE),
    (says(noun("dog", None)), TRUE),
    (says(noun("black dog", None)), OPEN),  # the white one has black spots
    (says(noun("brown dog", None)), FALSE),
    (says(noun("small horse", None)), FALSE),
    (says(noun("animal", 3)), TRUE),
    (says(noun("animal", 2)), OPEN),  # there are three
    (says(noun("cat", 0)), TRUE),
    (says(noun("dog", 0)), FALSE),
    (says(noun("unicorn", 2)), OPEN),
    (says("dog", "puppy"), TRUE),
    (says("man", "person"), FALSE),  # two people
    # relations
    (says("man", "horse", link="ride"), TRUE),
    (says("person", "animal", link="ride"), TRUE),
    (says("horse", "man", link="ride"), FALSE),
    (says("man", "dog", link="ride"), FALSE),
    (says("man", "horse", link="on"), TRUE),
    (says("man", "horse", link="on top of"), TRUE),
    (says("man", "horse", link="with"), TRUE),
    (says("horse", "man", link="under"), OPEN),
    (says("man", "shirt", link="in"), TRUE),
    (says("man", "red shirt", link="wear"), TRUE),
    (says("man", "blue shirt", link="wear"), FALSE),
    (says("dog", "shirt", link="wear"), FALSE),
    (says("man", "park", link="in"), TRUE),
    (says("man", "beach", link="on"), FALSE),
    (says("dog", "grass", link="sit on"), TRUE),
    (says("dog", "grass", link="stand on"), FALSE),
    (says("man", "horse", link="admire"), OPEN),
    (says("man", "cat", link="admire"), FALSE),
    (says(noun("dog", 2), "grass", link="on"), TRUE),
    (says(noun("dog", 2), "horse", link="ride"), FALSE),
    (says("man", "horse", link="ride", more=(Relation(0, "in", 1),)), OPEN),
    (SceneGraph(), TRUE),
]


@pytest.mark.parametrize("graph, verdict", VERDICTS, ids=lambda value: str(value) if isinstance(value, int) else "")
def test_verdicts(graph, verdict):
    assert entails(SCENE, graph) == verdict, sorted(graph.tuples(), key=str)


def test_more_said_is_never_truer():
    """Adding an attribute or an object to a graph of single things cannot raise its verdict."""
    for lemma in ("dog", "man", "animal", "cat"):
        plain = entails(SCENE, says(lemma))
        for word in attributes():
            assert entails(SCENE, says(f"{word} {lemma}")) <= plain
        for other in nouns():
            assert entails(SCENE, says(lemma, SceneObject(other, (), 1))) <= plain


words = st.sampled_from([*nouns(), *attributes(), *relations(), "unicorn", "", "sit next to", "on on on"])
spoken = st.builds(
    SceneObject,
    words,
    st.lists(st.builds(Attribute, words), max_size=2).map(tuple),
    st.sampled_from([None, 0, 1, 2, 3]),
    st.booleans(),
)


@given(st.lists(spoken, min_size=1, max_size=4), st.data())
def test_any_graph_gets_one_of_three_verdicts(objects, data):
    number = st.integers(0, len(objects) - 1)
    links = data.draw(st.lists(st.builds(Relation, number, words, number), max_size=3))
    assert entails(SCENE, SceneGraph(tuple(objects), tuple(links))) in (TRUE, OPEN, FALSE)


def test_hostile_graphs_end():
    """Without a limit the first would take years."""
    crowd = [Thing("dog", 0.5, 0.9, 0.2, pose="sit") for _ in range(12)]
    graph = SceneGraph(tuple(SceneObject("dog", (), 1) for _ in range(12)), (Relation(0, "ride", 1),))
    assert entails(facts(*crowd), graph) in (OPEN, FALSE)
    assert entails(SCENE, says("dog", "dog", link="very " * 5000 + "near")) in (OPEN, FALSE)
