"""Relations between things: inverses, symmetry, deeds, and no truth label at the border."""

import pytest

from itmlab.scenes.entail import FALSE, TRUE, entails, parsed
from itmlab.scenes.lexicon import relations
from itmlab.scenes.scene import Entity
from tests.scenes.make import facts, says


def pairs(many):
    for each in many[:80]:
        main = [at for at, entity in enumerate(each.entities) if entity.category not in ("stuff", "place")]
        yield from ((each, a, b) for a in main for b in main if a != b)


INVERSE = {"in front of": "behind", "left of": "right of", "next to": "next to", "near": "near"}


@pytest.mark.parametrize("one, other", INVERSE.items())
def test_inverse_and_symmetric_relations(many, one, other):
    for each, a, b in pairs(many):
        assert each.holds(a, one, b) == each.holds(b, other, a)


@pytest.mark.parametrize("name", ["above", "under", "in front of", "behind", "on", "left of", "wear", "ride", "hold"])
def test_never_both_ways(many, name):
    for each, a, b in pairs(many):
        assert not (each.holds(a, name, b) is True and each.holds(b, name, a) is True)


def test_next_to_is_also_near_and_whoever_reads_holds(many):
    for each, a, b in pairs(many):
        if each.holds(a, "next to", b):
            assert each.holds(a, "near", b)
        if each.holds(a, "read", b):
            assert each.holds(a, "hold", b)
        if each.holds(a, "ride", b):
            assert each.holds(a, "on", b) and not each.holds(b, "on", a)


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


def test_a_rider_is_on_what_he_rides_and_where_it_is():
    rider = facts(Entity("man", 0.5, 0.7, 0.4, pose="mount"), Entity("horse", 0.5, 0.9, 0.5), known=((0, "ride", 1),))
    park = rider.scene.place
    assert rider.holds(0, "on", 1) is True and rider.holds(0, "in", park) is True
    assert rider.root(0) == 1 and rider.ground(0) == ("on", "grass")


def test_two_who_run_one_behind_the_other_may_be_a_chase():
    run = {"base": 0.9, "height": 0.2, "pose": "run"}
    both = facts(Entity("dog", 0.2, **run), Entity("cat", 0.6, **run))
    assert both.holds(0, "chase", 1) is None
    assert both.holds(1, "chase", 0) is False


DEEDS = [  # fact, who, whom
    ("push", "girl", "cart"),
    ("pull", "boy", "suitcase"),
    ("eat", "monkey", "banana"),
    ("feed", "man", "penguin"),
    ("pet", "woman", "pig"),
    ("hug", "boy", "bear"),
    ("lean against", "man", "lamp"),
    ("photograph", "girl", "lion"),
    ("look through", "boy", "telescope"),
    ("throw", "girl", "ball"),
    ("sweep with", "woman", "broom"),
    ("use", "man", "laptop"),
    ("climb", "boy", "ladder"),
    ("drive", "woman", "tractor"),
    ("slide down", "girl", "slide"),
]


@pytest.mark.parametrize("deed, who, what", DEEDS)
def test_a_deed_is_true_where_it_was_composed_and_false_of_others(deed, who, what):
    person, owl = Entity(who, 0.2, 0.9, 0.5), Entity("owl", 0.9, 0.9, 0.2, pose="sit")
    scene = facts(person, Entity(what, 0.45, 0.9, 0.3), owl, known=((0, deed, 1),))
    assert entails(scene, says(who, what, link=deed)) == TRUE
    assert entails(scene, says(what, who, link=deed)) == FALSE or deed == "hug"
    assert entails(scene, says("owl", what, link=deed)) == FALSE or what == "ladder"
    apart = facts(person, Entity(what, 0.85, 0.9, 0.3))
    assert entails(apart, says(who, what, link=deed)) == FALSE
    _, participle, past = relations()[deed].forms
    sentences = [f"A {who} is {participle} a {what}.", f"A {what} is being {past} by a {who}."]
    for sentence in parsed(sentences[: 1 if " " in deed else 2], cache=False):
        assert sentence.truth_label(entails(scene, sentence.graph)) == TRUE
