"""A tokenizer.json from elsewhere is checked before it is read: it must neither exhaust memory nor stop the process."""

import json

import pytest
from tokenizers import Tokenizer

from itmlab.text.tokens import load_tokenizer, save_tokenizer, train_wordpiece
from tests.refusals import refused


def replace(pattern: dict[str, str], content: str) -> dict:
    return {"type": "Replace", "pattern": pattern, "content": content}


def sequence(*normalizers: dict) -> dict:
    return {"normalizer": {"type": "Sequence", "normalizers": list(normalizers)}}


def template(times: int) -> dict:
    single = [{"Sequence": {"id": "A", "type_id": 0}}] * times
    return {"post_processor": {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {}}}


DOUBLED = [replace({"String": "a"}, "aa")] * 60
CHAIN = [replace({"String": "a"}, "bb"), replace({"String": "b"}, "aa")] * 30
MERGED = [replace({"String": "aa"}, "aba"), replace({"String": "b"}, "aaaa")] * 30
CASES = {
    "doubled": (sequence(*DOUBLED), "exponentially longer"),
    "by turns": (sequence(*CHAIN), "exponentially longer"),
    "merged": (sequence(*MERGED), "exponentially longer"),
    "by a pattern": (sequence(*[replace({"Regex": "[a-z]"}, "ab")] * 40), "exponentially longer"),
    "nested": (sequence(sequence(*DOUBLED)["normalizer"]), "exponentially longer"),
    "prepended": (sequence(*[{"type": "Prepend", "prepend": "x" * 500}] * 10), "too large"),
    "slow pattern": (sequence(replace({"Regex": "(a+)+$"}, "")), "exponential time"),
    "template": (template(1000), "repeats the text"),
    "unigram": ({"model": {"type": "Unigram", "vocab": [["a", 0.0]]}}, "Unigram"),
    "many rules": (sequence(*[{"type": "Lowercase"}] * 1000), "too large"),
    "long pieces": ({"model": {"type": "WordPiece", "vocab": {"a" * 10_000: 0}}}, "too large"),
    "random": ({"model": {"type": "BPE", "vocab": {}, "merges": [], "dropout": 0.5}}, "random"),
    "no model": ({"model": None}, "wrong form"),
    "a list": ({"model": []}, "wrong form"),
}


@pytest.fixture
def folder(tmp_path):
    save_tokenizer(train_wordpiece(["a dog runs on the grass"] * 2, 100), tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", CASES)
def test_implausible_tokenisers_are_refused_unread(case, folder, monkeypatch):
    changes, words = CASES[case]
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    monkeypatch.setattr(Tokenizer, "from_str", None)  # is not called
    refused(words, load_tokenizer, folder)


def test_a_huge_file_and_a_panic_of_the_library_are_one_line(folder, monkeypatch):
    class PanicException(BaseException):
        """Like that of a library in Rust."""

    def panic(*arguments):
        raise PanicException("index out of bounds")

    with monkeypatch.context() as patch:
        patch.setattr("tokenizers.Tokenizer.from_str", panic)
        refused("index out of bounds", load_tokenizer, folder)
    with open(folder / "tokenizer.json", "wb") as file:
        file.truncate(20 * 2**30)  # sparse: takes no room on the disk
    refused("too large", load_tokenizer, folder)
