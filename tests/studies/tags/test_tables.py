"""TAGS-DC's tables: each number by hand or one by one, and each figure with the paper's beside it."""

import math

import numpy as np
import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.metrics import CausalModel, TrueNegatives
from itmlab.metrics.statistics import Interval, Share
from itmlab.models import DualEncoderConfig, build_model
from itmlab.scenes import load
from itmlab.studies.kit.bars import Dot, interval_rows
from itmlab.studies.tags.negatives import SyntheticNegatives, synthetic_negatives
from itmlab.studies.tags.tables import (
    TABLE_3,
    TABLE_4,
    Perplexity,
    Setting,
    discriminated,
    draw_discrimination_table,
    draw_perplexities,
    draw_synthesis_sweep,
    draw_true_negative_rates,
    fluency_table,
    synthesis_sweep,
    truth_by_filter,
)
from itmlab.synthesis import Negative
from itmlab.synthesis.negative import UnreadNegatives
from itmlab.text import Span
from tests.studies.small_cross_encoder import small_cross_encoder
from tests.studies.small_world import small_set


def test_it_is_the_share_of_pairs_in_which_the_caption_scores_higher(tmp_path):
    data = load(images=4, cache=tmp_path)
    encoders = {"one": small_cross_encoder(data.captions), "another": small_cross_encoder(data.captions, seed=3)}
    pair = build_model(DualEncoderConfig.tiny(), data.captions, seed=1).eval()
    settings = {"maskings": 2, "samples": 3, "truth": False}
    made = {
        "tags": synthetic_negatives(data, [0, 6, 11], "tags", run=encoders["one"], **settings),
        "rules": synthetic_negatives(data, [2, 7], "vse_c", keep=3, truth=False),
    }
    table = discriminated(made, {**encoders, "pair": pair})
    assert {name: list(row) for name, row in table.items()} == {
        name: ["one", "another", "pair"] for name in ("tags", "rules")
    }
    for name, found in made.items():
        for name_of_model, model in encoders.items():
            higher = 0
            for negative in found.all():
                picture = model.prepare_images([data.images[negative.image]])
                said = model.prepare_captions([data.captions[negative.caption], negative.sentence])
                own, other = model.similarity(picture, said)[0].tolist()
                higher += own > other
            share = table[name][name_of_model]
            assert (share.count, share.of) == (higher, len(found))
            assert share.percent == pytest.approx(100 * higher / len(found))


def test_a_pair_that_a_model_reads_alike_is_left_out_for_it(tmp_path):
    data = load(images=4, cache=tmp_path)
    pair = [Negative("no cow", 0, 0), Negative(f"{data.captions[0]} ", 0, 0)]
    made = SyntheticNegatives(data, "mine", (0,), [pair], None)
    with pytest.warns(UnreadNegatives, match="1 so far left out"):
        table = discriminated({"mine": made}, {"one": small_cross_encoder(data.captions)})
    assert table["mine"]["one"].of == 1


def negative(caption: int, image: int, sentence: str, word: str, truth: bool | None) -> Negative:
    return Negative(sentence, image, caption, (Span(1, 2),), ("red",), (word,), ("attribute",), truth=truth)


@pytest.fixture
def made() -> SyntheticNegatives:
    data = small_set(2)  # "A red square.", "there is a square that is red"; the same in blue
    first = [
        negative(0, 0, "A there square.", "there", True),
        negative(0, 0, "A blue square.", "blue", False),
        negative(0, 0, "A crimson square.", "crimson", True),
        negative(0, 0, "A odd square.", "odd", None),
    ]
    return SyntheticNegatives(data, "tags", (0, 2), [first, [negative(2, 1, "A red square.", "red", False)]], None)


def test_each_form_of_the_filter_chooses_from_the_same_candidates(made):
    table = truth_by_filter(made, keep=3, implied={"red": {"crimson"}})
    assert list(table) == ["before the filter", "after the filter", "with implied words"]
    counts = [(one.share.count, one.share.of, one.undecided) for one in table.values()]
    assert counts == [(2, 4, 0), (2, 3, 1), (2, 2, 1)]


def test_without_implied_words_there_are_two_forms(made):
    assert list(truth_by_filter(made, keep=None, implied={})) == ["before the filter", "after the filter"]


