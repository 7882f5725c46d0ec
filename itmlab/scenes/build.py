"""`load`: the world `scenes` as a CaptionSet, from one Arrow file with all its pictures and truth, made once."""

import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from PIL import Image

from ..errors import ItmlabError
from ..storage import build_once, cache_directory, cores
from ..training.progress import Progress
from .captions import write_captions
from .compose import compose
from .draw import render
from .relations import Facts
from .scene import EDITIONS

if TYPE_CHECKING:
    from datasets import Dataset

    from ..data.captionset import CaptionSet


VERSION = 2  # raise it whenever a scene, its drawing or its captions change: it is part of the cache's key
FILE = "scenes.arrow"
CAPTIONS = 5
REGIONS = ("pixels", "detector")


def load(
    *,
    images: int = 6000,
    size: int = 96,
    seed: int = 0,
    unannotated: float | None = None,
    edition: str = "rich",
    cache: str | Path | None = None,
    regions: Literal[False, True, "pixels", "detector"] = False,
) -> "CaptionSet":
    """`images` drawn scenes of `size` pixels with five captions each, in train, val and test of 10 : 1 : 1.

    `unannotated` in 0..1 makes captions more general, and so true of more images that nobody annotated; each `edition`
    has its own default. "rich" shows more kinds, deeds and settings than "classic", and its captions say more, so that
    as few pairs are true without annotation as in COCO. Drawn once per choice of options and kept under `cache`
    (default: the cache folder). Scene number i is the same however many there are. `regions` adds boxes with what a
    detector sees in them, computed once and kept beside the pictures (True or "detector"), or with pixel features
    ("pixels"). An option outside its range is an ItmlabError.
    """
    from ..data.captionset import CaptionSet
    from ..data.pictures import Pictures
    from .world import SceneRegions, World

    if edition not in EDITIONS:
        raise ItmlabError(f"edition={edition!r}", where="scenes", remedy=f"give one of {', '.join(EDITIONS)}")
    knob = EDITIONS[edition].knob if unannotated is None else unannotated
    _check(images, size, seed, knob)
    if regions not in (False, True, *REGIONS):
        raise ItmlabError(f"regions={regions!r}", where="scenes", remedy=f"give one of {', '.join(REGIONS)}, or false")
    rows = table(images=images, size=size, seed=seed, unannotated=float(knob), edition=edition, cache=cache)
    captions = [text for five in rows.with_format("arrow")["captions"][:].to_pylist() for text in five]
    places = [(row, at) for row in range(images) for at in range(CAPTIONS)]
    image_ids = [f"scene-{EDITIONS[edition].stream}{seed}-{row:06d}" for row in range(images)]
    pictures, world = Pictures(rows), World(rows, range(images), places, edition=edition)
    found = SceneRegions(pictures, image_ids, world) if regions == "pixels" else None
    if regions in (True, "detector"):
        from .detector import detected

        found = detected(pictures, image_ids, world, Path(rows.cache_files[0]["filename"]).parent)
    return CaptionSet(
        name="scenes",
        images=pictures,
        image_ids=image_ids,
        captions=captions,
        caption_ids=[f"{image_ids[row]}#{at}" for row, at in places],
        image_of_caption=torch.arange(images).repeat_interleave(CAPTIONS),
        splits=_splits(images),
        world=world,
        regions=found,
    )


