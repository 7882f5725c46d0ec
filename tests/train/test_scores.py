"""Models of any kind are evaluated alike."""

import json
from copy import copy

import pytest
import torch
from safetensors import safe_open

from itmlab.errors import ItmlabError
from itmlab.metrics import retrieval, truth_retrieval
from itmlab.metrics.semantic import semantic_retrieval
from itmlab.scenes import load
from itmlab.train import scores
from itmlab.train.comparison import compare
from itmlab.train.mining import mine
from itmlab.train.run import ensemble
from itmlab.train.scores import evaluate, relevance_matrix, similarity, write_embeddings
from tests.plain_model import PlainModel
from tests.refusals import refused
from tests.train.world import caption_set, micro


class OnlySimilarity(PlainModel):
    """A model that cannot encode apart: it compares what it is given, pair by pair."""

    encodes_apart = False

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def prepare_images(self, pictures):
        return self.inner.prepare_images(pictures)

    def prepare_captions(self, captions):
        return self.inner.prepare_captions(captions)

    def similarity(self, images, captions):
        return self.inner.encode_images(images).pooled @ self.inner.encode_captions(captions).pooled.T


def test_a_model_with_similarity_alone_is_evaluated_the_same(finished, data):
    model = finished.model
    torch.testing.assert_close(similarity(OnlySimilarity(model), data), similarity(model, data), atol=1e-5, rtol=0)
    assert evaluate(OnlySimilarity(model), data) == evaluate(model, data)


def test_it_is_the_recall_of_the_similarities(finished, data):
    test = data.split("test")
    scores = similarity(finished.model, test)
    assert scores.shape == (8, 16)
    assert finished.evaluate(data, ks=(1, 5)) == retrieval(scores, test.positives, ks=(1, 5))
    folds = [retrieval(similarity(finished.model, part), part.positives) for part in thirds(data)]
    everything = finished.evaluate(data, split=None, folds=3)
    assert everything["rsum"] == pytest.approx(sum(fold["rsum"] for fold in folds) / 3)


def thirds(data):
    return [data.select(range(start, start + 16)) for start in (0, 16, 32)]


def test_a_relevance_adds_the_semantic_measures(finished, data):
    scores, relevance = similarity(finished.model, data), relevance_matrix(data)
    table = finished.evaluate(data, split=None, relevance="cider")
    semantic = table.pop("semantic")
    assert table == finished.evaluate(data, split=None)
    assert semantic.pop("relevance") == "cider"
    assert semantic == semantic_retrieval(scores, relevance, data.positives)
    folded = finished.evaluate(data, split=None, folds=3, relevance="cider")["semantic"]
    images = [slice(start, start + 16) for start in (0, 16, 32)]
    parts = [
        semantic_retrieval(similarity(finished.model, part), relevance[part_captions][:, rows], part.positives)
        for part, rows, part_captions in zip(thirds(data), images, captions_of_thirds(data), strict=True)
    ]
    assert folded["Nsum"] == pytest.approx(sum(part["Nsum"] for part in parts) / 3)
    counts = [part["unanswered"]["NCS(N)"]["t2i"] for part in parts]
    assert folded["unanswered"]["NCS(N)"]["t2i"] == sum(counts)