def test_without_a_world_nobody_can_say(made):
    data = small_set(2)
    data.world = None
    with pytest.raises(ItmlabError, match="nobody says what is true"):
        truth_by_filter(SyntheticNegatives(data, "tags", (0,), [[]], torch.zeros(1)))


def model_of_lengths(letters: int = 30) -> CausalModel:
    """Every piece has the probability of softmax([0, …, log 4 for piece 2]); a word is piece 1 + its first letter."""

    def encode(sentences):
        return [[2 if word[0].lower() == "a" else 3 for word in sentence.split()] for sentence in sentences]

    def logits(ids, mask):
        row = torch.zeros(letters)
        row[2] = math.log(4)
        return row.expand(*ids.shape, letters)

    return CausalModel(encode, logits, beginning=0)


def perplexity(sentence: str) -> float:
    """By hand: 4/33 for a word that begins with an a, 1/33 for another."""
    chances = [4 / 33 if word[0].lower() == "a" else 1 / 33 for word in sentence.split()]
    return math.exp(-sum(map(math.log, chances)) / len(chances))


def test_means_and_medians_of_each_kind_of_sentence():
    data = small_set(4)
    rows = [[Negative("a a b", 0, 0), Negative("a b", 0, 0)], [Negative("b b", 1, 2)]]
    made = {
        "tags": SyntheticNegatives(data, "tags", (0, 2), rows, None),
        "vse_c": SyntheticNegatives(data, "vse_c", (0,), [[Negative("a", 0, 0)]], None),
    }
    table = fluency_table(made, model=model_of_lengths())
    assert list(table) == ["positive", "tags", "vse_c"]
    captions = [perplexity(data.captions[number]) for number in (0, 2)]
    assert table["positive"].mean.value == pytest.approx(np.mean(captions))
    values = [perplexity(sentence) for sentence in ("a a b", "a b", "b b")]
    assert table["tags"].mean.value == pytest.approx(np.mean(values))
    assert table["tags"].median.value == pytest.approx(np.median(values)) and table["tags"].sentences == 3
    assert table["tags"].mean.lower <= table["tags"].mean.value <= table["tags"].mean.upper


def test_the_first_ones_corrected_stand_behind_them():
    data = small_set(4)
    model = small_cross_encoder(data.captions, image_size=48, patch_size=12)
    rows = [[Negative("A blue square.", 0, 0)]]
    made = {name: SyntheticNegatives(data, name, (0,), rows, None) for name in ("tags", "wm")}
    table = fluency_table(made, model=model_of_lengths(), corrected_by=model)
    assert list(table) == ["positive", "tags", "corrected", "wm"] and table["corrected"].sentences == 1


def test_each_setting_is_what_the_one_call_makes(tmp_path, monkeypatch):
    data = load(images=3, cache=tmp_path)
    model = small_cross_encoder(data.captions)
    asked = []

    def counted(*given, **options):
        asked.append(options)
        return synthetic_negatives(*given, **options)

    monkeypatch.setattr("itmlab.studies.tags.tables.synthetic_negatives", counted)
    monkeypatch.setattr(
        "itmlab.studies.tags.tables.PAPER_SWEEP", {"maskings": 3, "samples": 2, "temperature": 1.5, "masking": "phrase"}
    )
    table = synthesis_sweep(model, data, [0, 5, 10], maskings=(1, 3), samples=(2,), temperature=(1.5, 0.5), keep=2)
    assert [[one.value for one in row] for row in table.values()] == [[1, 3], [2], [1.5, 0.5], ["phrase", "word"]]
    assert len(asked) == 4  # the paper's setting once, and three that differ from it in one knob
    usual = table["maskings"][1]
    assert usual.difficulty == table["samples"][0].difficulty == table["temperature"][0].difficulty
    expected = synthetic_negatives(
        data, [0, 5, 10], "tags", run=model, maskings=3, samples=2, temperature=1.5, keep=2, fluent="scenes"
    )
    assert usual.difficulty.value == pytest.approx(expected.difficulty.mean().item(), abs=1e-6)
    assert usual.fluency.value == pytest.approx(np.median([one.fluency for one in expected.all()]))
    assert str(usual.truth) == str(expected.truth) and usual.negatives == len(expected)


def setting(value, number):
    return Setting(
        value,
        Interval(number, number - 1, number + 2),
        Interval(10 * number, 9 * number, 11 * number),
        TrueNegatives(Share(90.0 + number, 88.0, 99.0, 9, 10), 0),
        20,
    )