def _splits(images: int) -> dict[str, torch.Tensor]:
    held = max(images // 12, 1) if images >= 3 else 0
    train, val, test = torch.arange(images).split([images - 2 * held, held, held])
    return {"train": train, "val": val, "test": test} if held else {"train": train}


def _check(images: int, size: int, seed: int, unannotated: float) -> None:
    for name, value, least, most in (("images", images, 1, 10**6), ("size", size, 32, 1024), ("seed", seed, 0, 2**63)):
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ItmlabError(f"{name}={value!r}", where="scenes", remedy=f"give a whole number, {least} to {most}")
    if not isinstance(unannotated, int | float) or not 0 <= unannotated <= 1:
        raise ItmlabError(f"unannotated={unannotated!r}", where="scenes", remedy="give a number from 0 to 1")


def table(
    *,
    images: int,
    size: int,
    seed: int,
    unannotated: float,
    edition: str,
    cache: str | Path | None = None,
) -> "Dataset":
    """The memory-mapped table of these options, drawn first when the cache does not hold it."""
    from datasets import Dataset

    options = {"size": size, "seed": seed, "unannotated": float(unannotated), "edition": edition}
    key = f"{EDITIONS[edition].stream}v{VERSION}-{images}x{size}-seed{seed}-unannotated{unannotated:g}"
    directory = (cache_directory() / "scenes" if cache is None else Path(cache)) / key

    for last_try in (False, True):
        path = build_once(directory, lambda work: _draw(work, images, options)) / FILE
        try:
            found = Dataset.from_file(str(path))
            if len(found) == images:
                return found
        except Exception:  # pyarrow's answers to damage have many types
            if last_try:
                raise
        warnings.warn(f"{path}: damaged, so the scenes are drawn anew", stacklevel=2)
        shutil.rmtree(path.parent, ignore_errors=True)
    raise ItmlabError("cannot be read as it was written", where=str(path), remedy="name another place with cache=")


PART = 500  # scenes in a batch of the file


def _draw(work: Path, images: int, options: Mapping[str, Any]) -> None:
    """The table of scenes in `work`, a share of them by each core: a scene depends on nothing but its own number."""
    import pyarrow

    at_once = max(1, min(cores(), 8, images // PART // 2))
    ends = [min(images, PART * -(-images * part // (at_once * PART))) for part in range(at_once + 1)]
    shares = [{"file": f"{work / FILE}.{n}", "start": ends[n], "images": ends[n + 1]} for n in range(at_once)]
    there = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    script = f"import json, sys\nfrom {__name__} import _share\n_share(**json.load(sys.stdin))"
    told = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True, "start_new_session": True}
    told["env"] = os.environ | {"PYTHONPATH": there}
    others = [subprocess.Popen([sys.executable, "-P", "-c", script], **told) for _ in shares[1:]]
    shown = Progress("scenes", images, 0, shown=images >= 1000)
    try:
        for share, process in zip(shares[1:], others, strict=True):
            with suppress(OSError):  # of one that is gone already
                process.stdin.write(json.dumps(share | options))
                process.stdin.close()
        _share(**shares[0], **options, reached=lambda done: shown.reach(min(images - 1, done * at_once)))
        for share, process in zip(shares[1:], others, strict=True):
            if process.wait():  # of too little memory for another one, say: then here, one after the other
                _share(**share, **options)
    finally:
        for process in others:
            process.kill()
    shown.reach(images)
    shown.close()
    parts = [pyarrow.ipc.open_stream(pyarrow.memory_map(share["file"])) for share in shares]
    with pyarrow.ipc.new_stream(work / FILE, parts[0].schema) as file:
        for batch in itertools.chain.from_iterable(parts):
            file.write_batch(batch)
    for share in shares:
        Path(share["file"]).unlink()


def _share(file: str, *, reached: Callable[[int], Any] = lambda done: None, **options: Any) -> None:
    """Some `rows` as a file of their own."""
    from datasets import Features, Value
    from datasets import Image as Picture
    from datasets.arrow_writer import ArrowWriter

    text, marks, picture = Value("string"), Value("binary"), Picture(decode=False)
    columns = {"image": picture, "marks": marks, "scene": text, "captions": [text], "graphs": [text]}
    with ArrowWriter(path=file, features=Features(columns), writer_batch_size=PART) as writer:
        for done, row in enumerate(rows(**options), start=1):
            writer.write(row)
            reached(done)
        writer.finalize()


def rows(
    *, images: int, size: int, seed: int, unannotated: float, edition: str, start: int = 0
) -> Iterator[dict[str, Any]]:
    """Rows `start` to `images` of the table, each from nothing but its own number and the options.

    >>> row = next(rows(images=1, size=32, seed=0, unannotated=0.0, edition="classic"))
    >>> len(row["captions"]), row["image"]["bytes"][1:4]
    (5, b'PNG')
    """
    for index in range(start, images):
        scene = compose(seed, index, edition)
        picture, marks = render(scene, size)
        captions = write_captions(Facts(scene), seed=seed, index=index, unannotated=unannotated, edition=edition)
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
