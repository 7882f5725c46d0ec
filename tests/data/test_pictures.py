"""Every kind of picture that comes along is read as what it shows."""

import io
import os
import shutil
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

from itmlab.data import load, pictures
from itmlab.data.pictures import check_image, read_image
from itmlab.errors import ItmlabError
from tests.data.picture_files import photograph, write_folder, write_lines


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


def test_where_no_stamp_can_be_kept_a_set_is_loaded_all_the_same(tmp_path, checked, monkeypatch):
    write_folder(tmp_path / "data", 3)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="file: nothing is kept here"):
        assert len(load("folder", tmp_path / "data")) == 3


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


# Large pictures, and those damaged where no decoder says so.


def memory(script: str, *arguments) -> float:
    """The most megabytes of a Python process of its own that runs this script."""
    told = "\nprint(int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 1024)"
    found = subprocess.run([sys.executable, "-c", script + told, *map(str, arguments)], capture_output=True, text=True)
    assert not found.returncode, found.stderr
    return float(found.stdout.split()[-1])


NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (120, 160, 3), np.uint8))


def smooth(width, height):
    return photograph(size=(64, 48)).resize((width, height))


@pytest.mark.parametrize(("zeroed", "options"), [(64, {}), (64, {"quality": 95}), (400, {"progressive": True})])
def test_a_jpeg_zeroed_in_the_middle_is_damaged(zeroed, options):
    content = encoded(NOISE if options.get("progressive") else smooth(160, 120), "JPEG", **options)
    read_image(content)
    middle = len(content) // (4 if options.get("progressive") else 2)  # later scans refine, where zeros may be right
    with pytest.raises(ItmlabError, match="overwritten by zeros"):
        read_image(content[:middle] + bytes(zeroed) + content[middle + zeroed :])


@pytest.mark.parametrize("table", [b"\xff\xdb", b"\xff\xc4"])  # of quantisation, of Huffman codes
def test_a_jpeg_whose_tables_are_zeroed_is_damaged(table):
    content = encoded(smooth(64, 48), "JPEG")
    start = content.index(table) + (5 if table == b"\xff\xdb" else 21)
    with pytest.raises(ItmlabError, match="overwritten by zeros"):
        read_image(content[:start] + bytes(8) + content[start + 8 :])


@pytest.mark.parametrize("options", [{}, {"optimize": True}, {"progressive": True}, {"quality": 100}])
@pytest.mark.parametrize("colour", ["black", "white", "grey", "red"])
def test_flat_pictures_have_zeros_by_right(colour, options):
    picture = Image.new("RGB", (640, 480), colour)
    content = encoded(picture, "JPEG", **options)
    assert near(pixel(content, (300, 200)), picture.getpixel((0, 0)))
    assert colour != "grey" or options != {"optimize": True} or bytes(16) in content


def test_a_picture_up_to_the_limit_is_read_to_the_pixel_as_pillow_decodes_it():
    picture = smooth(2048, 2048)
    assert read_image(encoded(picture, "PNG")).tobytes() == picture.tobytes()
    content = encoded(picture, "JPEG")
    assert read_image(content).tobytes() == Image.open(io.BytesIO(content)).tobytes()


@pytest.mark.parametrize(("kind", "size"), [("JPEG", (2000, 1500)), ("PNG", (2000, 1500)), ("TIFF", (2000, 1500))])
def test_a_larger_one_is_read_at_half_its_sides(kind, size):
    picture = smooth(4000, 3000)
    found = read_image(encoded(picture, kind))
    assert found.size == size
    assert np.abs(np.asarray(found).astype(int) - np.asarray(picture.reduce(2)).astype(int)).max() <= 12


def test_a_larger_one_stands_upright_on_white_and_in_its_own_range_too(tmp_path):
    metadata = Image.Exif()
    metadata[0x0112] = 6
    for kind in ("JPEG", "PNG"):
        assert read_image(encoded(smooth(3000, 2000), kind, exif=metadata)).size == (1000, 1500)
    assert pixel(encoded(Image.new("RGBA", (3000, 2000), (0, 0, 0, 0)), "PNG")) == (255, 255, 255)
    assert near(pixel(encoded(Image.new("I;16", (3000, 2000), 128 * 257), "PNG")), (128,) * 3, 1)
    ramp = np.tile(np.linspace(0, 255, 3000, dtype=np.float32), (2000, 1))
    ramp[:8] = 0.5  # a strip that by itself would be taken for one of 0…1
    assert pixel(encoded(Image.fromarray(ramp), "TIFF"), (0, 0)) in [(0, 0, 0), (1, 1, 1)]


def test_sides_and_the_copies_that_a_decoder_makes_are_limited_too(tmp_path):
    with pytest.raises(ItmlabError, match="70000 × 1 pixels, more than 65535 along a side"):
        read_image(png_of_size(70_000, 1))
    content = encoded(Image.new("RGB", (4800, 4800)), "WEBP", lossless=True, quality=0, method=0)
    with pytest.raises(ItmlabError, match=r"4800 × 4800 pixels, more than 22369621 \(of this format\)"):
        check_image(content)


def test_an_icon_which_may_hide_any_size_is_no_picture():
    within = png_of_size(9_000, 9_000)
    header = struct.pack("<3H4B2H2I", 0, 1, 1, 16, 16, 0, 0, 1, 32, len(within), 22)
    with pytest.raises(ItmlabError, match="not a picture in a format that is read here"):
        read_image(header + within)


USED = """
import sys
from itmlab.data import load
from itmlab.models import DualEncoderConfig, build_model
from itmlab.runs.scores import embed
from itmlab import recipes
from itmlab.training import train
data = load("folder", sys.argv[1], proportions=(1, 0, 0))
embed(build_model(DualEncoderConfig.tiny(), data.captions, seed=0).eval(), data)
recipe = recipes.get("fne+scratch").replace(data__batch_size=16, data__epochs=1, memory__length=64)
train(recipe, data, sys.argv[1] + "/run", max_steps=1)
"""


def test_loading_embedding_and_training_stay_within_a_gigabyte_and_a_half(tmp_path):
    folder = tmp_path / "large" / "images"
    folder.mkdir(parents=True)
    photograph(size=(64, 48)).resize((4000, 3000), Image.Resampling.BOX).save(folder / "0.jpg")
    for number in range(1, 32):
        shutil.copy(folder / "0.jpg", folder / f"{number}.jpg")
    sizes = {"RGBA": (9_400, 9_400), "I;16": (9_400, 9_400), "L": (1_300, 65_535), "RGB": (65_535, 40)}
    for mode, size in sizes.items():
        Image.new(mode, size).save(folder / f"{mode[0]}.png", compress_level=1)
    names = sorted(path.name for path in folder.iterdir())
    write_lines(folder.parent / "captions.jsonl", [{"image": name, "captions": [f"a thing {name}"]} for name in names])
    assert memory(USED, folder.parent) < 1500
