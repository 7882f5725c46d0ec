"""OSCAR's object tags behind a caption (Li et al., 2020), on equal weights and sentences; README.md has the source."""

from types import SimpleNamespace

import pytest
import torch

from tests.parity.test_uniter import CAPTIONS, CLOSE, public

TAGS = ["dog grass", "car car tree tree grass man", "", "man horse field grass a dog runs"]
pytestmark = pytest.mark.filterwarnings("ignore::itmlab.models.weights.uniter.FreshHeads")


def test_the_tags_of_regions_have_the_places_of_the_public_retrieval_code(tmp_path):
    """With 14 places for both, the tags of long captions are cut."""
    settings = {"form": "oscar", "positions": 60, "object_tags": True, "normalised_regions": True}
    model, public_code = public("oscar", tmp_path, maximum_tokens=14, **settings)
    images = [
        SimpleNamespace(
            features=public_code[f"features.{row}"],
            boxes=public_code[f"boxes.{row}"],
            tags=tuple(tags.split()) or None,
        )
        for row, tags in enumerate(TAGS)
    ]
    scores = model.similarity(model.prepare_images(images), model.prepare_captions(CAPTIONS))
    torch.testing.assert_close(scores.sigmoid(), public_code["retrieval.logits"].softmax(-1)[..., 1], **CLOSE)
