"""The fifty photographs of COCO as a folder with a table of captions, as anybody would prepare them."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from itmlab.data import load
from itmlab.data.captionset import CaptionSet


class Photographs(NamedTuple):
    """A folder with pictures, and the table of their captions."""

    root: Path
    captions: Path

    def load(self, **options: Any) -> CaptionSet:
        return load("folder", self.root, captions=self.captions, **options)


@pytest.fixture(scope="session")
def photographs(real_data, tmp_path_factory) -> Photographs:
    root, table = real_data("tiny_coco"), tmp_path_factory.mktemp("coco") / "captions.jsonl"
    content = json.loads((root / "captions.json").read_text(encoding="utf-8"))
    captions_of = {image["id"]: [] for image in content["images"]}
    for annotation in content["annotations"]:
        captions_of[annotation["image_id"]].append(annotation["caption"])
    rows = [{"image": image["file_name"], "captions": captions_of[image["id"]]} for image in content["images"]]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Photographs(root, table)
