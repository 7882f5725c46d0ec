"""Sentences beside their picture: every word, its colour, its line, and scores."""

from itertools import pairwise

import pytest
from PIL import Image

from itmlab.explain.word_example import Part, WordExample, WordRow
from itmlab.figures import explained_words
from itmlab.figures.letters import text_width
from itmlab.figures.theme import GREEN, INK, VERMILION
from itmlab.figures.words import FITS, LEGEND, MISFITS, SIZE, blend


def row(name: str, sentence: str, scores=None, verdict=None, **parts) -> WordRow:
    """`word=0.7` gives a word its mismatch, `word="other"` its mark."""
    made = []
    for word in sentence.split():
        said = parts.get(word)
        kind = "mark" if isinstance(said, str) else "mismatch"
        made.append(Part(word, blank=bool(made), **({kind: said} if said is not None else {})))
    return WordRow(name, tuple(made), scores or {}, verdict)


CAPTION = row("caption", "a red dog sleeps", {"uniter": 0.9, "tags": 0.99}, 1)
WRONG = row("made wrong", "a blue dog sleeps", {"uniter": 0.95, "tags": 0.2}, 0, a=0.0, blue=1.0, dog=0.5, sleeps=0.49)
BETTER = row("corrected", "a red dog runs", {"uniter": 0.9, "tags": 0.97}, -1, red="restored", runs="other")


def drawn(*rows: WordRow, count: int = 1):
    return explained_words([WordExample(Image.new("RGB", (48, 48)), rows)] * count, title="t")


def words(figure) -> list[str]:
    return [annotation.text for annotation in figure.layout.annotations]


def colours(figure) -> list[str]:
    return [shape.fillcolor for shape in figure.layout.shapes if shape.type == "path"]


def test_every_word_name_score_and_verdict_is_there():
    found = words(drawn(CAPTION, WRONG, BETTER, count=2))
    for name in ("caption", "made wrong", "corrected", "<b>✓ true</b>", "<b>✗ false</b>", "<b>? undecided</b>"):
        assert found.count(name) == 2
    assert found.count("blue") == 2 and found.count("a") == 6
    assert found.count("<b>uniter</b>") == 1 and "<b>95.00</b>" in found and "97.00" in found


def test_a_word_is_greener_the_better_it_fits():
    assert blend(-1) == blend(0) == FITS and blend(1) == blend(2) == MISFITS
    reds = [int(blend(share / 10)[1:3], 16) for share in range(11)]
    assert reds == sorted(set(reds))
    assert colours(drawn(CAPTION, WRONG, BETTER)) == [FITS, MISFITS, blend(0.5), blend(0.49)]


def test_a_mismatch_from_a_half_on_is_written_and_below_it_is_not():
    found = words(drawn(WRONG))
    assert "100" in found and "50" in found and "49" not in found


def test_lines_say_what_corrections_are_and_the_legend_what_lines_are():
    figure = drawn(BETTER)
    lines = [shape.fillcolor for shape in figure.layout.shapes if shape.type == "rect" and shape.y1 - shape.y0 == 3]
    assert lines == [GREEN, VERMILION] * 2  # under the words, then in the legend
    found = words(figure)
    assert LEGEND["restored"] in found and LEGEND["other"] in found and LEGEND["rewritten"] not in found


def test_a_wrong_sentence_that_scores_no_lower_than_its_caption_is_red():
    def colour(text: str, *rows: WordRow) -> str:
        return next(one.font.color for one in drawn(*rows).layout.annotations if one.text == text)

    assert colour("<b>95.00</b>", CAPTION, WRONG) == VERMILION and colour("<b>20.00</b>", CAPTION, WRONG) == INK
    assert colour("<b>95.00</b>", WRONG) == INK
    assert "no lower than the caption" not in words(drawn(WRONG))


def test_words_do_not_overlap_and_lines_are_broken_at_the_scores():
    long = row("made wrong", "extraordinarily long words " * 8, {"one": 0.5}, extraordinarily=0.9)
    figure = drawn(long)
    places = [(a.x, a.y, text_width(a.text, SIZE)) for a in figure.layout.annotations if a.font.size == SIZE]
    assert len({y for _, y, _ in places}) > 2
    for (left, y, width), (right, other, next_width) in pairwise(places):
        assert y != other or left + width / 2 <= right - next_width / 2
    assert max(x + width / 2 for x, _, width in places) < min(
        a.x for a in figure.layout.annotations if a.text == "<b>50.00</b>"
    )


def test_an_endless_sentence_is_cut():
    figure = drawn(row("sentence", "word " * 5000, word=0.7))
    assert words(figure).count("…") == 1 and len(words(figure)) < 200 and figure.layout.height < 500


@pytest.mark.parametrize("text", ["<img src=x>", "$x^2$", "w" * 900, "dog\u0000"])
def test_markup_is_shown_letter_for_letter_and_endless_words_are_cut(text):
    found = words(drawn(WordRow("<b>n</b>", (Part(text, False, 0.9),), {"<i>m</i>": 0.5})))
    assert not any("<img" in one or "$" in one or "<i>" in one or "<b>n" in one for one in found)
    assert all(len(one) < 200 for one in found)


def test_nothing_can_be_shown():
    assert drawn(WordRow("sentence", ())).layout.height > 100 and explained_words([], title="t").layout.height > 50
