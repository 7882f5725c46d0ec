"""Swaps of captions of photographs: WordNet's kinds, how captions use their words, and each rule by example."""

import random
from pathlib import Path

import pytest
import torch

from itmlab.errors import ItmlabError, MissingPart
from itmlab.metrics.wordnet import Nouns
from itmlab.synthesis.caption_swaps import LIFT, TOGETHER, CaptionSwaps, Kinds, Usage, said, wordnet_swaps
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
        said = words.split()
        pointers = f"001 @ {offsets[above]:08d} n 0000" if above else "000"
        written = " ".join(f"{word} 0" for word in said)
        data += f"{offsets[name]:08d} 05 n {len(said):02x} {written} {pointers} | what it is  \n"
    (tmp_path / "data.noun").write_text(data)
    lines = [f"{name} n 2 1 @ 2 1 {offset:08d} {offsets['bread']:08d}  " for name, offset in offsets.items()]
    (tmp_path / "index.noun").write_text("\n".join(["  1 a licence", *lines]) + "\n")
    counts = "".join(f"{name}%1:05:00:: 1 7\n" for name in offsets)
    (tmp_path / "cntlist.rev").write_text(counts)
    return tmp_path


def swaps_of(words, folder):
    return wordnet_swaps(words, folder, "animal.1")


def test_kinds_of_the_same_are_swapped_in_the_same_number(small):
    words = ["Dog", "cat", "dogs", "cats", "animal", "bread", "unknown", "7"]
    assert swaps_of(words, small) == {"dog": ("cat",), "cat": ("dog",), "dogs": ("cats",), "cats": ("dogs",)}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["dog", "hound"], {}),  # synonyms
        (["dog", "puppy"], {}),  # one above the other
        (["dog", "puppy", "cat"], {"cat": ("dog", "puppy"), "dog": ("cat",), "puppy": ("cat",)}),
        (["dog", "hound", "cat"], {"cat": ("dog", "hound"), "dog": ("cat",), "hound": ("cat",)}),
    ],
)
def test_neither_synonyms_nor_what_is_above_are_swapped(small, words, wanted):
    assert swaps_of(words, small) == wanted


def test_a_noun_stands_for_the_sense_that_was_met_most(small):
    (small / "cntlist.rev").write_text("dog%1:05:00:: 1 1\ndog%1:13:00:: 2 9\ncat%1:05:00:: 1 9\n")
    kinds = Kinds(Nouns(small), "animal.1")
    assert kinds.kind("cat") is not None and kinds.kind("dog") is None


def test_a_wordnet_is_read_once(small):
    assert Nouns(small)._index is Nouns(small)._index  # 50 MB, once held by every generator


def test_without_a_wordnet_one_line_says_what_to_install(tmp_path):
    with pytest.raises(MissingPart, match="WordNet"):
        wordnet_swaps(["dog"], tmp_path)


@pytest.mark.parametrize(
    ("line", "said"), [("dog n many", "not a line"), ("dog n 1 0 1 0 00000003", "no synset begins at byte 3")]
)
def test_files_of_another_format_are_refused_with_their_place(small, line, said):
    (small / "index.noun").write_text(f"{line}\n")
    with pytest.raises(ItmlabError, match=said):
        swaps_of(["dog"], small)


@with_wordnet
def test_the_installed_one_tells_kinds_apart():
    words = ["dog", "cat", "dogs", "cats", "animal", "guitar", "violin", "hat", "car", "automobile", "truck", "poster"]
    swaps = wordnet_swaps(words, INSTALLED)
    assert swaps["dog"] == ("cat",) and swaps["cats"] == ("dogs",) and swaps["guitar"] == ("violin",)
    assert "automobile" not in swaps["car"] and "truck" in swaps["car"] and not {"animal", "poster"} & set(swaps)


# What captions say of their words: each caption of four images, so that every word is there often enough.

SAID = (
    "A man plays a guitar on a bench.", "A man plays a violin on a bench.", "A woman sits on a chair at a table.",
    "Boys sit under a tree.", "A dog lies under a bench.", "A woman wears red pants.", "A woman wears red jeans.",
    "A man stands at a table.", "A woman wears a red hat.", "A man wears a red helmet.", "A man plays guitar.",
)  # fmt: skip


