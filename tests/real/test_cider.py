"""CIDEr-D of real captions, equal to the captioning toolkit's."""

import gzip
import json

import numpy as np
import pytest
import torch

from itmlab.metrics import Cider

pytestmark = pytest.mark.real
IMAGES = 400


def captions_of(path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["captions"] for line in lines]


class Corpus(list):
    """The references of some images, which count as those of all images for the toolkit's log(images)."""

    def __len__(self):
        return IMAGES


def scores_of_the_toolkit(pairs: list[tuple[str, list[str]]], references: list[list[str]]) -> np.ndarray:
    """CIDEr-D of (caption, references) pairs by the toolkit, with the document frequencies of all `references`."""
    scorer = pytest.importorskip("pycocoevalcap.cider.cider_scorer", reason="needs pycocoevalcap")
    counting = scorer.CiderScorer()
    for texts in references:
        counting += (texts[0], texts)
    counting.compute_doc_freq()
    counting.ctest = [scorer.cook_test(caption) for caption, _ in pairs]
    counting.crefs = Corpus([scorer.cook_refs(texts) for _, texts in pairs])
    return torch.tensor(np.array(counting.compute_cider())).float()


def test_scores_are_the_toolkits(real_data):
    references = captions_of(real_data("coco/captions_val1k.jsonl.gz"))[:IMAGES]
    captions = [caption for texts in references for caption in texts]
    words = [caption.lower() for caption in captions]
    of_image = np.array(words).reshape(IMAGES, 5).tolist()
    scores, left_out = (Cider(references).matrix(leave_one_out=out) for out in (False, True))
    source = np.random.default_rng(0)
    matching = [(5 * image + image % 5, image) for image in range(0, IMAGES, 4)]
    other = list(zip(source.integers(len(captions), size=200), source.integers(IMAGES, size=200), strict=True))
    pairs = [(words[caption], of_image[image]) for caption, image in matching + other]
    expected = scores_of_the_toolkit(pairs, of_image)
    assert torch.allclose(scores[*zip(*(matching + other), strict=True)], expected, atol=2e-6)
    # the caption taken out of its image's references by hand
    without = [(text, [other for at, other in enumerate(texts) if at != place % 5]) for (text, texts), (place, _) in
               zip(pairs, matching, strict=False)]  # fmt: skip
    assert torch.allclose(left_out[*zip(*matching, strict=True)], scores_of_the_toolkit(without, of_image), atol=2e-6)
