"""Maps of features as figures."""

import numpy as np
import pytest

from itmlab.figures import projection

random = np.random.default_rng(0)
PANELS = {
    name: {"pictures": random.normal(size=(20, 2)), "captions": random.normal(size=(60, 2))}
    for name in ("before", "<i>after</i>")
}


def points(figure):
    return [trace for trace in figure.data if trace.customdata is not None]


def test_a_panel_a_map_and_a_colour_a_kind():
    figure = projection(PANELS, title="t")
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
    figure = projection(PANELS, title="t", ids={"pictures": [f"<b>{n}</b>" for n in range(20)]})
    assert points(figure)[0].text[3] == "&lt;b&gt;3&lt;/b&gt;" and points(figure)[1].text[3] == "captions 3"


def test_above_the_cap_some_are_drawn_by_lot_and_picked_ones_always():
    picked = {"pictures": [3], "captions": [40, 41, 59]}
    figure, again = (projection(PANELS, title="t", picked=picked, most=16) for _ in range(2))
    for kind, trace in zip(("pictures", "captions") * 2, points(figure), strict=True):
        assert {*picked[kind]} <= {*trace.customdata.tolist()}
        assert len(trace.customdata) <= 16 * len(PANELS["before"][kind]) / 80 + len(picked[kind])
    assert figure == again
    assert points(figure)[0].customdata.tolist() == points(figure)[2].customdata.tolist()
    assert "16 of 80 points drawn" in figure.layout.title.text


def test_lines_go_from_the_first_picked_point_to_every_other():
    figure = projection(PANELS, title="t", picked={"captions": [4, 7], "pictures": [3]})
    lines = next(trace for trace in figure.data if trace.mode == "lines")
    ends = np.stack([lines.x, lines.y], axis=1).reshape(2, 3, 2)
    assert np.array_equal(ends[:, 0], PANELS["before"]["pictures"][[3, 3]])
    assert np.array_equal(ends[:, 1], PANELS["before"]["captions"][[4, 7]])
    assert np.isnan(ends[:, 2]).all()


def test_there_are_as_many_traces_whatever_is_picked():
    some, none = (projection(PANELS, title="t", picked=picked) for picked in ({"pictures": [1]}, None))
    assert len(some.data) == len(none.data)


@pytest.mark.parametrize(
    "panels", [{}, {"one": {}}, {"one": {"pictures": np.zeros((0, 2))}}, {"one": {"a": np.ones((1, 2))}}]
)
def test_little_or_nothing_is_a_figure_too(panels):
    assert projection(panels, title="t").layout.height > 100


def test_both_axes_have_one_scale_and_hold_every_point():
    figure = projection({"wide": {"a": np.array([[0.0, 0], [10, 1]])}}, title="t")
    across, up = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert across[1] - across[0] == pytest.approx(up[1] - up[0]) and across[0] < 0 < 10 < across[1]
    assert figure.layout.yaxis.scaleanchor == "x"
