"""Every kind of picture is read as what it shows; what is not a picture is one line."""

import io
import struct
import zlib
from functools import partial

import numpy as np
import pytest
from PIL import Image

from itmlab.data import pictures
from itmlab.data.pictures import check_image, read_image
from itmlab.errors import ItmlabError
from tests.data.picture_files import photograph
from tests.refusals import refused


def encoded(picture, kind, **options):
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def pixel(source, at=(0, 0)):
    picture = read_image(source)
    assert picture.mode == "RGB"
    return picture.getpixel(at)


def near(colour, wanted, tolerance=6):
    return all(abs(a - b) <= tolerance for a, b in zip(colour, wanted, strict=True))


def palette():
    picture = Image.new("P", (2, 1))
    picture.putpalette([10, 20, 30, 200, 100, 50])
    return picture


@pytest.mark.parametrize(
    ("picture", "kind", "colour"),
    [
        (Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG", (255, 0, 0)),
        (Image.new("CMYK", (16, 16), (0, 0, 0, 0)), "JPEG", (255, 255, 255)),  # Adobe stores ink inverted
        (Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "TIFF", (255, 0, 0)),
        (palette(), "PNG", (10, 20, 30)),
        (Image.new("1", (2, 1), 1), "PNG", (255, 255, 255)),
        (Image.new("RGBA", (2, 2), (255, 0, 0, 128)), "PNG", (255, 127, 127)),
        (Image.new("RGB", (1, 1), "white"), "GIF", (255, 255, 255)),
    ],
)
def test_modes_become_rgb(picture, kind, colour):
    assert near(pixel(encoded(picture, kind)), colour)


@pytest.mark.parametrize(
    ("picture", "options"),
    [
        (Image.new("RGBA", (2, 2), (0, 0, 0, 0)), {}),
        (Image.new("LA", (2, 2), (0, 0)), {}),
        (Image.new("P", (2, 2), 0), {"transparency": 0}),
        (Image.new("L", (2, 2), 7), {"transparency": 7}),
        (Image.new("RGB", (2, 2), (7, 8, 9)), {"transparency": (7, 8, 9)}),
    ],
)
def test_transparent_pixels_are_white(picture, options):
    assert pixel(encoded(picture, "PNG", **options)) == (255, 255, 255)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_the_picture_is_upright_whatever_its_orientation_tag(kind, orientation):
    upright = Image.new("RGB", (32, 16), "blue")
    upright.paste("red", (0, 0, 8, 8))  # a red corner at the top left
    turn = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # the transposition that the tag undoes
    stored = upright if orientation == 1 else upright.transpose(Image.Transpose(turn[orientation]))
    metadata = Image.Exif()
    metadata[0x0112] = orientation
    shown = read_image(encoded(stored, kind, exif=metadata))
    assert shown.size == (32, 16)
    assert near(shown.getpixel((3, 3)), (255, 0, 0), 40) and near(shown.getpixel((28, 12)), (0, 0, 255), 40)


def test_large_pictures_are_read_at_half_their_sides(monkeypatch):
    monkeypatch.setattr(pictures, "SEEN", 2**18)
    picture = photograph(size=(64, 48)).resize((512, 512))
    assert read_image(encoded(picture, "PNG")).tobytes() == picture.tobytes()
    picture = picture.resize((1000, 750))
    for kind in ("JPEG", "PNG"):
        shown = read_image(encoded(picture, kind))
        assert shown.size == (500, 375)
        assert np.abs(np.asarray(shown).astype(int) - np.asarray(picture.reduce(2)).astype(int)).max() <= 16


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [9_500, 60_000])
def test_a_decompression_bomb_is_refused_by_its_header(side):
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 10)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    refused("89478485 pixels|exceeds limit", read_image, b"\x89PNG\r\n\x1a\n" + body)


FAULTY = {
    "missing.jpg": (None, "no such picture"),
    "empty.jpg": (b"", "empty"),
    "text.jpg": (b"<html>not found</html>", "not a picture"),
    "script.jpg": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture"),
    "deep.png": (encoded(Image.new("I;16", (2, 1), 700), "PNG"), "convert it to 8 bits"),
    **{f"cut.{kind}": (encoded(photograph(), kind)[:-40], "damaged") for kind in ("JPEG", "PNG", "GIF", "WEBP", "BMP")},
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_picture_is_named_by_reading_and_by_the_check(name, tmp_path):
    content, message = FAULTY[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for look in (read_image, partial(check_image, decode=True)):
        with pytest.raises(ItmlabError, match=message) as caught:
            look(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_damage_is_found_by_decoding_only(tmp_path):
    content = bytearray(encoded(photograph(size=(64, 64)), "PNG"))
    content[60:70] = bytes(10)
    path = tmp_path / "scratched.png"
    path.write_bytes(content)
    check_image(path)
    refused("damaged", check_image, path, decode=True)
