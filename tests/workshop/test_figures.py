"""Every figure is drawn once, with hostile words in it; committed measured figures show their results."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from workshop import analysis, explore, plots
from workshop.analysis.rankings import Ranking
from workshop.plots.bars import Calibration
from workshop.plots.drawn import drawings
from workshop.plots.saving import figure_json

from itmlab.synthesis import SynHNC
from tests.refusals import refused
from tests.workshop.conftest import ColourModel
from tests.workshop.synthesis_batches import small_batch
from tests.workshop.synthetic import synthetic_study

FIGURES = Path(__file__).resolve().parents[2] / "figures"
HOSTILE = "<img src=x onerror=alert(1)> $x$"
TITLES = {"title": HOSTILE, "subtitle": HOSTILE}
GENERATOR = np.random.default_rng(0)
ENDS = (2.0, 1.0, 3.0)
CURVE = np.array([30.0, 20.0, 10.0])


def ranking() -> Ranking:
    annotated, truth_labels = np.array([False, True, False]), np.array([1, 0, -1])
    return Ranking(np.array([2, 0, 1]), np.array([2.0, 0.0, 1.0]), 4.0, annotated, truth_labels, {"R@3": 100.0})


def false_negative_probability():
    studied = synthetic_study(16)
    judged = analysis.judge(studied, 3)
    curves = analysis.curves(studied.sampler.statistics, judged.positive_score)
    options = {"scores": judged.score, "weights": judged.weight, "truth_labels": judged.truth_label, "drawn": [0, 2]}
    observed = (studied.positive_scores, studied.negative_scores)
    return plots.draw_false_negative_probability(curves, *observed, **TITLES, **options)


def prototypes(direction):
    batch = small_batch(direction=direction)
    read_out = analysis.read_out(batch, 4, clusters=3, sigma=0.3)
    candidates = [HOSTILE] * 16 if direction == "image" else batch.data.images
    return plots.draw_prototypes(analysis.attribution(batch, read_out), candidates, match=0.1, **TITLES)


def kernel_memory(anchor):
    read_out = analysis.read_out(small_batch(), 4, clusters=16, sigma=0.3)
    return plots.draw_kernel_memory(read_out, [HOSTILE] * 16, match=4, anchor=anchor, **TITLES)


def info_cmr_terms():
    batch = small_batch()
    terms = analysis.terms(batch, 3, SynHNC(3), noise=5)
    return plots.draw_info_cmr_terms(terms, analysis.term_names(batch, terms), **TITLES)


TRUTH_LABELS = {"weights": CURVE / 40, "truth_labels": np.array([1, 0, -1]), "drawn": np.array([0, 2, 0])}
RECALLS = {HOSTILE: {way: {"any": CURVE, "share": CURVE} for way in ("t2i", "i2t")}}
DRAWINGS = {
    "forest": lambda pictures: plots.interval_rows([(HOSTILE, []), (HOSTILE, [plots.Dot(1.0)])], axes=[{}], **TITLES),
    "gains": lambda pictures: plots.draw_gains(
        {HOSTILE: {HOSTILE: {"RSum": ENDS}}}, {"RSum": HOSTILE}, printed={HOSTILE: {"RSum": 4.0}}, **TITLES
    ),
    "bars": lambda pictures: plots.draw_bars({HOSTILE: ENDS, "b": 4.0}, axis=HOSTILE, **TITLES),
    "no bars": lambda pictures: plots.draw_bars({}, **TITLES),
    "curves": lambda pictures: plots.draw_curves({HOSTILE: {HOSTILE: np.ones((2, 3)), "b": np.ones(3)}}, **TITLES),
    "densities": lambda pictures: plots.draw_curves(
        {"": plots.densities({HOSTILE: CURVE, "none": CURVE[:0]})}, **TITLES
    ),
    "gallery": lambda pictures: plots.draw_gallery(
        pictures, [HOSTILE] * 6, frames=["#009E73"] * 6, badges=[HOSTILE] * 6, headings={0: HOSTILE, 4: "b"}, **TITLES
    ),
    "empty gallery": lambda pictures: plots.draw_gallery([], [], **TITLES),
    "table": lambda pictures: plots.draw_table(
        {HOSTILE: [HOSTILE] * 2}, picture=pictures[0], beside=[HOSTILE], fills=["#FFFFFF"] * 2, **TITLES
    ),
    "captioned": lambda pictures: plots.draw_captioned(
        pictures[0], [HOSTILE], {HOSTILE: np.ones(1)}, chosen=0, **TITLES
    ),
    "false negative probability": lambda pictures: false_negative_probability(),
    "negative captions": lambda pictures: plots.draw_negative_captions(
        pictures[0], [HOSTILE], [HOSTILE] * 3, CURVE / 40, **TRUTH_LABELS, **TITLES
    ),
    "negative pictures": lambda pictures: plots.draw_negative_pictures(
        HOSTILE, pictures[:3], CURVE / 40, title=HOSTILE, **TRUTH_LABELS
    ),
    "ranked pictures": lambda pictures: plots.draw_ranked_pictures(
        HOSTILE, pictures, {HOSTILE: ranking(), "b": ranking()}, captions=[HOSTILE] * 6, title=HOSTILE
    ),
    "ranked captions": lambda pictures: plots.draw_ranked_captions(
        pictures[0], [HOSTILE] * 3, {HOSTILE: ranking()}, own_captions=[HOSTILE], **TITLES
    ),
    "semantic recall": lambda pictures: plots.draw_semantic_recall_by_m([1, 5, 20], RECALLS, k=5, **TITLES),
    "kernel memory": lambda pictures: kernel_memory(None),
    "kernel memory of a picture": lambda pictures: kernel_memory(pictures[0]),
    "prototypes": lambda pictures: prototypes("image"),
    "prototypes of a caption": lambda pictures: prototypes("caption"),
    "sweep": lambda pictures: plots.draw_curves(
        plots.sweep_curves(analysis.memory_sweep(small_batch(), "sigma", [2, 3])), **TITLES
    ),
    "terms": lambda pictures: info_cmr_terms(),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_it_is_drawn_and_no_word_in_it_takes_effect(name, pictures) -> None:
    figure = DRAWINGS[name](pictures)
    drawn = figure_json(figure, {}).decode()
    assert "<img" not in drawn and "$x$" not in drawn and figure.layout.height > 100


@pytest.mark.parametrize("name", drawings())
def test_a_committed_figure_shows_its_result(name) -> None:
    committed = json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8"))["figure"]
    now = json.loads(figure_json(plots.draw_result(name), {}))["figure"]
    assert committed["data"] == now["data"]


def test_a_result_without_a_drawing_is_refused() -> None:
    refused("no drawing of a result 'fne_contrast' .*fne_contrasts", plots.draw_result, "fne_contrast")


def test_gains_are_drawn_as_they_are_with_their_intervals() -> None:
    figure = plots.draw_gains({"": {"fne": {"RSum": (-9.0, -12.0, -6.0)}}}, {"RSum": "RSum"}, title="t")
    (dot,) = (trace for trace in figure.data if trace.error_x.arrayminus)
    assert list(dot.x) == [-9.0] and dot.error_x.array[0] == 3.0 and dot.error_x.arrayminus[0] == 3.0


def test_a_calibrated_posterior_is_as_often_true_as_it_claims() -> None:
    posterior = GENERATOR.uniform(0.02, 0.98, 200_000)
    measured = Calibration(posterior, GENERATOR.random(200_000) < posterior)
    assert np.allclose(measured.claimed, measured.share, atol=0.02) and measured.count.sum() == 200_000
    certain = Calibration(np.array([0.0, 0.0, 1.0, 1.0]), np.array([False, False, True, True]))
    assert certain.share.tolist() == [0, 1] and certain.count.sum() == 4


def test_the_area_is_the_chance_that_a_hidden_positive_outscores_a_true_negative() -> None:
    scores = GENERATOR.integers(0, 7, 60).astype(float)
    truth = GENERATOR.random(60) < 0.4
    (name,) = plots.roc_curves({"s": scores}, truth)
    differences = scores[truth][:, None] - scores[~truth]
    area = float(re.search(r"area ([\d.]+)", name)[1])
    assert area == pytest.approx(np.mean((differences > 0) + 0.5 * (differences == 0)), abs=6e-4)
    assert not plots.roc_curves({"s": scores}, truth | True)


def test_captions_are_counted_by_the_number_of_images_they_are_true_of() -> None:
    shares = plots.true_images(np.array([1, 2, 3, 4]))
    assert shares == {"1: its own only": 25.0, "2 images": 25.0, "3–4 images": 50.0}


def test_the_explorers_follow_their_controls() -> None:
    from tests.workshop.reading import controls, opened
    from tests.workshop.small_retrievals import small_retrievals
    from tests.workshop.small_world import small_set

    def words(explorer):
        return "".join(str(figure.to_plotly_json()) for figure in explorer.shown)

    def moved(explorer, **values):
        """Set every control in turn; the figures that are then shown, as text."""
        opened(explorer)
        for name, value in values.items():
            controls(explorer)[name.replace("_", " ")].value = value
        return words(explorer)

    shown = moved(explore.explore_false_negatives(synthetic_study(24)), preset="released", prior_p=0.1, number=20)
    assert "p = 0.1, λ = 0.001" in shown and "image 20" in shown
    assert "caption 47" in moved(explore.explore_false_negatives(synthetic_study(24)), anchor="caption", number=47)

    rankings = explore.explore_retrieval(small_retrievals(), sentence="a red square", k=3)
    assert "a red square" in moved(rankings) and "image 15" in moved(rankings, number=31, query="picture")
    assert "caption 31" in moved(rankings, query="caption", number=31)
    assert "Nothing to show" in moved(rankings, sentence=" ")
    assert "<script" not in moved(rankings, sentence="<script>alert(1)</script>")

    memories = explore.explore_kernel_memory(ColourModel(), small_set(16), anchor=3, pairs=12)
    before = moved(memories)
    controls(memories)["width σ"].value = 1.0
    after = words(memories)
    assert before != after and "σ = 1, m = 8" in after
    assert "caption “" in moved(memories, anchor="caption", weights="identity")
