"""The map and the rows of one anchor's memories: everything is where its numbers say."""

import numpy as np
import pytest

from itmlab.explain import recollect
from itmlab.figures import kernel_memory
from itmlab.figures.kernel_memory import LARGEST, LINKED, SMALLEST
from tests.explain.synthesis_batches import small_batch


def found(**settings):
    return recollect(small_batch(), 4, **{"clusters": 3, "sigma": 0.3, **settings})


def drawn(recollection, names=None, match=4):
    return kernel_memory(recollection, names or [f"caption {at}" for at in range(16)], title="Memory", match=match)


LINES, PROTOTYPES, MADE, MATCH, ANCHOR, STRIP, DIAMONDS = range(7)


def test_every_negative_and_every_synthetic_one_is_on_the_map_and_in_its_row():
    recollection = found()
    data = drawn(recollection).data
    assert len(data[PROTOTYPES].x) == len(data[STRIP].x) == 15 and len(data[MADE].x) == len(data[DIAMONDS].x) == 3
    np.testing.assert_allclose(np.hypot(data[MADE].x, data[MADE].y), recollection.hardness.arccos().numpy(), atol=1e-3)
    assert (data[ANCHOR].x[0], data[ANCHOR].y[0]) == (0, 0)
    np.testing.assert_allclose([data[MATCH].x[0], data[MATCH].y[0]], recollection.place[4].numpy())
    np.testing.assert_allclose(sorted(data[STRIP].x), sorted(np.delete(recollection.score.numpy(), 4)))


def test_rows_go_from_the_hardest_to_the_easiest_and_hold_their_own_clusters():
    recollection = found()
    data = drawn(recollection).data
    assert list(data[DIAMONDS].y) == [0, 1, 2] and (np.diff(data[DIAMONDS].x) <= 0).all()
    for row, shade in zip(data[DIAMONDS].y, data[DIAMONDS].marker.color, strict=True):
        red, green, blue = (int(shade[start : start + 2], 16) for start in (1, 3, 5))
        colours = {data[STRIP].marker.color[at] for at in np.flatnonzero(np.array(data[STRIP].y) == row)}
        assert colours == {f"rgba({red},{green},{blue},0.75)"}


def test_a_dot_is_as_large_as_its_kernel_weight_says_and_heavy_ones_are_tied():
    recollection = found(sigma=0.2)
    data = drawn(recollection).data
    kernel = np.sort(np.delete(recollection.kernel.numpy(), 4))[::-1]
    np.testing.assert_allclose(data[PROTOTYPES].marker.size, SMALLEST + (LARGEST - SMALLEST) * np.sqrt(kernel))
    assert np.isnan(np.array(data[LINES].x, dtype=float)).sum() == (kernel >= LINKED).sum()


def test_rings_are_where_the_cosine_is_what_they_say():
    layout = drawn(found()).layout
    radii = sorted(shape.x1 for shape in layout.shapes if shape.type == "circle")
    said = [float(note.text.replace("−", "-")) for note in layout.annotations if note.x == 0 and note.xref == "x"]
    np.testing.assert_allclose(sorted(np.arccos(said)), radii)


def test_the_left_of_a_row_says_how_many_and_how_many_effectively():
    recollection = found()
    notes = [note.text for note in drawn(recollection).layout.annotations]
    for cluster in range(3):
        assert f"{len(recollection.prototypes(cluster))} · <b>{recollection.effective(cluster):.1f}</b>" in notes


@pytest.mark.parametrize("settings", [{"clusters": 1}, {"clusters": 16}, {"clusters": 16, "sigma": 10.0}])
def test_the_number_of_traces_is_always_the_same(settings):
    assert len(drawn(found(**settings)).data) == len(drawn(found()).data)


def test_empty_clusters_and_no_match_are_drawn_too():
    recollection = recollect(small_batch(pairs=4), 0, clusters=6)
    figure = kernel_memory(recollection, ["a", "b", "c", "d"], title="few")
    assert [note.text for note in figure.layout.annotations].count("empty") == 3
    assert len(figure.data[MATCH].x) == 0 and not any(note.text == "its match" for note in figure.layout.annotations)
    assert len(figure.data) == len(drawn(found()).data)


def test_names_are_words_not_markup():
    figure = drawn(found(), names=["<b>$x$</b>"] * 16)
    assert all(row[0] == "&lt;b&gt;&#36;x&#36;&lt;/b&gt;" for row in figure.data[PROTOTYPES].customdata)
