"""One anchor's memories drawn: the map, the rows, what negatives are made of, and how hard each kind is."""

import numpy as np
import pytest
from PIL import Image

from itmlab.studies.itcontrast.figures import (
    LARGEST,
    LINKED,
    SMALLEST,
    draw_hardness,
    draw_itcontrast,
    draw_kernel_memory,
    draw_prototypes,
)
from itmlab.studies.itcontrast.memory import Attribution, read_out
from itmlab.studies.itcontrast.sweeps import terms
from itmlab.studies.kit.theme import BLUE, GREEN, PALETTE, VERMILION, colour
from tests.refusals import refused
from tests.studies.reading import words
from tests.studies.synthesis_batches import small_batch

SCORES = {"matches": np.array([0.5, 0.7]), "<b>odd</b>": np.linspace(-0.5, 0.2, 50), "none": np.zeros(0)}


def test_a_row_a_kind_from_the_top_with_its_mean_marked():
    figure = draw_hardness(SCORES, title="Hardness")
    shapes, means = figure.data[::2], figure.data[1::2]
    assert [min(trace.y) for trace in shapes] == [2, 1, 0]
    np.testing.assert_allclose([max(trace.y) for trace in shapes], [2.82, 1.82, 0])
    np.testing.assert_allclose([trace.x[0] for trace in means[:2]], [0.6, -0.15])
    assert means[2].x[0] is None


def test_known_kinds_have_their_colours_and_others_those_of_the_palette():
    lines = [trace.line.color for trace in draw_hardness(SCORES, title="Hardness").data[::2]]
    assert lines == [BLUE, *PALETTE[1:3]]


def test_names_counts_and_means_are_written_and_nothing_is_markup():
    notes = words(draw_hardness(SCORES, title="Hardness"))
    assert "<b>&lt;b&gt;odd&lt;/b&gt;</b>" in notes and "2, mean 0.60" in notes and "50, mean −0.15" in notes
    assert "0, none" in notes


def test_a_mean_that_rounds_to_nothing_has_no_sign():
    notes = [note.text for note in draw_hardness({"noise": np.array([-1e-4])}, title="Hardness").layout.annotations]
    assert "1, mean 0.00" in notes
    assert draw_hardness({}, title="nothing").data == ()


def found(**settings):
    return read_out(small_batch(), 4, **{"clusters": 3, "sigma": 0.3, **settings})


def drawn(read_out, names=None, match=4):
    return draw_kernel_memory(read_out, names or [f"caption {at}" for at in range(16)], title="Memory", match=match)


LINES, PROTOTYPES, MADE, MATCH, ANCHOR, STRIP, DIAMONDS = range(7)


def test_every_negative_and_every_synthetic_one_is_on_the_map_and_in_its_row():
    read_out = found()
    data = drawn(read_out).data
    assert len(data[PROTOTYPES].x) == len(data[STRIP].x) == 15 and len(data[MADE].x) == len(data[DIAMONDS].x) == 3
    np.testing.assert_allclose(np.hypot(data[MADE].x, data[MADE].y), read_out.hardness.arccos().numpy(), atol=1e-3)
    assert (data[ANCHOR].x[0], data[ANCHOR].y[0]) == (0, 0)
    np.testing.assert_allclose([data[MATCH].x[0], data[MATCH].y[0]], read_out.place[4].numpy())
    np.testing.assert_allclose(sorted(data[STRIP].x), sorted(np.delete(read_out.score.numpy(), 4)))


def test_rows_go_from_the_hardest_to_the_easiest_and_hold_their_own_clusters():
    read_out = found()
    data = drawn(read_out).data
    assert list(data[DIAMONDS].y) == [0, 1, 2] and (np.diff(data[DIAMONDS].x) <= 0).all()
    for row, shade in zip(data[DIAMONDS].y, data[DIAMONDS].marker.color, strict=True):
        red, green, blue = (int(shade[start : start + 2], 16) for start in (1, 3, 5))
        colours = {data[STRIP].marker.color[at] for at in np.flatnonzero(np.array(data[STRIP].y) == row)}
        assert colours == {f"rgba({red},{green},{blue},0.75)"}


def test_a_dot_is_as_large_as_its_kernel_weight_says_and_heavy_ones_are_tied():
    read_out = found(sigma=0.2)
    data = drawn(read_out).data
    kernel = np.sort(np.delete(read_out.kernel.numpy(), 4))[::-1]
    np.testing.assert_allclose(data[PROTOTYPES].marker.size, SMALLEST + (LARGEST - SMALLEST) * np.sqrt(kernel))
    assert np.isnan(np.array(data[LINES].x, dtype=float)).sum() == (kernel >= LINKED).sum()


def test_rings_are_where_the_cosine_is_what_they_say():
    layout = drawn(found()).layout
    radii = sorted(shape.x1 for shape in layout.shapes if shape.type == "circle")
    said = [float(note.text.replace("−", "-")) for note in layout.annotations if note.x == 0 and note.xref == "x"]
    np.testing.assert_allclose(sorted(np.arccos(said)), radii)


def test_the_left_of_a_row_says_how_many_and_how_many_effectively():
    read_out = found()
    notes = words(drawn(read_out))
    for cluster in range(3):
        assert f"{len(read_out.prototypes(cluster))} · <b>{read_out.effective(cluster):.1f}</b>" in notes


@pytest.mark.parametrize("settings", [{"clusters": 1}, {"clusters": 16}, {"clusters": 16, "sigma": 10.0}])
def test_the_number_of_traces_is_always_the_same(settings):
    assert len(drawn(found(**settings)).data) == len(drawn(found()).data)