@pytest.fixture(scope="module")
def swaps():
    captions = [caption for caption in SAID for _ in range(4)]
    usage = Usage(parse(captions, cache=False), list(range(len(captions))))
    return CaptionSwaps(usage, Kinds(Nouns(INSTALLED)))


def swapped(swaps, caption, *others):
    [row] = swaps([caption], parse([caption], cache=False), [others], generator=torch.Generator())
    return [one.sentence for one in row]


def test_how_a_noun_is_said():
    [graph] = parse(["A man in red jeans sits on the old bench."], cache=False)
    found = {one.noun: one for one in said(graph)}
    assert (found["jeans"].form, found["jeans"].article) == ("pair", "") and ("is", "colour") in found["jeans"].roles
    assert (found["bench"].form, found["bench"].article) == ("singular", "the")
    assert ("of", "sit on") in found["bench"].roles and ("of man", "wear") in found["jeans"].roles


@with_wordnet
@pytest.mark.parametrize(
    ("caption", "others", "wanted"),
    [  # all that may be made of each
        ("A boy plays a guitar.", [], {"A girl plays a guitar.", "A boy plays a violin."}),
        ("A boy plays a guitar.", ["A violin is played."], {"A girl plays a guitar."}),
        ("A boy plays a guitar.", ["She plays a violin."], set()),  # another says that she is a girl
        ("A child plays guitar.", [], set()),  # "plays violin" was never said
        ("A man with a beard in a park.", [], {"A man without a beard in a park."}),  # and no woman
        ("A man shows his dog to himself.", [], {"A woman shows her dog to herself."}),
        ("A woman shows her dog to a child near her.", [], {"A man shows his dog to a child near him."}),
        ("A male walks.", [], {"A female walks."}),  # and no adult
        ("Two dogs run.", [], {"Three dogs run.", "Four dogs run.", "Five dogs run."}),  # one of two is there, too
        ("Two dogs run.", ["Several dogs run."], set()),
        ("People are walking.", [], set()),
        ("A person in a white dress.", [], set()),  # worn, so no place
        ("A person to the right of the red hat.", [], set()),
        ("People sit at a table.", [], {"People stand at a table."}),
        ("People sit at a table.", ["People are standing."], set()),
        ("A truck sits at a table.", [], set()),  # which would stand there as well
        ("A person next to a table.", [], {"A person far from a table."}),
    ],
)
def test_each_rule_by_example(swaps, caption, others, wanted):
    assert set(swapped(swaps, caption, *others)) == wanted


@with_wordnet
def test_what_two_captions_of_an_image_say_may_be_one_thing():
    captions = ["A dog chases a couch.", "A dog chases a bench.", "A dog chases a chair."] * 4
    graphs, kinds = parse(captions, cache=False), Kinds(Nouns(INSTALLED))
    alike = [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7]  # couch and bench are said of one image
    apart, together = (CaptionSwaps(Usage(graphs, images), kinds).others("couch") for images in (range(12), alike))
    assert apart == ("bench", "chair") and together == ("chair",)


@with_wordnet
def test_what_is_told_implies_a_noun_where_any_of_its_words_does(swaps):
    draw, kinds, outcomes = random.Random(0), swaps.kinds, set()
    words = [*swaps.usage.nouns, "cat", "animal", "instrument", "furniture", "seat", "artifact", "red", "guitars"]

    def implies(word, noun, other):
        share, lift = swaps.usage.together(word, other)
        above = kinds.above(word, other) and not kinds.above(word, noun)
        return kinds.above(other, word) or above or (share > TOGETHER and lift > LIFT)

    for _ in range(500):
        noun, other = draw.sample(words, 2)
        told = set(draw.sample(words, draw.randrange(8)))
        slow = any(implies(word, noun, other) for word in told - {noun})
        assert swaps._implied(noun, *swaps._implying(other, told)) == slow, (noun, other, told)
        outcomes.add(slow)
    assert outcomes == {False, True}
