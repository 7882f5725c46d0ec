"""Encoders that look at regions, and those that compare parts, are asked by what explains models in general."""

import pytest
import torch

from itmlab.data.scenes import load
from itmlab.explain import matching, retrievals
from itmlab.models import FragmentConfig, build_fragment
from itmlab.training import similarity


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(images=20, cache=tmp_path_factory.mktemp("scenes"), regions=True).select(range(6))


@pytest.mark.parametrize("kind", ["vsrn", "scan_t2i", "sgraf"])
def test_a_typed_sentence_and_single_pairs_score_as_the_whole_matrix(kind, data):
    sizes = {"dimension": 12, "word_dimension": 10, "similarity_dimension": 8}
    model = build_fragment(FragmentConfig.tiny(kind, **sizes), data.captions, seed=0).eval()
    found, scores = retrievals({"one": model}, data, by=("CIDEr",)), similarity(model, data)
    assert torch.allclose(found.similarity["one"], scores)
    typed, own = found.of_sentence("one", data.captions[3], k=6), found.of_caption("one", 3, k=6)
    assert typed.index.tolist() == own.index.tolist()
    images, captions = [4, 0, 4, 2, 0], [7, 7, 1, 29, 0]
    asked = matching(model, data)(images, [data.captions[caption] for caption in captions])
    assert torch.allclose(asked, scores[images, captions], atol=1e-5)
    assert matching(model, data)([], []).shape == (0,)
