"""Pictures: read right whatever their format, decoded when asked for, checked before the first is used, augmented."""

import hashlib
import io
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageEnhance, ImageOps
from torch.utils.data import Subset

from ..errors import ItmlabError
from ..storage import cache_directory, inside, write_bytes
from .faults import one_line

if TYPE_CHECKING:
    from datasets import Dataset

PIXELS_AT_MOST = 89_478_485  # Pillow's own limit: 256 MB of 24-bit colour
# Only formats that are nothing but pictures: EPS, for one, would start an interpreter.
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF", "ICO")
ENDINGS = {"JPEG": b"\xff\xd9", "PNG": b"\0\0\0\0IEND\xaeB`\x82", "GIF": b"\0;"}
DECODED_UP_TO = 1000  # images; a larger set is checked by headers and end markers unless verify="decode"
SLICE = 1000  # rows read at once where only their lengths are wanted

Source = str | os.PathLike | bytes | IO[bytes]


def read_image(source: Source, *, where: str | None = None, pixels_at_most: int = PIXELS_AT_MOST) -> Image.Image:
    """The picture in a file, in bytes or in an open file, as upright 8-bit RGB.

    The content decides the format, not the name. The first frame of an animation is taken; transparency lies over
    white; 16-bit grey is scaled by its full range (0…65535), floating-point grey by 0…1, or by 0…255 when it exceeds
    1. A picture that is missing, empty, truncated, none at all, or larger than `pixels_at_most` raises ItmlabError
    naming `where` (default: the path); size is checked before anything is decoded.

    >>> file = io.BytesIO()
    >>> Image.new("LA", (2, 1), (0, 0)).save(file, "PNG")  # wholly transparent
    >>> read_image(file.getvalue()).getpixel((0, 0))
    (255, 255, 255)
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


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return _from_deep_grey(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _from_deep_grey(image: Image.Image) -> Image.Image:
    """Pillow's own conversion would cut 16-bit and floating-point grey off at 255 instead of scaling it."""
    values = np.asarray(image).astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("it holds values that are not finite")
    largest = 65535 if image.mode != "F" else 1 if values.max() <= 1 else 255
    grey = values * (255 / largest)
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
        return self._table[int(self._rows[index])][self._column]

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


def view(pictures: Sequence[Image.Image], indices: Sequence[int]) -> Sequence[Image.Image]:
    """`pictures` at `indices` without decoding any."""
    select = getattr(pictures, "select", None)
    return Subset(pictures, list(indices)) if select is None else select(indices)


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
        write_bytes(stamp, b"")
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


def named_folder(path: str | Path) -> Path:
    """The folder that an option names; one that is not there is an ItmlabError."""
    if not Path(path).is_dir():
        raise ItmlabError("there is no such folder", where=str(path))
    return Path(path)


def locate(folder: Path, name: Any) -> Path:
    """The file `name` in `folder`; a name that is none, or that leads out of the folder, is an ItmlabError."""
    no_name = not isinstance(name, str) or not name.strip() or "\0" in name
    if no_name or any("\ud800" <= character <= "\udfff" for character in name):
        raise ItmlabError(f"not the name of a file: {one_line(repr(name), 80)}", where=str(folder))
    try:
        return inside(folder, name)
    except (OSError, RuntimeError) as error:  # a name too long, a loop of links
        raise ItmlabError(f"cannot be opened ({one_line(error, 120)})", where=str(folder)) from None


# What training changes in pictures at random. Evaluation never does.

GREY = (128, 128, 128)  # where an operation leaves nothing to show


def _moved(picture: Image.Image, across: tuple[float, float, float], down: tuple[float, float, float]) -> Image.Image:
    """The picture whose point (x, y) comes from `across` · (x, y, 1) and `down` · (x, y, 1)."""
    return picture.transform(
        picture.size, Image.Transform.AFFINE, (*across, *down), Image.Resampling.BILINEAR, fillcolor=GREY
    )


