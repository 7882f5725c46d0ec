"""Captions to scene graphs: by rules over a spaCy pipeline's parses, or by a sequence-to-sequence model.

Read in this order: `parse`; the pipelines that it may use (the small English one ships with itmlab); the cache on disk.
"""

import hashlib
import json
import os
import re
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cache as once
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ItmlabError, MissingPart
from ..storage import cache_directory
from .graph import SceneGraph
from .rules.scene_graph import scene_graph

if TYPE_CHECKING:
    from spacy import Language

SHIPPED = "english"
SHIPPED_DIRECTORY = Path(__file__).parent / "english" / "model"
SEQUENCE_PARSER = "factual"
MAXIMUM_CHARACTERS = 200_000  # of one caption: what passes it is a file given by mistake
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\s]+")
_CAPTIONS_PER_WRITE = 4096  # to the cache

TABLE = "CREATE TABLE IF NOT EXISTS graphs (key BLOB PRIMARY KEY, graph TEXT) WITHOUT ROWID"
LAYOUT = "2"  # of what is stored, a checksum and JSON: a higher number leaves what was stored before unread
PATIENCE = 60.0  # seconds that one process waits for another to finish writing
KEYS_PER_QUERY = 500
# What says nothing of the file: others are busy with it, or nothing can be written there. All else is damage.
NOT_OURS = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR}


class DamagedRow(sqlite3.DatabaseError):
    """A stored graph is not what was stored, which SQLite itself does not notice."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def parse(
    captions: Sequence[str], *, parser: str = SHIPPED, batch_size: int = 256, cache: bool = True, progress: bool = False
) -> list[SceneGraph]:
    """The scene graph of each caption, in order; captions that are equal are parsed once.

    `parser` is "english" (ships with itmlab), the name or folder of any spaCy pipeline with UD or ClearNLP labels, or
    "factual" or "factual:NAME_OR_FOLDER" for a sequence-to-sequence model. Blanks, line breaks and control characters
    count as one blank; a caption that names nothing has an empty graph. With `cache`, graphs are kept on disk by
    content, parser version and version of the rules. A caption that is no string is an ItmlabError with its number.

    >>> [graph] = parse(["a dog chasing a red ball"], cache=False)
    >>> sorted(graph.tuples())
    [('ball',), ('ball', 'red'), ('dog',), ('dog', 'chase', 'ball')]
    """
    from tqdm import tqdm

    texts = _checked(captions)
    wanted = list(dict.fromkeys(texts))
    graphs: dict[str, SceneGraph] = {}
    store = GraphCache(_version(parser)) if cache and wanted else None
    if store is not None:
        graphs = {text: graph for text, graph in zip(wanted, store.get_many(wanted), strict=True) if graph is not None}
    missing = [text for text in wanted if text not in graphs]
    parsed = _parsed(missing, parser, batch_size)
    bar = tqdm(parsed, total=len(missing), desc="parsing captions", disable=not progress)
    fresh = zip(missing, bar, strict=True)
    while some := dict(islice(fresh, _CAPTIONS_PER_WRITE)):
        graphs |= some
        if store is not None:
            store.put_many(list(some), some.values())
    return [graphs[text] for text in texts]


def _checked(captions: Sequence[str]) -> list[str]:
    """The captions as they are parsed: lone surrogates replaced, runs of blanks and control characters one blank."""
    if isinstance(captions, str | bytes):
        raise ItmlabError("captions is one string, not a list", remedy="write parse([caption])")
    texts = []
    for number, caption in enumerate(captions):
        if not isinstance(caption, str):
            raise ItmlabError(
                f"caption {number} is {type(caption).__name__}, not text", remedy="leave out rows without a caption"
            )
        if len(caption) > MAXIMUM_CHARACTERS:
            raise ItmlabError(
                f"caption {number} has {len(caption):,} characters", remedy=f"give at most {MAXIMUM_CHARACTERS:,}"
            )
        texts.append(_UNPRINTED.sub(" ", caption.encode("utf-8", "replace").decode("utf-8")).strip())
    return texts


def _parsed(texts: list[str], parser: str, batch_size: int) -> Iterator[SceneGraph]:
    if not texts:
        return
    name, _, source = parser.partition(":")
    if name == SEQUENCE_PARSER:
        from .factual import FactualParser

        model = FactualParser(source) if source else FactualParser()
        for start in range(0, len(texts), batch_size):
            yield from model.parse(texts[start : start + batch_size])
        return
    for doc in load_pipeline(parser).pipe(texts, batch_size=batch_size):
        yield scene_graph(doc)


def _version(parser: str) -> str:
    """What changes whenever the parser could give another graph."""
    name, _, source = parser.partition(":")
    if name != SEQUENCE_PARSER:
        return f"{pipeline_version(parser)}:{rules_version()}"
    from .factual import PUBLISHED

    folder, files = Path(source).expanduser() if source else None, ""
    if folder is not None and folder.is_dir():  # a model may be trained on in its folder
        states = ((path.name, path.stat()) for path in sorted(folder.iterdir()) if path.is_file())
        files = ",".join(f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in states)
    return f"{SEQUENCE_PARSER}:{source or PUBLISHED}:{files}:{rules_version()}"


@once
def rules_version() -> str:
    """Twelve digits that change with any file of this package's text rules and tables, for caches of graphs."""
    here = Path(__file__).parent
    paths = sorted([*here.glob("*.*"), *here.glob("rules/*.*")])
    return _digest(here, [path for path in paths if path.suffix in (".py", ".json")])


