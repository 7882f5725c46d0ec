"""Models of any kind are evaluated alike."""

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from itmlab.errors import ItmlabError
from itmlab.metrics import cider_matrix, retrieval, spice_matrix
from itmlab.metrics.semantic import ncs, semantic_retrieval
from itmlab.runs.scores import evaluate, relevance_matrix, similarity, write_embeddings
from itmlab.storage import read_json


class OnlySimilarity(nn.Module):
    """A model that cannot encode apart: it compares what it is given, pair by pair."""

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
    assert finished.evaluate(data) == retrieval(scores, test.positives, ks=(1, 5))  # a tenth place needs ten images
    whole = finished.evaluate(data, split=None, folds=3)
    assert whole == retrieval(similarity(finished.model, data), data.positives, ks=(1, 5, 10), folds=3)
    assert set(whole["i2t"]) == {1, 5, 10}


@pytest.mark.parametrize("folds", [1, 2])
def test_a_relevance_adds_the_semantic_measures(folds, finished, data):
    whole = data.select(range(40))  # in two folds 20 pictures with 40 captions each
    scores, relevance = similarity(finished.model, whole), relevance_matrix(whole)
    found = finished.evaluate(whole, split=None, folds=folds, relevance="cider")
    semantic = found.pop("semantic")
    assert found == finished.evaluate(whole, split=None, folds=folds)
    assert semantic.pop("relevance") == "cider"
    assert semantic == semantic_retrieval(scores, relevance, whole.positives, folds=folds)
    if folds == 1:
        assert semantic["NCS"]["t2i"][5] == pytest.approx(ncs(scores.T, relevance, 5))
        assert semantic["NCS(N)"]["i2t"][1] == pytest.approx(
            ncs(scores, relevance.T, 1, positives=whole.positives, keep_ground_truth=False)
        )
    assert 0 < semantic["Nsum(N)"] <= 600 and semantic["Rsum"] == pytest.approx(found["rsum"])


def test_relevance_is_cider_or_spice_of_each_caption_to_each_image(data):
    test = data.split("test")
    references = [[test.captions[row] for row in own.tolist()] for own in test.captions_of_image]
    assert relevance_matrix(test).equal(cider_matrix(test.captions, references))
    assert relevance_matrix(test, "spice").equal(spice_matrix(test.captions, references))
    with pytest.raises(ItmlabError, match=r"no relevance 'cidre' — did you mean cider\?"):
        relevance_matrix(test, "cidre")


def test_a_very_small_set_is_cut_off_earlier(finished, data):
    semantic = finished.evaluate(data, relevance="cider")["semantic"]  # 8 pictures
    assert set(semantic["NCS"]["i2t"]) == {1, 5}


def test_evaluation_is_without_dropout_and_leaves_the_mode_as_it_was(finished, data):
    finished.model.train()
    assert evaluate(finished.model, data) == evaluate(finished.model, data)
    assert finished.model.training
    finished.model.eval()


def test_embeddings_are_written_with_their_ids(finished, data, tmp_path):
    test = data.split("test")
    assert write_embeddings(finished, test, tmp_path / "out" / "test.safetensors") == (8, 16)
    tensors = load_file(tmp_path / "out" / "test.safetensors")
    ids = read_json(tmp_path / "out" / "test.ids.json")
    assert ids == {"images": test.image_ids, "captions": test.caption_ids}
    assert tensors["images"].norm(dim=1).tolist() == pytest.approx([1] * 8, abs=1e-5)
    torch.testing.assert_close(tensors["images"] @ tensors["captions"].T, similarity(finished.model, test))
    assert tensors["image_of_caption"].equal(test.image_of_caption)
