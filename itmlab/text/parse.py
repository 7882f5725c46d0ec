"""Captions to scene graphs: by rules over a spaCy pipeline's parses, or by a sequence-to-sequence model."""

import functools
import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import ItmlabError
from .build import scene_graph
from .graph import SceneGraph
from .graph_cache import GraphCache
from .pipeline import SHIPPED, load_pipeline, pipeline_version

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
    for path in sorted(Path(__file__).parent.glob("*.*")):
        if path.suffix in (".py", ".json"):
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _bar(graphs: Iterator[SceneGraph], total: int, progress: bool) -> Iterator[SceneGraph]:
    if not progress:
        return graphs
    from tqdm import tqdm

    return iter(tqdm(graphs, total=total, desc="parsing captions"))
