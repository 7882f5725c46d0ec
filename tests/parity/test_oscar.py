"""OSCAR's two ways to put object tags beside a caption (Li et al., 2020), on equal weights and sentences; README.md."""

from types import SimpleNamespace

import pytest
import torch

from tests.parity.test_uniter import CAPTIONS, CLOSE, public

TAGS = ["dog grass", "car car tree tree grass man", "", "man horse field grass a dog runs"]
pytestmark = pytest.mark.filterwarnings("ignore::itmlab.models.weights.uniter.FreshHeads")


@pytest.mark.parametrize(
    ("task", "layout"),
    [
        ("retrieval", {"maximum_tokens": 14}),
        ("captioning", {"tag_positions": "padded", "maximum_tokens": 12, "maximum_tags": 8}),
    ],
)
def test_the_tags_of_regions_stand_where_the_public_code_puts_them(task, layout, tmp_path):
    """With 14 places for both, the tags of long captions are cut."""
    model, _, public_code = public("oscar", tmp_path, **layout)
    assert model.config.object_tags and model.config.normalised_regions
    images = [
        SimpleNamespace(
            features=public_code[f"features.{at}"], boxes=public_code[f"boxes.{at}"], tags=tuple(tags.split()) or None
        )
        for at, tags in enumerate(TAGS)
    ]
    found = model.similarity(model.prepare_images(images), model.prepare_captions(CAPTIONS))
    torch.testing.assert_close(found.sigmoid(), public_code[f"{task}.logits"].softmax(-1)[..., 1], **CLOSE)
