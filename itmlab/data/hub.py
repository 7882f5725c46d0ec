"""Data sets of the `datasets` library: in memory, saved to disk, in local files, or a name on the hub.

What is on the disk is read without any connection, and only from the folder that was named.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ItmlabError, named
from ..storage import inside, read_json
from .faults import Faults, one_line
from .identity import content_groups
from .pictures import Pictures
from .readers import Caption, Entry, Files
from .tables import read_text

if TYPE_CHECKING:
    from datasets import Dataset, DatasetBuilder, DatasetDict

CAPTION_COLUMNS = ("captions", "caption", "sentences", "sentence", "raw", "texts", "text")
MOST_ROWS = 10_000_000
CARDS = ("README.md", ".huggingface.yaml")  # where the configuration of a data set may be


def read_hub(root: str | Path | None, faults: Faults, *, dataset: Any = None) -> Files:
    """Read a data set of the `datasets` library. Code that comes with a data set is never run.

    A row is an image with one caption or a list of them (texts, or records with "raw", "caption" or "text"). The column
    of pictures is found by its type or is "image", that of captions by its usual names (`CAPTION_COLUMNS`), splits and
    ids by "split" and "image_id"; rename others with `dataset.rename_column`. Rows are numbered from 0 within their
    split. Rows with the same id, or without ids with the same picture, are one image.

    Args:
        root: a path or a name on the hub.
        faults: collects what is wrong.
        dataset: a Dataset, a DatasetDict, a path or a name, instead of `root`.
    """
    source = root if dataset is None else dataset
    if source is None:
        raise ItmlabError("no data set was named", where=faults.name, remedy="give dataset= (an object, path or name)")
    table, places, image_column = _table(_opened(source))
    pictures = Pictures(table, image_column, root=_local_folder(source))
    _check_column(table, *CAPTION_COLUMNS)
    captions = _column(table, CAPTION_COLUMNS, faults.name)
    splits, ids = _column(table, ("split",), faults.name), _column(table, ("image_id",), faults.name)
    groups = content_groups(pictures).tolist() if any(identifier is not None for identifier in ids) else []
    entries: dict[str, Entry] = {}
    for index, (part, row) in enumerate(places):
        file, has_own_id = faults.name if part is None else f"{faults.name}/{part}", ids[index] is not None
        image_id = str(ids[index]) if has_own_id else f"{part or 'row'}/{row}"
        split = part if splits[index] is None else str(splits[index])
        entry = Entry(file, row, image_id, source=index, split=split, has_own_id=has_own_id)
        entry = entries.setdefault(image_id, entry)
        with faults.noting(file, row):
            if entry.split != split:
                raise ItmlabError(f"the image {image_id!r} is in the split {entry.split!r} by row {entry.row}")
            if groups and groups[index] != groups[entry.source]:
                raise ItmlabError(f"the image {image_id!r} has another picture in row {entry.row}")
            entry.captions += [Caption(text, row=row) for text in _texts(captions[index])]

    return Files(list(entries.values()), pictures.select, pictures.check)


def _opened(source: Any) -> "Dataset | DatasetDict":
    import datasets

    if isinstance(source, datasets.Dataset | datasets.DatasetDict):
        return source
    if not isinstance(source, str | Path):
        message = f"a {type(source).__name__} is not a data set that can be indexed"
        raise ItmlabError(message, remedy="give a Dataset, a path or a name")
    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # a counter on the internet, asked even for local files
    folder, path = _local_folder(source), Path(source)
    try:
        if folder is None:
            return _read(datasets.load_dataset_builder(str(source)), None)
        if (path / "dataset_dict.json").is_file() or (path / "state.json").is_file():
            _check_saved(path)
            return datasets.load_from_disk(str(path))
        _check_cards(folder)
        files = {"data_files": path.name} if path.is_file() else {}
        return _read(datasets.load_dataset_builder(str(folder.resolve()), **files), folder)
    except ItmlabError:
        raise
    except Exception as error:  # networks, archives and parsers fail with many types
        message = f"cannot be read as a data set ({one_line(error, 200)})"
        remedy = "check the path or name, and that the hub can be reached"
        raise ItmlabError(message, where=one_line(source), remedy=remedy) from None


def _local_folder(source: Any) -> Path | None:
    """Return the folder of a data set on the disk, None for others."""
    if not isinstance(source, str | Path) or not Path(source).exists():
        return None
    return Path(source) if Path(source).is_dir() else Path(source).parent


def _read(builder: "DatasetBuilder", folder: Path | None) -> "Dataset | DatasetDict":
    """Read the files of a data set, after a check of where they are and how many rows they have."""
    from pyarrow.parquet import read_metadata

    for file in (file for files in builder.config.data_files.values() for file in files):
        if folder is not None:
            _check_inside(folder, file)
            if file.endswith(".parquet"):
                _check_rows(read_metadata(file).num_rows, file)
        elif not file.startswith("hf://"):
            raise ItmlabError("a data set of the hub names a file elsewhere", where=one_line(file))
    builder.download_and_prepare()
    return builder.as_dataset()


def _check_inside(folder: Path, name: Any) -> None:
    """Raise an ItmlabError for a file outside the folder, on this machine or another."""
    if re.match(r"[\w+.-]{2,}:|~", str(name)) or "::" in str(name):
        remedy = "copy the files into the folder, or name what is on the hub itself with dataset="
        raise ItmlabError(f"the path {name!r} leaves its root", where=str(folder), remedy=remedy)
    inside(folder, name)


def _check_rows(count: int, where: str) -> None:
    if count > MOST_ROWS:
        raise ItmlabError(f"{count:,} rows", where=one_line(where), remedy=f"divide it; at most {MOST_ROWS:,} are read")


def _check_saved(folder: Path) -> None:
    """Check the files that a data set names which `save_to_disk` has written."""
    parts = [folder]
    if (folder / "dataset_dict.json").is_file():
        names = read_json(folder / "dataset_dict.json")["splits"]
        parts = [inside(folder, name) for name in names]
    for part in parts:
        for row in read_json(part / "state.json")["_data_files"]:
            _check_inside(part, row["filename"])


def _check_cards(folder: Path) -> None:
    """Check every path in the configurations of a data set's card, before the library follows them."""
    import yaml

    for name in CARDS:
        if not (folder / name).is_file():
            continue
        text = read_text(folder / name)
        if name.endswith(".md"):
            text = next(iter(re.findall(r"\A\s*---\r?\n(.*?)^---", text, re.DOTALL | re.MULTILINE)), "")
        content = yaml.safe_load(text)
        for path in _texts_in(content.get("configs") if isinstance(content, dict) else None, set()):
            with named(folder / name):
                _check_inside(folder, path)


