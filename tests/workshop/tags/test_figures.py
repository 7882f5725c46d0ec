"""Each figure of TAGS-DC is drawn once without error, and texts in it are escaped."""

import numpy as np
import pytest
import torch
from workshop import analysis, plots
from workshop.analysis.accuracies import TrueNegatives, WordAccuracy
from workshop.analysis.words import ExplainedSentence, Part, Refilled, Word, WordExample, WordRow

from itmlab.metrics.statistics import Interval, Share, share
from itmlab.synthesis import Negative
from itmlab.text import Span
from tests.plain_model import PlainModel
from tests.workshop.small_world import small_set

SPANS = {"spans": (Span(1, 2),), "source": ("red",), "replacement": ("<i>",), "kind": ("attribute",)}
NEGATIVE = Negative("A <i> square.", 0, 0, score=0.7, truth=False, fluency=12.3, **SPANS)
PICTURE = small_set(1).images[0]
ENDS = Interval(2.0, 1.0, 3.0)
SHARE = Share(80.0, 70.0, 88.0, 8, 10)
NONE = share(torch.zeros(0).bool())
WORDS = ExplainedSentence("A <i> square.", (Word("A", 0, 1, 0.1, "A"), Word("<i>", 2, 5, 0.9, "red")))


def explained_words():
    parts = (Part("A", False, 0.1), Part("<i>", True, 0.9), Part("red", True, rewritten=True), Part("w" * 900, True))
    return plots.draw_explained_words(
        [WordExample(PICTURE, (WordRow("made wrong", parts, {"tags": 0.5}, 0),))], title="t"
    )


def algorithm():
    refilled = [Refilled(NEGATIVE, 0.7, False, WORDS), Refilled(NEGATIVE, 0.2, True, None)]
    return plots.draw_algorithm_1(
        analysis.Algorithm1(PICTURE, "A red square.", 0.5, {"A [MASK] square.": refilled}), title="t"
    )


def word_accuracy():
    rows = {"all words": WordAccuracy(SHARE, NONE, SHARE)}
    return plots.draw_word_accuracy({"word discrimination": rows, "word correction": rows}, title="t")


def score_scatter():
    judged = plots.Pairs(np.array([0.5, 0.6]), np.array([0.5, 0.7]), np.array([0, 1]))
    return plots.draw_score_scatter(
        {"batch <1>": judged, "set": plots.Pairs(judged.positive, judged.negative)}, title="t"
    )


def negative_list():
    return plots.draw_negative_list(
        PICTURE, "A <b> square.", [NEGATIVE], title="t", score=0.5, scores=[0.7], own_captions=["Red."]
    )


def examples():
    example = plots.Example(PICTURE, "A red square.", 0.5, {"hard": NEGATIVE}, {"hard": 0.25})
    return plots.draw_synthetic_examples([example, example], title="t")


DRAWN = {
    "explained words": explained_words,
    "algorithm 1": algorithm,
    "word accuracy": word_accuracy,
    "score scatter": score_scatter,
    "negative list": negative_list,
    "no negatives": lambda: plots.draw_negative_list(PICTURE, "x", [], title="t"),
    "examples": examples,
    "perplexities": lambda: plots.draw_perplexities(
        {"positive": plots.Perplexity(ENDS, ENDS, 10), "tags": plots.Perplexity(Interval(4, 3, 5), ENDS, 9)}, title="t"
    ),
    "true negatives": lambda: plots.draw_true_negative_rates(
        {"tags": {"before the filter": TrueNegatives(SHARE, 3)}}, title="t"
    ),
    "both pictures": lambda: analysis.draw_both_pictures(
        {"at random": {"tags": analysis.BothPictures(SHARE, SHARE)}}, title="t", printed={"at random": {"tags": 98.7}}
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_drawn_and_its_texts_are_escaped(name):
    figure = DRAWN[name]()
    assert figure.layout.height < 2000 and "<i> " not in str([note.text for note in figure.layout.annotations])
    assert figure.to_json()


def test_examples_and_pairs_hold_the_hardest_of_each_source():
    data, positive = small_set(2), torch.tensor([0.1, 0.2])
    rows = [[NEGATIVE], [Negative("a", 1, 2, score=0.2, truth=True), Negative("b", 1, 2, score=0.1)]]
    source = analysis.SyntheticNegatives(data, "whole_set", (0, 2), rows, positive, PlainModel())
    nothing = analysis.SyntheticNegatives(data, "tags", (0, 2), [[], []], positive, PlainModel())
    example = plots.Example.of({"set": source, "generated": nothing}, 1)
    assert example.caption == data.captions[2] and example.negatives == {"set": rows[1][0]}
    assert example.score == pytest.approx(0.2) and example.scores == pytest.approx({"set": 0.2})
    pairs = plots.Pairs.of(source)
    assert np.allclose(pairs.positive, [0.1, 0.2]) and np.allclose(pairs.negative, [0.7, 0.2])
    assert pairs.truth_labels.tolist() == [0, 1]
