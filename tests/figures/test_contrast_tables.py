"""ITContrast's tables: each recipe's numbers with intervals, the paper's beside; gains over the same encoder."""

import numpy as np
import pytest

from itmlab.errors import ItmlabError
from itmlab.figures import contrast_gains, contrast_table
from itmlab.figures.contrast_tables import TABLE_3, TABLE_4
from itmlab.training import Comparison

SEEDS, IMAGES = 2, 30


def comparison(labels):
    """Made-up results: by recipe, seed, measure and image, what is reached of one sentence and five image queries."""
    random = np.random.default_rng(0)
    queries = np.repeat([np.ones(IMAGES), np.full(IMAGES, 5)], 3, axis=0)
    found = {label: random.binomial(queries.astype(int), 0.6, size=(SEEDS, 6, IMAGES)) / 1.0 for label in labels}
    return Comparison(labels, labels[0], list(range(SEEDS)), found, np.full(IMAGES, 5), {})


def dots(figure, axis, symbol):
    own = [trace for trace in figure.data if not trace.text and trace.xaxis == axis]
    return [trace.x[0] for trace in own if trace.marker.symbol == symbol]


@pytest.mark.parametrize(("table", "paper"), [(3, TABLE_3), (4, TABLE_4)])
def test_a_table_has_a_row_a_recipe_and_the_papers_numbers_as_diamonds(table, paper):
    found = comparison(list(paper))
    figure = contrast_table(found, table, title="t")
    assert list(figure.layout.yaxis.ticktext)[:2] == ["SCAN", "SCAN + Syn"]
    assert list(figure.layout.yaxis.ticktext)[-1] in ("OSCAR + Syn + Info", "SGRAF + Syn + Info")
    rows = found.table()
    for axis, column, measure in (
        ("x", 0, "i2t R@1"),
        ("x2", 1, "i2t R@10"),
        ("x3", 2, "t2i R@1"),
        ("x4", 3, "t2i R@10"),
    ):
        assert dots(figure, axis, None) == pytest.approx([row[measure] for row in rows])
        assert dots(figure, axis, "diamond") == [printed[column] for printed in paper.values()]


def test_the_papers_numbers_are_the_papers():
    assert TABLE_3["scan"] == (61.1, 91.5, 43.3, 80.9) and TABLE_3["oscar+syn+info"] == (92.8, 99.3, 84.1, 98.1)
    assert TABLE_4["scan"] == (67.4, 95.8, 48.6, 85.2) and TABLE_4["sgraf+syn+info"] == (80.7, 98.3, 62.2, 91.1)
    assert (len(TABLE_3), len(TABLE_4)) == (7, 8)


def test_gains_are_paired_differences_from_the_same_encoder():
    labels = ["scan", "scan+syn", "oscar", "oscar+syn", "vsrn", "vsrn+info"]
    found = comparison(labels)
    figure = contrast_gains(found, title="t")
    assert list(figure.layout.yaxis.ticktext) == [
        "<b>SCAN</b>",
        "+ Syn",
        "<b>OSCAR</b>",
        "+ Syn",
        "<b>VSRN</b>",
        "+ Info",
    ]
    expected = [found.difference(label, label.split("+")[0])["RSum"] for label in labels[1::2]]
    assert dots(figure, "x3", None) == [value for value, _, _ in expected]
    whiskers = [trace.error_x for trace in figure.data if trace.xaxis == "x3" and not trace.text]
    assert [one.array[0] for one in whiskers] == pytest.approx([upper - value for value, _, upper in expected])
    printed = dots(figure, "x", "diamond")  # Tables 3 and 4 both have SCAN; neither has VSRN
    assert printed == pytest.approx([66.8 - 61.1, 68.5 - 67.4, 90.9 - 88.3]) and not dots(figure, "x3", "diamond")


def test_difference_takes_the_comparisons_baseline_unless_told():
    found = comparison(["scan", "oscar"])
    assert found.difference("oscar") == found.difference("oscar", "scan")
    assert found.difference("oscar", "oscar")["RSum"] == (0, 0, 0)


def test_a_control_stands_below_its_encoder_and_takes_its_place_in_the_gains():
    found = comparison([*TABLE_4, "scan+features"])
    table = contrast_table(found, 4, title="t")
    assert list(table.layout.yaxis.ticktext)[:3] == ["SCAN", "SCAN + global features", "SCAN + Syn"]
    assert dots(table, "x", "diamond")[:2] == [67.4, 68.5]
    found = comparison(["scan", "scan+features", "scan+syn"])
    gains = contrast_gains(found, title="t")
    assert list(gains.layout.yaxis.ticktext) == ["<b>SCAN</b>", "+ global features", "+ Syn"]
    expected = [found.difference("scan+features", "scan"), found.difference("scan+syn", "scan+features")]
    assert dots(gains, "x3", None) == [one["RSum"][0] for one in expected]


def test_a_table_of_what_was_not_compared_is_one_line():
    with pytest.raises(ItmlabError, match="not compared: sgraf, "):
        contrast_table(comparison([name for name in TABLE_4 if "scan" in name]), 4, title="t")
