"""Pictures on a canvas: beside captions, in a gallery, painted over, encoded."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from itmlab.studies.kit.canvas import Canvas, data_uri, draw_captioned, draw_gallery, heat, outlined, tinted
from itmlab.studies.kit.theme import title_and_subtitle


def test_every_caption_has_its_score_by_every_model(pictures):
    scores = {"before": np.array([0.1, 0.2]), "<i>after</i>": np.array([0.3, 0.444])}
    figure = draw_captioned(pictures[0], ["a <b>dog</b>", "a cat"], scores, title="t", chosen=1)
    words = [note.text for note in figure.layout.annotations]
    assert [word for word in words if word.startswith("<b>0")] == [
        f"<b>{v}</b>" for v in ("0.10", "0.30", "0.20", "0.44")
    ]
    assert "a &lt;b&gt;dog&lt;/b&gt;" in words and not any("<i>" in word for word in words)
    assert [shape.line.width for shape in figure.layout.shapes] == [1, 2]
    assert len(figure.layout.images) == 1


def test_a_picture_without_captions_is_a_figure_too(pictures):
    figure = draw_captioned(pictures[0], [], {"one": np.zeros(0)}, title="t")
    assert len(figure.layout.images) == 1 and not figure.layout.shapes


def test_every_picture_stands_over_its_captions(pictures):
    figure = draw_gallery(pictures, [f"caption {index}" for index in range(6)], title="six", columns=4)
    assert len(figure.layout.images) == 6
    for picture, caption in zip(figure.layout.images, figure.layout.annotations, strict=True):
        assert caption.y > picture.y + picture.sizey and abs(caption.x - picture.x) < 1


def test_rows_make_room_for_their_longest_caption(pictures):
    long = "a dog that runs over the grass behind the house " * 3
    short, tall = (draw_gallery(pictures, [text] + ["x"] * 5, title="t") for text in ("x", long))
    assert tall.layout.height > short.layout.height
    assert tall.layout.images[4].y > tall.layout.annotations[0].y + 18 * tall.layout.annotations[0].text.count("<br>")


def test_frames_and_badges_mark_ranked_results(pictures):
    frames, badges = ["#009E73", None, "#D55E00", None, None, None], ["1 ✓", "2", None, None, None, "<i>"]
    figure = draw_gallery(pictures, ["x"] * 6, title="ranked", frames=frames, badges=badges)
    assert [shape.line.color for shape in figure.layout.shapes if shape.line.width > 1] == ["#009E73", "#D55E00"]
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert "<b>1 ✓</b>" in texts and "<b>&lt;i&gt;</b>" in texts


def test_an_empty_gallery_is_a_figure():
    assert title_and_subtitle(draw_gallery([], [], title="nothing found")) == ("nothing found", "")


GREY = Image.new("RGB", (40, 40), (128, 128, 128))


def test_the_largest_weight_is_the_brightest_place():
    weights = np.zeros((4, 4))
    weights[1, 2] = 1
    bright = np.asarray(heat(GREY, weights, size=80)).sum(axis=2, dtype=int)
    row, column = np.unravel_index(bright.argmax(), bright.shape)
    assert (row // 20, column // 20) == (1, 2)


def test_only_the_order_of_weights_and_their_distances_count():
    weights = np.random.default_rng(0).random((3, 5))
    one, two = (np.asarray(heat(GREY, values), dtype=int) for values in (weights, 7 * weights - 3))
    assert abs(one - two).max() <= 1  # rounding


def test_a_flat_map_has_no_heat():
    assert len(np.unique(np.asarray(heat(GREY, np.full((4, 4), 0.3))).reshape(-1, 3), axis=0)) == 1


def test_an_outline_runs_inside_the_mask_only():
    mask = np.zeros((40, 40), dtype=bool)
    mask[10:30, 5:35] = True
    changed = (np.asarray(outlined(GREY, mask, "#FFFFFF", rim=False)) != 128).any(axis=2)
    expected = mask.copy()
    expected[12:28, 7:33] = False  # two pixels wide
    assert (changed == expected).all()


def test_masks_of_another_resolution_fit():
    mask = np.zeros((10, 10), dtype=bool)
    mask[:, :5] = True
    changed = (np.asarray(tinted(GREY, mask, "#FF0000", 0.5)) != 128).any(axis=2)
    assert changed[:, :20].all() and not changed[:, 20:].any()


@pytest.mark.parametrize("size", [(1, 1), (300, 2)])
def test_odd_pictures_can_be_painted(size):
    assert max(heat(Image.new("RGB", size), np.eye(3), size=60).size) == 60


def decoded(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(uri.split(",", 1)[1])))


def test_a_picture_comes_back_as_it_was():
    picture = Image.effect_noise((20, 10), 90).convert("RGB")
    assert decoded(data_uri(picture)).tobytes() == picture.tobytes()


def test_a_picture_that_was_painted_on_is_encoded_anew():
    picture = Image.new("RGB", (8, 8), "white")
    before = data_uri(picture)
    picture.putpixel((3, 3), (255, 0, 0))
    assert data_uri(picture) != before and decoded(data_uri(picture)).getpixel((3, 3)) == (255, 0, 0)


def test_large_pictures_are_made_small_in_proportion():
    uri = data_uri(Image.new("RGB", (1000, 500)), largest=100, photographic=True)
    assert uri.startswith("data:image/jpeg;") and decoded(uri).size == (100, 50)


def test_the_picture_given_is_left_as_it_was():
    picture = Image.new("RGB", (1000, 500))
    data_uri(picture, largest=100)
    assert picture.size == (1000, 500)


def test_a_canvas_is_drawn_pixel_by_pixel():
    canvas = Canvas(width=400)
    canvas.words("x", 10, 20)
    figure = canvas.figure("title", "", height=300)
    margin = figure.layout.margin
    assert figure.layout.width - margin.l - margin.r == 400 == figure.layout.xaxis.range[1]
    assert figure.layout.height - margin.t - margin.b == 300 == figure.layout.yaxis.range[0]