def test_empty_clusters_and_no_match_are_drawn_too():
    few = read_out(small_batch(pairs=4), 0, clusters=6)
    figure = draw_kernel_memory(few, ["a", "b", "c", "d"], title="few")
    assert words(figure).count("empty") == 3
    assert len(figure.data[MATCH].x) == 0 and not any(note.text == "its match" for note in figure.layout.annotations)
    assert len(figure.data) == len(drawn(found()).data)


def test_a_picture_of_the_anchor_takes_the_stars_place_and_covers_no_diamond():
    picture = Image.new("RGB", (8, 8), "red")
    figure = draw_kernel_memory(found(), [f"caption {at}" for at in range(16)], title="t", match=4, anchor=picture)
    (shown,) = figure.layout.images
    assert (shown.x, shown.y, shown.layer) == (0, 0, "below") and figure.data[ANCHOR].marker.opacity == 0
    assert "the anchor" not in [trace.name for trace in figure.data if trace.showlegend]
    assert len(figure.data) == len(drawn(found()).data) and len(drawn(found()).layout.images) == 0


def test_names_are_words_not_markup():
    figure = drawn(found(), names=["<b>$x$</b>"] * 16)
    assert all(row[0] == "&lt;b&gt;&#36;x&#36;&lt;/b&gt;" for row in figure.data[PROTOTYPES].customdata)


ROWS = [Attribution(2, 0.81, [3, 0], [0.75, 0.25], [1, 0]), Attribution(0, -0.12, [1], [1.0], [-1])]
CAPTIONS = ["a dog", "two dogs", "<b>a cat</b>", "a $bird$"]


def test_a_row_says_the_cosine_and_each_prototype_with_its_weight_and_truth_label():
    figure = draw_prototypes(ROWS, CAPTIONS, title="Made of", match=0.5)
    said = words(figure)
    assert "<b>0.81</b>" in said and "<b>−0.12</b>" in said
    assert [text for text in said if text.endswith(" %")] == ["75 %", "25 %", "100 %"]
    assert [text for text in said if "dog" in text or "bird" in text] == ["a &#36;bird&#36;", "a dog", "two dogs"]
    truth_labels = {note.text: note.font.color for note in figure.layout.annotations if "true" in note.text}
    assert truth_labels == {"<b>✓ true</b>": GREEN}
    assert any(note.text == "<b>✗ false</b>" and note.font.color == VERMILION for note in figure.layout.annotations)


def test_what_is_nearer_than_the_match_is_said_to_be():
    assert words(draw_prototypes(ROWS, CAPTIONS, title="Made of", match=0.5)).count("above the match") == 1
    assert "above the match" not in words(draw_prototypes(ROWS, CAPTIONS, title="Made of"))


def test_bars_are_as_long_as_the_weights_and_chips_have_the_clusters_colours():
    shapes = draw_prototypes(ROWS, CAPTIONS, title="Made of").layout.shapes
    bars = [shape.x1 - shape.x0 for shape in shapes if shape.y1 - shape.y0 == 8]
    assert [full / bars[0] for full in bars[1::2]] == pytest.approx([0.75, 0.25, 1.0])
    assert [shape.fillcolor for shape in shapes if shape.x1 - shape.x0 == 8] == [colour(2), colour(0)]


def test_pictures_are_shown_where_the_candidates_are_pictures(pictures):
    anchor = Image.new("RGB", (20, 20))
    assert len(draw_prototypes(ROWS, pictures, title="Made of").layout.images) == 3
    assert len(draw_prototypes(ROWS, pictures, title="Made of", anchor=anchor).layout.images) == 4


def test_no_world_no_truth_labels_and_no_negative_no_rows():
    unjudged = [Attribution(0, 0.5, [0, 1], [0.6, 0.4])]
    assert not any("true" in text or "false" in text for text in words(draw_prototypes(unjudged, CAPTIONS, title="x")))
    assert draw_prototypes([], CAPTIONS, title="x").layout.height > 0


def test_a_batch_goes_through_itcontrast_from_cosines_to_the_loss():
    batch = small_batch()
    denominator = terms(batch, 4, temperature=0.2)
    figure = draw_itcontrast(batch, found(), denominator, title="ITContrast", subtitle="<i>")
    (heat,), (bars,) = ([trace for trace in figure.data if trace.type == kind] for kind in ("heatmap", "bar"))
    np.testing.assert_allclose(np.array(heat.z), batch.scores.numpy())
    assert sum(bars.x) == pytest.approx(100, abs=1e-3) and bars.y[0] == "match (1)"
    loss = -np.log(denominator.share[denominator.kind.index("match")])
    assert f"−log(share of the match) = <b>{loss:.2f}</b>, at τ = 0.2" in words(figure)
    (frame,) = [shape for shape in figure.layout.shapes if shape.xref == "x3"]
    assert (frame.y0, frame.y1) == (3.5, 4.5) and len(figure.layout.images) == 1
    kept = drawn(
        found(), [batch.candidate_name(at) for at in range(16)]
    )  # the map and the rows are those of the memory
    for one, other in zip(figure.data[: DIAMONDS + 1], kept.data[: DIAMONDS + 1], strict=True):
        np.testing.assert_array_equal(np.array(one.x, float), np.array(other.x, float))
    refused(
        "the anchor of this figure is a picture",
        draw_itcontrast,
        small_batch("caption"),
        found(),
        denominator,
        title="",
    )
