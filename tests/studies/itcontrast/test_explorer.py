"""The explorer of kernel memories."""

import pytest

from itmlab import studies
from tests.studies.conftest import ColourModel
from tests.studies.reading import controls, opened, words
from tests.studies.small_world import small_set


@pytest.fixture
def explorer():
    return opened(studies.itcontrast.explore_kernel_memory(ColourModel(), small_set(16), anchor=3, pairs=12))


def subtitles(explorer):
    return [figure.layout.title.text for figure in explorer.shown]


def test_it_begins_with_the_papers_sigma_and_least_squares(explorer):
    made = controls(explorer)
    assert made["width σ"].value == pytest.approx(0.1) and made["clusters m"].value == 8
    assert "σ = 0.1, m = 8, least squares" in subtitles(explorer)[0]
    assert len(explorer.shown[1].layout.images) == 1  # the anchor's picture


def test_sigma_moves_what_is_recalled_and_no_candidate(explorer):
    memory = explorer.shown[0]
    before = {index: list(memory.data[index].x) for index in (1, 2)}
    controls(explorer)["width σ"].value = 1.0
    after = {index: list(memory.data[index].x) for index in (1, 2)}
    assert sorted(before[1]) == sorted(after[1]) and before[2] != after[2]


def test_weights_clusters_and_ridge_are_heard(explorer):
    made = controls(explorer)
    made["width σ"].value = 1.0
    seen = [str(explorer.shown[0].data[2].x)]
    for control, value in (("weights", "identity"), ("weights", "least_squares"), ("ridge ε", 1.0), ("clusters m", 3)):
        made[control].value = value
        seen.append(str(explorer.shown[0].data[2].x))
    assert seen[1] != seen[0] == seen[2] != seen[3]
    assert len(explorer.shown[0].data[2].x) == 3


def test_a_caption_as_anchor_has_pictures_for_prototypes(explorer):
    controls(explorer)["anchor"].value = "caption"
    assert "caption “" in subtitles(explorer)[1]
    assert len(explorer.shown[1].layout.images) >= 6
    assert any("✓ true" in text or "✗ false" in text for text in words(explorer.shown[1]))


def test_a_batch_smaller_than_asked_for_has_a_last_anchor():
    made = opened(studies.itcontrast.explore_kernel_memory(ColourModel(), small_set(4), pairs=128))
    assert controls(made)["number"].max == 3
    controls(made)["number"].value = 3
    assert len(made.shown[0].data[3].x) == 1


def test_still_figures_show_the_same(explorer):
    assert [words(figure) for figure in explorer.figures()] == [words(figure) for figure in explorer.shown]
