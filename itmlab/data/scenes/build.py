"""The world on the disk: one Arrow file with pictures, marks, scenes, captions and graphs, made once."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from ...storage import build_once, cache_directory
from .captions import write_captions
from .compose import compose
from .draw.render import render
from .facts import Facts

if TYPE_CHECKING:
    from datasets import Dataset, Features

VERSION = 2  # raise it whenever a scene, its drawing or its captions change: it is part of the cache's key
FILE = "scenes.arrow"


def table(*, images: int, size: int, seed: int, unannotated: float, cache: Path | None = None) -> "Dataset":
    """The memory-mapped table of these options, drawn first when the cache does not hold it."""
    import datasets

    key = f"v{VERSION}-{images}x{size}-seed{seed}-unannotated{unannotated:g}"
    directory = (cache_directory() / "scenes" if cache is None else Path(cache)) / key

    def build(work: Path) -> None:
        from datasets.arrow_writer import ArrowWriter

        with ArrowWriter(path=str(work / FILE), features=_features(), writer_batch_size=500) as writer:
            for row in rows(images=images, size=size, seed=seed, unannotated=unannotated):
                writer.write(row)
            writer.finalize()

    return datasets.Dataset.from_file(str(build_once(directory, build) / FILE))


def _features() -> "Features":
    from datasets import Features, Value
    from datasets import Image as Picture

    text = Value("string")
    return Features(
        {
            "image": Picture(decode=False),
            "marks": Value("binary"),
            "scene": text,
            "captions": [text],
            "graphs": [text],
        }
    )


def rows(*, images: int, size: int, seed: int, unannotated: float, start: int = 0) -> Iterator[dict[str, Any]]:
    """Rows `start` to `images` of the table, each from nothing but its own number and the options."""
    for index in range(start, images):
        scene = compose(seed, index)
        picture, marks = render(scene, size)
        captions = write_captions(Facts(scene), seed=seed, index=index, unannotated=unannotated)
        yield {
            "image": {"bytes": _png(picture), "path": None},
            "marks": _png(marks),
            "scene": scene.to_json(),
            "captions": [caption.text for caption in captions],
            "graphs": [json.dumps([caption.graph.to_dict(), caption.means]) for caption in captions],
        }


def _png(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, format="PNG", compress_level=6)
    return file.getvalue()
