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
    table, places = _joined(_opened(source, configuration, revision), image_column)
    folder = Path(source) if isinstance(source, str | Path) and Path(source).exists() else None
    image_column = table.column_names[0] if image_column is None else image_column
    caption_column = caption_column or next((n for n in CAPTION_COLUMNS if n in table.column_names), "caption")
    columns = {"caption_column": caption_column, "split_column": split_column, "image_id_column": image_id_column}
    for option, column in columns.items():
        if column is not None and column not in table.column_names:
            raise _no_column(column, table, option)
    all_pictures = Pictures(table, image_column)

    def check(rows: list[int]) -> list[str | None]:
        decode = decodes(verify, len(rows))
        return each_checked(rows, lambda row: _check_cell(all_pictures.cell(row), folder, decode))

    def cells(column: str) -> list[Any]:
        try:
            return list(table[column])
        except Exception as error:  # Arrow takes bytes of any kind for text, until they are read
            what = f"the column {column!r} cannot be read ({one_line(error, 120)})"
            raise ItmlabError(what, where=faults.name) from None

    return assemble(
        _entries(places, faults, *(None if column is None else cells(column) for column in columns.values())),
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


def _joined(
    opened: "Dataset | DatasetDict", image_column: str | None
) -> tuple["Dataset", list[tuple[str | None, int]]]:
    """All splits as one table whose image column is not decoded and comes first, and (split, row) of its rows."""
    import datasets

    if isinstance(opened, datasets.DatasetDict):
        parts = dict(opened)
    else:
        parts = {None if opened.split is None else str(opened.split): opened}
    ready = []
    for part in parts.values():
        typed = [name for name, feature in part.features.items() if isinstance(feature, datasets.Image)]
        column = image_column or next(iter(typed), "image")
        if column not in part.column_names:
            raise _no_column(column, part, "image_column")
        rest = [name for name in part.column_names if name != column]
        try:
            ready.append(part.cast_column(column, datasets.Image(decode=False)).select_columns([column, *rest]))
        except Exception as error:  # Arrow's and the library's own, by what the column holds instead
            what = f"the column {column!r} holds no pictures ({one_line(error, 120)})"
            raise ItmlabError(what, where="hub", remedy="name another with image_column=") from None
    # "train" alone is what the library calls a table without splits
    names = list(parts) if len(parts) > 1 else [None if name == "train" else name for name in parts]
    places = [(name, row) for name, part in zip(names, ready, strict=True) for row in range(len(part))]
    return (ready[0] if len(ready) == 1 else datasets.concatenate_datasets(ready)), places


def _no_column(column: str, table: "Dataset", option: str) -> ItmlabError:
    names = ", ".join(repr(name) for name in table.column_names)
    return ItmlabError(f"there is no column {column!r}", where="hub", remedy=f"give {option}=, one of {names}")


def _entries(
    places: list[tuple[str | None, int]], faults: Faults, captions: list, splits: list | None, image_ids: list | None
) -> list[Entry]:
    """An entry for each image, from the columns of captions and (where there are any) of splits and of image ids."""
    entries: dict[str, Entry] = {}
    for index, (split, row) in enumerate(places):
        file = faults.name if split is None else f"{faults.name}/{split}"
        image_id = f"{split or 'row'}/{row}" if image_ids is None else str(image_ids[index])
        split = split if splits is None or splits[index] is None else str(splits[index])
        entry = entries.setdefault(image_id, Entry(file, row, image_id, source=index, split=split))
        if entry.split == split:
            entry.captions += [Caption(text, row=row) for text in _texts(captions[index])]
        else:
            faults.add(file, row, f"the image {image_id!r} is in the split {entry.split!r} by row {entry.row}")
    return list(entries.values())


def _texts(value: Any) -> list[Any]:
    """The captions in a cell: a text, a record that holds one, or a list of either."""
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
    if folder is not None:  # a table must not point at files beside its own
        inside(folder if folder.is_dir() else folder.parent, cell["path"])
    check_image(cell["path"], decode=decode)
