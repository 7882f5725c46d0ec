"""One call for the negatives of every generator: numbered, scored, judged, repeatable; and difficulty as recorded."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workshop.analysis.negatives import (
    GENERATORS,
    SyntheticNegatives,
    difficulty_history,
    synthetic_negatives,
)

from itmlab.errors import ItmlabError
from itmlab.scenes import load
from itmlab.synthesis import Negative
from tests.refusals import refused
from tests.workshop.small_cross_encoder import small_cross_encoder

FEW = {"maskings": 3, "samples": 4, "drawn": 9}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(images=6, cache=tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def model(data):
    return small_cross_encoder(data.captions)


@pytest.fixture(scope="module")
def made(data, model):
    captions = [int(own_values[0]) for own_values in data.captions_of_image]
    return {way: synthetic_negatives(data, captions, way, run=model, fluent="scenes", **FEW) for way in GENERATORS}


@pytest.mark.parametrize("way", GENERATORS)
def test_negatives_are_numbered_scored_and_judged(data, model, made, way):
    entry = made[way]
    assert len(entry) == sum(map(len, entry.negatives)) > 10 and len(entry.all()) == len(entry.images) == len(entry)
    for caption, row, positive in zip(entry.captions, entry.negatives, entry.positive.tolist(), strict=True):
        image = int(data.image_of_caption[caption])
        assert all((negative.image, negative.caption) == (image, caption) for negative in row)
        assert len({negative.sentence for negative in row} | {data.captions[caption]}) == len(row) + 1
        picture = model.prepare_images([data.images[image]])
        sentences = model.prepare_captions([data.captions[caption], *(negative.sentence for negative in row)])
        expected = model.similarity(picture, sentences)[0].tolist()
        assert [positive, *(negative.score for negative in row)] == pytest.approx(expected, abs=1e-4)
        assert [negative.score for negative in row] == sorted((negative.score for negative in row), reverse=True)
        for negative in row:
            assert negative.truth == data.world.entails(image, negative.sentence)


def test_what_said_words_imply_counts_as_said_unless_not_asked(data, model):
    settings = {"run": model, "keep": None, **FEW, "maskings": 12, "samples": 12}
    paper, wider = (
        synthetic_negatives(data, range(12), "wm", implied=implied, **settings) for implied in (False, True)
    )
    gone = {(entry.caption, entry.sentence) for entry in paper.all()} - {
        (entry.caption, entry.sentence) for entry in wider.all()
    }
    assert gone and len(wider) == len(paper) - len(gone)
    assert wider.truth.share.percent > paper.truth.share.percent


def test_without_a_model_rules_still_work_and_nothing_is_scored(data):
    created = synthetic_negatives(data, [0, 1], "vse_c", keep=4)
    assert (
        created.positive is None
        and all(entry.score is None for entry in created.all())
        and max(map(len, created.negatives)) <= 4
    )
    with pytest.raises(ItmlabError, match="have no scores"):
        _ = created.difficulty


@pytest.mark.parametrize(
    ("captions", "options", "message"),
    [
        ([], {}, "numbers from 0 to 29"),
        ([30], {}, "numbers from 0 to 29"),
        ([-1], {}, "numbers from 0 to 29"),
        ([1, 1], {"generator": "vse_c"}, "different numbers"),
        ([1], {"generator": "vsec"}, "no generator 'vsec'"),
        ([1], {}, "needs a cross-encoder"),
    ],
)
def test_what_cannot_be_made_is_one_line(data, captions, options, message):
    refused(message, synthetic_negatives, data, captions, **options)


def test_a_function_of_ones_own_is_a_generator_too(data, model):
    def shouted(captions, graphs, image_captions, *, generator):
        return [[Negative(caption.upper()), Negative(f"{caption} Not.")] for caption in captions]

    created = synthetic_negatives(data, [2, 9], shouted, scorer=model, truth=False)
    assert created.generator == "shouted"  # capital letters are no difference, so one of two stays
    assert [row[0].sentence for row in created.negatives] == [f"{data.captions[at]} Not." for at in (2, 9)]
    assert [len(row) for row in created.negatives] == [1, 1] and created.negatives[1][0].score is not None


def judged(truths, images) -> SyntheticNegatives:
    negatives = [Negative("a", image=image, truth=truth) for truth, image in zip(truths, images, strict=True)]
    return SyntheticNegatives(None, "tags", (0,), [negatives], None)


@settings(max_examples=40, deadline=None)
@given(truths=st.lists(st.sampled_from([True, False, None]), max_size=30))
def test_undecided_sentences_are_in_neither_count(truths):
    rate = judged(truths, range(len(truths))).truth
    assert (rate.share.count, rate.undecided) == (truths.count(False), truths.count(None))
    assert rate.share.of == len(truths) - rate.undecided
    expected = 100 * rate.share.count / rate.share.of if rate.share.of else math.nan
    assert rate.share.percent == pytest.approx(expected, nan_ok=True)


def test_the_interval_of_true_negatives_goes_by_images():
    truths = [False, False, None, True, True, False]
    plain, grouped = (judged(truths, images).truth.share for images in (range(6), [0, 0, 7, 1, 1, 2]))
    assert plain.percent == grouped.percent == 60 and grouped.lower < plain.lower


def recorded(*counts: list[int]) -> SimpleNamespace:
    """A run that recorded these every tenth step, among other records."""
    history = [{"kind": "epoch", "epoch": 1, "step": 5}]
    history += [
        {"kind": "step", "step": 10 * (row + 1), "difficulty": {"synthetic": mine, "retrieved": mine[::-1]}}
        for row, mine in enumerate(counts)
    ]
    return SimpleNamespace(history=history, directory="runs/one")


def test_the_late_difficulty_is_that_of_the_second_half():
    """Of four recorded steps the last two count."""
    run = recorded([9, 0, 0, 0], [0, 0, 0, 9], [0, 4, 0, 0], [0, 1, 1, 2])
    assert difficulty_history(run).late_mean() == pytest.approx((5 * -0.25 + 0.25 + 2 * 0.75) / 8)
    median = difficulty_history(run).quantile(0.5)
    assert median.tolist() == pytest.approx([-0.75, 0.75, -0.25, 0.5])
    nothing = SimpleNamespace(history=[{"kind": "epoch"}], directory="runs/one")
    refused("runs/one", difficulty_history, nothing)
