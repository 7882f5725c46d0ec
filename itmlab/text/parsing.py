"""Captions to scene graphs: by rules over a spaCy pipeline's parses, or by a sequence-to-sequence model."""

import functools
import hashlib
import json
import re
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..errors import ItmlabError, MissingPart
from ..storage import cache_directory
from .graph import SceneGraph
from .rules.scene_graph import scene_graph

if TYPE_CHECKING:
    from spacy import Language


# The spaCy pipeline that reads captions: the small English one that ships with itmlab, or one that is named.


SHIPPED = "english"
SHIPPED_DIRECTORY = Path(__file__).parent / "english" / "model"
NEEDED = ("tagger", "parser")


def load_pipeline(name: str = SHIPPED) -> "Language":
    """The pipeline `name`: "english" (shipped, UD labels), an installed spaCy package or a directory of one.

    Loaded once a process. A name that is not there is one ItmlabError with the command that brings it; a pipeline
    without tags, heads or lemmas is refused. spaCy reads weights as plain arrays; no code of a directory is run.
    """
    return _loaded(name)


@cache
def _loaded(name: str) -> "Language":
    import spacy

    directory = _directory(name)
    if directory is None and not spacy.util.is_package(name):
        if "/" in name or "\\" in name:
            raise ItmlabError("no such pipeline", where=name, remedy='give a directory that spaCy wrote, or "english"')
        raise MissingPart(f"the spaCy pipeline {name!r}", f"python -m spacy download {name}", needed_for="this parser")
    try:
        pipeline = spacy.load(name if directory is None else directory, exclude=["ner", "senter", "textcat"])
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ItmlabError(
            f"not a usable spaCy pipeline: {reason}", where=name, remedy='the one that ships is "english"'
        ) from None
    missing = [part for part in NEEDED if part not in pipeline.pipe_names]
    if not any("lemmatizer" in part for part in pipeline.pipe_names):
        missing.append("lemmatizer")
    if missing:
        raise ItmlabError(f"the pipeline has no {' and no '.join(missing)}", where=name, remedy='use "english"')
    return pipeline


@cache
def pipeline_version(name: str = SHIPPED) -> str:
    """A string that changes with the pipeline, for caches: its name and version, spaCy's, and a hash of its files."""
    import spacy

    meta = load_pipeline(name).meta
    version = f"{name}-{meta.get('version', '0')}-spacy{spacy.__version__}"
    directory = _directory(name)
    return version if directory is None else f"{version}-{_digest(directory)}"


def _directory(name: str) -> Path | None:
    """Where a pipeline lies that is no installed package."""
    if name == SHIPPED:
        return SHIPPED_DIRECTORY
    path = Path(name).expanduser()
    return path if (path / "config.cfg").is_file() else None


def _digest(directory: Path) -> str:
    """Twelve digits over the names and contents of all files."""
    digest = hashlib.sha256()
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(directory)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


# Scene graphs on disk by content: a caption that one parser has read once is not parsed again.


