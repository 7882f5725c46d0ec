"""Which words are synonyms: a small WordNet in the real format, the installed one, and none."""

from pathlib import Path

import pytest

from itmlab.metrics.wordnet import WordNet, wordnet
from tests.metrics.wordnet_files import write_wordnet
from tests.refusals import refused

SYNSETS = {
    "noun": [("bicycle", "bike", "wheel"), ("motorcycle", "bike"), ("hot_dog", "frank"), ("ride",)],
    "verb": [("ride", "drive"), ("bicycle", "bike")],
    "adj": [("big", "large")],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_wordnet(tmp_path / "dict", SYNSETS)


@pytest.fixture(autouse=True)
def no_place_named(monkeypatch) -> None:
    monkeypatch.delenv("WNSEARCHDIR", raising=False)


def test_words_of_a_synset_share_it(folder):
    read = WordNet(folder)
    assert read.version == "3.0"
    assert len(read.synsets("bike")) == 3 and read.synsets("bike") & read.synsets("motorcycle")
    assert not read.synsets("bicycle") & read.synsets("hot dog")
    assert read.synsets("Hot dog") == read.synsets("frank")
    assert read.synsets("next to") == frozenset()
    # the first noun synset and the first verb synset have the same offset
    assert not read.synsets("wheel") & read.synsets("drive")


def test_it_is_found_where_the_variable_says(folder, monkeypatch):
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    assert wordnet("wordnet").synsets("large") == wordnet("auto").synsets("big") != frozenset()


def test_a_wordnet_that_cannot_be_used_is_refused(folder, monkeypatch, tmp_path):
    refused("synonyms 'all'", wordnet, "all")
    with (folder / "index.noun").open("a") as file:
        file.write("dog n 3 0 3 0 1 2\n")
    refused(rf"index\.noun:{len((folder / 'index.noun').read_text().splitlines())}: not", WordNet, folder)
    refused("No such file", WordNet, tmp_path)
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    refused("WNSEARCHDIR", wordnet, "auto")


def test_the_installed_wordnet():
    installed = wordnet("auto")
    if installed is None:
        pytest.skip("no WordNet is installed: apt-get install wordnet-base")
    assert installed.version.startswith("3.")
    for word, other in (("bike", "bicycle"), ("sofa", "couch"), ("street", "street"), ("two", "2")):
        assert installed.synsets(word) & installed.synsets(other)
    assert not installed.synsets("dog") & installed.synsets("cat")
