"""Several measures of the same rankings: values, whiskers, and each model's place."""

from itmlab.figures import measures_by_model

MEASURES = {
    "one": {"R@5": (30.0, 25.0, 36.0), "NCS@5": (50.0, 48.0, 52.0)},
    "<b>two</b>": {"R@5": (20.0, 19.0, 21.0), "NCS@5": (60.0, 58.0, 62.0)},
}


def test_the_place_by_each_measure_stands_over_the_point():
    notes = measures_by_model(MEASURES, title="t").layout.annotations
    places = {(note.xref, note.y): note.text[3] for note in notes if note.text.startswith("<b>")}
    hostile = "&lt;b&gt;two&lt;/b&gt;"
    assert places == {("x", "one"): "1", ("x", hostile): "2", ("x2", "one"): "2", ("x2", hostile): "1"}


def test_whiskers_end_where_the_interval_does():
    first = measures_by_model(MEASURES, title="t").data[0]
    assert first.x[0] == 30 and first.error_x.array[0] == 6 and first.error_x.arrayminus[0] == 5


def test_many_measures_take_two_rows():
    many = {"one": {f"measure {at}": (float(at), at - 1.0, at + 1.0) for at in range(9)}}
    figure = measures_by_model(many, title="t")
    assert len({trace.yaxis for trace in figure.data}) == 9
    assert len({axis.domain for axis in (figure.layout[f"yaxis{at or ''}"] for at in ("", 2, 9))}) == 2
