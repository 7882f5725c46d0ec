"""The spaCy pipeline that reads captions: the small English one that ships with itmlab, or one that is named."""

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ItmlabError, MissingPart

if TYPE_CHECKING:
    from spacy import Language

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
