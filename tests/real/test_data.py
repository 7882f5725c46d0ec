"""The real photographs and captions beside the project load whole."""

import pytest

from tests.data.picture_files import load_captions

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))


def test_fifty_photographs_of_coco_load_and_decode(photographs):
    data = photographs.load()
    assert len(data) == 50
    assert [len(captions) for captions in data.captions_of_image] == [5] * 50
    assert {name: len(indices) for name, indices in data.splits.items()} == {"train": 40, "val": 5, "test": 5}
    pictures = [data.images[index] for index in range(50)]
    assert all(picture.mode == "RGB" and min(picture.size) > 100 for picture in pictures)
    assert data.image_ids[0] == "000000397133.jpg" and data.captions[0].startswith("A man")


def test_flickr30k_captions_load_with_their_splits(real_data):
    real_data("flickr30k/captions_train.jsonl.gz")
    data = load_captions(*sorted(real_data("flickr30k").glob("captions_*.jsonl.gz")))
    assert {name: len(indices) for name, indices in data.splits.items()} == {"train": 29_000, "val": 1_014}
    assert len(data.captions) == 5 * 30_014
    validation = data.split("val")
    assert validation.positives.shape == (1_014, 5_070) and int(validation.positives.sum()) == 5_070
