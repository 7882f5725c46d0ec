"""Swaps of captions of photographs: WordNet's kinds, how captions use their words, and each rule by example."""

from pathlib import Path

import pytest
import torch

from itmlab.metrics.wordnet import Nouns
from itmlab.synthesis.rules import GREATER, CaptionLexicon, Kinds, RuleSwaps
from itmlab.synthesis.rules import PHOTO_PLACES as PLACES
from itmlab.text import parse

INSTALLED = Path("/usr/share/wordnet")  # Debian's wordnet-base
with_wordnet = pytest.mark.skipif(
    not (INSTALLED / "data.noun").is_file(), reason="no WordNet: apt-get install wordnet-base"
)

SYNSETS = {  # words, above
    "animal": ("animal creature", None),
    "dog": ("dog domestic_dog", "animal"),
    "cat": ("cat", "animal"),
    "hound": ("hound dog", "animal"),
    "puppy": ("puppy", "dog"),
    "bread": ("bread", None),
}


@pytest.fixture
def small(tmp_path):
    data, offsets = "  1 a licence  \n", {}
    for name, (words, above) in SYNSETS.items():
        offsets[name] = len(data)
        lemmas = words.split()
        pointers = f"001 @ {offsets[above]:08d} n 0000" if above else "000"
        written = " ".join(f"{word} 0" for word in lemmas)
        data += f"{offsets[name]:08d} 05 n {len(lemmas):02x} {written} {pointers} | what it is  \n"
    (tmp_path / "data.noun").write_text(data)
    lines = [f"{name} n 2 1 @ 2 1 {offset:08d} {offsets['bread']:08d}  " for name, offset in offsets.items()]
    (tmp_path / "index.noun").write_text("\n".join(["  1 a licence", *lines]) + "\n")
    counts = "".join(f"{name}%1:05:00:: 1 7\n" for name in offsets)
    (tmp_path / "cntlist.rev").write_text(counts)
    return tmp_path


@pytest.mark.parametrize(
    ("noun", "excluded"),
    [
        ("dog", {"cat"}),
        ("cat", {"dog", "hound", "puppy"}),
        ("puppy", {"cat", "hound"}),
        ("animal", set()),
        ("unknown", set()),
    ],
)
def test_nouns_of_a_kind_exclude_each_other_but_not_synonyms_or_what_is_above(small, noun, excluded):
    kinds = Kinds(Nouns(small), "animal.1")
    assert {other for other in [*SYNSETS, "unknown"] if other != noun and kinds.exclude(noun, other)} == excluded


def test_a_noun_stands_for_the_sense_that_was_met_most(small):
    (small / "cntlist.rev").write_text("dog%1:05:00:: 1 1\ndog%1:13:00:: 2 9\ncat%1:05:00:: 1 9\n")
    kinds = Kinds(Nouns(small), "animal.1")
    assert kinds.sense("cat") is not None and kinds.sense("dog") is None


@with_wordnet
def test_the_installed_one_tells_kinds_apart():
    kinds = Kinds(Nouns(INSTALLED))
    apart = [("dog", "cat"), ("guitar", "violin"), ("car", "truck")]
    alike = [("car", "automobile"), ("dog", "animal"), ("hat", "poster")]
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
    lexicon = CaptionLexicon(parse(captions, cache=False), range(len(captions)), Kinds(Nouns(INSTALLED)))
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
    graphs, kinds = parse(captions, cache=False), Kinds(Nouns(INSTALLED))
    alike = [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7]  # couch and bench describe one image
    apart, together = (CaptionLexicon(graphs, images, kinds).nouns["couch"] for images in (range(12), alike))
    assert apart == ("bench", "chair") and together == ("chair",)
