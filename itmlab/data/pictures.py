"""Pictures from files and tables: decoded when used, as upright RGB, and checked before the first use."""

import io
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageOps

from ..errors import ItmlabError
from ..storage import inside
from .faults import one_line
from .identity import digest_of, file_digest

if TYPE_CHECKING:
    from datasets import Dataset

PIXELS_AT_MOST = 89_478_485  # Pillow's own limit against decompression bombs
SEEN = 2**22  # pixels; a larger picture is read at a half, a third, ... of its sides. No model here sees more.
# Formats that hold nothing but pictures (EPS would start an interpreter) and state their size (ICO hides it).
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF")
DECODED_UP_TO = 1000  # images; of larger sets only the headers are checked
CELLS_AT_ONCE = 1000

Source = str | os.PathLike | bytes


def read_image(source: Source, *, where: str | None = None) -> Image.Image:
    """Read a picture as upright 8-bit RGB.

    The content decides the format, not the name. Of an animation the first frame is read. Transparent pixels become
    white. Grey of 16 bits or more is refused. A picture of more than `SEEN` pixels is read at a half, a third, ... of
    its sides.

    Args:
        source: a path, or the bytes of a file.
        where: how error messages name the picture, by default the path.

    Raises:
        ItmlabError: the picture is missing, empty, damaged, too large, or not in one of `FORMATS`.

    >>> file = io.BytesIO()
    >>> Image.new("LA", (2, 1), (0, 0)).save(file, "PNG")  # transparent
    >>> read_image(file.getvalue()).getpixel((0, 0))
    (255, 255, 255)
    """
    place = _place(source) if where is None else where
    with _opened(source, place) as image:
        try:
            factor = _reduction(image)
            if factor > 1:  # a JPEG is decoded at a half, a quarter or an eighth; other formats ignore this
                image.draft(None, (image.width // factor, image.height // factor))
            picture = _to_rgb(_upright(image))
            factor = _reduction(picture)
            return picture.reduce(factor) if factor > 1 else picture
        except MemoryError:
            raise ItmlabError("the picture does not fit into memory", where=place) from None
        except Exception as error:  # decoders raise any type for damaged bytes
            raise ItmlabError(f"the picture is damaged ({_reason(error)})", where=place) from None


def _opened(source: Source, where: str) -> Image.Image:
    """Open a picture and check its header and size. Nothing is decoded yet."""
    is_path = not isinstance(source, bytes)
    if is_path and not os.path.isfile(source):
        reason = "not a file, so not a picture" if os.path.exists(source) else "there is no such picture"
        raise ItmlabError(reason, where=where)
    if not (os.path.getsize(source) if is_path else source):
        raise ItmlabError("the picture is empty (zero bytes)", where=where)
    try:
        image = Image.open(source if is_path else io.BytesIO(source), formats=_formats())
        if image.width * image.height <= PIXELS_AT_MOST:
            return image
        image.close()
        reason = f"the picture has more than {PIXELS_AT_MOST} pixels"
    except Image.UnidentifiedImageError:
        reason = f"not a picture in a format that is read here ({', '.join(_formats())})"
    except Exception as error:  # decoders raise any type for damaged bytes, and for more pixels than Pillow allows
        reason = f"the picture cannot be opened, it may be damaged ({_reason(error)})"
    raise ItmlabError(reason, where=where)


@cache
def _formats() -> list[str]:
    """Return those of `FORMATS` that this Pillow was built with."""
    Image.init()
    return [kind for kind in FORMATS if kind in Image.OPEN]


def _place(source: Source) -> str:
    return "picture" if isinstance(source, bytes) else one_line(os.fspath(source))


def _reason(error: Exception) -> str:
    return one_line(str(error) or type(error).__name__, 200)


def _reduction(image: Image.Image) -> int:
    """Return the divisor of the sides that leaves at most `SEEN` pixels."""
    return math.ceil(math.sqrt(image.width * image.height / SEEN))


def _upright(image: Image.Image) -> Image.Image:
    image.load()
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # damaged metadata do not make the pixels unreadable
        return image


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):  # Pillow would clip it at 255
        raise ValueError("grey of 16 bits or more is not read: convert it to 8 bits")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


class Pictures(Sequence[Image.Image]):
    """The pictures of one column of a `datasets.Dataset`, decoded when indexed.

    Args:
        table: the data set; `table[column]` has the feature `datasets.Image(decode=False)`.
        column: the column of pictures.
        rows: the rows to take, in this order; all of them by default.
        root: the folder that the paths in the column belong to, and may not leave.
    """

    def __init__(
        self, table: "Dataset", column: str = "image", *, rows: Sequence[int] | None = None, root: Path | None = None
    ):
        self._table = table.select_columns([column])
        self._column, self._root = column, root
        self._rows = list(range(len(table)) if rows is None else rows)

    @classmethod
    def from_paths(cls, paths: Sequence[str | os.PathLike]) -> "Pictures":
        """Return the pictures in these files. Only the paths are kept in memory."""
        import datasets

        features = datasets.Features({"image": datasets.Image(decode=False)})
        cells = [{"bytes": None, "path": os.fspath(path)} for path in paths]
        return cls(datasets.Dataset.from_dict({"image": cells}, features=features))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Image.Image:
        source, where = self.source(index)
        return read_image(source, where=where)

    def check(self, index: int, decode: bool = False) -> None:
        """Raise an ItmlabError unless the picture is there and sound, see `check_image`."""
        source, where = self.source(index)
        check_image(source, decode, where=where)

    def source(self, index: int) -> tuple[Source, str]:
        """Return the path or the bytes of a picture, and how error messages name it."""
        cell = self._table[int(self._rows[index])][self._column]
        source = self._source(cell)
        if source is None:
            raise ItmlabError("captions without an image")
        return source, one_line(cell["path"] or f"row {self._rows[index]} of column {self._column!r}")

    def _source(self, cell: dict[str, bytes | str | None] | None) -> Source | None:
        if cell is None or cell["bytes"] is not None:
            return cell and cell["bytes"]
        if cell["path"] is None or self._root is None:
            return cell["path"]
        return inside(self._root, cell["path"], remedy="copy the file into the folder of the table")

    def select(self, indices: Sequence[int]) -> "Pictures":
        """Return these pictures in this order, still encoded."""
        return Pictures(self._table, self._column, rows=[self._rows[i] for i in indices], root=self._root)

    def digests(self) -> list[bytes]:
        """Return a digest of each encoded picture. A file that is missing is known by its path."""

        def digest(cell: dict[str, bytes | str | None] | None) -> bytes:
            try:
                source = self._source(cell)
            except ItmlabError:  # a path that leaves the root
                source = None
            is_file = isinstance(source, str | os.PathLike) and os.path.isfile(source)
            return file_digest(source) if is_file else digest_of(source)

        table, results = self._table.with_format("arrow"), []
        with ThreadPoolExecutor() as threads:
            for start in range(0, len(self), CELLS_AT_ONCE):
                cells = table[self._rows[start : start + CELLS_AT_ONCE]][self._column].to_pylist()
                results += threads.map(digest, cells)
        return results


class NoPictures(Sequence[Image.Image]):
    """Stands for the pictures of a data set that comes without them. Indexing raises an ItmlabError."""

    def __init__(self, count: int):
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Image.Image:
        raise ItmlabError("this set has region features and no pictures", remedy="use its regions")

    def digests(self) -> list[bytes]:
        """Return different digests: pictures that are missing are not known to be equal."""
        return [digest_of(index) for index in range(self._count)]

    def select(self, indices: Sequence[int]) -> "NoPictures":
        """Return as many missing pictures as there are `indices`."""
        return NoPictures(len(indices))


class Unread(Sequence[Image.Image]):
    """A selection of `pictures` by index. A picture is read each time it is indexed."""

    def __init__(self, pictures: Sequence[Image.Image], indices: Sequence[int]):
        self._pictures, self._indices = pictures, indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: int | slice) -> "Image.Image | Unread":
        chosen = self._indices[index]
        return Unread(self._pictures, chosen) if isinstance(index, slice) else self._pictures[chosen]


def view(pictures: Sequence[Image.Image], indices: Sequence[int]) -> Sequence[Image.Image]:
    """Return `pictures` at `indices` without decoding any."""
    select = getattr(pictures, "select", None)
    return Unread(pictures, list(indices)) if select is None else select(indices)


# Checks before the first use.


def faults_of(sources: Sequence[Any], check: Callable[[Any, bool], None]) -> list[str | None]:
    """Return for each source the message of the ItmlabError that `check` raises, or None. Runs in threads.

    Args:
        sources: what is checked.
        check: is called with a source and whether to decode it, which is done for `DECODED_UP_TO` sources at most.
    """

    def fault(source: Any) -> str | None:
        try:
            check(source, len(sources) <= DECODED_UP_TO)
        except ItmlabError as error:
            return str(error)
        return None

    with ThreadPoolExecutor() as threads:
        return list(threads.map(fault, sources))


def check_image(source: Source, decode: bool = False, *, where: str | None = None) -> None:
    """Raise ItmlabError unless the header opens; with `decode` the whole picture is read."""
    place = _place(source) if where is None else where
    _opened(source, place).close()
    if decode:
        read_image(source, where=place)
