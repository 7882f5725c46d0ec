"""Every kind of picture that comes along is read as what it shows."""

import io
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from itmlab.data import load, pictures
from itmlab.data.pictures import check_image, read_image
from itmlab.errors import ItmlabError
from tests.data.picture_files import photograph, write_folder


def encoded(picture, kind, **options):
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def pixel(source, at=(0, 0)):
    picture = read_image(source)
    assert picture.mode == "RGB"
    return picture.getpixel(at)


def near(found, wanted, tolerance=6):
    return all(abs(a - b) <= tolerance for a, b in zip(found, wanted, strict=True))


def test_cmyk_is_red_where_ink_makes_red():
    picture = Image.new("CMYK", (16, 16), (0, 255, 255, 0))
    assert near(pixel(encoded(picture, "JPEG")), (255, 0, 0))
    assert near(pixel(encoded(picture, "TIFF")), (255, 0, 0))


def test_adobes_cmyk_jpeg_is_not_read_inverted():
    content = encoded(Image.new("CMYK", (16, 16), (0, 0, 0, 0)), "JPEG")
    assert b"Adobe" in content  # the marker that says: ink values are stored inverted
    assert near(pixel(content), (255, 255, 255))


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bit_grey_is_scaled_not_cut_off(kind):
    values = np.array([[0, 128 * 257, 65535]], dtype=np.uint16)
    picture = read_image(encoded(Image.fromarray(values), kind))
    assert [picture.getpixel((x, 0))[0] for x in range(3)] == [0, 128, 255]


def test_big_endian_sixteen_bit_grey_is_the_same_picture():
    values = np.array([[0, 128 * 257, 65535]], dtype=">u2")
    header = b"P5 3 1 65535\n"
    picture = read_image(header + values.tobytes())
    assert [picture.getpixel((x, 0))[0] for x in range(3)] == [0, 128, 255]


def test_floating_point_grey_is_read_in_its_own_range():
    for largest in (1, 255):
        picture = Image.fromarray(np.array([[0, largest / 5, largest]], dtype=np.float32))
        shown = read_image(encoded(picture, "TIFF"))
        assert [shown.getpixel((x, 0))[0] for x in range(3)] == [0, 51, 255]


def test_palette_becomes_its_colours():
    picture = Image.new("P", (2, 1))
    picture.putpalette([10, 20, 30, 200, 100, 50])
    picture.putpixel((1, 0), 1)
    content = encoded(picture, "PNG")
    assert (pixel(content), pixel(content, (1, 0))) == ((10, 20, 30), (200, 100, 50))


@pytest.mark.parametrize(
    ("picture", "options"),
    [
        (Image.new("RGBA", (2, 2), (0, 0, 0, 0)), {}),
        (Image.new("LA", (2, 2), (0, 0)), {}),
        (Image.new("P", (2, 2), 0), {"transparency": 0}),
        (Image.new("L", (2, 2), 7), {"transparency": 7}),
        (Image.new("RGB", (2, 2), (7, 8, 9)), {"transparency": (7, 8, 9)}),
        (Image.new("I;16", (2, 2), 700), {"transparency": 700}),
    ],
)
def test_what_is_transparent_shows_white(picture, options):
    assert pixel(encoded(picture, "PNG", **options)) == (255, 255, 255)


def test_half_transparent_red_over_white_is_pink():
    assert near(pixel(encoded(Image.new("RGBA", (2, 2), (255, 0, 0, 128)), "PNG")), (255, 127, 127), 1)


def test_one_bit_is_black_and_white():
    picture = Image.new("1", (2, 1), 0)
    picture.putpixel((1, 0), 1)
    content = encoded(picture, "PNG")
    assert (pixel(content), pixel(content, (1, 0))) == ((0, 0, 0), (255, 255, 255))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_the_picture_stands_upright_whatever_its_orientation_tag(kind, orientation):
    upright = Image.new("RGB", (32, 16), "blue")
    upright.paste("red", (0, 0, 8, 8))  # a red corner at the top left
    turn = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # the transposition that the tag undoes
    stored = upright if orientation == 1 else upright.transpose(Image.Transpose(turn[orientation]))
    metadata = Image.Exif()
    metadata[0x0112] = orientation
    shown = read_image(encoded(stored, kind, exif=metadata))
    assert shown.size == (32, 16)
    assert near(shown.getpixel((3, 3)), (255, 0, 0), 40) and near(shown.getpixel((28, 12)), (0, 0, 255), 40)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_the_first_frame_stands_for_an_animation(kind):
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    content = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
    assert near(pixel(content), (255, 0, 0))


