"""How often words are judged and corrected correctly, counted by hand, and with a model that knows colours."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from workshop.analysis.word_accuracy import WordStudy, on_next_picture, word_study
from workshop.analysis.words import WordAnswers

from itmlab.metrics import share
from itmlab.synthesis import Negative
from itmlab.text import Span
from tests.refusals import refused
from tests.workshop.colour_cross_encoder import NAMES, ColourCrossEncoder, judging_set


def recoloured(data, caption: int, colour: str) -> Negative:
    """The caption with another colour."""
    tokens = data.world.graphs[caption].tokens
    (at,) = [number for number, token in enumerate(tokens) if token in NAMES]
    sentence = data.captions[caption].replace(tokens[at], colour)
    negative = Negative(
        sentence, spans=(Span(at, at + 1),), source=(tokens[at],), replacement=(colour,), kind=("attribute",)
    )
    return negative.of(int(data.image_of_caption[caption]), caption)


@pytest.fixture(scope="module")
def squares():
    data = judging_set()
    others = {name: NAMES[(at + 1) % 4] for at, name in enumerate(NAMES)}
    wrong = [recoloured(data, caption, others[NAMES[caption // 2 % 4]]) for caption in range(len(data.captions))]
    return data, ColourCrossEncoder(data.captions), wrong


def test_a_cross_encoder_that_knows_colours_is_right_about_every_word(squares):
    data, model, wrong = squares
    study = word_study(model, data, wrong)
    assert len(study.negatives) == 16 and int(study.replaced.sum()) == 16
    for accuracy in (study.discrimination(), study.correction()):
        assert accuracy.all.percent == accuracy.replaced.percent == accuracy.kept.percent == 100


def test_what_does_not_stand_piece_under_piece_is_left_out(squares):
    data, model, wrong = squares
    longer = replace(wrong[0], sentence="A blue red square.", replacement=("blue red",), spans=(Span(1, 3),))
    retrieved = Negative("there is a square that is blue").of(0, 0)
    study = word_study(model, data, [*wrong[:2], longer, retrieved])
    assert study.negatives == wrong[:2] and study.images.tolist() == [0, 0]
    refused("none of 2 negatives has its caption's words", word_study, model, data, [longer, retrieved])


def test_beside_the_next_picture_the_same_sentences_get_other_answers(squares):
    """Each new colour is the next picture's, so the model finds nothing to correct there."""
    data, model, wrong = squares
    study = word_study(model, data, wrong)
    elsewhere = on_next_picture(model, data, study)
    assert all(own is other for own, other in zip(study.negatives, elsewhere.negatives, strict=True))
    moved = [entry.of((entry.image + 1) % len(data), entry.caption) for entry in wrong]
    assert elsewhere.answers.mismatch.equal(word_study(model, data, moved).answers.mismatch)
    assert elsewhere.discrimination().replaced.percent == elsewhere.correction().replaced.percent == 0


def study_of(correct, replaced, counted, images) -> WordStudy:
    """A study of words that are replaced, counted and judged correctly at these places."""
    pieces = torch.zeros(correct.shape, dtype=torch.int64)
    mismatch = torch.where(correct == (replaced & counted), 0.9, 0.1)
    answers = WordAnswers(replaced.long(), counted, mismatch, pieces + (~correct).long())
    return WordStudy([], answers, pieces, images)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 10**6))
def test_words_are_counted_as_the_loop_counts_them(rows, pieces, seed):
    correct, replaced, counted = torch.rand(3, rows, pieces, generator=torch.Generator().manual_seed(seed)) < 0.6
    study = study_of(correct, replaced, counted, torch.arange(rows))
    cells = list(zip(correct.flatten().tolist(), replaced.flatten().tolist(), counted.flatten().tolist(), strict=True))
    for accuracy in (study.discrimination(), study.correction()):
        for name, wanted in (("all", (True, False)), ("replaced", (True,)), ("kept", (False,))):
            answers = [is_correct for is_correct, is_replaced, counts in cells if counts and is_replaced in wanted]
            assert (getattr(accuracy, name).count, getattr(accuracy, name).of) == (sum(answers), len(answers))


def test_a_model_that_finds_no_fault_is_right_about_most_words_and_seen_through():
    replaced = torch.zeros(20, 10, dtype=torch.bool)
    replaced[:, 4] = True
    lazy = study_of(~replaced, replaced, torch.ones_like(replaced), torch.arange(20)).discrimination()
    assert (lazy.all.percent, lazy.replaced.percent, lazy.kept.percent, lazy.balanced) == (90, 0, 100, 50)


def test_intervals_go_by_images():
    correct, images = (torch.arange(20) % 4 > 0)[:, None].expand(20, 10), torch.arange(20) % 4
    study = study_of(correct, torch.zeros_like(correct), torch.ones_like(correct), images)
    assert study.correction().all == share(correct.flatten(), images.repeat_interleave(10))
