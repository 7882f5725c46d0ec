"""Models of any kind are evaluated alike."""

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from itmlab.metrics import retrieval
from itmlab.storage import read_json
from itmlab.training import evaluate, similarity, write_embeddings


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
