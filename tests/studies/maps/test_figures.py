"""Rows of attention maps, panels of points, histograms of similarity, a batch around its anchor."""

import numpy as np
import pytest
import torch

from itmlab.studies.maps.attention import AttentionMap
from itmlab.studies.maps.embeddings import BatchNeighbourhood, SharedWord
from itmlab.studies.maps.figures import (
    draw_attention_maps,
    draw_batch_neighbourhood,
    draw_pointing_bars,
    draw_projection,
    draw_shared_words,
    draw_similarities,
    draw_words_on_patch,
)
from tests.studies.reading import words


def maps(picture, words):
    return [AttentionMap(np.eye(4), word, picture) for word in words]


def test_one_row_a_checkpoint_one_column_a_word(pictures):
    rows = {"w/o FNE": maps(pictures[0], ["dog", "<b>"]), "FNE": maps(pictures[0], ["dog", "<b>"])}
    figure = draw_attention_maps(rows, title="t")
    assert len(figure.layout.images) == 2 * 3
    assert words(figure)[:3] == ["<b>w/o FNE</b>", "dog", "&lt;b&gt;"]
    assert len({image.y for image in figure.layout.images}) == 2


def test_a_long_sentence_is_broken_into_lines_below_each_other(pictures):
    figure = draw_attention_maps({"FNE": maps(pictures[0], list("abcdefghijk"))}, title="t")
    assert len({image.y for image in figure.layout.images}) == 3
    lowest = max(image.y + image.sizey for image in figure.layout.images)
    assert lowest <= figure.layout.yaxis.range[0]


def test_a_patch_of_a_finer_grid_is_the_one_in_the_same_place(pictures):
    coarse = AttentionMap(np.arange(4.0).reshape(2, 2), "dog", pictures[0])
    fine = AttentionMap(np.arange(16.0).reshape(4, 4), "dog", pictures[0])
    figure = draw_words_on_patch({"coarse": [coarse], "fine": [fine]}, 3)
    assert words(figure) == ["coarse", "fine", "dog", "<b>3.00</b>", "<b>15.00</b>"]


def test_the_words_that_land_most_on_a_patch_are_listed_first_and_no_more_than_fit(pictures):
    rows = {
        name: [AttentionMap(np.full((2, 2), sign * n), str(n), pictures[0]) for n in range(12)]
        for name, sign in (("one", -1.0), ("last", 1.0))
    }
    assert words(draw_words_on_patch(rows, 0))[2::3] == ["11", "10", "9", "8", "7", "6", "5", "4"]
    assert words(draw_words_on_patch({"one": []}, 0)) == []


def test_marks_for_the_pointer_lie_on_what_they_stand_for(pictures):
    rows = {"FNE": maps(pictures[0], ["dog", "cat"])}
    figure = draw_attention_maps(rows, title="t", numbers=[4, 7])
    patches, found = figure.data
    picture, *heats = figure.layout.images
    assert list(found.customdata) == [4, 7] and list(patches.customdata) == list(range(16))
    assert list(found.x) == [heat.x + heat.sizex / 2 for heat in heats]
    inside = [picture.x < x < picture.x + picture.sizex for x in patches.x]
    assert all(inside) and patches.x[5] == patches.x[1] and patches.y[5] == patches.y[6] > patches.y[1]
    assert draw_attention_maps(rows, title="t").data == ()


def test_what_captions_share_is_drawn_as_two_bars_a_word(pictures):
    shared = [SharedWord("dog", 0.75, 0.1, 4.0), SharedWord("<b>", 0.5, 0.0, 3.0)]
    figure = draw_shared_words(shared, [pictures[0]] * 12, subtitle="s")
    widths = [shape.x1 - shape.x0 for shape in figure.layout.shapes]
    assert widths[1] / widths[0] == pytest.approx(0.1 / 0.75) and widths[3] == 0
    assert words(figure)[1:] == ["<b>dog</b>", "75 %, 10 %", "<b>&lt;b&gt;</b>", "50 %, 0 %"]
    assert len(figure.layout.images) == 9 and "No word stands out." in words(draw_shared_words([], []))


def test_an_outline_changes_only_its_own_word(pictures):
    rows = {"FNE": maps(pictures[0], ["dog", "cat"])}
    plain = draw_attention_maps(rows, title="t")
    mask = np.zeros((32, 32), dtype=bool)
    mask[8:20, 8:20] = True
    marked = draw_attention_maps(rows, title="t", outlines=[None, mask])
    differs = [a.source != b.source for a, b in zip(plain.layout.images, marked.layout.images, strict=True)]
    assert differs == [False, False, True]


