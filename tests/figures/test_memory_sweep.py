import numpy as np

from itmlab.explain import memory_sweep
from itmlab.figures import memory_sweep as drawn
from tests.explain.synthesis_batches import small_batch


def lines(figure, name):
    return [trace for trace in figure.data if (trace.name or "").startswith(name)]


def test_each_kind_of_weights_has_its_line_in_each_panel():
    swept = memory_sweep(small_batch(), "sigma", [0.1, 0.3, 1.0], clusters=3)
    figure = drawn(swept, title="σ", paper=0.1)
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
    by_sigma = drawn(memory_sweep(small_batch(), "sigma", [0.1, 1.0]), title="σ", paper=0.1).layout
    assert by_sigma.xaxis4.type == "log" and any(shape.x0 == 0.1 for shape in by_sigma.shapes)
    by_number = drawn(memory_sweep(small_batch(), "clusters", [2, 4]), title="m").layout
    assert by_number.xaxis4.type is None and by_number.xaxis4.title.text == "clusters m" and not by_number.shapes


def test_one_kind_of_weights_is_drawn_alone():
    swept = memory_sweep(small_batch(), "sigma", [0.1, 1.0], weights=["identity"])
    figure = drawn(swept, title="σ")
    assert lines(figure, "identity") and not lines(figure, "least squares")