Result = TypeVar("Result")
LAYOUT = "1"  # of the stored JSON: a higher number leaves what was stored before unread
PATIENCE = 60.0  # seconds that one process waits for another to finish writing
AT_ONCE = 500  # keys a query
SPOILT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}  # the last: another table's columns


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

        def read(connection: sqlite3.Connection) -> dict[bytes, str]:
            found: dict[bytes, str] = {}
            wanted = list(dict.fromkeys(keys))
            for start in range(0, len(wanted), AT_ONCE):
                some = wanted[start : start + AT_ONCE]
                places = ",".join("?" * len(some))
                found.update(connection.execute(f"SELECT key, graph FROM graphs WHERE key IN ({places})", some))
            return found

        found = self._with_file(read) or {}
        graphs = {key: _graph(text) for key, text in found.items()}
        return [graphs.get(key) for key in keys]

    def put_many(self, captions: Sequence[str], graphs: Iterable[SceneGraph]) -> None:
        """Store the graph of each caption; one stored before is replaced."""
        plain = (json.dumps(graph.to_dict(), separators=(",", ":")) for graph in graphs)
        rows = [(self._key(caption), text) for caption, text in zip(captions, plain, strict=True)]

        def write(connection: sqlite3.Connection) -> bool:
            connection.executemany("INSERT OR REPLACE INTO graphs VALUES (?, ?)", rows)
            return True

        if rows:
            self._with_file(write)

    def _key(self, caption: str) -> bytes:
        # Each part behind its length, so that no version ends where a caption could begin.
        content = f"{LAYOUT}:{len(self.version)}:{self.version}:{caption}".encode("utf-8", "surrogatepass")
        return blake2b(content, digest_size=16).digest()

    def _with_file(self, act: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """What `act` gives in one transaction; after a spoilt file once more on a new one; None where none can be."""
        for last_try in (False, True):
            try:
                with _opened(self.path) as connection:
                    return act(connection)
            except (sqlite3.DatabaseError, OSError) as error:
                if last_try or getattr(error, "sqlite_errorcode", 0) & 0xFF not in SPOILT:
                    _say(f"{self.path}: scene graphs are not kept: {error}")
                    return None
                _say(f"{self.path}: spoilt ({error}), so it is begun anew")
                for ending in ("", "-journal"):
                    Path(f"{self.path}{ending}").unlink(missing_ok=True)
        return None


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection whose work is kept if the block ends well. Opened for each use: safe after a fork and in threads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection, connection:
        connection.execute("CREATE TABLE IF NOT EXISTS graphs (key BLOB PRIMARY KEY, graph TEXT) WITHOUT ROWID")
        yield connection


def _graph(text: str) -> SceneGraph | None:
    """The stored graph, or None (as if it were not there) for what is none."""
    try:
        return SceneGraph.from_dict(json.loads(text))
    except (ValueError, TypeError, KeyError, ItmlabError):
        return None


def _say(line: str) -> None:
    warnings.warn(line, stacklevel=5)


SEQUENCE_PARSER = "factual"
MAXIMUM_CHARACTERS = 200_000  # of one caption: what passes it is a file given by mistake
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\s]+")
_KEPT_TOGETHER = 4096  # captions between two writes to the cache


def parse(
    captions: Sequence[str],
    *,
    parser: str = SHIPPED,
    batch_size: int = 256,
    cache: bool = True,
    progress: bool = False,
) -> list[SceneGraph]:
    """The scene graph of each caption, in order; captions that are equal are parsed once.

    `parser` is "english" (ships with itmlab), the name or folder of any spaCy pipeline with UD or ClearNLP labels, or
    "factual" or "factual:NAME_OR_FOLDER" for a sequence-to-sequence model. Blanks, line breaks and control characters
    count as one blank; a caption that names nothing has an empty graph. With `cache`, graphs are kept on disk by
    content, parser version and version of the rules. A caption that is no string is an ItmlabError with its number.
    """
    texts = _checked(captions)
    wanted = list(dict.fromkeys(texts))
    graphs: dict[str, SceneGraph] = {}
    store = GraphCache(_version(parser)) if cache and wanted else None
    if store is not None:
        graphs = {text: graph for text, graph in zip(wanted, store.get_many(wanted), strict=True) if graph is not None}
    missing = [text for text in wanted if text not in graphs]
    fresh = zip(missing, _bar(_parsed(missing, parser, batch_size), len(missing), progress), strict=True)
    unsaved: dict[str, SceneGraph] = {}
    for text, graph in fresh:
        graphs[text] = unsaved[text] = graph
        if store is not None and len(unsaved) >= _KEPT_TOGETHER:
            store.put_many(list(unsaved), unsaved.values())
            unsaved = {}
    if store is not None and unsaved:
        store.put_many(list(unsaved), unsaved.values())
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
    name, _, source = parser.partition(":")
    if name == SEQUENCE_PARSER:
        from .factual import PUBLISHED

        return f"{SEQUENCE_PARSER}:{source or PUBLISHED}:{_weights(source)}:{rules_version()}"
    return f"{pipeline_version(parser)}:{rules_version()}"


def _weights(source: str) -> str:
    """What changes when the files of a model's folder do; empty for a name."""
    folder = Path(source).expanduser() if source else None
    if folder is None or not folder.is_dir():
        return ""
    states = ((path.name, path.stat()) for path in sorted(folder.iterdir()) if path.is_file())
    return ",".join(f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in states)


@functools.cache
def rules_version() -> str:
    """Twelve digits that change with any file of this package's text rules and tables, for caches of graphs."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for path in sorted([*here.glob("*.*"), *here.glob("rules/*.*")]):
        if path.suffix in (".py", ".json"):
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _bar(graphs: Iterator[SceneGraph], total: int, progress: bool) -> Iterator[SceneGraph]:
    if not progress:
        return graphs
    from tqdm import tqdm

    return iter(tqdm(graphs, total=total, desc="parsing captions"))
