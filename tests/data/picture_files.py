"""Small pictures and data sets in files, written by the tests that read them."""

import json
import re
from pathlib import Path

import numpy as np
from PIL import Image

from itmlab.data.captionset import CaptionSet
from itmlab.data.faults import Faults
from itmlab.data.pictures import NoPictures
from itmlab.data.readers import Files, assemble, read_captions


def photograph(seed: int = 0, size: tuple[int, int] = (24, 16)) -> Image.Image:
    """A picture of its own for each seed."""
    pixels = np.random.default_rng(seed).integers(0, 255, (size[1] // 4, size[0] // 4, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize(size)


def write_folder(root: Path, count: int = 3, rows: list[dict] | None = None) -> Path:
    """`count` pictures 0.jpg, … under images/ and a captions.jsonl of `rows` (default: two captions each)."""
    (root / "images").mkdir(parents=True)
    for number in range(count):
        photograph(number).save(root / "images" / f"{number}.jpg")
    if rows is None:
        rows = [{"image": f"{n}.jpg", "captions": [f"thing {n}", f"another thing {n}"]} for n in range(count)]
    write_lines(root / "captions.jsonl", rows)
    return root


def write_lines(path: Path, rows: list[dict]) -> None:
    """`rows` as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_karpathy(root: Path, name: str, splits: list[str]) -> Path:
    """A Karpathy JSON with one picture of two captions for each of `splits`, as published for flickr30k or coco."""
    rows = []
    for number, split in enumerate(splits):
        row = {
            "filename": f"{number}.jpg",
            "imgid": number,
            "split": split,
            "sentids": [2 * number, 2 * number + 1],
            "sentences": [
                {"raw": f"Thing {number}, view {k}.", "tokens": ["thing"], "imgid": number, "sentid": 2 * number + k}
                for k in range(2)
            ],
        }
        folder = root / "images"
        if name == "coco":
            row |= {"filepath": "val2014", "cocoid": 1000 + number}
            folder = root / "val2014"
        folder.mkdir(parents=True, exist_ok=True)
        photograph(number).save(folder / f"{number}.jpg")
        rows.append(row)
    (root / f"dataset_{name}.json").write_text(json.dumps({"dataset": name, "images": rows}))
    return root


def load_captions(*tables: Path) -> CaptionSet:
    """The captions of tables without their pictures. A table with train, val or test in its name is that split."""
    faults, entries = Faults("captions"), []
    for table in tables:
        rows = read_captions(table, faults, lambda image: image)
        for entry in rows:
            entry.split = next(iter(re.findall("train|val|test", table.name)), None)
        entries += rows
    return assemble(Files(entries, lambda sources: NoPictures(len(sources)), lambda *source: None), faults)