# RandAugment's operations as ALBEF has them (Li et al., 2021), of a strength −1…1 whose sign only movements have.
OPERATIONS: dict[str, Callable[[Image.Image, float], Image.Image]] = {
    "identity": lambda picture, strength: picture,
    "autocontrast": lambda picture, strength: ImageOps.autocontrast(picture),
    "equalize": lambda picture, strength: ImageOps.equalize(picture),
    "brightness": lambda picture, strength: ImageEnhance.Brightness(picture).enhance(0.1 + 1.8 * abs(strength)),
    "sharpness": lambda picture, strength: ImageEnhance.Sharpness(picture).enhance(0.1 + 1.8 * abs(strength)),
    "shear_x": lambda picture, strength: _moved(picture, (1, 0.3 * strength, 0), (0, 1, 0)),
    "shear_y": lambda picture, strength: _moved(picture, (1, 0, 0), (0.3 * strength, 1, 0)),
    "translate_x": lambda picture, strength: _moved(picture, (1, 0, 10 * strength), (0, 1, 0)),  # pixels
    "translate_y": lambda picture, strength: _moved(picture, (1, 0, 0), (0, 1, 10 * strength)),
    "rotate": lambda picture, strength: picture.rotate(30 * strength, Image.Resampling.BILINEAR, fillcolor=GREY),
}
_NAMES = tuple(OPERATIONS)


@dataclass(frozen=True)
class Augmentation:
    """Changes of a picture that `generator` alone decides.

    `crop` cuts out a box whose share of the area is drawn from this range and whose shape from 3:4 to 4:3, before
    `fitted` brings it to the model's size. `flip` is the share of pictures that are mirrored. `randaugment` is how many
    OPERATIONS follow and their magnitude 0…10 (RandAugment, Cubuk et al., 2020); each one drawn is applied with
    probability 0.5, as in the code of ALBEF and FNE.

    >>> picture = Image.new("RGB", (40, 20))
    >>> Augmentation(crop=(0.5, 0.5))(picture, generator=np.random.default_rng(0)).size  # about half the area
    (23, 18)
    """

    crop: tuple[float, float] | None = None
    flip: float = 0.0
    randaugment: tuple[int, int] | None = None

    def __call__(
        self,
        picture: Image.Image,
        fitted: Callable[[Image.Image], Image.Image] = lambda picture: picture,
        *,
        generator: np.random.Generator,
    ) -> Image.Image:
        """An RGB picture changed."""
        if self.crop is not None:
            picture = picture.crop(random_box(*picture.size, self.crop, generator))
        picture = fitted(picture)
        if generator.random() < self.flip:
            picture = ImageOps.mirror(picture)
        number, magnitude = self.randaugment or (0, 0)
        for _ in range(number):
            change = OPERATIONS[_NAMES[generator.integers(len(_NAMES))]]
            applied, backwards = generator.random(2) < 0.5
            if applied:
                picture = change(picture, (-magnitude if backwards else magnitude) / 10)
        return picture


def random_box(
    width: int, height: int, shares: tuple[float, float], generator: np.random.Generator
) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a random box, its share of the area in `shares`, its shape from 3:4 to 4:3.

    Of a picture so long that ten draws do not fit it is the largest box of such a shape in the middle.
    """
    for _ in range(10):
        area, shape = width * height * generator.uniform(*shares), (4 / 3) ** generator.uniform(-1, 1)
        wide, high = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        if 0 < wide <= width and 0 < high <= height:
            left, top = generator.integers(width - wide + 1), generator.integers(height - high + 1)
            return int(left), int(top), int(left) + wide, int(top) + high
    wide, high = min(width, max(1, round(height * 4 / 3))), min(height, max(1, round(width * 4 / 3)))
    left, top = (width - wide) // 2, (height - high) // 2
    return left, top, left + wide, top + high
