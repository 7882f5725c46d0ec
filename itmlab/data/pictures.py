"""Pictures: read right whatever their format, decoded when asked for, checked before the first is used."""

import ctypes
import hashlib
import io
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from threading import Condition
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageOps
from PIL.JpegImagePlugin import JpegImageFile

from ..errors import ItmlabError
from ..storage import cache_directory, keep
from .faults import one_line

if TYPE_CHECKING:
    from datasets import Dataset

PIXELS_AT_MOST = 89_478_485  # Pillow's own limit: 341 MB, as it has four bytes a pixel
SIDE_AT_MOST = 65_535  # pixels, as many as a JPEG can have
# Whole pictures that a decoder holds at a time, where it is more than one; such pictures may be so much smaller.
COPIES = {"progressive JPEG": 2, "WEBP": 4, "AVIF": 4, "JPEG2000": 7}
# Pixels of the largest picture that is read as it is; of a larger one every second, third, … No model here sees more
# than a thirtieth of them.
SEEN = 2**22
TOGETHER = 2**24  # pixels that all threads decode at a time, unless one picture alone has more
# Only formats that are nothing but pictures (EPS would start an interpreter) and say their size (ICO hides it).
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF")
ENDINGS = {"JPEG": b"\xff\xd9", "PNG": b"\0\0\0\0IEND\xaeB`\x82", "GIF": b"\0;"}
LARGEST_JPEG = 2**28  # bytes that are looked through
ORIENTATION = 0x0112  # its tag in the metadata
_MARKER = re.compile(rb"\xff[^\0\xd0-\xd7\xff]")  # in a JPEG, but for those within a scan
DECODED_UP_TO = 1000  # images; a larger set is checked by headers and end markers unless verify="decode"
SLICE = 1000  # rows read at once where only their lengths are wanted

Source = str | os.PathLike | bytes | IO[bytes]


