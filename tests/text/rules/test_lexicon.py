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


@pytest.mark.parametrize(
    ("lemma_of", "before", "pair"),
    [(noun_lemma, "tall ", forms) for forms in NOUNS.split(",")]
    + [(verb_lemma, "", forms) for forms in VERBS.split(",")],
)
def test_forms_have_their_lemma(lemma_of, before, pair):
    form, lemma = pair.split()
    assert lemma_of(form) == lemma_of(lemma) == lemma and lemma_of(before + form) == before + lemma