def test_a_sentence_without_words_is_a_figure_too(pictures):
    assert not draw_attention_maps({"FNE": []}, title="t").layout.images


def test_shares_are_shown_in_percent_against_chance():
    measures = {"a": {"accuracy": (0.4, 0.3, 0.5), "mass": (0.2, 0.1, 0.25)}}
    figure = draw_pointing_bars(measures, 0.11, title="t")
    accuracy, mass = figure.data
    assert list(accuracy.y) == [40] and list(mass.y) == [20]
    assert np.allclose(mass.error_y.array, [5]) and np.allclose(mass.error_y.arrayminus, [10])
    assert [shape.y0 for shape in figure.layout.shapes] == [11, 11]


random = np.random.default_rng(0)
PANELS = {
    name: {"pictures": random.normal(size=(20, 2)), "captions": random.normal(size=(60, 2))}
    for name in ("before", "<i>after</i>")
}


def points(figure):
    return [trace for trace in figure.data if trace.customdata is not None]


def test_a_panel_a_map_and_a_colour_a_kind():
    figure = draw_projection(PANELS, title="t")
    assert [(trace.name, trace.xaxis, len(trace.x)) for trace in points(figure)] == [
        ("pictures", "x", 20),
        ("captions", "x", 60),
        ("pictures", "x2", 20),
        ("captions", "x2", 60),
    ]
    assert [bool(trace.showlegend) for trace in points(figure)] == [True, True, False, False]
    assert not any("<i>" in note.text for note in figure.layout.annotations)
    for trace in points(figure):
        panel = PANELS["before" if trace.xaxis == "x" else "<i>after</i>"][trace.name]
        places = np.stack([trace.x, trace.y], axis=1)
        assert np.allclose(places, panel[np.asarray(trace.customdata)], atol=0.006)


def test_hovering_shows_ids_which_take_no_effect():
    figure = draw_projection(PANELS, title="t", ids={"pictures": [f"<b>{n}</b>" for n in range(20)]})
    assert points(figure)[0].text[3] == "&lt;b&gt;3&lt;/b&gt;" and points(figure)[1].text[3] == "captions 3"


def test_above_the_cap_some_are_drawn_by_lot_and_picked_ones_always():
    picked = {"pictures": [3], "captions": [40, 41, 59]}
    figure, again = (draw_projection(PANELS, title="t", picked=picked, most=16) for _ in range(2))
    for kind, trace in zip(("pictures", "captions") * 2, points(figure), strict=True):
        assert {*picked[kind]} <= {*trace.customdata.tolist()}
        assert len(trace.customdata) <= 16 * len(PANELS["before"][kind]) / 80 + len(picked[kind])
    assert figure == again
    assert points(figure)[0].customdata.tolist() == points(figure)[2].customdata.tolist()
    assert "16 of 80 points drawn" in figure.layout.title.text


def test_lines_go_from_the_first_picked_point_to_every_other():
    figure = draw_projection(PANELS, title="t", picked={"captions": [4, 7], "pictures": [3]})
    lines = next(trace for trace in figure.data if trace.mode == "lines")
    ends = np.stack([lines.x, lines.y], axis=1).reshape(2, 3, 2)
    assert np.array_equal(ends[:, 0], PANELS["before"]["pictures"][[3, 3]])
    assert np.array_equal(ends[:, 1], PANELS["before"]["captions"][[4, 7]])
    assert np.isnan(ends[:, 2]).all()


def test_there_are_as_many_traces_whatever_is_picked():
    some, none = (draw_projection(PANELS, title="t", picked=picked) for picked in ({"pictures": [1]}, None))
    assert len(some.data) == len(none.data)


@pytest.mark.parametrize(
    "panels", [{}, {"one": {}}, {"one": {"pictures": np.zeros((0, 2))}}, {"one": {"a": np.ones((1, 2))}}]
)
def test_little_or_nothing_is_a_figure_too(panels):
    assert draw_projection(panels, title="t").layout.height > 100


def test_both_axes_have_one_scale_and_hold_every_point():
    figure = draw_projection({"wide": {"a": np.array([[0.0, 0], [10, 1]])}}, title="t")
    across, up = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert across[1] - across[0] == pytest.approx(up[1] - up[0]) and across[0] < 0 < 10 < across[1]
    assert figure.layout.yaxis.scaleanchor == "x"


