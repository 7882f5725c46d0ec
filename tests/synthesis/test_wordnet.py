"""Swaps by WordNet, on a small one written here in its own format, and on an installed one."""

from pathlib import Path

import pytest

from itmlab.errors import ItmlabError, MissingPart
from itmlab.synthesis.wordnet import wordnet_swaps

INSTALLED = Path("/usr/share/wordnet")  # Debian's wordnet-base

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
    return tmp_path


def test_kinds_of_the_same_are_swapped_in_the_same_number(small):
    words = ["Dog", "cat", "dogs", "cats", "animal", "bread", "unknown", "7"]
    assert wordnet_swaps(words, small) == {"dog": ("cat",), "cat": ("dog",), "dogs": ("cats",), "cats": ("dogs",)}


def test_synonyms_are_not_swapped(small):
    assert wordnet_swaps(["dog", "hound"], small) == {}


def test_words_meet_two_levels_up_and_never_with_what_is_above_them(small):
    swaps = wordnet_swaps(["dog", "puppy", "cat", "animal"], small)
    assert swaps == {"cat": ("dog", "puppy"), "dog": ("cat",), "puppy": ("cat",)}


def test_a_synonym_of_one_is_a_swap_for_another(small):
    assert wordnet_swaps(["dog", "hound", "cat"], small)["cat"] == ("dog", "hound")


def test_without_a_wordnet_one_line_says_what_to_install(tmp_path):
    with pytest.raises(MissingPart, match="WordNet"):
        wordnet_swaps(["dog"], tmp_path)


def test_files_of_another_format_are_refused_with_their_place(small):
    (small / "index.noun").write_text("dog n many\n")
    with pytest.raises(ItmlabError, match="not a line"):
        wordnet_swaps(["dog"], small)
    (small / "index.noun").write_text("dog n 1 0 1 0 00000003\n")
    with pytest.raises(ItmlabError, match="no synset begins at byte 3"):
        wordnet_swaps(["dog"], small)


@pytest.mark.skipif(
    not Path("/usr/share/wordnet/data.noun").is_file(), reason="no WordNet: apt-get install wordnet-base"
)
def test_the_installed_one_tells_kinds_apart():
    words = ["dog", "cat", "dogs", "cats", "animal", "guitar", "violin", "hat", "car", "automobile", "truck"]
    swaps = wordnet_swaps(words, INSTALLED)
    assert swaps["dog"] == ("cat",) and swaps["cats"] == ("dogs",) and swaps["guitar"] == ("violin",)
    assert "automobile" not in swaps["car"] and "truck" in swaps["car"] and "animal" not in swaps
