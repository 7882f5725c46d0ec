"""Hostile tables of captions and of negatives: JSON lines, CSV, Karpathy's and COCO's JSON, gzipped or not."""

import csv
import io
import json
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from itmlab.data import load
from itmlab.data.captionset import CaptionSet
from itmlab.synthesis.files import read_negatives
from tests.data.picture_files import photograph
from tests.hostile import damage
from tests.hostile.damage import Use

COUNT = 4  # pictures
NAMES = (
    "../beside/secret.txt",
    "/etc/passwd",
    "0.jpg/../1.jpg",
    "./0.jpg",
    "0.jpg\0",
    "a" * 300,
    "images",
    "..",
    "0.JPG",
    "0.jpg/",
    "~/0.jpg",
)
SPLITS = ("train", "val", "test", "restval", "Train", "tset", "dev", "mine", "", "@digits@")


def begin(home: Path) -> SimpleNamespace:
    """Four small pictures in the folders where each format looks for them."""
    for name in ("images", "val2014", "train"):
        (home / name).mkdir()
        for number in range(COUNT):
            photograph(number).save(home / name / f"{number}.jpg")
    return SimpleNamespace(home=home)


def name(rng: Random, number: int) -> str:
    """A picture's name, sometimes one that leads elsewhere."""
    return f"{number}.jpg" if rng.random() < 0.95 else rng.choice(NAMES)


def said(rng: Random, number: int) -> str:
    """A caption, sometimes a hostile one."""
    return f"thing {number} on a table" if rng.random() < 0.7 else damage.text(rng)


def rows_of(rng: Random) -> list[dict[str, Any]]:
    """The rows of a table as `load_folder` reads it."""
    rows: list[dict[str, Any]] = []
    lists, splits, ids = (rng.random() < 0.5 for _ in range(3))
    for number in range(COUNT):
        row: dict[str, Any] = {"image": name(rng, number)}
        if splits:
            row["split"] = rng.choice(SPLITS[:3]) if rng.random() < 0.9 else rng.choice(SPLITS)
        if lists:
            row["captions"] = [said(rng, number) for _ in range(rng.randrange(1, 4))]
            rows.append(
                row | ({"caption_ids": [f"{number}-{at}" for at in range(len(row["captions"]))]} if ids else {})
            )
            continue
        for at in range(2):
            rows.append(row | {"caption": said(rng, number)} | ({"caption_id": f"{number}-{at}"} if ids else {}))
    return rows


def as_csv(rng: Random, rows: list[Any]) -> bytes:
    """The rows as CSV, lists as JSON."""
    plain = [row if isinstance(row, dict) else {"image": row} for row in rows]
    columns = list(dict.fromkeys(key for row in plain for key in row)) or ["image"]
    buffer = io.StringIO()
    ways = {"lineterminator": rng.choice(("\n", "\r\n")), "quoting": rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))}
    writer = csv.writer(buffer, escapechar="\\", **ways)
    for row in [columns, *([row.get(key, "") for key in columns] for row in plain)]:
        writer.writerow([json.dumps(cell) if isinstance(cell, list | dict) else cell for cell in row])
    return buffer.getvalue().encode(errors="surrogatepass")


def karpathy(rng: Random) -> dict[str, Any]:
    """Flickr30K's and COCO's splits as published."""
    images = [
        {
            **{"filename": name(rng, number), "imgid": number, "split": rng.choice(SPLITS[:4]), "cocoid": 100 + number},
            "sentences": [{"raw": said(rng, number), "sentid": 2 * number + at} for at in range(2)],
        }
        | ({"filepath": "val2014"} if rng.random() < 0.3 else {})
        for number in range(COUNT)
    ]
    return {"dataset": "mine", "images": images}


def coco(rng: Random) -> dict[str, Any]:
    """COCO's own annotations."""
    images = [{"id": number, "file_name": name(rng, number)} for number in range(COUNT)]
    notes = [{"id": at, "image_id": at // 2, "caption": said(rng, at)} for at in range(2 * COUNT)]
    return {"images": images, "annotations": notes}


def negatives(rng: Random) -> bytes:
    """A file of negatives."""
    places = {"spans": [[0, 1]], "source": ["thing"], "replacement": ["dog"], "kind": ["object"], "score": 0.5}
    rows = [
        {"caption_id": f"{at}", "image_id": f"{at // 2}", "caption": said(rng, at), "negative": f"other {at}", **places}
        for at in range(4)
    ]
    changed = damage.changed(rng, rows) if rng.random() < 0.5 else rows
    return damage.as_json(changed if isinstance(changed, list) else [changed], lines=True) + b"\n"


def attempt(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """One table in one of the formats, read with faults refused or left out."""
    for folder_name in ("images", "val2014"):
        (folder / folder_name).symlink_to(shared.home / folder_name)
    kind = rng.choice(
        ("folder", "folder", "captions", "captions", "flickr30k", "coco", "coco", "negatives", "negatives", "hub")
    )
    options: dict[str, Any] = {"on_fault": rng.choice(("error", "skip", "skip"))}
    if kind == "negatives":
        path = folder / "negatives.jsonl"
        damage.write(rng, path, negatives(rng))
        found = read_negatives(path)
        return lambda: len(found)
    if kind in ("flickr30k", "coco"):
        own = kind == "coco" and rng.random() < 0.5
        plain = coco(rng) if own else karpathy(rng)
        path = folder / ("captions.json" if own else f"dataset_{kind}.json")
        content = damage.as_json(damage.changed(rng, plain) if rng.random() < 0.6 else plain)
    else:
        rows = rows_of(rng)
        rows = damage.changed(rng, rows) if rng.random() < 0.5 else rows
        rows = rows if isinstance(rows, list) else [rows]
        lines = rng.random() < 0.5
        content = damage.as_json(rows, lines=True) if lines else as_csv(rng, rows)
        path = (
            folder / f"captions{rng.choice(('', '_train')) if kind == 'captions' else ''}.{'jsonl' if lines else 'csv'}"
        )
        if kind != "hub" and rng.random() < 0.2:
            path, content = path.with_name(f"{path.name}.gz"), damage.packed(rng, content)
    damage.write(rng, path, content)
    if kind == "hub":
        options["image_column"] = "image"
    elif kind != "captions":
        options["verify"] = rng.choice(("decode", "header"))
    data = load(kind, path if kind == "hub" or (kind == "captions" and rng.random() < 0.5) else folder, **options)
    return lambda: used(data, folder)


def used(data: CaptionSet, folder: Path) -> None:
    """An accepted set shows its pictures, and written as a table it is read back the same."""
    split_of = {image: split for split, images in data.splits.items() for image in images.tolist()}
    assert len(split_of) == sum(map(len, data.splits.values())) == len(data)
    owned = data.captions_of_image
    rows = [
        {
            **{"image": data.image_ids[image], "split": split_of[image], "captions": data.captions_of([image])[0]},
            "caption_ids": [data.caption_ids[caption] for caption in owned[image].tolist()],
        }
        for image in range(len(data))
    ]
    (folder / "again.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    again = load("captions", folder / "again.jsonl")
    assert again.captions == data.captions and again.caption_ids == data.caption_ids
    assert again.image_ids == data.image_ids and again.image_of_caption.equal(data.image_of_caption)
    assert {split: images.tolist() for split, images in again.splits.items()} == {
        split: images.tolist() for split, images in data.splits.items()
    }
    if hasattr(data.images, "sizes"):
        assert data.fingerprint == data.fingerprint and data.images[len(data) - 1].mode == "RGB"
    for split in data.splits:
        assert data.split(split).positives.any(dim=1).all()
