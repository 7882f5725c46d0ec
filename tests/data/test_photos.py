"""The photographs that ship: their licences, sizes and captions, and an own folder in their place."""

import pytest
import torch
from PIL import Image

import itmlab
from itmlab.data.readers import SHIPPED
from itmlab.models import photographs
from tests.data.picture_files import write_folder

LICENCES = ("CC BY 2.0", "CC BY-SA 2.0")


def test_twenty_photographs_ship_small_each_with_its_licence_and_source_page():
    files = sorted((SHIPPED / "images").iterdir())
    lines = (SHIPPED / "LICENSE.md").read_text(encoding="utf-8").splitlines()
    rows = {line.split("|")[1].strip(): line for line in lines if line.startswith("| 0")}
    assert {path.name for path in files} == set(rows) and len(files) == 20
    for row in rows.values():
        assert any(f"[{licence}]" in row for licence in LICENCES) and "flickr.com/photo.gne?id=" in row
    assert all(max(Image.open(path).size) <= 320 for path in files)
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) < 700_000


def test_they_are_searched_without_the_extra(monkeypatch):
    monkeypatch.setattr(photographs, "photos_installed", lambda: False)
    data, run = itmlab.load("photos"), itmlab.pretrained("photos")
    assert len(data.split("train")) == len(data.split("test")) == 10 and len(data.captions) == 100
    assert run.evaluate(data, split=None)["rsum"] > 400
    hit = run.search("a stop sign at night", data=data, k=1)
    assert "stop sign" in hit.captions[0]


def test_features_follow_a_selection_and_are_those_that_the_encoder_computes():
    data = itmlab.load("photos")
    assert torch.equal(data.select([3, 1]).regions[1].features, data.regions[1].features)
    pytest.importorskip("wordllama")
    computed = photographs.pooled_region(photographs.photo_encoder().regions(data.images[0])).features
    assert torch.allclose(computed, data.regions[0].features, atol=0.02)


def test_an_own_folder_takes_their_place(tmp_path):
    data = itmlab.load("photos", write_folder(tmp_path / "own", 5))
    assert len(data) == 5 and data.regions is None
