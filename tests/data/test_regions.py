"""Region features in the published formats."""

import os
import zipfile

import numpy as np
import pytest
import torch

from itmlab.data import load, regions
from itmlab.data.regions import read_npy, read_npz
from itmlab.errors import ItmlabError
from tests.data.picture_files import write_lines
from tests.refusals import refused


def write_arrays(root, split="train", images=3, lines_per_image=5):
    features = np.random.default_rng(0).normal(size=(images, 36, 8)).astype(np.float32)
    np.save(root / f"{split}_ims.npy", features)
    (root / f"{split}_caps.txt").write_text("".join(f"line {n} of {split}\n" for n in range(images * lines_per_image)))
    return features


def write_archive(path, regions=4, conf=True, **changed):
    generator = np.random.default_rng(regions)
    content = {
        "features": generator.normal(size=(regions, 8)).astype(np.float16),
        "norm_bb": np.tile(np.array([0.1, 0.2, 0.5, 0.6, 0.4, 0.4], np.float16), (regions, 1)),
    }
    if conf:
        content["conf"] = np.linspace(0.1, 0.9, regions).astype(np.float16)
    np.savez(path, **{**content, **changed})
    return content


def write_archives(root, count=3):
    (root / "regions").mkdir()
    contents = [write_archive(root / "regions" / f"{n}.npz", 4 + n) for n in range(count)]
    write_lines(root / "captions.jsonl", [{"image": f"{n}.jpg", "captions": [f"thing {n}"]} for n in range(count)])
    return contents


def test_arrays_with_five_lines_an_image(tmp_path):
    train = write_arrays(tmp_path, "train", 3)
    write_arrays(tmp_path, "dev", 2)
    data = load("regions", tmp_path)
    assert {name: len(indices) for name, indices in data.splits.items()} == {"val": 2, "train": 3}
    part = data.split("train")
    assert part.captions[5:7] == ["line 5 of train", "line 6 of train"]
    assert part.image_of_caption.tolist() == [line // 5 for line in range(15)]
    assert torch.equal(part.regions[2].features, torch.from_numpy(train[2]))
    with pytest.raises(ItmlabError, match="region features and no pictures"):
        part.images[0]


@pytest.mark.parametrize("last_is_repeated", [True, False])
def test_arrays_that_repeat_each_image_for_each_caption(tmp_path, last_is_repeated):
    """Equal rows at the beginning alone (blank pictures, a burst) are images of their own."""
    features = np.random.default_rng(0).normal(size=(3, 36, 8)).astype(np.float32)
    rows = features.repeat(5, axis=0)
    rows[-1] += not last_is_repeated
    np.save(tmp_path / "test_ims.npy", rows)
    (tmp_path / "test_caps.txt").write_text("a line\n" * 15)
    data = load("regions", tmp_path)
    assert (len(data), len(data.captions)) == (3 if last_is_repeated else 15, 15)
    assert torch.equal(data.regions[len(data) // 3].features, torch.from_numpy(features[1]))


def keep_regions(monkeypatch, above, fewest, most):
    for name, value in {"CONFIDENCE": above, "FEWEST": fewest, "MOST": most}.items():
        monkeypatch.setattr(regions, name, value)


def test_one_archive_per_image_keeps_its_confident_regions(tmp_path, monkeypatch):
    contents = write_archives(tmp_path)
    keep_regions(monkeypatch, above=0.5, fewest=1, most=2)
    data = load("regions", tmp_path)
    features, boxes, confidence, _ = data.regions[2]
    assert (features.shape, boxes.shape) == ((2, 8), (2, 7))
    assert torch.equal(features, torch.from_numpy(contents[2]["features"][[5, 4]].astype(np.float32)))
    assert confidence.tolist() == pytest.approx([0.9, 0.74], abs=1e-3)
    torch.testing.assert_close(boxes[0], torch.tensor([0.1, 0.2, 0.5, 0.6, 0.4, 0.4, 0.16]), atol=1e-3, rtol=0)
    keep_regions(monkeypatch, above=0.95, fewest=3, most=100)
    assert len(data.regions[0].features) == 3


def test_object_tags_come_with_the_regions_that_are_kept(tmp_path, monkeypatch):
    write_archives(tmp_path)
    write_archive(tmp_path / "regions" / "1.npz", 6, objects=np.array(list("abcdef")))
    keep_regions(monkeypatch, above=0.5, fewest=1, most=2)
    data = load("regions", tmp_path)
    assert [data.regions[at].tags for at in range(2)] == [None, ("f", "e")]
    assert data.select([1]).regions[0].tags == ("f", "e")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.ones((3, 8), np.float32)}, "do not belong together"),
        ({"features": np.full((4, 8), np.nan, np.float32)}, "not an array of finite numbers"),
        ({"features": np.array([["a"] * 8] * 4)}, "not an array of finite numbers"),
        ({"norm_bb": np.ones((4, 5), np.float32)}, "boxes of 5 numbers"),
        ({"norm_bb": np.float32(1)}, "do not belong together"),
        ({"features": np.float32(1)}, "do not belong together"),
        ({"objects": np.arange(4.0)}, "not an array of names"),
        ({"objects": np.array([["a"] * 2] * 4)}, "do not belong together"),
    ],
)
def test_faulty_archives_name_row_and_file(tmp_path, change, message):
    write_archives(tmp_path, 2)
    write_archive(tmp_path / "regions" / "1.npz", 4, **change)
    with pytest.raises(ItmlabError, match=rf"captions.jsonl:2: .*1.npz.*{message}") as caught:
        load("regions", tmp_path)
    assert len(caught.value.faults) == 1


def test_broken_region_files_are_faults_of_their_split(tmp_path):
    write_arrays(tmp_path, "train", 3)
    for split, lines in (("cut", 5), ("uneven", 7), ("empty", 5)):
        write_arrays(tmp_path, split, 2 if split == "uneven" else 1)
        (tmp_path / f"{split}_caps.txt").write_text("line\n" * lines)
    cut = tmp_path / "cut_ims.npy"
    cut.write_bytes(cut.read_bytes()[:-9])
    (tmp_path / "empty_ims.npy").write_bytes(b"")
    write_arrays(tmp_path, "unsaid", 1)
    (tmp_path / "unsaid_caps.txt").unlink()
    lines = (tmp_path / "train_caps.txt").read_text().splitlines()
    lines[3] = ""
    (tmp_path / "train_caps.txt").write_text("\n".join(lines) + "\n")
    with pytest.raises(ItmlabError) as caught:
        load("regions", tmp_path)
    shown = "\n".join(map(str, caught.value.faults))
    for words in ("cut_ims.npy: not a readable", "uneven", "empty_ims.npy", "unsaid_caps.txt", "train_caps.txt:4"):
        assert words in shown
    assert len(caught.value.faults) == 5
    with pytest.warns(UserWarning, match="skipped 5 faults, 3 are left"):
        assert len(load("regions", tmp_path, on_fault="skip").captions) == 14


def test_large_archives_and_pipes_are_refused_before_they_are_read(tmp_path):
    path = tmp_path / "0.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("features", "norm_bb"):
            archive.writestr(f"{name}.npy", bytes(2**27 + 1))
    refused("its arrays have more than 268435456 bytes", read_npz, path)
    for name, read in {"pipe.npz": read_npz, "pipe.npy": read_npy}.items():
        os.mkfifo(tmp_path / name)
        refused(f"{name}: not a file", read, tmp_path / name)