def _digest(root: Path, paths: Iterable[Path]) -> str:
    """Twelve digits over the names and contents of files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(str(path.relative_to(root)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def load_pipeline(name: str = SHIPPED) -> "Language":
    """The pipeline `name`: "english" (shipped, UD labels), an installed spaCy package or a directory of one.

    Loaded once a process. A name that is not there is one ItmlabError with the command that brings it; a pipeline
    without tags, heads or lemmas is refused. spaCy reads weights as plain arrays; no code of a directory is run.
    """
    return _loaded(name)


@once
def _loaded(name: str) -> "Language":
    import spacy

    directory = _directory(name)
    if directory is None and not spacy.util.is_package(name):
        if "/" in name or "\\" in name:
            raise ItmlabError("no such pipeline", where=name, remedy='give a directory that spaCy wrote, or "english"')
        raise MissingPart(f"the spaCy pipeline {name!r}", f"python -m spacy download {name}", needed_for="this parser")
    try:
        pipeline = spacy.load(name if directory is None else directory, exclude=["ner", "senter", "textcat"])
    except Exception as error:  # a configuration that somebody wrote fails in any way
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ItmlabError(
            f"not a usable spaCy pipeline: {reason}", where=name, remedy='the one that ships is "english"'
        ) from None
    missing = [part for part in ("tagger", "parser") if part not in pipeline.pipe_names]
    if not any("lemmatizer" in part for part in pipeline.pipe_names):  # "trainable_lemmatizer" is one too
        missing.append("lemmatizer")
    if missing:
        raise ItmlabError(f"the pipeline has no {' and no '.join(missing)}", where=name, remedy='use "english"')
    return pipeline


@once
def pipeline_version(name: str = SHIPPED) -> str:
    """A string that changes with the pipeline, for caches: its name and version, spaCy's, and a hash of its files."""
    import spacy

    meta = load_pipeline(name).meta
    version = f"{name}-{meta.get('version', '0')}-spacy{spacy.__version__}"
    directory = _directory(name)
    if directory is None:
        return version
    return f"{version}-{_digest(directory, sorted(path for path in directory.rglob('*') if path.is_file()))}"


