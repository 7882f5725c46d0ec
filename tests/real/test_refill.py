"""Real Flickr30K captions: every one of a sample is masked, refilled and swapped without an error."""

import pytest
import torch

from itmlab.data import load
from itmlab.synthesis import FilteredTopM, MaskedRefill
from itmlab.text import PhraseMasking, WordMasking, parse
from itmlab.text.tokens import train_wordpiece

pytestmark = pytest.mark.real
IMAGES = 300  # with all their captions


@pytest.mark.parametrize("masking", [PhraseMasking(), WordMasking()])
def test_every_caption_is_refilled(real_data, masking, tmp_path, monkeypatch, capsys):
    real_data("flickr30k/captions_train.jsonl.gz")
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    train = load("captions", real_data("flickr30k")).split("train")
    step = len(train) // IMAGES
    captions, others = [], []
    for image in range(0, IMAGES * step, step):
        mine = [train.captions[at] for at in train.captions_of_image[image].tolist()]
        captions += mine
        others += [mine] * len(mine)
    tokenizer = train_wordpiece(captions, 2_000)
    frequent = torch.linspace(0, -8, len(tokenizer))

    def fill(ids, attention, captions):
        return frequent.expand(*ids.shape, -1)

    refill = MaskedRefill(fill, tokenizer, maskings=3, samples=3, masking=masking)
    tailored = FilteredTopM(refill, keep=None)
    rows = tailored(captions, parse(captions, cache=False), others, generator=torch.Generator().manual_seed(0))
    empty = sum(not row for row in rows)
    with capsys.disabled():
        print(f"\n{type(masking).__name__}: {len(captions)} captions, {sum(map(len, rows))} negatives, {empty} without")
    assert len(rows) == len(captions) and empty < len(captions) / 100
