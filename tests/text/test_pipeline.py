"""The pipeline that ships: small, plain data, and at home with captions as people write them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from itmlab.errors import ItmlabError, MissingPart
from itmlab.text.pipeline import SHIPPED_DIRECTORY, load_pipeline, pipeline_version

MEGABYTE = 1_000_000


def read(caption: str) -> dict[str, tuple[str, str, str]]:
    """Each word with its part of speech, its head's text and its relation."""
    return {token.text: (token.pos_, token.head.text, token.dep_) for token in load_pipeline()(caption)}


def test_it_fits_into_eight_megabytes():
    assert sum(path.stat().st_size for path in SHIPPED_DIRECTORY.parent.rglob("*") if path.is_file()) <= 8 * MEGABYTE


def test_it_holds_arrays_and_text_and_no_pickle():
    files = [path for path in SHIPPED_DIRECTORY.rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix in (".pkl", ".pickle", ".py", ".pt", ".bin")]
    assert not [path for path in files if re.match(rb"\x80[\x02-\x05].*\.$", path.read_bytes(), re.DOTALL)]


def test_it_is_loaded_once():
    assert load_pipeline() is load_pipeline("english")


def test_importing_itmlab_does_not_import_spacy():
    code = "import sys, itmlab.text.pipeline; assert 'spacy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("caption", "word", "expected"),
    [
        ("Two dogs running on the beach", "dogs", ("NOUN", "dogs", "ROOT")),
        ("Two dogs running on the beach", "running", ("VERB", "dogs", "acl")),
        ("two dogs running on the beach", "beach", ("NOUN", "running", "obl")),
        ("TWO DOGS RUNNING ON THE BEACH", "RUNNING", ("VERB", "DOGS", "acl")),
        ("A man riding a wave on top of a surfboard.", "riding", ("VERB", "man", "acl")),
        ("A man riding a wave on top of a surfboard.", "wave", ("NOUN", "riding", "obj")),
        ("a man riding a horse", "horse", ("NOUN", "riding", "obj")),
        ("A man sits on a bench", "sits", ("VERB", "sits", "ROOT")),
        ("A man sits on a bench .", "man", ("NOUN", "sits", "nsubj")),
        ("a woman holding a red umbrella", "red", ("ADJ", "umbrella", "amod")),
        ("A dog and a cat on a couch", "cat", ("NOUN", "dog", "conj")),
        ("The pizza is covered with cheese.", "pizza", ("NOUN", "covered", "nsubj:pass")),
        ("A group of people on skis", "people", ("NOUN", "group", "nmod")),
        ("A group of people on skis", "skis", ("NOUN", "people", "nmod")),
        ("A fire hydrant next to a street", "hydrant", ("NOUN", "hydrant", "ROOT")),
        ("A fire hydrant next to a street", "fire", ("NOUN", "hydrant", "compound")),
        ("a black dog that is jumping over a fence", "jumping", ("VERB", "dog", "acl:relcl")),
        ("Man in a t-shirt", "t-shirt", ("NOUN", "Man", "nmod")),
    ],
)
def test_captions_are_read_as_they_are_meant(caption, word, expected):
    assert read(caption)[word] == expected


@pytest.mark.parametrize(
    ("caption", "word", "lemma"),
    [
        ("Two men riding horses", "men", "man"),
        ("Two men riding horses", "riding", "ride"),
        ("Two men riding horses", "horses", "horse"),
        ("children sitting at a table", "children", "child"),
        ("children sitting at a table", "sitting", "sit"),
        ("A man sits on a bench", "sits", "sit"),
        ("the leaves are green", "leaves", "leaf"),
        ("The leaves are green.", "are", "be"),
        ("women holding umbrellas", "umbrellas", "umbrella"),
        ("a dog running in the grass", "running", "run"),
        ("a bus parked on the street", "parked", "park"),
    ],
)
def test_lemmas(caption, word, lemma):
    assert {token.text: token.lemma_ for token in load_pipeline()(caption)}[word] == lemma


def test_number_and_verb_form_are_given():
    dogs, running = load_pipeline()("two dogs running")[1:]
    assert dogs.morph.get("Number") == ["Plur"] and dogs.tag_ == "NNS"
    assert running.morph.get("VerbForm") == ["Part"] and running.tag_ == "VBG"


STRANGE = ["", " ", "dog", "🐶🐶🐶", "<b>dog</b>", "ein Hund läuft", "\x00", "?!" * 50, "dog " * 10_000]


@pytest.mark.parametrize("caption", STRANGE, ids=lambda caption: ascii(caption[:12]))
def test_strange_captions_are_read_without_complaint(caption):
    document = load_pipeline()(caption)
    assert document.text == caption


def test_a_batch_is_read_as_its_captions_are():
    captions = ["A man riding a horse.", "two dogs", "The sky is blue", "dogs"] * 5
    one_by_one = [load_pipeline()(caption).to_json() for caption in captions]
    assert [document.to_json() for document in load_pipeline().pipe(captions)] == one_by_one


def test_a_package_that_is_not_installed_is_named_with_the_command_that_brings_it():
    with pytest.raises(MissingPart, match="python -m spacy download en_core_web_huge") as caught:
        load_pipeline("en_core_web_huge")
    assert "\n" not in str(caught.value)


def test_a_path_that_is_not_there_says_so(tmp_path):
    with pytest.raises(ItmlabError, match="no such pipeline"):
        load_pipeline(str(tmp_path / "nothing"))


@pytest.mark.parametrize("config", ["", "[nlp]\nlang = 5", "[nlp]\nlang = 'en'\npipeline = ['os.system']\n"])
def test_a_spoilt_directory_is_one_line(tmp_path, config):
    (tmp_path / "config.cfg").write_text(config)
    with pytest.raises(ItmlabError) as caught:
        load_pipeline(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_pipeline_without_parser_is_refused(tmp_path):
    import spacy

    spacy.blank("en").to_disk(tmp_path)
    with pytest.raises(ItmlabError, match="no tagger and no parser and no lemmatizer"):
        load_pipeline(str(tmp_path))


def test_code_that_lies_in_the_directory_is_not_run(tmp_path):
    import shutil

    directory = tmp_path / "model"
    shutil.copytree(SHIPPED_DIRECTORY, directory)
    for name in ("__init__.py", "functions.py", "sitecustomize.py"):
        (directory / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    load_pipeline(os.fspath(directory))("two dogs")
    assert not Path(tmp_path / "ran").exists()


def test_the_version_changes_with_the_files(tmp_path):
    import shutil

    shutil.copytree(SHIPPED_DIRECTORY, tmp_path / "model")
    (tmp_path / "model" / "note").write_text("changed")
    version = pipeline_version()
    assert version.startswith("english-") and version == pipeline_version("english")
    assert pipeline_version(str(tmp_path / "model")).rpartition("-")[2] != version.rpartition("-")[2]
