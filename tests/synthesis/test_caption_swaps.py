"""Swaps of captions of photographs: WordNet's kinds, how captions use their words, and each rule by example."""

from pathlib import Path

import pytest
import torch

from itmlab.metrics.wordnet import WordNet
from itmlab.synthesis.rules import GREATER, CaptionLexicon, Kinds, RuleSwaps
from itmlab.synthesis.rules import PHOTO_PLACES as PLACES
from itmlab.text import parse

INSTALLED = Path("/usr/share/wordnet")  # Debian's wordnet-base
with_wordnet = pytest.mark.skipif(
    not (INSTALLED / "data.noun").is_file(), reason="no WordNet: apt-get install wordnet-base"
)


@with_wordnet
def test_the_installed_one_tells_kinds_apart():
    kinds = Kinds(WordNet(INSTALLED))
    apart = [("dog", "cat"), ("guitar", "violin"), ("car", "truck")]
    alike = [("car", "automobile"), ("dog", "animal"), ("puppy", "dog"), ("hat", "poster"), ("dog", "unknown")]
    assert all(kinds.exclude(*pair) for pair in apart) and not any(kinds.exclude(*pair) for pair in alike)


# What captions say of their words: each caption of four images, so that every word is there often enough.

SAID = (
    "A man plays a guitar on a bench.", "A man plays a violin on a bench.", "A woman sits on a chair at a table.",
    "Boys sit under a tree.", "A dog lies under a bench.", "A woman wears red pants.", "A woman wears red jeans.",
    "A man stands at a table.", "A woman wears a red hat.", "A man wears a red helmet.", "A man plays guitar.",
)  # fmt: skip


@pytest.fixture(scope="module")
def swaps():
    captions = [caption for caption in SAID for _ in range(4)]
    lexicon = CaptionLexicon(parse(captions, cache=False), range(len(captions)), Kinds(WordNet(INSTALLED)))
    return RuleSwaps(lexicon.nouns, PLACES, GREATER, implied=lexicon.implied)


@with_wordnet
@pytest.mark.parametrize(
    ("caption", "others", "wanted"),
    [  # all that may be made of each
        ("A boy plays a guitar.", [], {"A girl plays a guitar.", "A boy plays a violin."}),
        ("A boy plays a guitar.", ["A violin is played."], {"A girl plays a guitar."}),
        ("A boy plays a guitar.", ["She has a violin."], set()),  # another says that she is a girl
        ("A man with a beard in a park.", [], set()),
        ("A man shows his dog to himself.", [], set()),  # the pronouns would have to change
        ("Two dogs run.", [], {"Three dogs run.", "Four dogs run.", "Five dogs run."}),  # one of two is there, too
        ("Two dogs run.", ["Several dogs run."], set()),
        ("People are walking.", [], set()),
        ("A person to the right of the red hat.", [], set()),
        ("A person next to a tree.", [], {"A person far from a tree."}),
    ],
)
def test_each_rule_by_example(swaps, caption, others, wanted):
    [row] = swaps([caption], parse([caption], cache=False), [others], generator=torch.Generator())
    assert {negative.sentence for negative in row} == wanted


@with_wordnet
def test_what_two_captions_of_an_image_say_may_be_one_thing():
    captions = ["A dog chases a couch.", "A dog chases a bench.", "A dog chases a chair."] * 4
    graphs, kinds = parse(captions, cache=False), Kinds(WordNet(INSTALLED))
    alike = [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7]  # couch and bench describe one image
    apart, together = (CaptionLexicon(graphs, images, kinds).nouns["couch"] for images in (range(12), alike))
    assert apart == ("bench", "chair") and together == ("chair",)
