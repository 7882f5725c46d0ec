"""Scene graphs on disk by content: a caption that one parser has read once is not parsed again."""

import json
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from ..errors import ItmlabError
from ..storage import cache_directory
from .graph import SceneGraph

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
