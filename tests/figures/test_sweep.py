"""Small panels: a column for each knob, a row for each measure, the paper's value ringed."""

from itmlab.explain import Setting
from itmlab.explain.resampling import Interval
from itmlab.figures import synthesis_sweep
from itmlab.metrics import TrueNegatives
from itmlab.metrics.share import Share


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
    figure = synthesis_sweep(table, title="t", marked={"temperature": 1.5, "masking": "phrase"})
    assert [list(trace.y) for trace in figure.data[:3]] == [[1, 2], [10, 20], [91, 92]]
    assert list(figure.data[0].x) == ["0.5", "1.5"] and list(figure.data[3].x) == ["phrase", "word"]
    assert list(figure.data[0].error_y.array) == [2, 2] and list(figure.data[0].error_y.arrayminus) == [1, 1]
    assert list(figure.data[0].marker.line.width) == [0, 2.5] and list(figure.data[3].marker.line.width) == [2.5, 0]
    assert figure.data[0].mode == "lines+markers" and figure.data[3].mode == "markers"  # words have no order