def test_each_kind_adds_up_to_all_of_its_pairs_in_every_panel():
    random = np.random.default_rng(0)
    negatives = {"before": random.normal(0, 0.1, 500), "after": random.normal(0, 0.3, 500)}
    positives = {"before": random.normal(0, 0.1, 40), "after": random.normal(0.5, 0.1, 40)}
    figure = draw_similarities(negatives, positives, title="t")
    assert [trace.name for trace in figure.data] == ["negatives", "positives"] * 2
    assert [sum(trace.y) for trace in figure.data] == pytest.approx([100] * 4)
    assert len({tuple(trace.x) for trace in figure.data}) == 1
    assert [bool(trace.showlegend) for trace in figure.data] == [True, True, False, False]


@pytest.mark.parametrize("values", [np.zeros(0), np.ones(3)])
def test_no_pairs_or_equal_ones_are_a_figure_too(values):
    figure = draw_similarities({"<b>": values}, {"<b>": values}, title="t")
    assert "<b>" not in figure.layout.annotations[0].text


def batch(synthetic: int = 3, *, world: bool = True) -> BatchNeighbourhood:
    """Ten candidates, numbered from 100 and scored 0.0, 0.1, … 0.9: the last two positives, all above 0.45 hard."""
    positives = torch.arange(10) >= 8
    scores = torch.arange(10) / 10
    return BatchNeighbourhood(
        anchor=0,
        direction="image",
        index=torch.arange(100, 110),
        positives=positives,
        hard=~positives & (scores > 0.45),
        true=(torch.arange(10) == 6) if world else None,
        scores=scores,
        synthetic_scores=torch.linspace(0.2, 0.7, synthetic),
        threshold=0.45,
        anchor_place=np.zeros((1, 2)),
        places=random.normal(size=(10, 2)),
        synthetic_places=random.normal(size=(synthetic, 2)),
    )


def named(figure, name):
    return next(trace for trace in figure.data if (trace.name or "").startswith(name))


def test_the_map_tells_the_kinds_apart():
    figure = draw_batch_neighbourhood(batch(), title="t")
    numbers = {kind: named(figure, kind).customdata.tolist() for kind in ("positives", "hard", "easy")}
    assert numbers == {"positives": [108, 109], "hard": [105, 106, 107], "easy": [100, 101, 102, 103, 104]}
    assert named(figure, "hard").name == "hard negatives (3)"
    assert len(named(figure, "synthesised").x) == 3 and len(named(figure, "anchor").x) == 1


def test_true_negatives_have_a_rim_of_their_own():
    figure = draw_batch_neighbourhood(batch(), title="t")
    rims = named(figure, "hard").marker.line.color
    assert rims[1] not in (rims[0], rims[2]) and rims[0] == rims[2]
    assert named(figure, "true, not annotated").marker.line.color == rims[1]
    unknown = draw_batch_neighbourhood(batch(world=False), title="t")
    assert not any("true" in (trace.name or "") for trace in unknown.data)


def test_the_histogram_counts_every_negative_and_no_bin_is_both_hard_and_easy():
    figure = draw_batch_neighbourhood(batch(), title="t")
    easy, hard = (trace for trace in figure.data if trace.type == "bar")
    assert sum(easy.y) == 5 and sum(hard.y) == 3
    assert not any(one and other for one, other in zip(easy.y, hard.y, strict=True))
    edges = np.asarray(easy.x) - 0.025
    assert np.isclose(edges, 0.45).any()


def test_positives_and_synthesised_ones_stand_below_at_their_similarity():
    figure = draw_batch_neighbourhood(batch(), title="t")
    below = [list(trace.x) for trace in figure.data if trace.type == "scatter" and trace.yaxis == "y3"]
    assert below[0] == pytest.approx([0.2, 0.45, 0.7]) and below[1] == pytest.approx([0.8, 0.9])
    assert list(figure.layout.yaxis3.ticktext) == ["synthesised", "positives"]


def test_without_synthesised_ones_nothing_speaks_of_them():
    figure = draw_batch_neighbourhood(batch(0), title="t")
    assert not any("synthesised" in (trace.name or "") for trace in figure.data)
    assert list(figure.layout.yaxis3.ticktext) == ["positives"]


def test_ids_of_candidates_are_shown_and_take_no_effect():
    ids = [f"<a>{number}" for number in range(110)]
    assert named(draw_batch_neighbourhood(batch(), title="t", ids=ids), "positives").text[0] == "&lt;a&gt;108: 0.80"
