"""Relations between things: inverses, symmetry, and no verdict at the border."""

import pytest

from itmlab.scenes.relations import RULES
from itmlab.scenes.scene import Thing
from tests.scenes.make import facts


def pairs(many):
    for each in many[:80]:
        main = [at for at, thing in enumerate(each.things) if thing.category not in ("stuff", "place")]
        yield from ((each, a, b) for a in main for b in main if a != b)


@pytest.mark.parametrize("one, other", [("in front of", "behind"), ("left of", "right of")])
def test_inverse_relations(many, one, other):
    for each, a, b in pairs(many):
        assert each.holds(a, one, b) == each.holds(b, other, a)


@pytest.mark.parametrize("name", ["next to", "near"])
def test_symmetric_relations(many, name):
    for each, a, b in pairs(many):
        assert each.holds(a, name, b) == each.holds(b, name, a)


@pytest.mark.parametrize("name", ["above", "under", "in front of", "behind", "on", "left of", "wear", "ride", "hold"])
def test_never_both_ways(many, name):
    for each, a, b in pairs(many):
        assert not (each.holds(a, name, b) is True and each.holds(b, name, a) is True)


def test_next_to_is_also_near_and_whoever_reads_holds(many):
    for each, a, b in pairs(many):
        if each.holds(a, "next to", b):
            assert each.holds(a, "near", b)
        if each.holds(a, "read", b) or each.holds(a, "play", b):
            assert each.holds(a, "hold", b)
        if each.holds(a, "ride", b):
            assert each.holds(a, "on", b) and not each.holds(b, "on", a)


def test_every_rule_answers_true_false_or_nothing(many):
    for each in many[:40]:
        for a in range(len(each.things)):
            for b in range(len(each.things)):
                assert {each.holds(a, name, b) for name in RULES} <= {True, False, None}


def dogs(gap: float, deeper: float = 0.0):
    first = Thing("dog", 0.2, 0.9, 0.2, pose="stand")
    right = first.extent[2]
    return facts(first, Thing("cat", right + gap + 0.125, 0.9 - deeper, 0.2, pose="stand"))


def test_next_to_is_clear_when_close_open_in_between_and_false_when_far():
    assert dogs(0.03).holds(0, "next to", 1) is True
    assert dogs(0.2).holds(0, "next to", 1) is None
    assert dogs(0.4).holds(0, "next to", 1) is False


def test_in_front_of_needs_a_clear_difference_of_depth():
    house = Thing("house", 0.5, 0.7, 0.5)
    assert facts(Thing("dog", 0.5, 0.9, 0.2), house).holds(0, "in front of", 1) is True
    assert facts(Thing("dog", 0.5, 0.9, 0.2), house).holds(1, "in front of", 0) is False
    assert facts(Thing("dog", 0.5, 0.72, 0.2), house).holds(0, "in front of", 1) is None


def test_a_rider_is_on_what_he_rides_and_where_it_is():
    rider = facts(Thing("man", 0.5, 0.7, 0.4, pose="mount"), Thing("horse", 0.5, 0.9, 0.5), known=((0, "ride", 1),))
    park = rider.scene.place
    assert rider.holds(0, "on", 1) is True and rider.holds(0, "in", park) is True
    assert rider.root(0) == 1 and rider.ground(0) == ("on", "grass")


def test_two_who_run_one_behind_the_other_may_be_a_chase():
    run = {"base": 0.9, "height": 0.2, "pose": "run"}
    both = facts(Thing("dog", 0.2, **run), Thing("cat", 0.6, **run))
    assert both.holds(0, "chase", 1) is None
    assert both.holds(1, "chase", 0) is False
