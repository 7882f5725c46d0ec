"""Pictures inside figures."""

import base64
import io

from PIL import Image

from itmlab.figures.pictures import Canvas, data_uri


def decoded(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(uri.split(",", 1)[1])))


def test_a_picture_comes_back_as_it_was():
    picture = Image.effect_noise((20, 10), 90).convert("RGB")
    assert decoded(data_uri(picture)).tobytes() == picture.tobytes()


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
