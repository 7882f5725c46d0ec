"""ECCV Caption on the ids of the real COCO test split, and the captions that its images share."""

import pickle
import socket

import pytest
import torch

from itmlab.metrics import eccv_caption, positives_by
from tests.data.picture_files import load_captions
from tests.refusals import refused

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def data(real_data, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ITMLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        return load_captions(real_data("coco/captions_test5k.jsonl.gz"))


@pytest.fixture(scope="module")
def ids(data) -> tuple[list[int], list[int]]:
    return [int(name) for name in data.image_ids], [int(name) for name in data.caption_ids]


@pytest.fixture(scope="module")
def similarity(ids) -> torch.Tensor:
    """Half noise, half truth: an image's captions and, a little less, the next image's score higher."""
    source = torch.Generator().manual_seed(0)
    scores = torch.rand(len(ids[0]), len(ids[1]), generator=source)
    image, caption = torch.arange(len(ids[1])) // 5, torch.arange(len(ids[1]))
    scores[image, caption] += torch.rand(len(caption), generator=source)
    scores[(image + 1) % len(ids[0]), caption] += 0.5 * torch.rand(len(caption), generator=source)
    return scores


@pytest.fixture(scope="module")
def table(ids, similarity):
    """With neither network nor pickle."""

    def forbidden(*_, **__):
        raise AssertionError("it went to the network or unpickled")

    pytest.importorskip("eccv_caption", reason="eccv_caption is not installed: pip install eccv_caption")
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((socket, "socket"), (pickle, "load"), (pickle, "loads")):
            patch.setattr(module, name, forbidden)
        return eccv_caption(similarity, *ids)


def test_it_is_what_the_package_computes(ids, similarity, table):
    judge = pytest.importorskip("eccv_caption").Metrics()
    images, captions = map(torch.tensor, ids)
    deepest = 120  # more than any query has positives
    judged = judge.eccv_gts  # of the 30,000 queries, 2,593
    by_image = {
        image: captions[similarity[place].topk(deepest).indices].tolist()
        for place, image in enumerate(ids[0])
        if image in judged["i2t"]
    }
    by_caption = {
        caption: images[similarity[:, place].topk(deepest).indices].tolist()
        for place, caption in enumerate(ids[1])
        if caption in judged["t2i"]
    }
    measures = ("eccv_r1", "eccv_map_at_r", "eccv_rprecision")
    expected = judge.compute_all_metrics(by_image, by_caption, target_metrics=measures)
    assert set(table) == set(expected)
    for name, sides in expected.items():
        assert table[name] == pytest.approx({side: 100 * share for side, share in sides.items()}), name


def test_other_ids_are_refused_with_how_many_match(ids, similarity):
    images, captions = ids
    refused("24999 of 25000 caption ids", eccv_caption, similarity, images, [7 if i == 38 else i for i in captions])
    refused("4999 of 5000 image ids", eccv_caption, similarity, ["one.jpg", *images[1:]], captions)
    refused("scores", eccv_caption, similarity[1:], images, captions)


def test_314_captions_are_another_pictures_word_for_word(data):
    shared = positives_by("corrected", data).sum(dim=0) > 1
    assert int(shared.sum()) == 314 and int(positives_by("field", data).sum()) == 25_000
