"""One scene with what is known of it."""

import numpy as np

from itmlab.figures import scene


def test_boxes_lie_on_the_things_they_name(pictures):
    masks = np.zeros((2, 32, 32), dtype=bool)
    masks[0, 8:16, 4:12] = True
    masks[1] = True
    boxes = np.array([[4, 8, 12, 16], [0, 0, 32, 32]])
    figure = scene(pictures[0], ["<dog>", "road"], boxes, masks, title="t", captions=["a dog", "a & b"])
    right = figure.layout.images[1]
    scale = right.sizex / 32
    box = figure.layout.shapes[0]
    assert np.isclose(box.x0, right.x + 4 * scale) and np.isclose(box.x1, right.x + 12 * scale)
    assert np.isclose(box.y0, 8 * scale) and np.isclose(box.y1, 16 * scale)
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert texts == ["<b>&lt;dog&gt;</b>", "<b>road</b>", "a dog", "a &amp; b"]


def test_a_wide_picture_is_centred(pictures):
    wide = pictures[4].resize((64, 32))
    figure = scene(wide, ["all"], np.array([[0, 0, 64, 32]]), np.ones((1, 32, 64), dtype=bool), title="t")
    right, box = figure.layout.images[1], figure.layout.shapes[0]
    assert np.isclose(box.x1 - box.x0, right.sizex) and np.isclose(box.y0, right.sizey / 4)
