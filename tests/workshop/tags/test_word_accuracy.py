"""Changes of a sentence are found to the letter, and each can be put back by itself."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from workshop.analysis.negatives import synthetic_negatives
from workshop.analysis.word_accuracy import (
    SENTENCES,
    WORDS,
    WordStudy,
    changed_places,
    on_next_picture,
    picture_worth,
    put_back,
    word_study,
    word_truth,
)
from workshop.analysis.words import WordAnswers

from itmlab.metrics import share
from itmlab.scenes import load
from itmlab.synthesis import Negative
from itmlab.synthesis.negative import Change, edited
from itmlab.text import Span
from itmlab.text.alignment import token_characters
from itmlab.text.graph import tokenise
from tests.refusals import refused
from tests.workshop.colour_cross_encoder import NAMES, ColourCrossEncoder, judging_set
from tests.workshop.small_cross_encoder import small_cross_encoder


def made(caption: str, changes: list[tuple[int, int, str]]) -> Negative:
    tokens = tokenise(caption)
    new = [Change(Span(start, end), words, "word") for start, end, words in changes]
    return edited(caption, tokens, token_characters(caption, tokens), new)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_any_change_alone_is_the_edit_with_that_change_alone(data):
    caption = " ".join(data.draw(st.lists(st.sampled_from(["A", "dog", "cat", "two", "T-shirt", ","]), min_size=2)))
    count = len(tokenise(caption))
    cuts = sorted(data.draw(st.sets(st.integers(0, count), min_size=2, max_size=6)))
    words = st.sampled_from(["cow", "big cow", "an", "dog"])
    changes = [(start, end, data.draw(words)) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    negative = made(caption, changes)
    places = changed_places(negative, caption)
    assert len(places) == len(changes)
    for number, change in enumerate(changes):
        assert put_back(negative, places, without=number) == made(caption, [change]).sentence
    assert put_back(negative, places) == caption


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
    assert study.discrimination("attribute").replaced.of == 16 and study.discrimination("attribute").kept.of == 0
    assert study.correction("object").all.of == 16 and study.discrimination("relation").all.of == 0


def test_what_does_not_stand_piece_under_piece_is_left_out(squares):
    data, model, wrong = squares
    longer = replace(wrong[0], sentence="A blue red square.", replacement=("blue red",), spans=(Span(1, 3),))
    retrieved = Negative("there is a square that is blue").of(0, 0)
    study = word_study(model, data, [*wrong[:2], longer, retrieved])
    assert study.negatives == wrong[:2] and study.images.tolist() == [0, 0]
    refused("none of 2 negatives has its caption's words", word_study, model, data, [longer, retrieved])


def rewritten_scenes(folder, **settings):
    """Six scenes, a model of them, and what it makes of each one's first caption."""
    data = load(images=6, cache=folder)
    model = small_cross_encoder(data.captions)
    captions = [int(own_values[0]) for own_values in data.captions_of_image]
    created = synthetic_negatives(data, captions, run=model, samples=3, truth=False, **settings).all()
    return data, model, created


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    data, model, created = rewritten_scenes(tmp_path_factory.mktemp("scenes"), keep=4, maskings=3)
    return data, model, created, word_study(model, data, created)


def test_what_the_own_picture_is_worth_is_the_difference_of_both_accuracies(scenes):
    data, model, _, study = scenes
    elsewhere = on_next_picture(model, data, study)
    for own_values, other in zip(study.negatives, elsewhere.negatives, strict=True):
        assert own_values is other  # the same sentences; only the answers are others
    shifted = word_study(
        model, data, [entry.of((entry.image + 1) % len(data), entry.caption) for entry in study.negatives]
    )
    assert elsewhere.answers.mismatch.equal(shifted.answers.mismatch)
    worth, zero = picture_worth(study, elsewhere), picture_worth(study, study)
    answer = study.discrimination().balanced - elsewhere.discrimination().balanced
    assert worth["found"].value == pytest.approx(answer, abs=1e-3)
    for name, which in {"put right": "replaced", "left right": "kept"}.items():
        shares = [getattr(entry.correction(), which) for entry in (study, elsewhere)]
        assert worth[name].value == pytest.approx(shares[0].percent - shares[1].percent, abs=1e-3)
        assert worth[name].lower <= worth[name].value <= worth[name].upper
    assert all(ends == (0, 0, 0) for ends in zero.values())


def test_of_squares_every_new_colour_is_false_and_every_correction_true():
    data = judging_set()
    model = ColourCrossEncoder(data.captions)
    wrong = [recoloured(data, caption, "blue" if caption % 8 < 2 else "red") for caption in (0, 1, 2, 3, 5)]
    study = word_study(model, data, wrong)
    result = word_truth(model, data, study)
    assert tuple(result.mismatched) == WORDS and tuple(result.sentences) == SENTENCES
    assert (result.mismatched["replaced, false"].count, result.mismatched["replaced, false"].of) == (5, 5)
    assert result.mismatched["kept"].count == 0 and result.mismatched["replaced, true"].of == 0
    assert result.sentences == {
        "caption": {1: 5, 0: 0, -1: 0}, "made wrong": {1: 0, 0: 5, -1: 0}, "corrected": {1: 5, 0: 0, -1: 0}
    }  # fmt: skip
    assert result.restored.percent == 100 and result.true["all"].percent == result.true["attribute"].percent == 100
    assert word_truth(model, data, study, above=1.01).sentences["corrected"] == result.sentences["made wrong"]


def test_a_word_is_judged_by_the_caption_with_that_word_alone(tmp_path):
    data, model, created = rewritten_scenes(tmp_path, keep=None, maskings=4)
    single, double = ([entry for entry in created if len(entry.spans) == changes] for changes in (1, 2))
    for some in (single, double):
        study = word_study(model, data, some)
        expected = dict.fromkeys(WORDS[1:], 0)
        for row, negative in enumerate(study.negatives):
            for piece in study.replaced[row].nonzero().flatten().tolist():
                others = [entry for entry in range(len(negative.spans)) if entry != int(study.place[row, piece])]
                sentence = negative.sentence
                for other in others:  # the other change said as the caption says it
                    words = list(tokenise(sentence))
                    span = negative.spans[other]
                    words[span.start : span.end] = [negative.source[other]]
                    sentence = " ".join(words)
                truth_label = data.world.entails(negative.image, sentence)
                expected[{True: WORDS[1], None: WORDS[2], False: WORDS[3]}[truth_label]] += 1
        result = word_truth(model, data, study)
        assert {name: result.mismatched[name].of for name in expected} == expected and sum(expected.values()) > 10


def study_of(correct, replaced, counted, images) -> WordStudy:
    """A study of words that are replaced, counted and judged correctly at these places."""
    pieces = torch.zeros(correct.shape, dtype=torch.int64)
    mismatch = torch.where(correct == (replaced & counted), 0.9, 0.1)
    answers = WordAnswers(replaced.long(), counted, mismatch, pieces + (~correct).long())
    return WordStudy([], answers, pieces, pieces, pieces, images)


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
