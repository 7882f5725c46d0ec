"""The table of words: every kind has its word, every word knows only kinds, values and rules that exist."""

from itmlab.scenes.lexicon import ATTRIBUTES, NOUNS, RELATIONS, attributes, nouns, relations
from itmlab.scenes.relations import RULES
from itmlab.scenes.scene import COLOURS, KINDS


def test_every_kind_has_a_word_of_its_own():
    for kind in set(KINDS) - {"winter"}:
        assert any(kind in noun.means for noun in nouns()[kind])


def test_nouns_mean_kinds_that_exist_and_never_surely_and_perhaps_at_once():
    for noun in NOUNS:
        assert noun.means | noun.perhaps <= set(KINDS)
        assert not noun.means & noun.perhaps
        assert noun.plural


def test_categories_offer_words_to_swap():
    for category in ("person", "animal", "vehicle", "thing", "worn", "place"):
        assert sum(noun.category == category for noun in NOUNS) >= 5
    assert sum(attribute.category == "colour" for attribute in ATTRIBUTES) >= len(COLOURS)


def test_relations_lead_to_rules_and_lemmas_are_told_apart():
    assert len(RELATIONS) == len(relations()) >= 12
    assert len(ATTRIBUTES) == len(attributes()) >= 10
    for relation in RELATIONS:
        assert set(relation.means) <= set(RULES)
