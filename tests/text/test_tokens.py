"""The caption tokeniser: the same captions give the same vocabulary, and every word knows its pieces."""

import json
import os
import random
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.text.tokens import (
    caption_words,
    cleaned,
    encode_captions,
    load_tokenizer,
    save_tokenizer,
    tokenizer_of_words,
    train_wordpiece,
    unknown_words,
)
from tests.refusals import refused

ANIMALS, PEOPLE = ["dog", "dogs", "cat", "cats"], ["man", "men", "woman"]
WORDS = [*ANIMALS, *PEOPLE, "a", "the", "red", "green", "small", "tree", "trees", "rides", "riding", "under", "next"]
chooser = random.Random(5)
CAPTIONS = [" ".join(chooser.choices(WORDS, k=9)) for _ in range(300)]
TOKENIZER = train_wordpiece(CAPTIONS, 200)


def vocabulary(tokenizer):
    return sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])


def test_the_special_tokens_come_first_and_the_text_is_lower_cased():
    assert [piece for piece, _ in vocabulary(TOKENIZER)[:5]] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens, _ = encode_captions(TOKENIZER, ["The DOG", "the dog"], 16)
    assert torch.equal(tokens["input_ids"][0], tokens["input_ids"][1])


def test_another_process_with_another_hash_seed_gives_the_same_vocabulary():
    program = (
        "import sys, json; from itmlab.text.tokens import train_wordpiece;"
        "t = train_wordpiece(json.load(sys.stdin), 200);"
        "print(json.dumps(sorted(t.get_vocab().items(), key=lambda item: item[1])))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "77"}
    answer = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(CAPTIONS), capture_output=True, text=True, env=environment
    )
    assert [tuple(item) for item in json.loads(answer.stdout)] == vocabulary(TOKENIZER), answer.stderr[-500:]


def test_captions_without_a_word_and_a_vocabulary_without_room_are_refused():
    refused("no word", train_wordpiece, ["", "  "])
    refused("no room", train_wordpiece, CAPTIONS, 6)
    refused("no caption", encode_captions, TOKENIZER, [], 8)


def test_a_spoilt_file_is_one_error_with_its_name(tmp_path):
    save_tokenizer(TOKENIZER, tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}')
    refused(r"tokenizer\.json: not a tokeniser", load_tokenizer, tmp_path)
    refused("no such file", load_tokenizer, tmp_path / "elsewhere")


def test_a_long_caption_loses_its_last_words_and_is_counted():
    short, _ = encode_captions(TOKENIZER, ["dog cat man tree"], 8)
    tokens, cut = encode_captions(TOKENIZER, ["dog cat man tree", "dog"], 4)
    assert cut == 1
    assert tokens["input_ids"][0].tolist() == [*short["input_ids"][0, :3].tolist(), TOKENIZER.sep_token_id]


def test_special_tokens_spelled_in_a_caption_are_text():
    tokens, _ = encode_captions(TOKENIZER, ["dog [SEP] cat [MASK] [PAD]"], 64)
    ids = tokens["input_ids"][0].tolist()
    assert ids.count(TOKENIZER.sep_token_id) == 1 and ids[-1] == TOKENIZER.sep_token_id
    assert not {TOKENIZER.mask_token_id, TOKENIZER.pad_token_id} & set(ids)


def test_words_come_with_the_positions_of_their_pieces():
    words = caption_words(TOKENIZER, "The dog, treedog", 32)
    assert [word for word, _ in words] == ["The", "dog", ",", "treedog"]
    assert [pieces for _, pieces in words[:3]] == [[1], [2], [3]]
    assert words[3][1][0] == 4 and len(words[3][1]) > 1  # an unknown word is several pieces


@pytest.mark.parametrize(
    ("query", "read", "unknown"),
    [
        ("2 dogs, 3 cats.", "two dogs , [UNK] cats .", ["3"]),  # no caption said "three"
        ("TWO dogs", "two dogs", []),
        ("12 dogs and 2.", "twelve dogs [UNK] two .", ["and"]),
        ("a zebra, a 🐶, zebra!", "a [UNK] , a [UNK] , [UNK] !", ["zebra", "🐶"]),
        ("狗 2.5 x2 22", "[UNK] [UNK] . [UNK] [UNK] [UNK]", ["狗", "2", "5", "x2", "22"]),
        ("", "", []),
    ],
)
def test_numbers_are_spelled_and_unknown_words_are_named(query, read, unknown, tmp_path):
    words = tokenizer_of_words(["a", "two", "twelve", "dogs", "cats", ".", ",", "!"])
    save_tokenizer(words, tmp_path)
    for tokenizer in (words, load_tokenizer(tmp_path)):
        tokens = tokenizer.convert_ids_to_tokens(tokenizer(query)["input_ids"])
        assert " ".join(tokens[1:-1]) == read and unknown_words(tokenizer, query) == unknown
    assert [word for word, _ in caption_words(words, "12 dogs", 9)] == ["12", "dogs"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=4), st.integers(3, 20))
def test_any_text_at_all_is_encoded_and_every_word_position_is_a_word(captions, maximum):
    tokens, _ = encode_captions(TOKENIZER, captions, maximum)
    assert tokens["input_ids"].shape[1] <= maximum
    for row, caption in enumerate(captions):
        pieces = [piece for _, positions in caption_words(TOKENIZER, caption, maximum) for piece in positions]
        assert pieces == tokens["word_mask"][row].nonzero().flatten().tolist()


@pytest.mark.parametrize(
    ("caption", "read"),  # what `pre_caption(caption, 4)` of LuminosityX/FNE's data.py gave
    [
        ("A dog.", "a dog"),
        ("A man's T-shirt, (red/white)!", "a mans t shirt"),
        ("<person> on <PERSON>'s bike", "person on persons bike"),
        (" a\n", "a"),
        ('say "hi": "yes" ~ #1 *', "say hi yes 1"),
        ("É CAFÉ İ ẞ", "é café i̇ ß"),
        ("\ud800 lone", "\ud800 lone"),
        ("one-two-three-four-five-six", "one two three four"),
    ],
)
def test_captions_are_cleaned_as_in_public_code(caption, read):
    assert cleaned(caption, 4) == read
    assert read.startswith(cleaned(caption, 1)) and cleaned(caption, 30).startswith(read)