def _texts_in(value: Any, visited: set[int]) -> Iterator[str]:
    """Yield every text in a structure, looking into each part once."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and id(value) not in visited:
        visited.add(id(value))
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(part, visited)


def _table(data: "Dataset | DatasetDict") -> tuple["Dataset", list[tuple[str | None, int]], str]:
    """Return all splits as one table with undecoded pictures, the (split, row) of its rows, and the image column."""
    import datasets

    is_divided = isinstance(data, datasets.DatasetDict)
    parts = dict(data) if is_divided else {None if data.split is None else str(data.split): data}
    if list(parts) == ["train"]:  # what the library calls a table without splits
        parts = {None: parts["train"]}
    _check_rows(sum(map(len, parts.values())), "hub")
    features = next(iter(parts.values())).features
    image_column = next((name for name, feature in features.items() if isinstance(feature, datasets.Image)), "image")
    tables = []
    for part in parts.values():
        _check_column(part, image_column)
        try:
            tables.append(part.cast_column(image_column, datasets.Image(decode=False)))
        except Exception as error:  # depends on what the column holds instead
            message = f"the column {image_column!r} does not hold pictures ({one_line(error, 120)})"
            raise ItmlabError(message, where="hub") from None
    places = [(name, row) for name, part in parts.items() for row in range(len(part))]
    return datasets.concatenate_datasets(tables), places, image_column


def _check_column(table: "Dataset", *names: str) -> None:
    if not set(names) & set(table.column_names):
        remedy = f"rename one of {', '.join(map(repr, table.column_names))} with dataset.rename_column"
        raise ItmlabError(f"there is no column {' or '.join(map(repr, sorted(names)))}", where="hub", remedy=remedy)


def _column(table: "Dataset", names: Sequence[str], where: str) -> list[Any]:
    """Return the cells of the first column of these names; None for each row if there is none."""
    column = next((name for name in names if name in table.column_names), None)
    if column is None:
        return [None] * len(table)
    try:
        return list(table[column])
    except Exception as error:  # Arrow does not check texts before they are read
        raise ItmlabError(f"the column {column!r} cannot be read ({one_line(error, 120)})", where=where) from None


def _texts(value: Any) -> list[Any]:
    """Return the captions in a cell: a text, a record that holds one, or a list of either."""
    if isinstance(value, dict):
        key = next((name for name in ("raw", "caption", "text") if name in value), None)
        return [value] if key is None else _texts(value[key])
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts(item)]
    return [] if value is None else [value]
