"""VSE-C on 400 images of Flickr30K: what it makes keeps its promises, and what it may never make."""

import re

import pytest
import torch

from itmlab.metrics.wordnet import wordnet
from itmlab.synthesis.rules import BESIDE, FEMALE, MALE, PERSONS, article, vse_c
from itmlab.text import parse
from itmlab.text.graph import tokenise
from itmlab.text.rules.lexicon import noun_lemma
from tests.data.picture_files import load_captions

pytestmark = pytest.mark.real
IMAGES = 400


@pytest.fixture(scope="module")
def swaps(real_data, tmp_path_factory):
    """(caption, the image's captions, negative) of every swap of every caption."""
    file = real_data("flickr30k/captions_val.jsonl.gz")
    try:
        wordnet("wordnet")
    except Exception as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ITMLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        data = load_captions(file).select(range(IMAGES))
        graphs = parse(data.captions)
    others = data.captions_of(data.image_of_caption.tolist())
    rows = vse_c(data)(data.captions, graphs, others, generator=torch.Generator())
    return [(*texts, swap) for *texts, row in zip(data.captions, others, rows, strict=True) for swap in row]


def test_most_captions_have_one_and_of_every_kind(swaps, capsys):
    kinds = {kind: sum(swap.kind[0] == kind for _, _, swap in swaps) for kind in ("object", "relation", "number")}
    captions = len({caption for caption, _, _ in swaps})
    with capsys.disabled():
        print(f"\n{len(swaps)} swaps of {captions} captions: {kinds}")
    assert captions > 2 * IMAGES and min(kinds.values()) > 0.3 * IMAGES


def test_nothing_new_is_said_of_the_image_elsewhere(swaps):
    for _, others, swap in swaps:
        lemmas = {noun_lemma(word) for caption in others for word in tokenise(caption.lower())}
        new = {noun_lemma(word) for words in swap.replacement for word in tokenise(words.lower())}
        assert new - lemmas - {"a", "an"}, swap.sentence


def test_a_person_becomes_one_of_the_other_sex_and_no_kid_dude_or_adult(swaps):
    for _, _, swap in swaps:
        if swap.source[0].split()[-1].lower() in PERSONS:
            was, now = (noun_lemma(words[0].split()[-1].lower()) for words in (swap.source, swap.replacement))
            assert (was in MALE and now in FEMALE) or (was in FEMALE and now in MALE), swap.sentence


def test_an_article_fits_and_no_verb_changes_its_number(swaps):
    for caption, _, swap in swaps:
        for words in swap.replacement:
            match = re.fullmatch(r"(an?) (.+)", words, re.IGNORECASE)
            assert match is None or match[1].lower() == article(match[2]), swap.sentence
        if swap.kind[0] == "object":
            before, after = (re.findall(r"\b(?:is|are|was|were)\b", text) for text in (caption, swap.sentence))
            assert before == after


def test_no_shirt_takes_the_place_of_a_jacket_and_nothing_worn_changes_its_place(swaps):
    garments = {swap.replacement[0].split()[-1] for _, _, swap in swaps if swap.kind[0] == "object"}
    assert not garments & BESIDE and "jacket" in garments
    places = {swap.source[0].lower() for _, _, swap in swaps if swap.kind[0] == "relation"}
    assert not places & {"in", "wearing", "at", "to the right of"} and "next to" in places
