"""`load`: the world `scenes` as a CaptionSet, from one Arrow file with all its pictures and truth, drawn once."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from PIL import Image

from ..errors import ItmlabError
from ..storage import build_once, cache_directory, cores
from .captions import write_captions
from .compose import compose
from .draw import render
from .relations import Facts
from .scene import STREAM

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
    unannotated: float = 0.41,
    cache: str | Path | None = None,
    regions: Literal[False, True, "pixels", "detector"] = False,
) -> "CaptionSet":
    """Load the drawn world: scenes with five captions each, in train, val and test of 10 : 1 : 1.

    Scene number i is the same however many there are. A higher density of false negatives makes captions more general,
    and so true of more images that do not have them as annotations. At the default 0.17 % of the pairs are true without
    annotation; in COCO, from image to text, it is about 0.05 % by ECCV Caption's judgements.

    Args:
        images: how many scenes.
        size: width and height of a picture in pixels.
        seed: another seed is another set of scenes.
        unannotated: the density of false negatives, 0 to 1.
        cache: the folder that keeps what is drawn (default: the cache folder). Each choice of options is drawn once.
        regions: add boxes with what a detector sees in them (True or "detector") or with pixel features ("pixels").

    Raises:
        ItmlabError: an option is outside its range.
    """
    from ..data.captionset import CaptionSet
    from ..data.pictures import Pictures
    from .world import SceneRegions, World

    _check(images, size, seed, unannotated)
    if regions not in (False, True, *REGIONS):
        raise ItmlabError(f"regions={regions!r}", where="scenes", remedy=f"give one of {', '.join(REGIONS)}, or false")
    rows = table(images=images, size=size, seed=seed, unannotated=float(unannotated), cache=cache)
    captions = [text for five in rows.with_format("arrow")["captions"][:].to_pylist() for text in five]
    places = [(row, at) for row in range(images) for at in range(CAPTIONS)]
    image_ids = [f"scene-{STREAM}{seed}-{row:06d}" for row in range(images)]
    pictures, world = Pictures(rows), World(rows, range(images), places)
    if regions == "pixels":
        boxes = SceneRegions(pictures, image_ids, world)
    elif regions:
        from .detector import detected

        boxes = detected(pictures, image_ids, world, Path(rows.cache_files[0]["filename"]).parent)
    else:
        boxes = None
    return CaptionSet(
        name="scenes",
        images=pictures,
        image_ids=image_ids,
        captions=captions,
        caption_ids=[f"{image_ids[row]}#{at}" for row, at in places],
        image_of_caption=torch.arange(images).repeat_interleave(CAPTIONS),
        splits=_splits(images),
        world=world,
        regions=boxes,
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


def table(*, images: int, size: int, seed: int, unannotated: float, cache: str | Path | None = None) -> "Dataset":
    """Return the memory-mapped table of a world, which is drawn first if the cache does not hold it.

    Args:
        images: how many scenes.
        size: pixels a side.
        seed: of the world.
        unannotated: the density of false negatives, 0 to 1.
        cache: the folder that keeps what is drawn.
    """
    from datasets import Dataset

    options = {"size": size, "seed": seed, "unannotated": unannotated}
    key = f"{STREAM}v{VERSION}-{images}x{size}-seed{seed}-unannotated{unannotated:g}"
    directory = (cache_directory() / "scenes" if cache is None else Path(cache)) / key
    path = build_once(directory, lambda work: _draw(work, images, options)) / FILE
    try:
        drawn = Dataset.from_file(str(path))
        drawn[images - 1]  # the last row is there
        return drawn
    except Exception as error:  # pyarrow raises many types for a damaged file
        remedy = f"delete the folder {path.parent}, and the scenes are drawn again"
        message = f"the cached scenes are damaged ({type(error).__name__})"
        raise ItmlabError(message, where=str(path), remedy=remedy) from None


PART = 250  # scenes that a process draws at a time


def _draw(work: Path, images: int, options: Mapping[str, Any]) -> None:
    """Draw all scenes, on several cores where there are many, and write them to one Arrow file in `work`."""
    from datasets import Features, Value
    from datasets import Image as Picture
    from datasets.arrow_writer import ArrowWriter
    from joblib import Parallel, delayed
    from tqdm import tqdm

    text, marks, picture = Value("string"), Value("binary"), Picture(decode=False)
    columns = {"image": picture, "marks": marks, "scene": text, "captions": [text], "graphs": [text]}
    processes = min(cores(), 8, max(images // (4 * PART), 1))
    parts = Parallel(processes, return_as="generator")(
        delayed(rows)(start=start, images=min(start + PART, images), **options) for start in range(0, images, PART)
    )
    progress = tqdm(total=images, desc="scenes", disable=images < 1000, mininterval=5)
    with ArrowWriter(path=str(work / FILE), features=Features(columns), writer_batch_size=500) as writer:
        for part in parts:
            for row in part:
                writer.write(row)
            progress.update(len(part))
        writer.finalize()
    progress.close()


def rows(*, images: int, size: int, seed: int, unannotated: float, start: int = 0) -> list[dict[str, Any]]:
    """Draw rows `start` to `images` of the table; each depends on its own number and the options only.

    Args:
        images: the number after the last row.
        size: pixels a side.
        seed: of the world.
        unannotated: the density of false negatives, 0 to 1.
        start: the number of the first row.

    >>> row = rows(images=1, size=32, seed=0, unannotated=0.0)[0]
    >>> len(row["captions"]), row["image"]["bytes"][1:4]
    (5, b'PNG')
    """
    table = []
    for index in range(start, images):
        scene = compose(seed, index)
        picture, marks = render(scene, size)
        captions = write_captions(Facts(scene), seed=seed, index=index, unannotated=unannotated)
        row = {
            "image": {"bytes": _png(picture), "path": None},
            "marks": _png(marks),
            "scene": scene.to_json(),
            "captions": [caption.text for caption in captions],
            "graphs": [json.dumps([caption.graph.to_dict(), caption.means]) for caption in captions],
        }
        table.append(row)
    return table


def _png(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, format="PNG", compress_level=6)
    return file.getvalue()