def captions_of_thirds(data):
    return (torch.arange(len(data.captions))[data.image_of_caption // 16 == third] for third in range(3))


def test_truth_adds_what_the_world_knows(finished, data, tmp_path):
    scenes = load(images=60, cache=tmp_path).select(range(20))
    asked = {"split": None, "ks": (1, 5)}
    plain, table = finished.evaluate(scenes, **asked), finished.evaluate(scenes, **asked, truth=True)
    scores = similarity(finished.model, scenes)
    assert table.pop("truth") == truth_retrieval(scores, scenes.world.truth(), scenes.positives, ks=(1, 5))
    assert table == plain
    with pytest.raises(ItmlabError, match="the data has no world"):
        finished.evaluate(data, truth=True, ks=(1, 5))


def test_fewer_candidates_than_k_are_refused_before_anything_is_scored(finished, data, monkeypatch):
    assert set(finished.evaluate(data, ks=(1, 7), relevance="cider")["semantic"]["NCS(N)"]["i2t"]) == {1, 7}
    finished.model.eval()
    monkeypatch.setattr(type(finished.model), "similarity", None)
    few = data.select(range(20))
    for ask, word in (
        (lambda: finished.evaluate(data), "k=10 of 8 candidates — choose k from 1 to 8"),
        (lambda: ensemble([finished]).evaluate(data), "k=10 of 8 candidates"),
        (lambda: finished.evaluate(data, ks=(1, 8), relevance="cider"), "k=8 of 7 candidates"),  # less ground truth
        (lambda: finished.evaluate(few, split=None, folds=4), "k=10 of 5 candidates"),
        (lambda: finished.evaluate(data, ks=(0,)), "k=0 of 8 candidates"),
        (lambda: finished.evaluate(few, split=None, folds=3), "20 images cannot be cut"),
        (lambda: finished.evaluate(few, split=None, relevance="cidre"), "did you mean cider"),
    ):
        with pytest.raises(ItmlabError, match=word):
            ask()


def test_an_image_without_captions_is_said_before_anything_is_scored(finished, data):
    bare = copy(data)
    bare.image_of_caption = data.image_of_caption.clamp(min=1)
    with pytest.raises(ItmlabError, match="1 of 48 have no positive, the first is image 0"):
        finished.evaluate(bare, split=None)


def test_evaluation_is_without_dropout_and_leaves_the_mode_as_it_was(finished, data):
    finished.model.train()
    assert evaluate(finished.model, data) == evaluate(finished.model, data)
    assert finished.model.training
    finished.model.eval()


def test_embeddings_are_written_with_their_ids_as_one_file(finished, data, tmp_path):
    """Issue 44, entry 18: two files could be torn."""
    test, path = data.split("test"), tmp_path / "out" / "test.safetensors"
    assert write_embeddings(finished, test, path) == (8, 16)
    with safe_open(path, "pt") as file:
        tensors, about = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    assert json.loads(about["itmlab_features"]) == {"images": test.image_ids, "captions": test.caption_ids}
    assert tensors["images"].norm(dim=1).tolist() == pytest.approx([1] * 8, abs=1e-5)
    torch.testing.assert_close(tensors["images"] @ tensors["captions"].T, similarity(finished.model, test))
    assert tensors["image_of_caption"].equal(test.image_of_caption)
    assert [entry.name for entry in path.parent.iterdir()] == ["test.safetensors"]


def test_more_pairs_than_the_memory_holds_are_refused_before_anything_is_scored(finished, data, tmp_path, monkeypatch):
    """Issue 44, entry 31."""
    assert scores.free_memory() > 10**6
    monkeypatch.setattr(scores, "free_memory", lambda: 5 * len(data) * len(data.captions))
    similarity(finished.model, data)  # the scores alone fit
    monkeypatch.setattr(type(finished.model), "encode_images", None)
    everything = copy(data)
    everything.splits = {"train": data.splits["train"], "test": torch.arange(len(data))}
    for ask in (
        lambda: finished.evaluate(data, split=None),
        lambda: ensemble([finished]).evaluate(data, split=None),
        lambda: compare([micro()], everything, run_root=tmp_path / "runs"),
    ):
        refused("48 images × 96 captions need .* GB", ask)
    monkeypatch.setattr(scores, "free_memory", lambda: len(data))
    for ask in (lambda: finished.similarity(data), lambda: mine(OnlySimilarity(finished.model), data)):
        refused("GB are free", ask)
    assert not (tmp_path / "runs").exists()


def test_pictures_of_equal_content_are_each_others_matches_and_equal_captions_by_the_corrected_protocol(finished, data):
    """Issue 44, entry 6: every picture under two ids."""
    part = data.select(range(8))
    captions = [*part.captions, *(f"{caption.upper()} " for caption in part.captions)]
    owners = torch.cat([part.image_of_caption, part.image_of_caption + 8])
    twice = caption_set([*part.images, *part.images], captions, owners)
    alone = finished.evaluate(part, split=None, ks=(1,))
    both = finished.evaluate(twice, split=None, ks=(1, 2))
    assert both["i2t"][1] == alone["i2t"][1] and both["t2i"][2] == alone["t2i"][1]
    alike = copy(part)
    alike.captions = [*part.captions[:4], part.captions[0], *part.captions[5:]]
    matrix = torch.eye(8).repeat_interleave(2, dim=1)
    matrix[0, 4] = 2  # the caption of picture 2, which reads as one of picture 0
    recalls = [evaluate(Scored(matrix), alike, ks=(1,), protocol=name)["i2t"][1] for name in ("field", "corrected")]
    assert recalls == [87.5, 100.0]
    refused("no protocol", finished.evaluate, part, protocol="corected", split=None, ks=(1,))


class Scored:
    """Answers with a matrix."""

    def __init__(self, matrix):
        self.matrix = matrix

    def similarity(self, data):
        return self.matrix
