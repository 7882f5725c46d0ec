"""Relations between things: inverses, symmetry, deeds, and no truth label at the border."""

import pytest

from itmlab.scenes.entail import FALSE, TRUE, entails, parsed
from itmlab.scenes.lexicon import RELATION_OF
from itmlab.scenes.scene import Entity
from tests.scenes.make import facts, says


def pairs(many):
    for scene_facts in many[:80]:
        main = [at for at, entity in enumerate(scene_facts.entities) if entity.category not in ("stuff", "place")]
        yield from ((scene_facts, a, b) for a in main for b in main if a != b)


INVERSE = {"in front of": "behind", "left of": "right of", "next to": "next to", "near": "near"}


@pytest.mark.parametrize("name, other", INVERSE.items())
def test_inverse_and_symmetric_relations(many, name, other):
    for scene_facts, a, b in pairs(many):
        assert scene_facts.holds(a, name, b) == scene_facts.holds(b, other, a)


@pytest.mark.parametrize("name", ["above", "under", "in front of", "behind", "on", "left of", "wear", "ride", "hold"])
def test_never_both_ways(many, name):
    for scene_facts, a, b in pairs(many):
        assert not (scene_facts.holds(a, name, b) is True and scene_facts.holds(b, name, a) is True)


def test_next_to_is_also_near_and_whoever_reads_holds(many):
    for scene_facts, a, b in pairs(many):
        if scene_facts.holds(a, "next to", b):
            assert scene_facts.holds(a, "near", b)
        if scene_facts.holds(a, "read", b):
            assert scene_facts.holds(a, "hold", b)
        if scene_facts.holds(a, "ride", b):
            assert scene_facts.holds(a, "on", b) and not scene_facts.holds(b, "on", a)


def dog_and_cat(gap: float):
    first = Entity("dog", 0.2, 0.9, 0.2, pose="stand")
    return facts(first, Entity("cat", first.extent[2] + gap + 0.125, 0.9, 0.2, pose="stand"))


@pytest.mark.parametrize("gap, holds", [(0.03, True), (0.2, None), (0.4, False)])
def test_next_to_is_clear_when_close_open_in_between_and_false_when_far(gap, holds):
    assert dog_and_cat(gap).holds(0, "next to", 1) is holds


@pytest.mark.parametrize("base, subject, holds", [(0.9, 0, True), (0.9, 1, False), (0.72, 0, None)])
def test_in_front_of_needs_a_clear_difference_of_depth(base, subject, holds):
    known = facts(Entity("dog", 0.5, base, 0.2), Entity("house", 0.5, 0.7, 0.5))
    assert known.holds(subject, "in front of", 1 - subject) is holds


DEEDS = [  # fact, who, whom
    ("push", "girl", "cart"),
    ("pull", "boy", "suitcase"),
    ("eat", "monkey", "banana"),
    ("hug", "boy", "bear"),
    ("lean against", "man", "lamp"),
    ("look through", "boy", "telescope"),
    ("throw", "girl", "ball"),
    ("climb", "boy", "ladder"),
    ("drive", "woman", "tractor"),
    ("slide down", "girl", "slide"),
]


@pytest.mark.parametrize("deed, who, thing", DEEDS)
def test_a_deed_is_true_where_it_was_composed_and_false_of_others(deed, who, thing):
    person, owl = Entity(who, 0.2, 0.9, 0.5), Entity("owl", 0.9, 0.9, 0.2, pose="sit")
    scene = facts(person, Entity(thing, 0.45, 0.9, 0.3), owl, known=((0, deed, 1),))
    assert entails(scene, says(who, thing, link=deed)) == TRUE
    assert entails(scene, says(thing, who, link=deed)) == FALSE or deed == "hug"
    assert entails(scene, says("owl", thing, link=deed)) == FALSE or thing == "ladder"
    apart = facts(person, Entity(thing, 0.85, 0.9, 0.3))
    assert entails(apart, says(who, thing, link=deed)) == FALSE
    _, participle, past = RELATION_OF[deed].forms
    sentences = [f"A {who} is {participle} a {thing}.", f"A {thing} is being {past} by a {who}."]
    for sentence in parsed(sentences[: 1 if " " in deed else 2], cache=False):
        assert sentence.truth_label(entails(scene, sentence.graph)) == TRUE
