import math

from itmlab.figures.human_judgement import TABLE_1, human_judgement
from itmlab.metrics.correlation import Correlation


def correlation(value: float, pairs: int = 5785) -> Correlation:
    return Correlation(value, value - 0.02, value + 0.03, pairs, 1000)


def table(value: float) -> dict:
    return {
        "binary relevance": {
            "all": correlation(0.7),
            "non-ground-truth": Correlation(math.nan, math.nan, math.nan, 785, 444),
        },
        "NCS with CIDEr": {"all": correlation(value), "non-ground-truth": correlation(value / 2, 785)},
    }


READINGS = {"φ itself": table(0.6), "φ / best of the <caption>": table(0.8)}


def drawn(figure, panel: str) -> list[tuple[float, float]]:
    return [(trace.x[0], trace.y[0]) for trace in figure.data if trace.xaxis == panel]


def test_each_reading_of_a_measure_has_its_line_with_its_interval():
    figure = human_judgement(READINGS, title="t")
    names = list(figure.layout.yaxis.ticktext)
    assert names == [
        "<b>binary relevance</b>",
        "in every reading",
        "<b>NCS with CIDEr</b>",
        "φ itself",
        "φ / best of the &lt;caption&gt;",
    ]
    assert drawn(figure, "x") == [(0.7, 1), (0.6, 3), (0.8, 4)]
    whisker = figure.data[0].error_x
    assert math.isclose(whisker.array[0], 0.03) and math.isclose(whisker.arrayminus[0], 0.02)


def test_what_has_no_correlation_is_said_in_words():
    figure = human_judgement(READINGS, title="t")
    assert drawn(figure, "x2") == [(0.3, 3), (0.4, 4)]
    assert "the same for all: no correlation" in [note.text for note in figure.layout.annotations]


def test_the_papers_numbers_stand_below_their_measure():
    figure = human_judgement(READINGS, title="t", paper=TABLE_1, paper_name="SAM, Table 1")
    names = list(figure.layout.yaxis.ticktext)
    assert names[2] == names[6] == "SAM, Table 1" and len(names) == 7
    diamonds = [trace for trace in figure.data if trace.marker.symbol == "diamond"]
    assert [(mark.x[0], mark.y[0]) for mark in diamonds] == [(0.711, 2), (0.734, 6), (0.0, 2), (0.453, 6)]


def test_the_panels_say_how_many_pairs_they_show():
    titles = [note.text for note in human_judgement(READINGS, title="t").layout.annotations[:2]]
    assert titles == ["all 5,785 rated pairs", "the 785 that are no ground truth"]
