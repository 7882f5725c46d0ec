"""Rows of Figure 4: the words as they stand, with mismatch, marks, scores and verdicts."""

import pytest

from itmlab.errors import ItmlabError
from itmlab.explain import word_example
from itmlab.explain.matching import matching

from .colour_tower import SURE, ColourTower, judging_set


@pytest.fixture(scope="module")
def data():
    return judging_set()


@pytest.fixture(scope="module")
def tower(data):
    return ColourTower([*data.captions, "big ones"])


def text(row) -> str:
    return "".join((" " if part.blank else "") + part.text for part in row.parts)


def test_a_sentence_made_wrong_stands_between_its_caption_and_its_correction(data, tower, tiny):
    example = word_example({"tiny": tiny, "tower": tower}, data, 0, "A white square.", caption="A red square.")
    names, verdicts = [row.name for row in example.rows], [row.verdict for row in example.rows]
    assert names == ["caption", "made wrong", "corrected"] and verdicts == [1, 0, 1]
    assert [text(row) for row in example.rows] == ["A red square.", "A white square.", "A red square."]
    mismatch = [part.mismatch for part in example.rows[1].parts]
    assert mismatch == pytest.approx([SURE[False], SURE[True], SURE[False], SURE[False]])
    assert [(part.text, part.mark) for part in example.rows[2].parts if part.mark] == [("red", "restored")]
    right, wrong, better = (row.scores["tower"] for row in example.rows)
    assert wrong < 0.1 < 0.8 < right == better
    cosine = matching(tiny, data)([0], ["A white square."]).item()
    assert example.rows[1].scores["tiny"] == pytest.approx(cosine, abs=1e-5)
    assert list(example.rows[0].scores) == ["tiny", "tower"] and example.picture.size == (48, 48)


def test_a_word_that_is_not_the_captions_is_marked_as_missed_if_it_was_left(data, tower):
    example = word_example({"tower": tower}, data, 0, "A white ones.", caption="A red square.")
    assert [part.mark for part in example.rows[2].parts] == [None, "restored", "missed", None]


def test_a_rewritten_word_that_is_not_the_captions_either_is_marked_so(data, tower):
    example = word_example({"tower": tower}, data, 0, "A white square.", caption="A big square.")
    assert [part.mark for part in example.rows[2].parts] == [None, "other", None, None]


def test_of_a_sentence_of_another_length_the_words_are_matched_in_order(data, tower):
    example = word_example({"tower": tower}, data, 0, "A big ones white square", caption="A red square")
    assert [part.mark for part in example.rows[2].parts] == [None, "missed", "missed", "restored", None]


def test_of_a_typed_sentence_only_the_rewriting_is_known(data, tower):
    example = word_example({"tower": tower}, data, 0, " A blue  square.")
    assert [row.name for row in example.rows] == ["sentence", "corrected"]
    assert [(part.text, part.blank, part.mark) for part in example.rows[1].parts] == [
        ("A", True, None), ("red", True, "rewritten"), ("square", True, None), (".", False, None)
    ]  # fmt: skip
    kept = word_example({"tower": tower}, data, 0, "A blue square.", above=0.96)
    assert text(kept.rows[1]) == "A blue square."


def test_without_a_world_there_is_no_verdict(tower):
    data = judging_set()
    data.world = None
    assert [row.verdict for row in word_example({"tower": tower}, data, 0, "a square").rows] == [None, None]


def test_what_the_tower_does_not_read_has_no_mismatch(data, tower):
    with pytest.warns(UserWarning, match="cut to 30"):
        row = word_example({"tower": tower}, data, 0, "square " * 40).rows[0]
    assert sum(part.mismatch is not None for part in row.parts) == 28 and len(row.parts) == 40


def test_there_must_be_a_model(data):
    with pytest.raises(ItmlabError, match="no model to explain words"):
        word_example({}, data, 0, "a square")
