"""VSE-C on all of Flickr30K's validation captions: what it makes keeps its promises, and what it may never make."""

import re

import pytest
import torch

from itmlab.data import load
from itmlab.metrics.wordnet import Nouns
from itmlab.synthesis.caption_swaps import BESIDE, FEMALE, MALE, PERSONS
from itmlab.synthesis.rules import article
from itmlab.synthesis.tags import vse_c
from itmlab.text import parse
from itmlab.text.graph import tokenise
from itmlab.text.rules.lexicon import noun_lemma

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def made(real_data, tmp_path_factory):
    """(caption, the image's captions, negative) of every swap of every validation caption."""
    real_data("flickr30k/captions_val.jsonl.gz")
    try:
        Nouns()
    except Exception as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ITMLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        data = load("captions", real_data("flickr30k")).split("val")
        graphs = parse(data.captions)
    others = data.captions_of(data.image_of_caption.tolist())
    rows = vse_c(data, graphs=graphs)(data.captions, graphs, others, generator=torch.Generator())
    return [(*one, each) for *one, row in zip(data.captions, others, rows, strict=True) for each in row]


def test_most_captions_have_one_and_of_every_kind(made, capsys):
    kinds = {kind: sum(one.kind[0] == kind for _, _, one in made) for kind in ("object", "relation", "number")}
    captions = len({caption for caption, _, _ in made})
    with capsys.disabled():
        print(f"\n{len(made)} swaps of {captions} captions: {kinds}")
    assert captions > 2_000 and min(kinds.values()) > 300


def test_nothing_new_is_said_of_the_image_elsewhere(made):
    for _, others, one in made:
        said = {noun_lemma(word) for caption in others for word in tokenise(caption.lower())}
        new = {noun_lemma(word) for words in one.replacement for word in tokenise(words.lower())}
        assert new - said - {"a", "an"}, one.sentence


def test_a_person_becomes_one_of_the_other_sex_and_no_kid_dude_or_adult(made):
    for _, _, one in made:
        if one.source[0].split()[-1].lower() in PERSONS:
            was, now = (noun_lemma(words[0].split()[-1].lower()) for words in (one.source, one.replacement))
            assert (was in MALE and now in FEMALE) or (was in FEMALE and now in MALE), one.sentence


def test_an_article_fits_and_no_verb_changes_its_number(made):
    for caption, _, one in made:
        for words in one.replacement:
            found = re.fullmatch(r"(an?) (.+)", words, re.IGNORECASE)
            assert found is None or found[1].lower() == article(found[2]), one.sentence
        if one.kind[0] == "object":
            assert re.findall(r"\b(?:is|are|was|were)\b", caption) == re.findall(
                r"\b(?:is|are|was|were)\b", one.sentence
            )


def test_no_shirt_takes_the_place_of_a_jacket_and_nothing_worn_changes_its_place(made):
    garments = {words[0].split()[-1] for _, _, one in made if one.kind[0] == "object" for words in (one.replacement,)}
    assert not garments & BESIDE and "jacket" in garments
    places = {one.source[0].lower() for _, _, one in made if one.kind[0] == "relation"}
    assert not places & {"in", "wearing", "at", "to the right of"} and "next to" in places
