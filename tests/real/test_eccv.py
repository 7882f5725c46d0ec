"""ECCV Caption on the ids of the real COCO test split: as the package itself computes it, and nothing fetched."""

import pickle
import socket

import pytest
import torch

from itmlab.data.faults import Faults
from itmlab.data.tables import read_rows
from itmlab.errors import MissingPart
from itmlab.metrics.eccv import eccv_caption
from tests.refusals import refused

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def package():
    return pytest.importorskip("eccv_caption", reason="eccv_caption is not installed: pip install eccv_caption")


@pytest.fixture(scope="module")
def ids(real_data) -> tuple[list[int], list[int]]:
    rows = [row for _, row in read_rows(real_data("coco/captions_test5k.jsonl.gz"), Faults("test5k"))]
    return [row["image_id"] for row in rows], [caption for row in rows for caption in row["caption_ids"]]


@pytest.fixture(scope="module")
def similarity(ids) -> torch.Tensor:
    """Half noise, half truth: own captions and, a little less, the next image's score higher."""
    source = torch.Generator().manual_seed(0)
    scores = torch.rand(len(ids[0]), len(ids[1]), generator=source)
    image, caption = torch.arange(len(ids[1])) // 5, torch.arange(len(ids[1]))
    scores[image, caption] += torch.rand(len(caption), generator=source)
    scores[(image + 1) % len(ids[0]), caption] += 0.5 * torch.rand(len(caption), generator=source)
    return scores


@pytest.fixture(scope="module")
def found(package, ids, similarity):
    return eccv_caption(similarity, *ids)


@pytest.fixture
def alone(monkeypatch) -> None:
    """No network and no pickle."""

    def refused(*_, **__):
        raise AssertionError("it went to the network or unpickled")

    monkeypatch.setattr(socket, "socket", refused)
    monkeypatch.setattr(pickle, "load", refused)
    monkeypatch.setattr(pickle, "loads", refused)


def test_it_is_what_the_package_computes(package, ids, similarity, found):
    judge = package.Metrics()
    images, captions = torch.tensor(ids[0]), torch.tensor(ids[1])
    deepest = 120  # more than any query has positives
    ranked = {
        "i2t": dict(zip(ids[0], captions[similarity.topk(deepest).indices].tolist(), strict=True)),
        "t2i": dict(zip(ids[1], images[similarity.T.topk(deepest).indices].tolist(), strict=True)),
    }
    measures = ("eccv_r1", "eccv_map_at_r", "eccv_rprecision", "coco_5k_recalls", "cxc_recalls")
    theirs = judge.compute_all_metrics(ranked["i2t"], ranked["t2i"], target_metrics=measures)
    assert max(len(items) for gold in (judge.eccv_gts, judge.cxc_gts) for items in gold["i2t"].values()) <= deepest
    for name, sides in theirs.items():
        for side, share in sides.items():
            assert found[name][side] == pytest.approx(100 * share), (name, side)
    assert set(found) == set(theirs)


def test_the_order_of_images_and_captions_does_not_show_and_nothing_is_fetched(ids, similarity, found, alone):
    rows, columns = torch.randperm(len(ids[0])), torch.randperm(len(ids[1]))
    shuffled = similarity[rows][:, columns]
    again = eccv_caption(shuffled, [str(ids[0][i]) for i in rows], [str(ids[1][i]) for i in columns])
    for name, sides in found.items():
        assert again[name] == pytest.approx(sides)


def test_a_perfect_ranking_has_all(package, ids):
    judge = package.Metrics()
    image_of = {image: index for index, image in enumerate(ids[0])}
    caption_of = {caption: index for index, caption in enumerate(ids[1])}
    perfect = torch.zeros(len(ids[0]), len(ids[1]))
    for image, captions in judge.eccv_gts["i2t"].items():
        perfect[image_of[image], [caption_of[caption] for caption in captions if caption in caption_of]] = 1
    found = eccv_caption(perfect, *ids)
    # two of ECCV Caption's 22,550 relevant captions are not in the test split, and cannot be found
    assert found["eccv_r1"]["i2t"] == 100
    assert [found[f"eccv_{name}"]["i2t"] for name in ("map_at_r", "rprecision")] == pytest.approx([100, 100], abs=0.02)


def test_what_is_not_the_test_split_is_refused(package, ids, similarity, monkeypatch):
    images, captions = ids
    refused(r"1 missing \[38\], 1 foreign", eccv_caption, similarity, images, [7 if i == 38 else i for i in captions])
    refused("1 missing", eccv_caption, similarity[1:], images[1:], captions)
    refused("not a number", eccv_caption, similarity, ["one.jpg", *images[1:]], captions)
    refused("1 twice", eccv_caption, similarity, images, [*captions[:-1], captions[0]])
    refused("scores", eccv_caption, similarity[1:], images, captions)
    broken = similarity.clone()
    broken[3, 4] = torch.nan
    refused("NaN", eccv_caption, broken, *ids)
    monkeypatch.setitem(__import__("sys").modules, "eccv_caption", None)
    with pytest.raises(MissingPart, match="pip install eccv_caption"):
        eccv_caption(similarity, *ids)
