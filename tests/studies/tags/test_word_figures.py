"""Shares of replaced, kept and all words, what a lazy model gets, and the paper's numbers."""

from itertools import pairwise

import pytest
import torch
from PIL import Image

from itmlab.metrics import word_correction_accuracy
from itmlab.metrics.statistics import share
from itmlab.metrics.words import WordAccuracy
from itmlab.studies.kit.theme import GREEN, GREY, INK, PURPLE, VERMILION, text_width
from itmlab.studies.tags.word_accuracy import WordTruth
from itmlab.studies.tags.word_figures import (
    FITS,
    MARKS,
    MISFITS,
    SIZE,
    blend,
    draw_algorithm_1,
    draw_explained_words,
    draw_word_accuracy,
    draw_word_truth,
)
from itmlab.studies.tags.words import Algorithm1, ExplainedSentence, Part, Refilled, Word, WordExample, WordRow
from itmlab.synthesis import Negative
from itmlab.text import Span
from tests.studies.reading import words

NONE = share(torch.zeros(0).bool())


def accuracy(replaced: list[bool], kept: list[bool]) -> WordAccuracy:
    return WordAccuracy(*(share(torch.tensor(row, dtype=torch.bool)) for row in (replaced + kept, replaced, kept)))


ALL = accuracy([True, False], [True, True, True, False])
ROWS = {"all words": ALL, "<b>elsewhere</b>": WordAccuracy(all=ALL.kept, replaced=NONE, kept=ALL.kept)}


def test_points_stand_at_the_shares_with_their_intervals():
    figure = draw_word_accuracy({"word discrimination": ROWS, "word correction": ROWS}, title="t")
    by_name = {trace.name: trace for trace in figure.data[:4]}
    assert list(by_name["replaced words"].x) == [50.0] and list(by_name["kept words"].x) == [75.0, 75.0]
    assert list(by_name["all words"].x) == pytest.approx([400 / 6, 75.0])
    bars = by_name["all words"].error_x
    assert 400 / 6 + bars.array[0] == pytest.approx(ALL.all.upper)
    assert 400 / 6 - bars.arrayminus[0] == pytest.approx(ALL.all.lower)


def test_the_grey_line_is_what_calling_every_word_kept_would_reach():
    sentences = torch.tensor([[5, 6, 7], [5, 5, 5]])
    original = torch.tensor([[5, 6, 6], [5, 5, 6]])
    copied = word_correction_accuracy(sentences, sentences, original, torch.ones(2, 3).bool())
    figure = draw_word_accuracy({"word correction": {"all words": copied}}, title="t")
    assert copied.all.percent == pytest.approx(figure.data[3].x[0]) and figure.data[3].name.startswith("all words, if")


def test_the_papers_numbers_are_dashed_unless_unwanted():
    def lines(**options) -> list[float]:
        figure = draw_word_accuracy({"word discrimination": ROWS, "word correction": ROWS}, title="t", **options)
        return [shape.x0 for shape in figure.layout.shapes if shape.line.dash == "dash"]

    assert lines() == [66.5, 87.3] and lines(paper=None) == [] and lines(paper={"word correction": 9.0}) == [9.0]


def test_names_are_escaped():
    figure = draw_word_accuracy({"<i>task</i>": ROWS}, title="t")
    assert figure.layout.yaxis.ticktext[1] == "&lt;b&gt;elsewhere&lt;/b&gt;"
    assert "&lt;i&gt;task&lt;/i&gt;" in [note.text for note in figure.layout.annotations]


def of(count: int, total: int):
    return share(torch.arange(total) < count)


TRUTH = WordTruth(
    mismatched={
        "kept": of(1, 10),
        "replaced, true": of(0, 0),
        "replaced, undecided": of(2, 4),
        "replaced, false": of(9, 10),
    },
    sentences={"caption": {1: 4, 0: 0, -1: 0}, "made wrong": {1: 1, 0: 2, -1: 1}, "corrected": {1: 3, 0: 1, -1: 0}},
    restored=of(2, 4),
    true={"all": of(3, 4)},
)


def test_bars_are_the_shares_with_the_number_of_words():
    words = draw_word_truth(TRUTH, title="t").data[0]
    assert list(words.x) == [10.0, 0, 50.0, 90.0] and "10 words" in words.y[0]
    assert words.error_x.array[0] == pytest.approx(TRUTH.mismatched["kept"].upper - 10) and words.error_x.array[1] == 0