def _directory(name: str) -> Path | None:
    """Where a pipeline lies that is no installed package."""
    if name == SHIPPED:
        return SHIPPED_DIRECTORY
    path = Path(name).expanduser()
    return path if (path / "config.cfg").is_file() else None


class GraphCache:
    """Graphs of captions by parser version and text, in one SQLite file that any number of processes may share.

    It lies in `storage.cache_directory()` unless `directory` is given. A spoilt file is thrown away and begun anew,
    and a place that cannot be written is done without; each says so in one warning line and never stops a parse.
    """

    def __init__(self, version: str, directory: str | Path | None = None):
        self.version = version
        self.path = Path(directory or cache_directory()) / "graphs.sqlite"

    def get_many(self, captions: Sequence[str]) -> list[SceneGraph | None]:
        """The graph of each caption, in order; None where it is not stored."""
        keys = [self._key(caption) for caption in captions]

        def read(connection: sqlite3.Connection) -> dict[bytes, SceneGraph]:
            found: dict[bytes, SceneGraph] = {}
            wanted = iter(dict.fromkeys(keys))
            while some := list(islice(wanted, KEYS_PER_QUERY)):
                places = ",".join("?" * len(some))
                rows = connection.execute(f"SELECT key, graph FROM graphs WHERE key IN ({places})", some)
                found.update((key, _graph(key, row)) for key, row in rows)
            return found

        graphs = self._with_file(read) or {}
        return [graphs.get(key) for key in keys]

    def put_many(self, captions: Sequence[str], graphs: Iterable[SceneGraph]) -> None:
        """Store the graph of each caption; one stored before is replaced."""
        keys = [self._key(caption) for caption in captions]
        rows = [(key, _row(key, graph)) for key, graph in zip(keys, graphs, strict=True)]
        if rows:
            self._with_file(lambda file: file.executemany("INSERT OR REPLACE INTO graphs VALUES (?, ?)", rows))

    def _key(self, caption: str) -> bytes:
        # Each part behind its length, so that no version ends where a caption could begin.
        content = f"{LAYOUT}:{len(self.version)}:{self.version}:{caption}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, digest_size=16).digest()

    def _with_file(self, act: Callable[[sqlite3.Connection], Any]) -> Any:
        """What `act` gives in one transaction; after a spoilt file once more on a new one; None where none can be."""
        for last_try in (False, True):
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                # Opened for each use, which is safe after a fork and in threads; committed where the block ends well.
                with closing(sqlite3.connect(self.path, timeout=PATIENCE)) as connection, connection:
                    connection.execute(TABLE)
                    return act(connection)
            except (sqlite3.DatabaseError, UnicodeDecodeError, OSError) as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                # a file that may be written and says otherwise is damaged in its header
                closed = code == sqlite3.SQLITE_READONLY and not os.access(self.path, os.W_OK)
                if last_try or closed or code in NOT_OURS or isinstance(error, OSError):
                    warnings.warn(f"{self.path}: scene graphs are not kept: {error}", stacklevel=1)  # said once
                    return None
                warnings.warn(f"{self.path}: spoilt ({error}), so it is begun anew", stacklevel=4)
                for ending in ("", "-journal", "-wal", "-shm"):
                    with suppress(OSError):  # the second try says so
                        Path(f"{self.path}{ending}").unlink()
        return None


def _row(key: bytes, graph: SceneGraph) -> bytes:
    """What is stored of a graph: a checksum of the key and the JSON that follows."""
    plain = json.dumps(graph.to_dict(), separators=(",", ":")).encode()
    return hashlib.blake2b(key + plain, digest_size=16).digest() + plain


def _graph(key: bytes, row: Any) -> SceneGraph:
    """The inverse of `_row`; a row that it did not make is a `DamagedRow`."""
    if not isinstance(row, bytes) or row[:16] != hashlib.blake2b(key + row[16:], digest_size=16).digest():
        raise DamagedRow("a graph is not what was stored")
    return SceneGraph.from_dict(json.loads(row[16:]))
