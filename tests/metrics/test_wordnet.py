"""Which words are synonyms: a small WordNet in the real format, the installed one, and none."""

import zipfile
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
PLACES = ("WNSEARCHDIR", "WNHOME", "NLTK_DATA")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_wordnet(tmp_path / "dict", SYNSETS)


@pytest.fixture(autouse=True)
def no_place_named(monkeypatch) -> None:
    for name in PLACES:
        monkeypatch.delenv(name, raising=False)


def test_words_of_a_synset_share_it(folder):
    read = WordNet(folder)
    assert read.version == "3.0"
    assert len(read.synsets("bike")) == 3 and read.synsets("bike") & read.synsets("motorcycle")
    assert not read.synsets("bicycle") & read.synsets("hot dog")
    assert read.synsets("Hot dog") == read.synsets("frank")
    assert read.synsets("next to") == frozenset()
    # the first noun synset and the first verb synset have the same offset
    assert not read.synsets("wheel") & read.synsets("drive")


@pytest.mark.parametrize("variable", PLACES)
def test_it_is_found_where_a_variable_says(folder, monkeypatch, variable, tmp_path):
    if variable == "NLTK_DATA":
        (tmp_path / "corpora").mkdir()
        folder.rename(tmp_path / "corpora" / "wordnet")
    monkeypatch.setenv(variable, str(folder if variable == "WNSEARCHDIR" else tmp_path))
    assert wordnet("wordnet").synsets("large") == wordnet("auto").synsets("big") != frozenset()


def test_nltks_zip_is_read(folder, monkeypatch, tmp_path):
    (tmp_path / "corpora").mkdir()
    with zipfile.ZipFile(tmp_path / "corpora" / "wordnet.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"wordnet/{file.name}")
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    assert wordnet("wordnet").synsets("bike") == WordNet(folder).synsets("bike")


def test_a_wordnet_that_cannot_be_used_is_refused(folder, monkeypatch, tmp_path):
    refused("synonyms='all'", wordnet, "all")
    with (folder / "index.noun").open("a") as file:
        file.write("dog n 3 0 3 0 1 2\n")
    refused(rf"index\.noun:{len((folder / 'index.noun').read_text().splitlines())}: not", WordNet, folder)
    with zipfile.ZipFile(tmp_path / "wordnet.zip", "w") as archive:
        archive.writestr("wordnet/index.noun", "")
    refused("cannot be read", WordNet, tmp_path / "wordnet.zip")
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
