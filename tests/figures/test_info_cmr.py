from math import log10

import numpy as np
import pytest

from itmlab.explain import shares_by_temperature, term_names, terms
from itmlab.explain.info_cmr import TERMS
from itmlab.figures import denominator_shares, info_cmr_terms
from itmlab.figures.info_cmr import COLOURS
from itmlab.synthesis import SynHNC
from tests.explain.synthesis_batches import small_batch


def test_the_kinds_of_terms_are_those_that_are_explained():
    assert tuple(COLOURS) == TERMS


def test_shares_are_stacked_in_order_with_the_papers_temperature_on_the_logarithmic_axis():
    temperatures = [0.02, 0.05, 0.5]
    shares = shares_by_temperature(small_batch(), temperatures, SynHNC(3), noise=10)
    figure = denominator_shares(temperatures, shares, title="Shares")
    assert [trace.name for trace in figure.data] == list(TERMS) and len(
        {trace.stackgroup for trace in figure.data}
    ) == 1
    np.testing.assert_allclose(np.sum([trace.y for trace in figure.data], axis=0), 100, rtol=1e-5)
    note = next(note for note in figure.layout.annotations if "0.05" in note.text)
    assert note.x == pytest.approx(log10(0.05)) and figure.layout.shapes[0].x0 == 0.05


def test_a_bar_a_term_the_largest_first_in_the_colour_of_its_kind():
    batch = small_batch()
    found = terms(batch, 3, SynHNC(3), temperature=0.1, noise=5)
    figure = info_cmr_terms(found, term_names(batch, found), title="Terms", first=6)
    bars = {row: x for trace in figure.data for row, x in zip(trace.y, trace.x, strict=True) if row is not None}
    np.testing.assert_allclose([bars[row] for row in range(6)], 100 * found.share[:6])
    for trace in figure.data:
        rows = [row for row in trace.y if row is not None]
        assert {found.kind[row] for row in rows} <= {trace.name} and trace.marker.color == COLOURS[trace.name]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the first on top


def test_captions_are_words_not_markup_and_few_terms_are_enough():
    batch = small_batch(pairs=4)
    found = terms(batch, 0, SynHNC(2), noise=0)
    figure = info_cmr_terms(found, ["<i>$x$"] * len(found.share), title="Terms", first=50)
    assert set(figure.layout.yaxis.ticktext) == {"&lt;i&gt;&#36;x&#36;"}
    assert len(figure.layout.annotations) == len(found.share) == 1 + 3 + 2
