"""Any `datasets` data set: one in memory, one saved to the disk, local files, or a name on the hub."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ItmlabError
from ..storage import inside
from .captionset import CaptionSet
from .entries import Caption, Entry, assemble
from .faults import Faults, one_line
from .pictures import Pictures, check_image, decodes, each_checked

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict


CAPTION_COLUMNS = ("captions", "caption", "sentences", "sentence", "raw", "texts", "text")
READERS = {".parquet": "parquet", ".json": "json", ".jsonl": "json", ".csv": "csv", ".arrow": "arrow"}


def load_hub(
    root: Path | None,
    faults: Faults,
    *,
    dataset: Any = None,
    image_column: str | None = None,
    caption_column: str | None = None,
    split_column: str | None = None,
    image_id_column: str | None = None,
    configuration: str | None = None,
    revision: str | None = None,
    verify: str | None = None,
    proportions: Sequence[float] = (0.8, 0.1, 0.1),
    seed: int = 0,
) -> CaptionSet:
    """A data set of the `datasets` library: `dataset` (or `root`) is a Dataset, a DatasetDict, a path or a hub name.

    A row is an image with one caption or a list of them (texts, or records with "raw", "caption" or "text"); with
    `image_id_column`, rows of the same id add their captions to the image of the first. The columns are found by type
    and usual name unless given. The data set's own code is never run. Rows are numbered from 0 within their split.
    """
    source = root if dataset is None else dataset
    if source is None:
        raise ItmlabError("no data set was named", where=faults.name, remedy="give dataset= (an object, path or name)")
    parts = _parts(_opened(source, configuration, revision))
    folder = Path(source) if isinstance(source, str | Path) and Path(source).exists() else None
    table, places = _joined(parts, image_column)
    image_column = table.column_names[0] if image_column is None else image_column
    columns = _Columns(table, caption_column, split_column, image_id_column)
    all_pictures = Pictures(table, image_column)

    def check(rows: list[int]) -> list[str | None]:
        decode = decodes(verify, len(rows))
        return each_checked(rows, lambda row: _check_cell(all_pictures.cell(row), folder, decode))

    return assemble(
        faults.name,
        columns.entries(places, faults),
        faults,
        pictures=all_pictures.select,
        check=check,
        proportions=proportions,
        seed=seed,
    )


def _opened(source: Any, configuration: str | None, revision: str | None) -> "Dataset | DatasetDict":
    import datasets

    if isinstance(source, datasets.Dataset | datasets.DatasetDict):
        return source
    if not isinstance(source, str | Path):
        raise ItmlabError(
            f"a {type(source).__name__} is no data set that can be indexed", remedy="give a Dataset, a path or a name"
        )
    path = Path(source)
    try:
        if (path / "dataset_dict.json").is_file() or (path / "state.json").is_file():
            return datasets.load_from_disk(str(path))
        if path.is_file():
            if path.suffix not in READERS:
                raise ItmlabError(f"{path.suffix!r} is not read here", remedy=f"one of {', '.join(READERS)}")
            return datasets.load_dataset(READERS[path.suffix], data_files=str(path))
        return datasets.load_dataset(str(source), name=configuration, revision=revision)
    except ItmlabError as error:
        raise ItmlabError(error.what, where=str(source), remedy=error.remedy) from None
    except Exception as error:  # reaching, unpacking and parsing fail in many ways, each with its own type
        raise ItmlabError(
            f"cannot be read as a data set ({one_line(error, 200)})",
            where=one_line(source),
            remedy="check the path or name, and that the hub can be reached",
        ) from None


def _parts(opened: "Dataset | DatasetDict") -> dict[str | None, "Dataset"]:
    from datasets import DatasetDict

    if isinstance(opened, DatasetDict):
        return dict(opened)
    return {None if opened.split is None else str(opened.split): opened}


def _joined(
    parts: dict[str | None, "Dataset"], image_column: str | None
) -> tuple["Dataset", list[tuple[str | None, int]]]:
    """All parts as one table whose image column is not decoded and comes first, and (split, row) of its rows."""
    import datasets

    images = datasets.Image(decode=False)
    ready = []
    for part in parts.values():
        column = image_column or _image_column(part)
        if column not in part.column_names:
            raise _no_column(column, part, "image_column")
        rest = [name for name in part.column_names if name != column]
        ready.append(part.cast_column(column, images).select_columns([column, *rest]))
    names = list(parts) if len(parts) > 1 else [None if name == "train" else name for name in parts]
    places = [(name, row) for name, part in zip(names, ready, strict=True) for row in range(len(part))]
    return (ready[0] if len(ready) == 1 else datasets.concatenate_datasets(ready)), places


def _image_column(table: "Dataset") -> str:
    import datasets

    typed = [name for name, feature in table.features.items() if isinstance(feature, datasets.Image)]
    column = next(iter(typed), "image")
    if column not in table.column_names:
        raise _no_column(column, table, "image_column")
    return column


def _no_column(column: str, table: "Dataset", option: str) -> ItmlabError:
    names = ", ".join(repr(name) for name in table.column_names)
    return ItmlabError(f"there is no column {column!r}", where="hub", remedy=f"give {option}=, one of {names}")


class _Columns:
    """The columns of a table other than the image: captions, and split and image id where there are any."""

    def __init__(self, table: "Dataset", captions: str | None, split: str | None, image_id: str | None):
        captions = captions or next((name for name in CAPTION_COLUMNS if name in table.column_names), "caption")
        for column, option in ((captions, "caption_column"), (split, "split_column"), (image_id, "image_id_column")):
            if column is not None and column not in table.column_names:
                raise _no_column(column, table, option)
        self._captions = list(table[captions])
        self._splits = [None] * len(table) if split is None else list(table[split])
        self._image_ids = None if image_id is None else list(table[image_id])

    def entries(self, places: list[tuple[str | None, int]], faults: Faults) -> list[Entry]:
        entries: dict[str, Entry] = {}
        for index, (split, row) in enumerate(places):
            file = faults.name if split is None else f"{faults.name}/{split}"
            captions = [Caption(text, row=row) for text in _texts(self._captions[index])]
            image_id = f"{split or 'row'}/{row}" if self._image_ids is None else str(self._image_ids[index])
            split = str(self._splits[index]) if self._splits[index] is not None else split
            entry = entries.setdefault(image_id, Entry(file, row, image_id, source=index, split=split))
            if entry.split == split:
                entry.captions += captions
            else:
                faults.add(file, row, f"the image {image_id!r} is in the split {entry.split!r} by row {entry.row}")
        return list(entries.values())


def _texts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        key = next((name for name in ("raw", "caption", "text") if name in value), None)
        return [value] if key is None else _texts(value[key])
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    return [] if value is None else [value]


def _check_cell(cell: dict[str, Any] | None, folder: Path | None, decode: bool) -> None:
    if cell is None or (cell["bytes"] is None and cell["path"] is None):
        raise ItmlabError("captions without an image")
    if cell["bytes"] is not None:
        check_image(cell["bytes"], where=cell["path"] or "picture", decode=decode)
        return
    if folder is not None:
        inside(folder if folder.is_dir() else folder.parent, cell["path"])
    check_image(cell["path"], decode=decode)
