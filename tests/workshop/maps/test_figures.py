"""Each figure of attention and of the common space is drawn once without error; what it computes is tested."""

import numpy as np
import pytest
import torch
from workshop import plots
from workshop.analysis.attention import AttentionMap
from workshop.analysis.embeddings import BatchNeighbourhood, SharedWord

from tests.workshop.reading import words
from tests.workshop.small_world import small_set

PICTURE = small_set(1).images[0]
POINTS = np.random.default_rng(0).normal(size=(40, 2))


def rows(*spoken):
    return [AttentionMap(np.eye(4), word, PICTURE) for word in spoken]


def neighbourhood(synthetic: int):
    scores, hard = torch.linspace(-0.5, 0.9, 12), torch.arange(12) > 8
    flags = torch.arange(12) == 11
    places = POINTS[:1], POINTS[:12], POINTS[:synthetic]
    known = torch.arange(12), flags, hard & ~flags, hard, scores, torch.ones(synthetic)
    return BatchNeighbourhood(3, "image", *known, 0.4, *places)


DRAWN = {
    "attention": lambda: plots.draw_attention_maps({"FNE": rows("dog", "<b>")}, title="t", numbers=[0, 1]),
    "a long sentence": lambda: plots.draw_attention_maps({"FNE": rows(*"abcdefghijk")}, outlines=[np.eye(48) > 0]),
    "words": lambda: plots.draw_attention_maps({"FNE": []}),
    "nothing on a patch": lambda: plots.draw_words_on_patch({"FNE": []}, 0),
    "pointing": lambda: plots.draw_pointing_bars(
        {"a": dict.fromkeys(("accuracy", "mass"), (0.4, 0.3, 0.5))}, 0.1, title="t"
    ),
    "projection": lambda: plots.draw_projection(
        {"<a>": {"pictures": POINTS[:10], "captions": POINTS}, "b": {"pictures": POINTS[:0], "captions": POINTS}},
        picked={"captions": [3, 5]},
        title="t",
    ),
    "shared words": lambda: plots.draw_shared_words([SharedWord("<dog>", 0.5, 0.1, 3.0)], [PICTURE] * 12),
    "batch": lambda: plots.draw_batch_neighbourhood(neighbourhood(3), title="t"),
    "batch without synthesis": lambda: plots.draw_batch_neighbourhood(neighbourhood(0), title="t", ids=["<i>"] * 12),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_drawn_and_its_texts_are_escaped(name):
    figure = DRAWN[name]()
    assert not any(tag in str(words(figure)) for tag in ("<dog>", "<a>")) and figure.to_json()


def test_a_patch_of_a_finer_grid_is_the_one_in_the_same_place():
    coarse = AttentionMap(np.arange(4.0).reshape(2, 2), "dog", PICTURE)
    fine = AttentionMap(np.arange(16.0).reshape(4, 4), "dog", PICTURE)
    drawn = str(plots.draw_words_on_patch({"coarse": [coarse], "fine": [fine]}, 3).to_json())
    assert "3.00" in drawn and "15.00" in drawn


def test_above_the_cap_some_points_are_drawn_and_picked_ones_always():
    figure = plots.draw_projection({"a": {"captions": POINTS}}, picked={"captions": [39]}, title="t", most=8)
    numbers = figure.data[0].customdata.tolist()
    assert 39 in numbers and 8 <= len(numbers) <= 9
