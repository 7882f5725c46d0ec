"""Swaps contradict, implications hold, and both keep the form of a word."""

from itmlab.scenes.categories import implied_words, noun_swaps, relation_swaps


def test_nouns_are_swapped_within_a_category_number_and_kind():
    swaps = noun_swaps()
    assert {"cat", "horse"} <= set(swaps["dog"]) and {"cats", "horses"} <= set(swaps["dogs"])
    assert not {"dog", "puppy", "animal", "pet", "man", "dogs"} & set(swaps["dog"])
    assert "child" not in swaps["boy"] and "woman" in swaps["boy"]


def test_no_noun_is_swapped_for_one_that_may_mean_the_same():
    swaps = noun_swaps()
    for word in swaps:
        assert word not in swaps[word]
    assert not any("duck" in swaps[word] or word in swaps["duck"] for word in ("bird", "animal") if word in swaps)


def test_relations_keep_their_form_and_never_become_what_is_true_beside_them():
    swaps = relation_swaps()
    assert {"chasing", "holding"} <= set(swaps["riding"]) and "chases" in swaps["rides"]
    assert not {"in", "atop", "near", "with"} & set(swaps["on"]) and "under" in swaps["on"]
    assert not {"carrying", "having"} & set(swaps["holding"])


def test_words_imply_wider_ones_and_not_the_other_way_round():
    implied = implied_words()
    assert {"child", "person", "people", "kids"} <= implied["boy"] and "boy" not in implied["person"]
    assert {"gray", "dark"} & implied["grey"] and "red" not in implied["blue"]
    assert {"near", "with"} <= implied["dog"] and "carrying" in implied["holding"]


def test_what_is_implied_is_never_a_swap():
    implied = implied_words()
    for swaps in (noun_swaps(), relation_swaps()):
        for word, others in swaps.items():
            assert not implied.get(word, frozenset()) & set(others), word


def test_words_that_say_nothing_are_implied_and_place_words_are_not():
    implied = implied_words()
    for word in ("dog", "red", "riding"):
        assert {"and", "some", "being", "who"} <= implied[word]
    assert not {"under", "behind", "three"} & implied["dog"]


def test_places_imply_what_they_are_made_of():
    implied = implied_words()
    assert {"grass", "sky"} <= implied["park"] and {"sand", "water"} <= implied["beach"]
    assert "grass" not in implied["beach"] and "park" not in implied["grass"] and "grass" not in implied["dog"]
