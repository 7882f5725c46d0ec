"""Every kind of picture that comes along is read as what it shows."""

import io
import math
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from itmlab.data import load, pictures
from itmlab.data.pictures import GREY, OPERATIONS, Augmentation, check_image, random_box, read_image
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


# Augmentation, against each operation's definition.


def noise(width=24, height=16, low=0, high=256, seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(low, high, (height, width, 3), np.uint8))


def values(picture):
    return np.asarray(picture).astype(int)


def warped(picture, across, down):
    """Bilinear values at a x + b y + c of each pixel's middle; GREY where that lies outside."""
    source, found = values(picture), np.empty_like(values(picture))
    height, width = source.shape[:2]
    for y in range(height):
        for x in range(width):
            u, v = (a * (x + 0.5) + b * (y + 0.5) + c for a, b, c in (across, down))
            if not (0 <= u < width and 0 <= v < height):
                found[y, x] = GREY
                continue
            columns, rows = (np.clip([math.floor(at - 0.5) + n for n in (0, 1)], 0, most - 1)
                             for at, most in ((u, width), (v, height)))  # fmt: skip
            right, below = ((at - 0.5) % 1 for at in (u, v))
            top, bottom = (source[row, columns[0]] * (1 - right) + source[row, columns[1]] * right for row in rows)
            found[y, x] = np.rint(top * (1 - below) + bottom * below)
    return found


def blended(picture, other, factor):
    return np.clip(other + factor * (values(picture) - other), 0, 255)


def stretched(picture):
    low, high = (reduce(values(picture), (0, 1)) for reduce in (np.min, np.max))
    return (values(picture) - low) * 255 / (high - low)


