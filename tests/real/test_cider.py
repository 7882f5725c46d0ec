"""CIDEr-D and Penn-Treebank tokens of real captions, equal to the captioning toolkit's."""

import gzip
import json
import shutil

import numpy as np
import pytest
import torch

from itmlab.metrics import cider_matrix
from itmlab.metrics.words import penn_words

IMAGES = 400


def captions_of(path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["captions"] for line in lines]


def toolkits_tokens(captions: list[str]) -> list[str]:
    """Stanford's tokeniser through the toolkit, all captions in one call."""
    tokenizer = pytest.importorskip("pycocoevalcap.tokenizer.ptbtokenizer", reason="needs pycocoevalcap")
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    found = tokenizer.PTBTokenizer().tokenize({i: [{"caption": text}] for i, text in enumerate(captions)})
    return [found[i][0] for i in range(len(captions))]


class Corpus(list):
    """The references of some images, which count as those of all images for the toolkit's log(images)."""

    def __init__(self, found, images):
        super().__init__(found)
        self.images = images

    def __len__(self):
        return self.images


def toolkits_scores(pairs: list[tuple[str, list[str]]], references: list[list[str]]) -> np.ndarray:
    """CIDEr-D of (caption, references) pairs by the toolkit, with the document frequencies of all `references`."""
    scorer = pytest.importorskip("pycocoevalcap.cider.cider_scorer", reason="needs pycocoevalcap")
    counting = scorer.CiderScorer()
    for mine in references:
        counting += (mine[0], mine)
    counting.compute_doc_freq()
    counting.ctest = [scorer.cook_test(caption) for caption, _ in pairs]
    counting.crefs = Corpus([scorer.cook_refs(mine) for _, mine in pairs], len(references))
    return np.array(counting.compute_cider())


@pytest.mark.parametrize("file", ["coco/captions_val1k", "coco/captions_test5k", "flickr30k/captions_val"])
def test_the_words_are_the_toolkits(real_data, file):
    captions = [caption for mine in captions_of(real_data(f"{file}.jsonl.gz")) for caption in mine]
    expected = toolkits_tokens(captions)
    different = [
        (caption, words.split(), penn_words(caption))
        for caption, words in zip(captions, expected, strict=True)
        if words.split() != penn_words(caption)
    ]
    assert not different


@pytest.mark.parametrize("tokenise", ["whitespace", "penn"])
def test_scores_are_the_toolkits(real_data, tokenise):
    references = captions_of(real_data("coco/captions_val1k.jsonl.gz"))[:IMAGES]
    captions = [caption for mine in references for caption in mine]
    words = toolkits_tokens(captions) if tokenise == "penn" else [caption.lower() for caption in captions]
    cut = iter(words)
    spoken = [[next(cut) for _ in mine] for mine in references]
    found = cider_matrix(captions, references, tokenise=tokenise)
    left = cider_matrix(captions, references, tokenise=tokenise, leave_one_out=True)
    source = np.random.default_rng(0)
    own = [(5 * image + image % 5, image) for image in range(0, IMAGES, 4)]
    other = list(zip(source.integers(len(captions), size=200), source.integers(IMAGES, size=200), strict=True))
    expected = toolkits_scores([(words[caption], spoken[image]) for caption, image in own + other], spoken)
    mine = found[[caption for caption, _ in own + other], [image for _, image in own + other]]
    assert torch.allclose(mine, torch.tensor(expected).float(), atol=2e-6)
    # the caption taken out of its image's references by hand
    without = [
        (words[caption], [text for place, text in enumerate(spoken[image]) if place != caption - 5 * image])
        for caption, image in own
    ]
    mine = left[[caption for caption, _ in own], [image for _, image in own]]
    assert torch.allclose(mine, torch.tensor(toolkits_scores(without, spoken)).float(), atol=2e-6)
