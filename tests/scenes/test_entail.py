"""What a sentence says, judged against a scene: wider words, attributes, counts, relations, and what is left open."""

import re

import pytest

from itmlab.scenes.entail import FALSE, OPEN, TRUE, entails
from itmlab.scenes.lexicon import ATTRIBUTE_OF, nouns
from itmlab.scenes.scene import Entity
from itmlab.text.graph import Relation, SceneGraph, SceneObject
from tests.scenes.make import facts, noun, says

# a man in a red-and-white striped shirt rides a brown horse in a park; two dogs, one black and small, one spotted
SCENE = facts(
    Entity("man", 0.3, 0.6, 0.5, pose="mount", age="old", hair="gray"),
    Entity("horse", 0.3, 0.9, 0.5, colour="brown", pose="walk"),
    Entity("dog", 0.68, 0.9, 0.2, colour="black", size="small", pose="sit"),
    Entity("dog", 0.9, 0.9, 0.2, colour="white", second="black", pattern="spotted", pose="sit"),
    Entity("shirt", 0.3, 0.6, 0.5, colour="red", second="white", pattern="striped", wearer=0),
    known=((0, "ride", 1), (0, "on", 1), (0, "wear", 4)),
)
SAID = {  # objects parted by &, a count before them ("some" is a plural), a relation between bars
    TRUE: """
        man, person, guy, animal, pet, puppy, brown horse, small dog, black small dog, black dog, striped shirt
        red white shirt, elderly man, walk horse, move horse, 2 dog, dog, some dog, 3 animal, 0 cat, dog & puppy
        man | ride | horse, person | ride | animal, man | on | horse, man | on top of | horse, man | with | horse
        man | in | shirt, man | wear | red shirt, man | in | park, dog | sit on | grass, 2 dog | on | grass
    """,
    FALSE: """
        woman, cat, building, man | hold | tree, black horse, large brown dog, spotted shirt, young man, happy cat
        run horse, sleep dog, 3 dog, some brown dog, some small horse, 0 dog, man & person, horse | ride | man
        man | ride | dog, man | wear | blue shirt, dog | wear | shirt, man | on | beach, dog | stand on | grass
        man | admire | cat, 2 dog | ride | horse
    """,
    # a park's background may show a tree, the other dog is of no special size, the white one has black spots, and of
    # animals there are three
    OPEN: """
        pony, tree, dog | under | tree, unicorn, big horse, large dog, white shirt, happy man, some black dog, 2 animal
        2 unicorn, horse | under | man, man | admire | horse
    """,
}
CASES = [(case, label) for label, text in SAID.items() for case in re.split(r", |\n +", text.strip())]


def graph_of(text: str) -> SceneGraph:
    objects = []
    for words in re.split(r" \| .* \| | & ", text):
        count, _, named = words.partition(" ")
        counted = count == "some" or count.isdecimal()
        objects.append(noun(named, None if count == "some" else int(count)) if counted else noun(words))
    return says(*objects, link=text.split(" | ")[1] if "|" in text else "")


@pytest.mark.parametrize("text, label", CASES)
def test_truth_labels(text, label):
    assert entails(SCENE, graph_of(text)) == label


@pytest.mark.parametrize("relations, label", [((), TRUE), ((Relation(0, "in", 1),), OPEN)])
def test_all_that_is_said_must_be_true(relations, label):
    assert entails(SCENE, SceneGraph()) == TRUE
    assert entails(SCENE, says("man", "horse", link="ride", more=relations)) == label


def test_more_said_is_never_truer():
    """Adding an attribute or an object to a graph of single things cannot raise its truth label."""
    for lemma in ("dog", "man", "animal", "cat"):
        plain = entails(SCENE, says(lemma))
        for word in ATTRIBUTE_OF:
            assert entails(SCENE, says(f"{word} {lemma}")) <= plain
        for other in nouns():
            assert entails(SCENE, says(lemma, SceneObject(other, (), 1))) <= plain


def test_hostile_graphs_end():
    """Without a limit the first would take years."""
    crowd = [Entity("dog", 0.5, 0.9, 0.2, pose="sit") for _ in range(12)]
    graph = SceneGraph(tuple(SceneObject("dog", (), 1) for _ in range(12)), (Relation(0, "ride", 1),))
    assert entails(facts(*crowd), graph) in (OPEN, FALSE)
    assert entails(SCENE, says("dog", "dog", link="very " * 5000 + "near")) in (OPEN, FALSE)
