"""Dictionary forms: regular endings, exceptions, and verbs told from a list."""

import pytest

from itmlab.text.rules.lexicon import noun_lemma, verb_lemma

NOUNS = """
dogs dog, boxes box, benches bench, buses bus, women woman, feet foot, leaves leaf, ladies lady, ties tie, shoes shoe,
cookies cookie, potatoes potato, glasses glass, grass grass, tennis tennis, jeans jeans, people people
"""
VERBS = """
riding ride, sitting sit, skiing ski, standing stand, holds hold, chases chase, covered cover, tied tie, worn wear,
carries carry, swimming swim, grazing graze, parked park, lying lay, laying lay, made make, hanging hang, is be
"""


@pytest.mark.parametrize("pair", NOUNS.split(","))
def test_nouns(pair):
    form, lemma = pair.split()
    assert noun_lemma(form) == noun_lemma(lemma) == lemma
    assert noun_lemma(f"tall {form}") == f"tall {lemma}"


@pytest.mark.parametrize("pair", VERBS.split(","))
def test_verbs(pair):
    form, lemma = pair.split()
    assert verb_lemma(form) == verb_lemma(lemma) == lemma
