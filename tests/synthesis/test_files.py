"""Files of negatives: what is written is read back, whatever the text, and all faults are reported at once."""

import json

import pytest
from datasets import Dataset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from itmlab.data.faults import FaultyData
from itmlab.errors import ItmlabError
from itmlab.synthesis import Negative, generate_negatives, read_negatives, write_negatives
from itmlab.text import Span
from tests.synthesis.negatives_data import HOSTILE, caption_set

ROW = {
    "caption_id": "c", "image_id": "i", "caption": "a dog", "negative": "a cat", "spans": [[1, 2]], "source": ["dog"],
    "replacement": ["cat"], "kind": ["object"], "score": 1.5, "fluency": None, "truth": False,
}  # fmt: skip


def written(folder, *rows):
    path = folder / "x.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_all_that_is_written_is_read_back(tmp_path):
    data = caption_set(list(HOSTILE), [number // 2 for number in range(len(HOSTILE))])
    candidates = [
        Negative(f"{text} x", number // 2, number, (Span(0, 2),), ("a\tdog",), (text,), ("object",), number / 7)
        for number, text in enumerate(HOSTILE)
    ]
    candidates.append(Negative("a y", 0, 0, truth=True, fluency=1.5))
    file = write_negatives(tmp_path / "x.jsonl", data, candidates, made_by="swaps, seed 0")
    assert {negative for row in file.of(data) for negative in row} == {*candidates} and len(file) == len(candidates)
    assert file.path.read_bytes().count(b"\n") == len(candidates)
    table = Dataset.from_json(str(file.path), cache_dir=str(tmp_path / "cache"))
    assert table["negative"][:] == [negative.sentence for negative in candidates]
    assert set(table["made_by"]) == {"swaps, seed 0"}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(st.text(max_size=12), min_size=1, max_size=4),
    score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_text_survives(tmp_path, words, score):
    text = "".join(character for word in words for character in word if character.isprintable()) + "x"
    words = tuple(words)
    candidates = Negative(f"new {text}", 0, 0, (Span(0, 1),) * len(words), words, words, words, score=score)
    file = write_negatives(tmp_path / "x.jsonl", caption_set([text], [0]), [candidates])
    assert file.negatives == {"id\n0": [candidates.of(-1, -1)]}


def test_copies_duplicates_and_empty_sentences_are_left_out(tmp_path):
    data = caption_set(["a dog", "a cat"], [0, 0])
    sentences = [["a dog", "a cow", "a pig", "a cow", " "], ["a dog", "\ud800", "a\0b"]]
    candidates = [Negative(text, 0, caption) for caption, row in enumerate(sentences) for text in row]
    rows = write_negatives(tmp_path / "x.jsonl", data, candidates).of(data)
    assert [[negative.sentence for negative in row] for row in rows] == [["a cow", "a pig"], ["a dog"]]


@pytest.mark.parametrize("candidates", [[], [Negative("a cow", 0, 0, score=float("nan"))]])
def test_what_cannot_be_written_leaves_no_file(tmp_path, candidates):
    with pytest.raises(ItmlabError):
        write_negatives(tmp_path / "x.jsonl", caption_set(["a dog"], [0]), candidates)
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_program_is_overwritten_only_when_forced(tmp_path):
    path, data = written(tmp_path, {"image": "a.png", "caption": "a dog"}), caption_set(["a dog"], [0])
    with pytest.raises(ItmlabError, match="not written"):
        write_negatives(path, data, [Negative("a cow", 0, 0)])
    for force in (True, False):  # itmlab's own file needs no force
        write_negatives(path, data, [Negative("a cow", 0, 0)], force=force)


def test_four_columns_are_enough(tmp_path):
    names = ("caption_id", "image_id", "caption", "negative")
    file = read_negatives(written(tmp_path, {name: ROW[name] for name in names}))
    assert file.negatives == {"c": [Negative("a cat")]}


def test_every_fault_is_reported_with_its_line(tmp_path):
    faulty = {
        "{": "malformed JSON",
        "[]": "not a JSON object",
        json.dumps({"caption_id": "c", "image_id": "i"}): "caption: not a text",
    }
    for name, value, fault in [
        ("caption_id", 3, "caption_id: not a text"),
        ("negative", "a\0b", "NUL"),
        ("negative", "a dog", "the caption itself"),
        ("negative", "a \ud800", "Unicode"),
        ("spans", [[2, 1]], "two token numbers in order"),
        ("kind", ["object", "object"], "same length"),
        ("replacement", "cat", "replacement"),
        ("score", "high", "score"),
        ("fluency", float("inf"), "fluency"),
        ("truth", 1, "truth"),
        ("image_id", "j", "another image or text"),
    ]:
        faulty[json.dumps(ROW | {"negative": f"a {len(faulty)}"} | {name: value})] = fault
    path = written(tmp_path, ROW, *faulty)
    path.write_bytes(path.read_bytes() + b'{"caption_id": "c", "image_id": "i", "caption": "a", "negative": "\xff"}\n')
    with pytest.raises(FaultyData) as raised:
        read_negatives(path)
    expected = [*faulty.values(), "not UTF-8"]
    assert [fault.row for fault in raised.value.faults] == list(range(2, 2 + len(expected)))
    for fault, words in zip(raised.value.faults, expected, strict=True):
        assert words in fault.what


@pytest.mark.parametrize("captions", [["a wolf", "a cat"], ["a cat", "a wolf"]])
def test_negatives_of_other_captions_are_refused(tmp_path, captions):
    file = write_negatives(tmp_path / "x.jsonl", caption_set(["a dog", "a cat"], [0, 1]), [Negative("a cow", 0, 0)])
    with pytest.raises(ItmlabError, match="differs from that"):
        file.of(caption_set(captions, [0, 1]))


def test_how_many_captions_of_a_file_are_in_the_data_is_said(tmp_path):
    captions = ["a dog", "a cat", "a cow"]
    candidates = [Negative("a pig", 0, 0), Negative("a hen", 1, 1), Negative("a fox", 2, 2)]
    file = write_negatives(tmp_path / "x.jsonl", caption_set(captions, [0, 1, 2]), candidates)
    with pytest.warns(UserWarning, match="2 of 3 captions"):
        assert list(map(len, file.of(caption_set(captions[:2], [0, 1])))) == [1, 1]
    with pytest.raises(ItmlabError, match="no negative belongs"):
        read_negatives(written(tmp_path, ROW)).of(caption_set(captions, [0, 1, 2]))


def test_a_generator_gets_graphs_the_images_captions_and_its_captions_numbers():
    data = caption_set(["a dog runs", "a cow eats grass", "two dogs"], [1, 0, 1])

    def look(captions, graphs, image_captions, *, generator, numbers):
        assert captions == data.captions and list(numbers) == [0, 1, 2]
        assert [("dog",) in graph.tuples() for graph in graphs] == [True, False, True]
        assert image_captions == [["a dog runs", "two dogs"], ["a cow eats grass"], ["a dog runs", "two dogs"]]
        return [[], [], []]

    assert list(generate_negatives(data, look, conditioned=True)) == []


def test_the_world_labels_each_negative(tmp_path):
    from itmlab.scenes import load

    data = load(images=3, cache=tmp_path)
    sentences = ["a zebra rides a bicycle in the kitchen", *data.captions[:8:5], "something blurred"]

    def generate(captions, graphs, image_captions, *, generator):
        return [[Negative(sentence) for sentence in sentences] for _ in captions]

    candidates = list(generate_negatives(data, generate))
    labels = data.world.truth(range(3), sentences)
    for negative in candidates:
        label = labels[negative.image, sentences.index(negative.sentence)].item()
        assert negative.truth == {1: True, 0: False, -1: None}[label]
    assert {negative.truth for negative in candidates} == {True, False, None}