def test_one_pixel_is_a_picture():
    for kind in ("PNG", "GIF", "JPEG"):
        assert read_image(encoded(Image.new("RGB", (1, 1), "white"), kind)).size == (1, 1)


def test_the_content_decides_not_the_name(tmp_path):
    path = tmp_path / "drawing.jpg"
    path.write_bytes(encoded(Image.new("RGB", (3, 3), "green"), "PNG"))
    assert pixel(path) == (0, 128, 0)


def test_an_open_file_is_read_too(tmp_path):
    photograph().save(tmp_path / "a.png")
    with open(tmp_path / "a.png", "rb") as file:
        assert read_image(file).tobytes() == photograph().tobytes()


def png_of_size(width, height):
    """A PNG that claims a size and holds next to nothing."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 10)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [9_500, 60_000])
def test_a_decompression_bomb_is_refused_by_its_header(side):
    with pytest.raises(ItmlabError, match="more than 89478485"):
        read_image(png_of_size(side, side))


FAULTY = {
    "missing.jpg": (None, "no such picture"),
    "empty.jpg": (b"", "empty"),
    "text.jpg": (b"<html>not found</html>", "it is a text that begins '<html>not found</htm'"),
    "noise.png": (bytes(range(128, 256)), "not a picture"),
    "cut.jpg": (encoded(photograph(), "JPEG")[:-40], "damaged"),
    "cut.png": (encoded(photograph(), "PNG")[:-40], "damaged"),
    "cut.gif": (encoded(photograph(), "GIF")[:-40], "damaged"),
    "cut.webp": (encoded(photograph(), "WEBP")[:-40], "damaged"),
    "cut.bmp": (encoded(photograph(), "BMP")[:-40], "damaged"),
    "script.jpg": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_picture_is_named_by_reading_and_by_the_quick_check(name, tmp_path):
    content, message = FAULTY[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for look in (read_image, check_image):
        with pytest.raises(ItmlabError, match=message) as caught:
            look(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_damage_in_the_middle_is_found_by_decoding_only(tmp_path):
    content = bytearray(encoded(photograph(size=(64, 64)), "PNG"))
    content[60:70] = bytes(10)
    path = tmp_path / "scratched.png"
    path.write_bytes(content)
    check_image(path)
    with pytest.raises(ItmlabError, match="damaged"):
        check_image(path, decode=True)


def test_bytes_after_the_end_marker_do_no_harm(tmp_path):
    path = tmp_path / "padded.jpg"
    path.write_bytes(encoded(photograph(), "JPEG") + bytes(100))
    check_image(path)


@pytest.fixture
def checked(monkeypatch):
    """The paths of the pictures that are really looked at."""
    seen = []

    def watched(source, **options):
        seen.append((os.path.basename(source), options["decode"]))
        check_image(source, **options)

    monkeypatch.setattr(pictures, "check_image", watched)
    return seen


def test_a_sound_set_is_checked_once_until_it_changes(tmp_path, checked):
    root = write_folder(tmp_path / "own", 3)
    load("folder", root)
    assert sorted(checked) == [("0.jpg", True), ("1.jpg", True), ("2.jpg", True)]
    load("folder", root)
    assert len(checked) == 3
    (root / "images" / "1.jpg").write_bytes(b"")
    with pytest.raises(ItmlabError, match=r"1.jpg: the picture is empty"):
        load("folder", root)
    with pytest.raises(ItmlabError, match=r"1.jpg: the picture is empty"):
        load("folder", root)


def test_how_deep_is_a_choice_and_by_default_a_matter_of_size(tmp_path, checked, monkeypatch):
    root = write_folder(tmp_path / "own", 3)
    load("folder", root, verify="header")
    assert {decode for _, decode in checked} == {False}
    monkeypatch.setattr(pictures, "DECODED_UP_TO", 2)
    checked.clear()
    load("folder", root)
    assert checked == []  # three are too many to decode, and their headers are known
    load("folder", root, verify="decode")
    assert {decode for _, decode in checked} == {True}