def test_each_measure_of_each_knob_has_its_panel():
    table = {"temperature": [setting(0.5, 1), setting(1.5, 2)], "masking": [setting("phrase", 2), setting("word", 3)]}
    figure = draw_synthesis_sweep(table, title="t", marked={"temperature": 1.5, "masking": "phrase"})
    assert [list(trace.y) for trace in figure.data[:3]] == [[1, 2], [10, 20], [91, 92]]
    assert list(figure.data[0].x) == ["0.5", "1.5"] and list(figure.data[3].x) == ["phrase", "word"]
    assert list(figure.data[0].error_y.array) == [2, 2] and list(figure.data[0].error_y.arrayminus) == [1, 1]
    assert list(figure.data[0].marker.line.width) == [0, 2.5] and list(figure.data[3].marker.line.width) == [2.5, 0]
    assert figure.data[0].mode == "lines+markers" and figure.data[3].mode == "markers"  # words have no order


def texts(figure, axis):
    return [trace.text[0] for trace in figure.data if trace.text and trace.xaxis == axis]


def dots(figure, axis):
    return [trace.x[0] for trace in figure.data if not trace.text and trace.xaxis == axis]


def drawn_row(mean, median):
    return Perplexity(Interval(mean, 0.9 * mean, 1.2 * mean), Interval(median, 0.9 * median, 1.1 * median), 10)


def test_perplexities_stand_in_panels_beside_the_papers_with_ratios_to_the_captions():
    table = {"positive": drawn_row(10, 5), "tags": drawn_row(30, 10), "own": drawn_row(2000, 12)}
    figure = draw_perplexities(table, title="t", model="small")
    assert dots(figure, "x") == [5, 10, 12] and dots(figure, "x2") == [10, 30, 2000]
    assert texts(figure, "x") == ["5.0", "10.0 (2.0 ×)", "12.0 (2.4 ×)"]
    assert texts(figure, "x2")[2] == "2,000 (200 ×)"
    assert dots(figure, "x3") == [51.13, 87.63] and texts(figure, "x3")[1] == "87.6 (1.7 ×)"
    assert list(figure.layout.yaxis.ticktext) == ["captions", "synthetic (TAGS)", "own"]
    assert figure.layout.xaxis.type == figure.layout.xaxis3.type == "log"


def test_the_papers_numbers_are_the_papers():
    assert TABLE_3 == {"positive": 51.13, "tags": 87.63, "corrected": 70.87, "vse_c": 292.76}
    rows = [(row["tags"], row["uniter"]) for row in TABLE_4.values()]
    assert rows == [(98.7, 2.3), (99.7, 2.8), (96.3, 87.5)]


def test_discrimination_has_a_row_for_each_model_below_its_generator():
    share = Share(80.0, 70.0, 88.0, 8, 10)
    figure = draw_discrimination_table({"vse_c": {"tags": share, "mine": share}}, title="t")
    assert list(figure.layout.yaxis.ticktext) == ["<b>by rule (VSE-C)</b>", "TAGS", "mine"]
    assert dots(figure, "x") == [80, 80] and dots(figure, "x2") == [96.3]
    whiskers = figure.data[0].error_x
    assert (whiskers.array[0], whiskers.arrayminus[0]) == pytest.approx((8, 10))


def test_true_negatives_by_form_of_the_filter_with_the_papers_line():
    found = {
        "before the filter": TrueNegatives(Share(88.0, 84.0, 91.0, 88, 100), 3),
        "after the filter": TrueNegatives(Share(97.0, 95.0, 99.0, 97, 100), 5),
    }
    figure = draw_true_negative_rates({"tags": found}, title="t")
    assert dots(figure, "x") == [88, 97] and texts(figure, "x")[0] == "88.0 % of 100 decided"
    assert [shape.x0 for shape in figure.layout.shapes] == [96.5] and figure.layout.xaxis.range[0] == 80


def test_what_is_not_a_number_is_left_out_and_names_are_letters():
    rows = [("<b>head", [None]), ("row", [Dot(float("nan"))]), ("row & more", [Dot(1.0, text="<i>")])]
    figure = interval_rows(rows, axes=[{}], title="t")
    assert len(figure.data) == 2 and figure.data[1].text[0] == "&lt;i&gt;"
    assert list(figure.layout.yaxis.ticktext) == ["<b>&lt;b&gt;head</b>", "row", "row &amp; more"]
