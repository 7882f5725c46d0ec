"""Sweeps and denominators drawn; ITContrast's tables with intervals and the paper's numbers, and gains by part."""

from math import log10

import numpy as np
import pytest

from itmlab.errors import ItmlabError
from itmlab.studies.itcontrast.sweeps import TERMS, memory_sweep, shares_by_temperature, term_names, terms
from itmlab.studies.itcontrast.tables import (
    COLOURS,
    TABLES,
    draw_contrast_gains,
    draw_contrast_table,
    draw_denominator_shares,
    draw_info_cmr_terms,
    draw_memory_sweep,
)
from itmlab.synthesis import SynHNC
from itmlab.training.comparison import Comparison
from tests.studies.synthesis_batches import small_batch

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


@pytest.mark.parametrize(("table", "paper"), TABLES.items())
def test_a_table_has_a_row_a_recipe_and_the_papers_numbers_as_diamonds(table, paper):
    found = comparison(list(paper))
    figure = draw_contrast_table(found, table, title="t")
    assert list(figure.layout.yaxis.ticktext)[:2] == ["SCAN", "SCAN + Syn"]
    assert list(figure.layout.yaxis.ticktext)[-1] in ("OSCAR + Syn + Info", "SGRAF + Syn + Info")
    low, high = figure.layout.xaxis.range
    shown = [
        dot for axis in ("x", "x2", "x3", "x4") for dot in dots(figure, axis, None) + dots(figure, axis, "diamond")
    ]
    assert low < min(shown) and max(shown) < high and min(figure.layout.xaxis.tickvals) > low
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
    table_3, table_4 = TABLES.values()
    assert table_3["scan"] == (61.1, 91.5, 43.3, 80.9) and table_3["oscar+syn+info"] == (92.8, 99.3, 84.1, 98.1)
    assert table_4["scan"] == (67.4, 95.8, 48.6, 85.2) and table_4["sgraf+syn+info"] == (80.7, 98.3, 62.2, 91.1)
    assert (len(table_3), len(table_4)) == (7, 8)


def test_gains_are_paired_differences_from_the_same_encoder():
    labels = ["scan", "scan+syn", "oscar", "oscar+syn", "vsrn", "vsrn+info"]
    found = comparison(labels)
    figure = draw_contrast_gains(found, title="t")
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
    found = comparison([*TABLES[4], "scan+features"])
    table = draw_contrast_table(found, 4, title="t")
    assert list(table.layout.yaxis.ticktext)[:3] == ["SCAN", "SCAN + global features", "SCAN + Syn"]
    assert dots(table, "x", "diamond")[:2] == [67.4, 68.5]
    found = comparison(["scan", "scan+features", "scan+syn"])
    gains = draw_contrast_gains(found, title="t")
    assert list(gains.layout.yaxis.ticktext) == ["<b>SCAN</b>", "+ global features", "+ Syn"]
    expected = [found.difference("scan+features", "scan"), found.difference("scan+syn", "scan+features")]
    assert dots(gains, "x3", None) == [one["RSum"][0] for one in expected]


def test_a_table_of_what_was_not_compared_is_one_line():
    with pytest.raises(ItmlabError, match="not compared: sgraf, "):
        draw_contrast_table(comparison([name for name in TABLES[4] if "scan" in name]), 4, title="t")


def test_the_kinds_of_terms_are_those_that_are_explained():
    assert tuple(COLOURS) == TERMS


def test_shares_are_stacked_in_order_with_the_papers_temperature_on_the_logarithmic_axis():
    temperatures = [0.02, 0.05, 0.5]
    shares = shares_by_temperature(small_batch(), temperatures, SynHNC(3), noise=10)
    figure = draw_denominator_shares(temperatures, shares, title="Shares")
    assert [trace.name for trace in figure.data] == list(TERMS) and len(
        {trace.stackgroup for trace in figure.data}
    ) == 1
    np.testing.assert_allclose(np.sum([trace.y for trace in figure.data], axis=0), 100, rtol=1e-5)
    note = next(note for note in figure.layout.annotations if "0.05" in note.text)
    assert note.x == pytest.approx(log10(0.05)) and figure.layout.shapes[0].x0 == 0.05


def test_a_bar_a_term_the_largest_first_in_the_colour_of_its_kind():
    batch = small_batch()
    found = terms(batch, 3, SynHNC(3), temperature=0.1, noise=5)
    figure = draw_info_cmr_terms(found, term_names(batch, found), title="Terms", first=6)
    bars = {row: x for trace in figure.data for row, x in zip(trace.y, trace.x, strict=True) if row is not None}
    np.testing.assert_allclose([bars[row] for row in range(6)], 100 * found.share[:6])
    for trace in figure.data:
        rows = [row for row in trace.y if row is not None]
        assert {found.kind[row] for row in rows} <= {trace.name} and trace.marker.color == COLOURS[trace.name]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the first on top


def test_captions_are_words_not_markup_and_few_terms_are_enough():
    batch = small_batch(pairs=4)
    found = terms(batch, 0, SynHNC(2), noise=0)
    figure = draw_info_cmr_terms(found, ["<i>$x$"] * len(found.share), title="Terms", first=50)
    assert set(figure.layout.yaxis.ticktext) == {"&lt;i&gt;&#36;x&#36;"}
    assert len(figure.layout.annotations) == len(found.share) == 1 + 3 + 2


def lines(figure, name):
    return [trace for trace in figure.data if (trace.name or "").startswith(name)]


def test_each_kind_of_weights_has_its_line_in_each_panel():
    swept = memory_sweep(small_batch(), "sigma", [0.1, 0.3, 1.0], clusters=3)
    figure = draw_memory_sweep(swept, title="σ", paper=0.1)
    for name, kind in (("least squares", "least_squares"), ("identity", "identity")):
        curve, found = swept.curves[kind], lines(figure, name)
        expected = [curve.hardness, curve.above_hardest, curve.above_match, curve.length]
        for trace, values in zip(found, expected, strict=True):
            np.testing.assert_allclose(trace.y, values)
    (shared,) = lines(figure, "prototypes that share")
    np.testing.assert_allclose(shared.y, swept.curves["identity"].effective)
    for name, score in (("match", swept.match), ("hardest real negative", swept.hardest)):
        np.testing.assert_allclose(lines(figure, name)[0].y, [score, score])


def test_sigma_is_on_a_logarithmic_axis_with_the_papers_value_and_clusters_are_not():
    by_sigma = draw_memory_sweep(memory_sweep(small_batch(), "sigma", [0.1, 1.0]), title="σ", paper=0.1).layout
    assert by_sigma.xaxis4.type == "log" and any(shape.x0 == 0.1 for shape in by_sigma.shapes)
    by_number = draw_memory_sweep(memory_sweep(small_batch(), "clusters", [2, 4]), title="m").layout
    assert by_number.xaxis4.type is None and by_number.xaxis4.title.text == "clusters m" and not by_number.shapes


def test_one_kind_of_weights_is_drawn_alone():
    swept = memory_sweep(small_batch(), "sigma", [0.1, 1.0], weights=["identity"])
    figure = draw_memory_sweep(swept, title="σ")
    assert lines(figure, "identity") and not lines(figure, "least squares")
