"""Pictures as they come, read right: colour modes, depth, transparency, orientation, animation, size, damage."""

import io
import os
from functools import cache
from pathlib import Path
from typing import IO

import numpy as np
from PIL import Image, ImageOps

from ..errors import ItmlabError
from .faults import one_line

PIXELS_AT_MOST = 89_478_485  # Pillow's own limit: 256 MB of 24-bit colour
# Only formats that are nothing but pictures: EPS, for one, would start an interpreter.
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF", "ICO")

Source = str | os.PathLike | bytes | IO[bytes]


def read_image(source: Source, *, where: str | None = None, pixels_at_most: int = PIXELS_AT_MOST) -> Image.Image:
    """The picture in a file, in bytes or in an open file, as upright 8-bit RGB.

    The content decides the format, not the name. The first frame of an animation is taken; transparency lies over
    white; 16-bit grey is scaled by its full range (0…65535), floating-point grey by 0…1, or by 0…255 when it exceeds
    1. A picture that is missing, empty, truncated, none at all, or larger than `pixels_at_most` raises ItmlabError
    naming `where` (default: the path); size is checked before anything is decoded.
    """
    place = _place(source) if where is None else where
    with open_image(source, place, pixels_at_most) as image:
        try:
            image.load()
            return _to_rgb(_upright(image))
        except Exception as error:  # a decoder's answer to hostile bytes may be of any type
            raise ItmlabError(f"the picture is damaged ({_said(error)})", where=place) from None


def open_image(source: Source, where: str, pixels_at_most: int = PIXELS_AT_MOST) -> Image.Image:
    """The picture with its header read and its size checked, pixels not yet decoded."""
    if isinstance(source, bytes):
        if not source:
            raise ItmlabError("the picture is empty (zero bytes)", where=where)
        source = io.BytesIO(source)
    elif isinstance(source, str | os.PathLike):
        _check_file(Path(source), where)
    try:
        image = Image.open(source, formats=_formats())
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ItmlabError(f"the picture has more than {pixels_at_most} pixels", where=where) from None
    except Image.UnidentifiedImageError:
        raise ItmlabError(f"not a picture in a format that is read here{_content_hint(source)}", where=where) from None
    except PermissionError:
        raise ItmlabError("the picture may not be read (permission denied)", where=where) from None
    except Exception as error:  # as above
        raise ItmlabError(f"the picture's header is damaged ({_said(error)})", where=where) from None
    if image.width * image.height > pixels_at_most:
        size = f"{image.width} × {image.height}"
        image.close()
        raise ItmlabError(f"the picture has {size} pixels, more than {pixels_at_most}", where=where)
    return image


def check_image(source: Source, *, where: str | None = None, decode: bool = False) -> None:
    """Raise ItmlabError unless the picture's header opens and the picture is whole.

    A picture counts as whole when its format's end marker stands where it must (JPEG, PNG, GIF, WebP); any other is
    decoded. `decode=True` decodes every picture, which also finds damage in the middle.
    """
    place = _place(source) if where is None else where
    with open_image(source, place) as image:
        whole = _ends_well(source, image.format)
    if decode or not whole:
        read_image(source, where=place)


@cache
def _formats() -> list[str]:
    """Those of FORMATS that this Pillow was built with."""
    Image.init()
    return [kind for kind in FORMATS if kind in Image.OPEN]


def _ends_well(source: Source, kind: str | None) -> bool:
    if isinstance(source, bytes):
        length, head, tail = len(source), source[:12], source[-12:]
    elif isinstance(source, str | os.PathLike):
        with open(source, "rb") as file:
            head = file.read(12)
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - 12))
            tail = file.read()
    else:
        return False
    if kind == "JPEG":
        return tail.endswith(b"\xff\xd9")
    if kind == "PNG":
        return tail.endswith(b"\0\0\0\0IEND\xaeB`\x82")
    if kind == "GIF":
        return tail.endswith(b"\0;")
    return kind == "WEBP" and int.from_bytes(head[4:8], "little") + 8 == length


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # damaged metadata do not make the pixels unreadable
        return image


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return _from_deep_grey(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image).convert("RGB")
    return image.convert("RGB")


def _from_deep_grey(image: Image.Image) -> Image.Image:
    values = np.asarray(image).astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("it holds values that are not finite")
    largest = 65535 if image.mode != "F" else 1 if values.max() <= 1 else 255
    grey = values * (255 / largest)
    clear = image.info.get("transparency")
    if isinstance(clear, int):
        grey = np.where(values == clear, 255, grey)
    return Image.fromarray(np.clip(np.rint(grey), 0, 255).astype(np.uint8)).convert("RGB")


def _check_file(path: Path, where: str) -> None:
    try:
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        raise ItmlabError("there is no such picture", where=where) from None
    except (OSError, ValueError) as error:  # a name too long, a loop of links, a NUL
        raise ItmlabError(f"the picture cannot be opened ({_said(error)})", where=where) from None
    if not path.is_file():
        raise ItmlabError("not a file, so no picture", where=where)
    if size == 0:
        raise ItmlabError("the picture is empty (zero bytes)", where=where)


def _content_hint(source: str | os.PathLike | IO[bytes]) -> str:
    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as file:
            start = file.read(256)
    else:
        source.seek(0)
        start = source.read(256)
    text = start.decode(errors="ignore")
    if b"\0" in start or len(text.encode()) + 3 < len(start):  # up to three bytes of a character may be cut off
        return ""
    return f"; it is a text that begins {one_line(repr(text[:20]))}"


def _place(source: Source) -> str:
    return one_line(os.fspath(source)) if isinstance(source, str | os.PathLike) else "picture"


def _said(error: Exception) -> str:
    return one_line(str(error) or type(error).__name__, 200)
