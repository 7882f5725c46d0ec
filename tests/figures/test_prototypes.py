import pytest
from PIL import Image

from itmlab.explain import MadeOf
from itmlab.figures import prototypes
from itmlab.figures.theme import GREEN, VERMILION, colour

ROWS = [MadeOf(2, 0.81, [3, 0], [0.75, 0.25], [1, 0]), MadeOf(0, -0.12, [1], [1.0], [-1])]
CAPTIONS = ["a dog", "two dogs", "<b>a cat</b>", "a $bird$"]


def words(figure):
    return [note.text for note in figure.layout.annotations]


def test_a_row_says_the_cosine_and_each_prototype_with_its_weight_and_verdict():
    figure = prototypes(ROWS, CAPTIONS, title="Made of", match=0.5)
    said = words(figure)
    assert "<b>0.81</b>" in said and "<b>−0.12</b>" in said
    assert [text for text in said if text.endswith(" %")] == ["75 %", "25 %", "100 %"]
    assert [text for text in said if "dog" in text or "bird" in text] == ["a &#36;bird&#36;", "a dog", "two dogs"]
    verdicts = {note.text: note.font.color for note in figure.layout.annotations if "true" in note.text}
    assert verdicts == {"<b>✓ true</b>": GREEN}
    assert any(note.text == "<b>✗ false</b>" and note.font.color == VERMILION for note in figure.layout.annotations)


def test_what_is_nearer_than_the_match_is_said_to_be():
    assert words(prototypes(ROWS, CAPTIONS, title="Made of", match=0.5)).count("above the match") == 1
    assert "above the match" not in words(prototypes(ROWS, CAPTIONS, title="Made of"))


def test_bars_are_as_long_as_the_weights_and_chips_have_the_clusters_colours():
    shapes = prototypes(ROWS, CAPTIONS, title="Made of").layout.shapes
    bars = [shape.x1 - shape.x0 for shape in shapes if shape.y1 - shape.y0 == 8]
    assert [full / bars[0] for full in bars[1::2]] == pytest.approx([0.75, 0.25, 1.0])
    assert [shape.fillcolor for shape in shapes if shape.x1 - shape.x0 == 8] == [colour(2), colour(0)]


def test_pictures_are_shown_where_the_candidates_are_pictures(pictures):
    anchor = Image.new("RGB", (20, 20))
    assert len(prototypes(ROWS, pictures, title="Made of").layout.images) == 3
    assert len(prototypes(ROWS, pictures, title="Made of", anchor=anchor).layout.images) == 4


def test_no_world_no_verdicts_and_no_negative_no_rows():
    unjudged = [MadeOf(0, 0.5, [0, 1], [0.6, 0.4])]
    assert not any("true" in text or "false" in text for text in words(prototypes(unjudged, CAPTIONS, title="x")))
    assert prototypes([], CAPTIONS, title="x").layout.height > 0
