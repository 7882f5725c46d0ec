"""Parse captions into scene graphs with rules over the parses of a spaCy pipeline, and cache the graphs on disk.

A small English pipeline ships with itmlab.
"""

import hashlib
import json
import re
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ItmlabError
from ..storage import cache_directory
from .graph import SceneGraph
from .rules.scene_graph import scene_graph

if TYPE_CHECKING:
    from spacy import Language

SHIPPED_DIRECTORY = Path(__file__).parent / "english" / "model"
MAXIMUM_CHARACTERS = 200_000  # a longer caption is a file that was passed by mistake
CAPTIONS_PER_WRITE = 4096  # an interrupted parse loses at most this many graphs
_BLANKS = re.compile(r"[\x00-\x1f\x7f-\x9f\s]+")
_LONG_RUN = re.compile(r"\S{100}(?=\S)")  # spaCy's tokeniser takes quadratic time for a run without blanks


def parse(captions: Sequence[str], *, cache: bool = True, progress: bool = False) -> list[SceneGraph]:
    """Return the scene graph of each caption, in order. Equal captions are parsed once.

    Line breaks and control characters are read as blanks, and a run of more than 100 characters as several words. A
    caption that names nothing has an empty graph.

    Args:
        captions: the captions.
        cache: keep the graphs on disk, by caption and by version of the parser and its rules.
        progress: show a progress bar.

    Raises:
        ItmlabError: a caption is not a string (with its number).

    >>> [graph] = parse(["a dog chasing a red ball"], cache=False)
    >>> sorted(graph.tuples())
    [('ball',), ('ball', 'red'), ('dog',), ('dog', 'chase', 'ball')]
    """
    from tqdm import tqdm

    texts = _checked(captions)
    unique = list(dict.fromkeys(texts))
    graphs = _stored(unique) if cache and unique else {}
    missing = [text for text in unique if text not in graphs]
    with tqdm(total=len(missing), desc="parsing captions", disable=not progress) as bar:
        for start in range(0, len(missing), CAPTIONS_PER_WRITE):
            chunk = missing[start : start + CAPTIONS_PER_WRITE]
            docs = load_pipeline().pipe(chunk, batch_size=256)
            for text, doc in zip(chunk, docs, strict=True):
                graphs[text] = scene_graph(doc)
                bar.update()
            if cache:
                _store({text: graphs[text] for text in chunk})
    return [graphs[text] for text in texts]


def _checked(captions: Sequence[str]) -> list[str]:
    """Return the captions as they are parsed, with lone surrogates replaced and control characters read as blanks."""
    if isinstance(captions, str | bytes):
        raise ItmlabError("captions is one string, not a list", remedy="write parse([caption])")
    texts = []
    for number, caption in enumerate(captions):
        if not isinstance(caption, str):
            kind = type(caption).__name__
            raise ItmlabError(f"caption {number} is {kind}, not text", remedy="leave out rows without a caption")
        if len(caption) > MAXIMUM_CHARACTERS:
            message = f"caption {number} has {len(caption):,} characters"
            raise ItmlabError(message, remedy=f"give at most {MAXIMUM_CHARACTERS:,}")
        text = _BLANKS.sub(" ", caption.encode("utf-8", "replace").decode("utf-8")).strip()
        texts.append(_LONG_RUN.sub(r"\g<0> ", text))
    return texts


@once
def parser_version() -> str:
    """Return a text that changes with spaCy, the pipeline, and any rule or table of this room: a part of cache keys."""
    import spacy

    digest, here = hashlib.sha256(spacy.__version__.encode()), Path(__file__).parent
    for path in sorted(path for path in here.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        digest.update(str(path.relative_to(here)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:24]


@once
def load_pipeline() -> "Language":
    """Return the spaCy pipeline that ships, loaded once per process: plain arrays, without any code."""
    import spacy

    return spacy.load(SHIPPED_DIRECTORY, exclude=["ner", "senter", "textcat"])


# The cache: graphs by parser version and caption, in one SQLite file that several processes may share. A file that
# cannot be read or written costs a warning and the cache, never the parse.


_TABLE = "CREATE TABLE IF NOT EXISTS graphs (version TEXT, caption TEXT, graph TEXT, PRIMARY KEY (version, caption))"


def _stored(captions: Iterable[str]) -> dict[str, SceneGraph]:
    """Return the graphs of those captions that are stored."""

    query, version = "SELECT graph FROM graphs WHERE version = ? AND caption = ?", parser_version()

    def select(connection: sqlite3.Connection) -> dict[str, SceneGraph]:
        rows = ((text, connection.execute(query, (version, text)).fetchone()) for text in captions)
        return {text: SceneGraph.from_dict(json.loads(row[0])) for text, row in rows if row is not None}

    return _transaction(select) or {}


def _store(graphs: Mapping[str, SceneGraph]) -> None:
    """Store the graph of each caption."""
    rows = [(parser_version(), caption, json.dumps(graph.to_dict())) for caption, graph in graphs.items()]
    _transaction(lambda file: file.executemany("INSERT OR REPLACE INTO graphs VALUES (?, ?, ?)", rows))


def _transaction(action: Callable[[sqlite3.Connection], Any]) -> Any:
    """Return what `action` returns, or None with a warning if the file cannot be used."""
    path = cache_directory() / "scene_graphs.sqlite"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Opened for each use, which is safe after a fork and in threads.
        with closing(sqlite3.connect(path, timeout=60)) as connection, connection:
            connection.execute(_TABLE)
            return action(connection)
    except (sqlite3.Error, OSError, LookupError, TypeError, ValueError) as error:
        warnings.warn(f"{path}: scene graphs are not kept ({error}); delete the file if it is damaged", stacklevel=1)
        return None
