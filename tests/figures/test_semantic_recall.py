"""Recall against m: the numbers given, in a panel a direction and sense."""

import numpy as np
import pytest

from itmlab.figures import semantic_recall_by_m

RELEVANT = [1, 5, 20]


def recalls(directions=("t2i", "i2t"), senses=("any", "share")):
    return {
        model: {direction: {sense: np.array([30.0, 20.0, 10.0]) + at for sense in senses} for direction in directions}
        for at, model in enumerate(["<b>one</b>", "two"])
    }


@pytest.mark.parametrize(("directions", "panels"), [(("t2i", "i2t"), 4), (("t2i",), 2)])
def test_every_model_has_a_line_in_every_panel(directions, panels):
    figure = semantic_recall_by_m(RELEVANT, recalls(directions), k=5, title="t")
    lines = [trace for trace in figure.data if trace.name == "two"]
    assert len(lines) == panels and all(list(line.y) == [31, 21, 11] and list(line.x) == RELEVANT for line in lines)
    assert sum(line.showlegend for line in lines) == 1
    assert not any("<b>" in (trace.name or "") for trace in figure.data)


def test_what_k_places_can_hold_at_most_is_drawn_for_shares_only():
    figure = semantic_recall_by_m(RELEVANT, recalls(("t2i",)), k=5, title="t")
    (ceiling,) = (trace for trace in figure.data if trace.line.dash == "dot")
    assert list(ceiling.y) == [100, 100, 25]
    assert ceiling.name == "the most that 5 places can hold"
    alone = semantic_recall_by_m(RELEVANT, recalls(("t2i",), ("any",)), k=5, title="t")
    assert not any(trace.line.dash == "dot" for trace in alone.data)
