"""The grid of pictures."""

from itmlab.figures import gallery
from itmlab.figures.theme import title_and_subtitle


def test_every_picture_stands_over_its_captions(pictures):
    figure = gallery(pictures, [f"caption {index}" for index in range(6)], title="six", columns=4)
    assert len(figure.layout.images) == 6
    for picture, caption in zip(figure.layout.images, figure.layout.annotations, strict=True):
        assert caption.y > picture.y + picture.sizey and abs(caption.x - picture.x) < 1


def test_rows_make_room_for_their_longest_caption(pictures):
    long = "a dog that runs over the grass behind the house " * 3
    short, tall = (gallery(pictures, [text] + ["x"] * 5, title="t") for text in ("x", long))
    assert tall.layout.height > short.layout.height
    assert tall.layout.images[4].y > tall.layout.annotations[0].y + 18 * tall.layout.annotations[0].text.count("<br>")


def test_frames_and_badges_mark_ranked_results(pictures):
    frames, badges = ["#009E73", None, "#D55E00", None, None, None], ["1 ✓", "2", None, None, None, "<i>"]
    figure = gallery(pictures, ["x"] * 6, title="ranked", frames=frames, badges=badges)
    assert [shape.line.color for shape in figure.layout.shapes if shape.line.width > 1] == ["#009E73", "#D55E00"]
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert "<b>1 ✓</b>" in texts and "<b>&lt;i&gt;</b>" in texts


def test_an_empty_gallery_is_a_figure():
    assert title_and_subtitle(gallery([], [], title="nothing found")) == ("nothing found", "")
