"""Swaps contradict, implications hold, and both keep the form of a word."""

import pytest

from itmlab.scenes.categories import implied_words, noun_swaps, relation_swaps
from itmlab.scenes.lexicon import nouns
from itmlab.scenes.scene import KINDS

NOUNS, RELATIONS, IMPLIED = noun_swaps(), relation_swaps(), implied_words()


@pytest.mark.parametrize(
    "table, word, held, absent",
    [  # nouns are swapped within a category, a number and a kind
        (NOUNS, "dog", "cat horse", "dog puppy animal pet man dogs"),
        (NOUNS, "dogs", "cats horses", "dogs cat"),
        (NOUNS, "boy", "woman", "child"),
        # relations keep their form and never become what is true beside them
        (RELATIONS, "riding", "chasing holding", ""),
        (RELATIONS, "on", "under", "in atop near with"),
        (RELATIONS, "holding", "", "carrying having"),
        # words imply wider ones and not the other way round, places what they are made of, and all what says nothing
        (IMPLIED, "boy", "child person people kids", ""),
        (IMPLIED, "blue", "", "red"),
        (IMPLIED, "grey", "gray dark", ""),
        (IMPLIED, "holding", "carrying", ""),
        (IMPLIED, "park", "grass sky", ""),
        (IMPLIED, "beach", "sand water", "grass"),
        (IMPLIED, "grass", "", "park"),
        (IMPLIED, "dog", "near with and some being who", "under behind three grass"),
    ],
)
def test_what_a_word_is_swapped_for_or_implies(table, word, held, absent):
    assert {*held.split()} <= {*table[word]} and not {*absent.split()} & {*table[word]}


def test_every_kind_has_a_word_and_every_word_means_kinds_that_exist():
    for kind in set(KINDS) - {"winter"}:
        assert any(kind in noun.means for noun in nouns()[kind])
    for noun in (noun for entries in nouns().values() for noun in entries):
        assert noun.means | noun.perhaps <= set(KINDS) and not noun.means & noun.perhaps


def test_what_is_implied_is_never_a_swap():
    for swaps in (NOUNS, RELATIONS):
        for word, others in swaps.items():
            assert not IMPLIED.get(word, frozenset()) & set(others), word
