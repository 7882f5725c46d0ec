"""`load`: the world `scenes` as a CaptionSet."""

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ...errors import ItmlabError
from .build import table

if TYPE_CHECKING:
    from ..captionset import CaptionSet

CAPTIONS = 5


def load(
    *,
    images: int = 6000,
    size: int = 96,
    seed: int = 0,
    unannotated: float = 0.25,
    cache: str | Path | None = None,
    regions: bool = False,
) -> "CaptionSet":
    """`images` drawn scenes of `size` pixels with five captions each, in train, val and test of 10 : 1 : 1.

    `unannotated` in 0..1 makes captions more general, and so true of more images that nobody annotated. Drawn once per
    choice of options and kept under `cache` (default: the cache folder). Scene number i is the same however many there
    are. `regions` adds boxes with pixel features. An option outside its range is an ItmlabError.
    """
    from ..captionset import CaptionSet
    from ..pictures import Pictures
    from .regions import SceneRegions
    from .world import World

    _check(images, size, seed, unannotated)
    rows = table(
        images=images,
        size=size,
        seed=seed,
        unannotated=float(unannotated),
        cache=None if cache is None else Path(cache),
    )
    captions = [text for five in rows.with_format("arrow")["captions"][:].to_pylist() for text in five]
    places = [(row, at) for row in range(images) for at in range(CAPTIONS)]
    image_ids = [f"scene-{seed}-{row:06d}" for row in range(images)]
    pictures, world = Pictures(rows), World(rows, range(images), places)
    return CaptionSet(
        name="scenes",
        images=pictures,
        image_ids=image_ids,
        captions=captions,
        caption_ids=[f"{image_ids[row]}#{at}" for row, at in places],
        image_of_caption=torch.arange(images).repeat_interleave(CAPTIONS),
        splits=_splits(images),
        world=world,
        regions=SceneRegions(pictures, image_ids, world) if regions else None,
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
