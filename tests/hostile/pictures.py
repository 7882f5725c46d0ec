"""Hostile pictures: every format that is read (and some that are not), damaged in headers, bytes and sizes."""

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
from PIL import Image

from itmlab.data.pictures import FORMATS, check_picture_files, read_image
from itmlab.errors import ItmlabError
from itmlab.models.base import ImagePreparation
from tests.hostile import damage
from tests.hostile.damage import Use

MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "F", "YCbCr", "I", "PA", "La", "RGBa", "LAB", "HSV")
SIDES = (1, 2, 3, 16, 31, 64, 257)
NO_PICTURES = (
    *(b"", b"<!doctype html><title>404</title>", b"%!PS-Adobe-3.0 EPSF-3.0\n(/etc/passwd) (r) file\n", b"GIF89a"),
    *(
        b"<svg xmlns='http://www.w3.org/2000/svg'><image href='file:///etc/passwd'/></svg>",
        b"\x80\x04c__builtin__\neval",
    ),
    *(
        b"P6 99999 99999 255\n",
        b"P5 3 3 70000\n",
        b"Pf 2 2 -1.0\n" + b"\xff" * 16,
        b"BM" + b"\xff" * 60,
        b"II*\0" + b"\xff" * 60,
    ),
)


def begin(home: Path) -> SimpleNamespace:
    """Two ways to make a tensor of a picture."""
    return SimpleNamespace(prepare=[ImagePreparation(32), ImagePreparation(32, shortest_edge=32)])


def picture(rng: Random) -> bytes:
    """A picture of any mode in any format that can hold it, with odd metadata."""
    while True:
        mode, kind = rng.choice(MODES), rng.choice(FORMATS)
        width, height = rng.choice(SIDES), rng.choice(SIDES)
        if rng.random() < 0.02:
            width, height = rng.choice(((1, 60_000), (60_000, 1), (4000, 3000)))
        noise = np.frombuffer(rng.randbytes(width * height * 4), np.uint8).reshape(height, width, 4)
        options, buffer = {}, io.BytesIO()
        if kind in ("JPEG", "PNG", "WEBP", "TIFF", "AVIF") and rng.random() < 0.3:
            options["exif"] = b"Exif\0\0" + rng.choice(
                (b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0", b"\xff" * 30)
            )
        if kind in ("PNG", "GIF") and rng.random() < 0.2:
            options["transparency"] = rng.randrange(256)
        if kind in ("GIF", "WEBP", "TIFF", "PNG") and rng.random() < 0.1:
            options |= {"save_all": True, "append_images": [Image.new("L", (rng.choice(SIDES), 9))] * 3}
        try:
            if mode == "F":
                image = Image.fromarray(
                    rng.choice((np.float32("nan"), np.float32(0.7), np.float32(1e30))) * noise[..., 0].astype("f4")
                )
            elif mode == "I;16":
                image = Image.fromarray(noise[..., 0].astype(np.uint16) * 257)
            else:
                image = Image.fromarray(noise, "RGBA").convert("RGB").convert(mode)
            image.save(buffer, kind, **options)
        except Exception:  # this format has no such mode, size or metadata, and each says so in its own way
            continue
        return buffer.getvalue()


def resized_header(rng: Random, content: bytes) -> bytes:
    """A PNG, JPEG, GIF or BMP whose header says another size, its checksum right."""
    width, height = (rng.choice((0, 1, 300, 9_000, 65_535, 2**31 - 1)) for _ in range(2))
    if content.startswith(b"\x89PNG"):
        header = content[12:16] + struct.pack(">II", width, height) + content[24:29]
        return content[:12] + header + struct.pack(">I", zlib.crc32(header)) + content[33:]
    if content.startswith(b"GIF8"):
        return content[:6] + struct.pack("<HH", width & 0xFFFF, height & 0xFFFF) + content[10:]
    if content.startswith(b"BM"):
        return content[:18] + struct.pack("<ii", width, rng.choice((1, -1)) * height) + content[26:]
    for marker in (b"\xff\xc0", b"\xff\xc2"):
        at = content.find(marker)
        if content.startswith(b"\xff\xd8") and at > 0:
            return content[: at + 5] + struct.pack(">HH", height & 0xFFFF, width & 0xFFFF) + content[at + 9 :]
    return content


def bomb(rng: Random) -> bytes:
    """A PNG of a few kilobytes that decodes to much: below or above the limit on pixels."""
    width, height = rng.choice(((9_000, 9_000), (30_000, 30_000), (1, 80_000_000), (80_000_000, 1)))
    rows = min(width * height, 2 * 10**7)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    text = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(10**7))) if rng.random() < 0.5 else b""
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + text
        + chunk(b"IDAT", zlib.compress(bytes(rows // 8)))
        + chunk(b"IEND", b"")
    )


def attempt(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """One picture file, under a name that may lie about its format."""
    draw = rng.random()
    content = rng.choice(NO_PICTURES) if draw < 0.05 else bomb(rng) if draw < 0.06 else picture(rng)
    damages: list[Callable[[Random, bytes], bytes]] = [
        damage.damaged,
        resized_header,
        lambda rng, whole: picture(rng)[: len(whole) // 2] + whole[len(whole) // 2 :],
    ]
    if rng.random() < 0.75:
        content = rng.choices(damages, (5, 2, 1))[0](rng, content)
    path = folder / f"picture.{rng.choice(('jpg', 'png', 'tif', 'gif', 'txt'))}"
    path.write_bytes(content)
    if rng.random() < 0.02:
        damage.odd_file(rng, path)
    verify = rng.choice(("decode", "header", None))
    [wrong] = check_picture_files([path], verify)
    if wrong:
        raise ItmlabError(wrong)
    if verify == "header":
        read_image(path)  # which may still refuse: a header is not the whole picture

    def use() -> None:
        image = read_image(path)
        assert image.mode == "RGB" and min(image.size) >= 1
        for prepare in shared.prepare:
            assert prepare([image]).isfinite().all()

    return use