def levelled(picture):
    """Each value replaced by the share of pixels below it, in steps of a 255th of all but the most frequent last."""
    found = values(picture)
    for channel in range(3):
        counts = np.bincount(found[..., channel].ravel(), minlength=256)
        step = (counts.sum() - counts[counts > 0][-1]) // 255
        below = step // 2 + np.concatenate([[0], counts.cumsum()[:-1]])
        found[..., channel] = np.clip(below // step, 0, 255)[found[..., channel]]
    return found


def smoothed(picture):
    """The mean of each pixel, 5 times, and its 8 neighbours; the rim is left as it is."""
    source, found = values(picture), values(picture).astype(float)
    around = [np.roll(source, shift, (0, 1)) for shift in np.ndindex(3, 3)]
    centred = [np.roll(one, (-1, -1), (0, 1)) for one in around]
    found[1:-1, 1:-1] = np.rint((sum(centred) + 4 * source) / 13)[1:-1, 1:-1]
    return found


def turned(picture, degrees):
    (width, height), angle = picture.size, math.radians(degrees)
    cosine, sine, x, y = math.cos(angle), math.sin(angle), width / 2, height / 2
    across = cosine, -sine, x - cosine * x + sine * y
    return warped(picture, across, (sine, cosine, y - sine * x - cosine * y))


DEFINED = {
    "identity": lambda picture, s: values(picture),
    "autocontrast": lambda picture, s: stretched(picture),
    "equalize": lambda picture, s: levelled(picture),
    "brightness": lambda picture, s: blended(picture, 0, 0.1 + 1.8 * abs(s)),
    "sharpness": lambda picture, s: blended(picture, smoothed(picture), 0.1 + 1.8 * abs(s)),
    "shear_x": lambda picture, s: warped(picture, (1, 0.3 * s, 0), (0, 1, 0)),
    "shear_y": lambda picture, s: warped(picture, (1, 0, 0), (0.3 * s, 1, 0)),
    "translate_x": lambda picture, s: warped(picture, (1, 0, 10 * s), (0, 1, 0)),
    "translate_y": lambda picture, s: warped(picture, (1, 0, 0), (0, 1, 10 * s)),
    "rotate": lambda picture, s: turned(picture, 30 * s),
}


@pytest.mark.parametrize("strength", [-1.0, -0.7, 0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_is_its_definition(name, strength):
    picture = noise(64, 40, 20, 230)
    before = values(picture)
    found = values(OPERATIONS[name](picture, strength))
    assert np.abs(found - DEFINED[name](picture, strength)).max() <= 1  # of 255, rounding
    assert (values(picture) == before).all()


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_has_a_strength_or_a_picture_at_which_it_changes_nothing(name):
    ramp = np.repeat(np.arange(256, dtype=np.uint8), 4)[:, None].repeat(3, 1).reshape(32, 32, 3)  # all values alike
    picture = Image.fromarray(ramp) if name in ("autocontrast", "equalize") else noise()
    strength = 0.5 if name in ("brightness", "sharpness") else 0.0
    assert (values(OPERATIONS[name](picture, strength)) == values(picture)).all()


@pytest.mark.parametrize(("width", "height"), [(40, 30), (30, 40), (640, 480), (3, 2), (1, 1)])
def test_a_random_box_lies_inside_and_has_the_area_and_shape_asked_for(width, height):
    generator = np.random.default_rng(0)
    areas, shapes = [], []
    for _ in range(400):
        left, top, right, bottom = random_box(width, height, (0.5, 1.0), generator)
        assert 0 <= left < right <= width and 0 <= top < bottom <= height
        areas.append((right - left) * (bottom - top) / (width * height))
        shapes.append((right - left) / (bottom - top))
    if width * height > 100:
        slack = 1 / min(width, height) + 1e-9
        assert 0.5 - 2 * slack <= min(areas) < 0.55 and 0.95 < max(areas) <= 1.0
        assert 0.75 / (1 + 2 * slack) <= min(shapes) and max(shapes) <= 4 / 3 * (1 + 2 * slack)


@pytest.mark.parametrize(("size", "box"), [((400, 30), (180, 0, 220, 30)), ((30, 400), (0, 180, 30, 220))])
def test_of_a_long_picture_the_box_is_the_largest_in_the_middle(size, box):
    assert random_box(*size, (1.0, 1.0), np.random.default_rng(0)) == box


def test_the_generator_alone_decides_a_change():
    augmentation = Augmentation((0.5, 1.0), 0.5, (2, 7))

    def draw(seed):
        return augmentation(noise(64, 48), lambda one: one.resize((32, 32)), generator=np.random.default_rng(seed))

    assert all((values(draw(seed)) == values(draw(seed))).all() for seed in range(20))
    assert len({draw(seed).tobytes() for seed in range(20)}) > 15
    assert {draw(seed).size for seed in range(20)} == {(32, 32)}


def test_half_of_the_pictures_are_mirrored_and_otherwise_as_they_were():
    picture, drawn = noise(), [Augmentation(flip=0.5)(noise(), generator=np.random.default_rng(n)) for n in range(400)]
    mirrored = [(values(one) == values(picture)[:, ::-1]).all() for one in drawn]
    assert all(flipped or (values(one) == values(picture)).all() for one, flipped in zip(drawn, mirrored, strict=True))
    assert 160 < sum(mirrored) < 240
    always, never = (Augmentation(flip=share)(picture, generator=np.random.default_rng(0)) for share in (1.0, 0.0))
    assert (values(always) == values(picture)[:, ::-1]).all() and (values(never) == values(picture)).all()


def test_randaugment_takes_each_operation_alike_half_of_the_time_and_both_ways(monkeypatch):
    seen = []
    for name in OPERATIONS:
        recorded = lambda picture, strength, name=name: seen.append((name, strength)) or picture  # noqa: E731
        monkeypatch.setitem(OPERATIONS, name, recorded)
    generator = np.random.default_rng(0)
    for _ in range(2000):
        Augmentation(randaugment=(2, 7))(noise(2, 2), generator=generator)
    assert {strength for _, strength in seen} == {0.7, -0.7}
    assert abs(len(seen) / 4000 - 0.5) < 0.03
    counts = [sum(name == one for one, _ in seen) for name in OPERATIONS]
    assert all(abs(count / len(seen) - 0.1) < 0.02 for count in counts)
    assert abs(sum(strength > 0 for _, strength in seen) / len(seen) - 0.5) < 0.05
