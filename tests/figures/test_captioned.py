"""A picture beside its captions."""

import numpy as np

from itmlab.figures import captioned


def test_every_caption_has_its_score_by_every_model(pictures):
    scores = {"before": np.array([0.1, 0.2]), "<i>after</i>": np.array([0.3, 0.444])}
    figure = captioned(pictures[0], ["a <b>dog</b>", "a cat"], scores, title="t", chosen=1)
    words = [note.text for note in figure.layout.annotations]
    assert [word for word in words if word.startswith("<b>0")] == [
        f"<b>{v}</b>" for v in ("0.10", "0.30", "0.20", "0.44")
    ]
    assert "a &lt;b&gt;dog&lt;/b&gt;" in words and not any("<i>" in word for word in words)
    assert [shape.line.width for shape in figure.layout.shapes] == [1, 2]
    assert len(figure.layout.images) == 1


def test_a_picture_without_captions_is_a_figure_too(pictures):
    figure = captioned(pictures[0], [], {"one": np.zeros(0)}, title="t")
    assert len(figure.layout.images) == 1 and not figure.layout.shapes
