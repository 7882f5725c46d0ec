"""φ of single pairs is what the measures give, whatever the order of captions and images."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from itmlab.errors import ItmlabError
from itmlab.metrics import Spice, cider_matrix, relevance
from itmlab.metrics.relevance import CaptionRelevance, CaptionTruth
from itmlab.scenes import load
from tests.refusals import refused
from tests.train.world import caption_set


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ITMLAB_CACHE", str(folder))
    return folder


def made(captions, owners, images):
    return caption_set([Image.new("RGB", (8, 8))] * images, captions, owners)


WORDS = ["a", "dog", "cat", "runs", "sits", "on", "the", "mat"]
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(words, st.integers(0, 4)), min_size=2, max_size=9))
def test_each_pair_is_cider_d_with_the_document_frequencies_of_the_split(rows):
    captions, owners = [text for text, _ in rows], [owner for _, owner in rows]  # images without captions, any order
    data = made(captions, owners, 5)
    described = sorted({*owners})
    references = data.captions_of(described)
    try:
        phi = CaptionRelevance(data)
    except ItmlabError:  # one image, or the same words everywhere
        return
    captions, images = torch.meshgrid(torch.arange(len(captions)), torch.tensor(described), indexing="ij")
    expected = cider_matrix(data.captions, references)
    torch.testing.assert_close(phi(captions.flatten(), images.flatten()), expected.flatten(), atol=1e-4, rtol=1e-4)


SCENE = ["a dog runs", "the dog runs fast", "a cat on a mat", "one cat sits", "two birds fly", "birds in the sky"]


def test_an_image_without_captions_is_refused():
    phi = CaptionRelevance(made(SCENE, [0, 0, 1, 1, 3, 3], 4))
    assert phi(torch.arange(2), torch.tensor([0, 3])).isfinite().all()
    refused("image 2 has no caption to be compared with", phi, torch.arange(3), torch.tensor([0, 2, 3]))


@pytest.mark.parametrize(
    ("captions", "owners", "word"),
    [
        (["  ", "  "], [0, 1], "made: no adaptive margin: .*word"),
        (["a dog", "a cat"], [0, 0], "made: no adaptive margin: .*single image"),
        (["a dog", "a dog"], [0, 1], "made: no adaptive margin: .*the same words"),
        ([], [], "made: no adaptive margin: "),
    ],
)
def test_captions_that_cannot_be_compared_are_one_line(captions, owners, word):
    refused(word, CaptionRelevance, made(captions, owners, 2))


def test_the_truth_of_pairs_is_the_worlds_and_is_judged_again_when_the_world_changes(cache, monkeypatch):
    monkeypatch.setattr(relevance, "IMAGES_PER_BLOCK", 7)
    data = load(images=20, unannotated=1.0, cache=cache).select([4, 0, 9, 13, 2, 7, 11, 19, 16])
    captions, images = torch.tensor([3, 40, 3, 0, 44]), torch.tensor([8, 8, 0, 2, 2, 2, 5])
    labels = data.world.truth()
    assert {-1, 0, 1} == set(labels.unique().tolist())
    for truth in (CaptionTruth(data), CaptionTruth(data)):  # computed, and read from the cache
        some = truth(captions, images)
        assert some.dtype == torch.int8 and some.equal(labels[images][:, captions].T)
        assert truth(torch.arange(45), torch.arange(9)).equal(labels.T)
    (file,) = (cache / "truth").iterdir()
    file.write_bytes(file.read_bytes()[:-9])  # damaged
    assert CaptionTruth(data)(torch.arange(45), torch.arange(9)).equal(labels.T)
    monkeypatch.setattr(data.world, "truth", lambda images: (1 - labels[images].abs()).to(torch.int8))
    assert CaptionTruth(data)(torch.arange(45), torch.arange(9)).equal(1 - labels.T.abs())


def test_without_a_world_there_is_no_truth():
    refused("made: .*no ground truth", CaptionTruth, made(SCENE, [0, 0, 1, 1, 2, 2], 3))


def test_phi_is_spice_of_each_pair() -> None:
    data = load(images=12, seed=3, unannotated=1.0).select([7, 2, 11, 0, 5])
    phi = CaptionRelevance(data, relevance="spice")
    captions, images = torch.meshgrid(torch.arange(len(data.captions)), torch.arange(len(data)), indexing="ij")
    expected = Spice(data.captions_of()).matrix()
    assert torch.allclose(phi(captions.flatten(), images.flatten()), expected.flatten().float())