def test_truth_labels_of_each_stage_add_up_to_a_hundred():
    figure = draw_word_truth(TRUTH, title="t")
    by_name = {bar.name: list(bar.x) for bar in figure.data[1:]}
    assert by_name == {"✓ true": [100, 25, 75], "✗ false": [0, 50, 25], "? undecided": [0, 25, 0]}
    assert list(figure.data[1].y) == ["caption", "made wrong", "corrected"]


def test_of_no_words_no_percentage_is_written():
    notes = [note.text for note in draw_word_truth(TRUTH, title="t").layout.annotations]
    assert [note for note in notes if "%" in note] == ["<b>10 %</b>", "<b>50 %</b>", "<b>90 %</b>"]


def test_the_control_is_a_pale_bar_below_each_that_does_not_touch_it():
    control = {name: of(1, 4) for name in TRUTH.mismatched}
    figure = draw_word_truth(TRUTH, title="t", control=control)
    own, pale = figure.data[0], figure.data[-1]
    assert list(pale.x) == [25.0] * 4 and list(pale.y) == list(own.y) and pale.marker.opacity < own.marker.opacity
    assert own.offset + own.width < pale.offset and list(own.x) == list(draw_word_truth(TRUTH, title="t").data[0].x)
    assert own.base == pale.base == 0, "side by side, though the labels are stacked"
    assert [note.text for note in figure.layout.annotations].count("25 %") == 4


def row(name: str, sentence: str, scores=None, truth_label=None, **parts) -> WordRow:
    """`word=0.7` gives a word its mismatch, `word="other"` its mark."""
    made = []
    for word in sentence.split():
        said = parts.get(word)
        kind = "mark" if isinstance(said, str) else "mismatch"
        made.append(Part(word, blank=bool(made), **({kind: said} if said is not None else {})))
    return WordRow(name, tuple(made), scores or {}, truth_label)


CAPTION = row("caption", "a red dog sleeps", {"uniter": 0.9, "tags": 0.99}, 1)
WRONG = row("made wrong", "a blue dog sleeps", {"uniter": 0.95, "tags": 0.2}, 0, a=0.0, blue=1.0, dog=0.5, sleeps=0.49)
BETTER = row("corrected", "a red dog runs", {"uniter": 0.9, "tags": 0.97}, -1, red="restored", runs="other")


def drawn(*rows: WordRow, count: int = 1):
    return draw_explained_words([WordExample(Image.new("RGB", (48, 48)), rows)] * count, title="t")


def colours(figure) -> list[str]:
    return [shape.fillcolor for shape in figure.layout.shapes if shape.type == "path"]


def test_every_word_name_score_and_truth_label_is_there():
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
    assert [MARKS[mark][1] in found for mark in ("restored", "other", "rewritten")] == [True, True, False]


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
    assert drawn(WordRow("sentence", ())).layout.height > 100 and draw_explained_words([], title="t").layout.height > 50


def test_a_caption_through_algorithm_1_shows_what_is_dropped_kept_and_said_of_the_hardest():
    def made(word: str, score: float, dropped: bool = False, words: ExplainedSentence | None = None) -> Refilled:
        negative = Negative(f"a {word} sits", spans=(Span(1, 2),), replacement=(word,))
        return Refilled(negative, score, dropped, words)

    told = ExplainedSentence("a <b> sits", (Word("a", 0, 1, 0.1, "a"), Word("<b>", 2, 5, 0.9, "dog")))
    rows = [made("<b>", 0.9, words=told), made("cat", 0.3), made("hound", 0.8, dropped=True)]
    step = Algorithm1(Image.new("RGB", (8, 8)), "a dog sits", 0.6, {"a [MASK] sits": rows})
    figure = draw_algorithm_1(step, title="t")
    said = words(figure)
    assert {"<b>1 · mask</b>", "s(I, T) = <b>0.600</b>", "<b>0.900</b>", "0.300", "dropped by C1"} <= set(said)
    assert "0.800" not in said and "&lt;b&gt; → dog" in said and not any("<b>&lt;b>" in one for one in said)
    assert any("<u>[MASK]</u>" in one for one in said) and any("<u>cat</u>" in one for one in said)
    bars = [shape for shape in figure.layout.shapes if shape.fillcolor in (PURPLE, GREY)]
    assert [bar.x1 - bar.x0 for bar in bars] == pytest.approx([84, 28])  # by the greatest score of all
    assert {shape.fillcolor for shape in figure.layout.shapes} >= {blend(0.1), blend(0.9)}
