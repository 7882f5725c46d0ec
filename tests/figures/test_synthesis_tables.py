"""Tables 3 and 4 and the share of true negatives: each number where it belongs, the paper's beside."""

import pytest

from itmlab.explain.fluencies import Perplexity
from itmlab.explain.resampling import Interval
from itmlab.figures import discrimination_table, perplexities, true_negative_rates
from itmlab.figures.interval_rows import Dot, interval_rows
from itmlab.figures.synthesis_tables import TABLE_3, TABLE_4
from itmlab.metrics import TrueNegatives
from itmlab.metrics.share import Share


def texts(figure, axis):
    return [trace.text[0] for trace in figure.data if trace.text and trace.xaxis == axis]


def dots(figure, axis):
    return [trace.x[0] for trace in figure.data if not trace.text and trace.xaxis == axis]


def perplexity(mean, median):
    return Perplexity(Interval(mean, 0.9 * mean, 1.2 * mean), Interval(median, 0.9 * median, 1.1 * median), 10)


def test_perplexities_stand_in_panels_beside_the_papers_with_ratios_to_the_captions():
    table = {"positive": perplexity(10, 5), "tags": perplexity(30, 10), "own": perplexity(2000, 12)}
    figure = perplexities(table, title="t", model="small")
    assert dots(figure, "x") == [5, 10, 12] and dots(figure, "x2") == [10, 30, 2000]
    assert texts(figure, "x") == ["5.0", "10.0 (2.0 ×)", "12.0 (2.4 ×)"]
    assert texts(figure, "x2")[2] == "2,000 (200 ×)"
    assert dots(figure, "x3") == [51.13, 87.63] and texts(figure, "x3")[1] == "87.6 (1.7 ×)"
    assert list(figure.layout.yaxis.ticktext) == ["captions", "synthetic (TAGS)", "own"]
    assert figure.layout.xaxis.type == figure.layout.xaxis3.type == "log"


def test_the_papers_numbers_are_the_papers():
    assert TABLE_3 == {"positive": 51.13, "tags": 87.63, "corrected": 70.87, "vse_c": 292.76}
    rows = [(row["tags"], row["uniter"]) for row in TABLE_4.values()]
    assert rows == [(98.7, 2.3), (99.7, 2.8), (96.3, 87.5)]


def test_discrimination_has_a_row_for_each_model_below_its_generator():
    share = Share(80.0, 70.0, 88.0, 8, 10)
    figure = discrimination_table({"vse_c": {"tags": share, "mine": share}}, title="t")
    assert list(figure.layout.yaxis.ticktext) == ["<b>by rule (VSE-C)</b>", "TAGS", "mine"]
    assert dots(figure, "x") == [80, 80] and dots(figure, "x2") == [96.3]
    whiskers = figure.data[0].error_x
    assert (whiskers.array[0], whiskers.arrayminus[0]) == pytest.approx((8, 10))


def test_true_negatives_by_form_of_the_filter_with_the_papers_line():
    found = {
        "before the filter": TrueNegatives(Share(88.0, 84.0, 91.0, 88, 100), 3),
        "after the filter": TrueNegatives(Share(97.0, 95.0, 99.0, 97, 100), 5),
    }
    figure = true_negative_rates({"tags": found}, title="t")
    assert dots(figure, "x") == [88, 97] and texts(figure, "x")[0] == "88.0 % of 100 decided"
    assert [shape.x0 for shape in figure.layout.shapes] == [96.5] and figure.layout.xaxis.range[0] == 80


def test_what_is_not_a_number_is_left_out_and_names_are_letters():
    rows = [("<b>head", [None]), ("row", [Dot(float("nan"))]), ("row & more", [Dot(1.0, text="<i>")])]
    figure = interval_rows(rows, axes=[{}], title="t")
    assert len(figure.data) == 2 and figure.data[1].text[0] == "&lt;i&gt;"
    assert list(figure.layout.yaxis.ticktext) == ["<b>&lt;b&gt;head</b>", "row", "row &amp; more"]
