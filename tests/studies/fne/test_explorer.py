"""The explorer of false-negative probabilities."""

from dataclasses import replace

import pytest

from itmlab.samplers import PRESETS
from itmlab.studies.fne.explorer import explore_false_negatives
from tests.studies.reading import controls, opened
from tests.studies.synthetic import synthetic_study


@pytest.fixture(scope="module")
def studied():
    return synthetic_study(24)


def test_it_begins_with_the_papers_values(studied):
    made = controls(explore_false_negatives(studied))
    values = {name: round(made[name].value, 6) for name in ("prior p", "threshold λ", "margin")}
    assert values == {"prior p": 1e-4, "threshold λ": 0.01, "margin": 0.2} and made["preset"].value == "paper"


def test_the_prior_moves_posterior_and_weight_but_no_density(studied):
    explorer = opened(explore_false_negatives(studied))

    def curves():
        lines = (trace for trace in explorer.shown[0].data if trace.type == "scatter" and trace.mode == "lines")
        return {trace.name: list(trace.y) for trace in lines}

    before = curves()
    controls(explorer)["prior p"].value = 0.1
    after = curves()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"posterior", "raw posterior", "sampling weight"}
    assert "p = 0.1" in explorer.shown[0].layout.title.text


def test_a_preset_brings_its_threshold(studied):
    explorer = explore_false_negatives(studied)
    controls(explorer)["preset"].value = "released"
    assert abs(controls(explorer)["threshold λ"].value - PRESETS["released"].threshold) < 1e-9


def test_a_caption_can_be_the_anchor(studied):
    explorer = opened(explore_false_negatives(studied, best=3, drawn=2))
    made = controls(explorer)
    made["number"].value = 23
    made["anchor"].value = "caption"
    made["number"].value = 47
    assert "caption 47" in explorer.shown[0].layout.title.text
    assert studied.data.captions[47] in explorer.shown[1].layout.title.text
    assert len(explorer.shown[1].layout.images) <= 5
    made["anchor"].value = "image"
    assert made["number"].max == 23 and "image 23" in explorer.shown[0].layout.title.text


def test_it_works_without_a_world(studied):
    figures = explore_false_negatives(replace(studied, truth=None)).figures()
    assert not any("world" in (annotation.text or "") for annotation in figures[1].layout.annotations)