def read_image(source: Source, *, where: str | None = None, pixels_at_most: int = PIXELS_AT_MOST) -> Image.Image:
    """The picture in a file, in bytes or in an open file, as upright 8-bit RGB.

    The content decides the format, not the name. The first frame of an animation is taken; transparency lies over
    white; 16-bit grey is scaled by its full range (0…65535), floating-point grey by 0…1, or by 0…255 when it exceeds
    1. Of more than SEEN pixels it is read at a half, a third, … of its sides, so that it has no more (a JPEG is decoded
    so). A picture that is missing, empty, truncated, zeroed in part, none at all, larger than `pixels_at_most` (of
    formats in COPIES so much less) or longer than SIDE_AT_MOST raises ItmlabError naming `where` (default: the path);
    size is checked before anything is decoded.

    >>> file = io.BytesIO()
    >>> Image.new("LA", (2, 1), (0, 0)).save(file, "PNG")  # wholly transparent
    >>> read_image(file.getvalue()).getpixel((0, 0))
    (255, 255, 255)
    """
    place = _place(source) if where is None else where
    with open_image(source, place, pixels_at_most) as image:
        try:
            if (factor := _factor(image)) > 1:  # a JPEG is decoded at a half, a quarter or an eighth, others are not
                image.draft(None, (image.width // factor, image.height // factor))
            with _room(image):
                if isinstance(image, JpegImageFile) and _blotted(image.fp):
                    raise ValueError("a part of it has been overwritten by zeros")
                image.load()
                if (factor := _factor(image)) > 1:
                    whole, image = image, _reduced(image, factor)
                    whole.close()  # its pixels go before the next picture comes
                return _to_rgb(_upright(image), _white(image))
        except MemoryError:
            raise ItmlabError("the picture does not fit into memory", where=place) from None
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
    width, height = image.size
    most = pixels_at_most // _copies(image)
    if width * height > most or max(width, height) > SIDE_AT_MOST:
        image.close()
        limit = f"{most} (of this format)" if width * height > most else f"{SIDE_AT_MOST} along a side"
        raise ItmlabError(f"the picture has {width} × {height} pixels, more than {limit}", where=where)
    return image


def _copies(image: Image.Image) -> int:
    progressive = image.format == "JPEG" and image.info.get("progressive")
    return COPIES.get("progressive JPEG" if progressive else image.format, 1)


# What glibc keeps of freed memory for each thread, gigabytes for many, goes back to the system.
_give_back = getattr(ctypes.CDLL(None), "malloc_trim", int) if os.name == "posix" else int
_decoding = Condition()
_taken = 0  # pixels


@contextmanager
def _room(image: Image.Image) -> Iterator[None]:
    """Wait until the other threads leave room in memory for this picture to be decoded."""
    global _taken
    wanted = image.width * image.height * _copies(image)
    with _decoding:
        _decoding.wait_for(lambda: not _taken or _taken + wanted <= TOGETHER)
        _taken += wanted
    try:
        yield
    finally:
        if wanted > SEEN:
            _give_back(0)
        with _decoding:
            _taken -= wanted
            _decoding.notify_all()


def _factor(image: Image.Image) -> int:
    """What the sides are to be divided by."""
    return math.ceil(math.sqrt(image.width * image.height / SEEN))


def _reduced(image: Image.Image, factor: int) -> Image.Image:
    """The picture in colour at a `factor`-th of its sides, converted strip by strip."""
    white, height = _white(image), factor * max(1, SEEN // (4 * factor * image.width))
    small = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    for top in range(0, image.height, height):
        strip = image.crop((0, top, image.width, min(top + height, image.height)))
        small.paste(_to_rgb(strip, white).reduce(factor), (0, top // factor))
    with suppress(Exception):  # as in `_upright`
        small.getexif()[ORIENTATION] = image.getexif()[ORIENTATION]
    return small


def _blotted(file: IO[bytes]) -> bool:
    """Whether a part of a JPEG has been overwritten by zeros, which decoders pass over in silence.

    Then a table has a zero where none may be or a code twice; or 128 bits of a scan are zero, though the code of zeros
    stands for detail, of which no block has so much alike, or (progressive) for runs of blocks without any, of which
    one would do. Zeros may be right in scans that refine or have no detail, and where that code ends a block.
    """
    file.seek(0)
    jpeg = file.read(LARGEST_JPEG)
    ends, at = {}, 2  # whether the code of zeros ends a block, by the number of the table
    while found := _MARKER.search(jpeg, at):
        at = found.end()
        if found[0] == b"\xff\xd9":
            return False
        at += max(2, int.from_bytes(jpeg[at : at + 2]))
        segment = jpeg[found.end() + 2 : at]
        if found[0] == b"\xff\xdb":  # quantisation
            while len(segment) > 64 and segment[0] < 16:
                if 0 in segment[1:65]:
                    return True
                segment = segment[65:]
        if found[0] == b"\xff\xc4":  # Huffman tables
            while len(segment) > 16:
                symbols = segment[17 : 17 + sum(segment[1:17])]
                if len(set(symbols)) < len(symbols):
                    return True
                if segment[0] >> 4 and symbols:
                    ends[segment[0] & 15] = symbols[0] & 15 == 0 and symbols[0] < 0xF0
                segment = segment[17 + len(symbols) :]
        if found[0] == b"\xff\xda" and len(segment) > 3:  # a scan
            following = _MARKER.search(jpeg, at)
            tables = [number & 15 for number in segment[2 : 2 * segment[0] + 1 : 2]]
            first, last, refined = segment[-3:]
            plain = first == 0 and all(ends.get(number, True) for number in tables)
            detailed = last > 0 and refined < 16 and not plain
            if detailed and jpeg.find(bytes(16), at, following.start() if following else len(jpeg)) >= 0:
                return True
    return False


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


@cache
def _formats() -> list[str]:
    """Those of FORMATS that this Pillow was built with."""
    Image.init()
    return [kind for kind in FORMATS if kind in Image.OPEN]


def _content_hint(source: str | os.PathLike | IO[bytes]) -> str:
    """What a file that is no picture begins with, where that is text: often a page that says "not found"."""
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


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # damaged metadata do not make the pixels unreadable
        return image


def _to_rgb(image: Image.Image, white: float) -> Image.Image:
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return _from_deep_grey(image, white)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _white(image: Image.Image) -> float:
    """The value that deep grey has where it is white."""
    return 65535 if image.mode != "F" else 1 if image.getextrema()[1] <= 1 else 255


def _from_deep_grey(image: Image.Image, white: float) -> Image.Image:
    """Pillow's own conversion would cut 16-bit and floating-point grey off at 255 instead of scaling it."""
    values = np.asarray(image).astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("it holds values that are not finite")
    grey = values * (255 / white)
    clear = image.info.get("transparency")
    if isinstance(clear, int):
        grey = np.where(values == clear, 255, grey)
    return Image.fromarray(np.clip(np.rint(grey), 0, 255).astype(np.uint8)).convert("RGB")


class Pictures(Sequence[Image.Image]):
    """The pictures of one column of a `datasets.Dataset`, kept as encoded bytes or as paths and decoded at access.

    `table[column]` has the feature `datasets.Image(decode=False)`; `rows` (default all) picks and orders. A picture
    that cannot be read raises ItmlabError naming its file or row.
    """

    def __init__(self, table: "Dataset", column: str = "image", *, rows: Sequence[int] | None = None):
        self._table = table.select_columns([column])
        self._column = column
        self._rows = list(range(len(table)) if rows is None else rows)

    @classmethod
    def from_paths(cls, paths: Sequence[str | os.PathLike]) -> "Pictures":
        """Pictures in files of their own; only the paths are kept."""
        import datasets

        features = datasets.Features({"image": datasets.Image(decode=False)})
        cells = [{"bytes": None, "path": os.fspath(path)} for path in paths]
        return cls(datasets.Dataset.from_dict({"image": cells}, features=features))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Image.Image:
        cell = self.cell(index)
        if cell["bytes"] is None:
            return read_image(cell["path"])
        return read_image(cell["bytes"], where=cell["path"] or f"row {self._rows[index]} of column {self._column!r}")

    def cell(self, index: int) -> dict[str, bytes | str | None]:
        """The picture as stored: {"bytes", "path"}, one of which may be None."""
        row = int(self._rows[index])
        try:
            return self._table[row][self._column]
        except UnicodeDecodeError:  # Arrow takes bytes of any kind for text, until they are read
            raise ItmlabError("what should be text is not UTF-8", where=f"row {row} of {self._column!r}") from None

    def select(self, indices: Sequence[int]) -> "Pictures":
        """These pictures in this order, still undecoded."""
        return Pictures(self._table, self._column, rows=[self._rows[i] for i in indices])

    @cached_property
    def sizes(self) -> list[int]:
        """The size in bytes of each encoded picture, which tells two sources of the same ids apart."""
        from pyarrow.compute import binary_length, struct_field

        table, lengths, paths = self._table.with_format("arrow"), [], []
        for start in range(0, len(table), SLICE):  # Arrow counts the bytes without copying them out
            for cells in table[start : start + SLICE][self._column].chunks:
                lengths += binary_length(struct_field(cells, "bytes")).to_pylist()
                paths += struct_field(cells, "path").to_pylist()
        return [_size(paths[row]) if lengths[row] is None else lengths[row] for row in self._rows]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        raise ItmlabError("there is no such picture any more", where=path) from None


class NoPictures(Sequence[Image.Image]):
    """Stands for `count` pictures that a data set comes without; asking for one is an ItmlabError that says why."""

    def __init__(self, count: int, *, why: str, remedy: str):
        self._count, self._why, self._remedy = count, why, remedy

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Image.Image:
        raise ItmlabError(self._why, remedy=self._remedy)

    def select(self, indices: Sequence[int]) -> "NoPictures":
        """As many missing pictures as there are `indices`."""
        return NoPictures(len(indices), why=self._why, remedy=self._remedy)


class Unread(Sequence[Image.Image]):
    """Some of `pictures`, by number, each read when it is asked for, and then again."""

    def __init__(self, pictures: Sequence[Image.Image], indices: Sequence[int]):
        self._pictures, self._indices = pictures, indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: int | slice) -> "Image.Image | Unread":
        chosen = self._indices[index]
        return Unread(self._pictures, chosen) if isinstance(index, slice) else self._pictures[chosen]


def view(pictures: Sequence[Image.Image], indices: Sequence[int]) -> Sequence[Image.Image]:
    """`pictures` at `indices` without decoding any."""
    select = getattr(pictures, "select", None)
    return Unread(pictures, list(indices)) if select is None else select(indices)


def check_picture_files(paths: Sequence[Path], verify: str | None) -> list[str | None]:
    """For each picture file what is wrong with it, or None.

    `verify` "header" reads headers and end markers, "decode" every pixel, None decodes sets of up to 1,000 pictures.
    A set without faults is remembered in the cache by path, size and time of change, and not read again.
    """
    decode = decodes(verify, len(paths))
    stamp = cache_directory() / "checked" / _state(paths, decode)
    if stamp.exists():
        return [None] * len(paths)
    wrong = each_checked(paths, lambda path: check_image(path, decode=decode))
    if paths and not any(wrong):
        keep(stamp, lambda file: None)
    return wrong


def _state(paths: Sequence[Path], decode: bool) -> str:
    digest = hashlib.sha256(b"decoded" if decode else b"headers")
    for path in paths:
        try:
            status = os.stat(path)
            digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
        except OSError:
            digest.update(f"{path}\0missing\n".encode())
    return digest.hexdigest()


def decodes(verify: str | None, count: int) -> bool:
    """Whether `count` images are checked to the last value: "decode" always, "header" never, None for small sets."""
    if verify not in (None, "header", "decode"):
        raise ItmlabError(f"verify={verify!r} is not a way of checking", remedy='use "header" or "decode"')
    return verify == "decode" or (verify is None and count <= DECODED_UP_TO)


def each_checked(sources: Sequence[Any], check: Callable[[Any], None]) -> list[str | None]:
    """For each source the message of the ItmlabError that `check` raises for it, or None; on all cores."""

    def wrong(source: Any) -> str | None:
        try:
            check(source)
        except ItmlabError as error:
            return str(error)
        return None

    with ThreadPoolExecutor() as threads:
        return list(threads.map(wrong, sources))


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


def _ends_well(source: Source, kind: str | None) -> bool:
    if not isinstance(source, str | os.PathLike | bytes):
        return False
    with io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb") as file:
        head = file.read(12)
        length = file.seek(0, os.SEEK_END)
        file.seek(max(0, length - 12))
        tail = file.read()
    if kind == "WEBP":  # which says its length in its header
        return int.from_bytes(head[4:8], "little") + 8 == length
    return kind in ENDINGS and tail.endswith(ENDINGS[kind])
