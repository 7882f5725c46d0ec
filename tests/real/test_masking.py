"""Real Flickr30K captions: a thousand are parsed, masked in both ways and found again in its wordpieces."""

import pytest
import torch

from itmlab.text import parse
from itmlab.text.alignment import align, mask_pieces
from itmlab.text.masking import PhraseMasking, WordMasking, phrases, realised_share
from itmlab.text.tokens import train_wordpiece
from tests.data.picture_files import load_captions

pytestmark = pytest.mark.real


def test_every_caption_is_masked_in_both_ways_and_restored(real_data, tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    texts = load_captions(real_data("flickr30k/captions_val.jsonl.gz")).captions[:1_000]
    graphs = parse(texts, cache=False)
    tokenizer = train_wordpiece(texts, 2_000)
    pieces = align(tokenizer, texts, graphs)
    assert int(pieces.words_kept.sum()) == sum(len(graph.tokens) for graph in graphs)
    for masking in (PhraseMasking(), WordMasking()):
        generator = torch.Generator().manual_seed(0)
        hidden = [masking(graph, generator=generator) for graph in graphs]
        masked = mask_pieces(tokenizer, pieces, hidden)
        assert torch.equal(masked.restored(), pieces.input_ids)
        assert masked.hidden.any(dim=1).all()
        realised = sum(map(realised_share, graphs, hidden)) / len(graphs)
        expected = sum(map(masking.expected_share, graphs)) / len(graphs)
        assert realised == pytest.approx(expected, abs=0.01)
    assert sum(not phrases(graph) for graph in graphs) < 0.01 * len(texts)
