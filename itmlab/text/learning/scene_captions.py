"""Captions with their scene graphs as FACTUAL writes them."""

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

from ...errors import ItmlabError

Triple = tuple[str, str, str]


def read_scene_captions(path: str | Path) -> Iterator[tuple[str, list[Triple]]]:
    """Captions with their triples from a FACTUAL file ("caption" and "scene_graph" columns, .csv or .csv.gz)."""
    path = Path(path)
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                triples = [tuple(part.strip() for part in triple.strip("() ").split(" , "))
                           for triple in row["scene_graph"].split(" ) , ( ")]  # fmt: skip
                yield row["caption"], [triple for triple in triples if len(triple) == 3]
    except FileNotFoundError:
        raise ItmlabError(
            "no such captions", where=str(path), remedy="leave --captions out, or name the file"
        ) from None
    except (KeyError, OSError, EOFError, UnicodeDecodeError) as error:
        raise ItmlabError(f"not captions with scene graphs: {error}", where=str(path)) from None
