"""Hidden words as tensors: unmasking restores the sentence, and the shares are counted right."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from itmlab.errors import ItmlabError
from itmlab.text.alignment import align
from itmlab.text.graph import Span
from itmlab.text.masking import WordMasking
from itmlab.text.piece_masking import UNLABELLED, mask_pieces

from .fast_tokenizers import CORPUS, KINDS, tokenizer
from .test_alignment import captions_with_spans, graph


def aligned(kind: str, captions: list[str], maximum: int | None = None):
    return align(tokenizer(kind), captions, [graph(caption) for caption in captions], maximum)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(st.lists(captions_with_spans(), min_size=1, max_size=3), st.sampled_from(["mask", "bert"]))
def test_unmasking_restores_ids_and_text(kind, batch, replacement):
    captions, spans = [caption for caption, _ in batch], [spans for _, spans in batch]
    own, pieces = tokenizer(kind), aligned(kind, captions)
    masked = mask_pieces(own, pieces, spans, replacement=replacement, generator=torch.Generator())
    assert torch.equal(masked.restored(), pieces.input_ids)
    assert torch.equal(masked.hidden, pieces.under(spans)) and not (masked.hidden & ~pieces.word_mask).any()
    untouched = ~masked.hidden
    assert torch.equal(masked.input_ids[untouched], pieces.input_ids[untouched])
    if replacement == "mask":
        assert (masked.input_ids[masked.hidden] == own.mask_token_id).all()
    if kind == "gpt2":  # byte for byte, without a frame: its text is the caption
        text = own.decode(masked.restored()[0][pieces.word_mask[0]].tolist(), clean_up_tokenization_spaces=False)
        assert text == captions[0].encode("utf-8", "replace").decode()


def test_labels_are_the_hidden_pieces_and_nothing_else():
    own, pieces = tokenizer("ours"), aligned("ours", ["a red dog", "a"])
    masked = mask_pieces(own, pieces, [[Span(1, 2)], []])
    assert (masked.labels != UNLABELLED).sum(dim=1).tolist() == [int(masked.hidden[0].sum()), 0]
    assert own.decode(masked.labels[0][masked.hidden[0]].tolist()) == "red"
    assert masked.share[1] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_phrases_behind_the_cut_are_lost_and_the_share_is_of_what_is_left(kind):
    caption = CORPUS[0]
    last = len(graph(caption).tokens)
    pieces = aligned(kind, [caption, "a"], 9)
    hidden = [[Span(1, 2), Span(last - 3, last)], [Span(0, 1)]]
    masked = mask_pieces(tokenizer(kind), pieces, hidden)
    left = pieces.under([[Span(1, 2)], [Span(0, 1)]])
    assert masked.lost.tolist() == [1, 0] and torch.equal(masked.hidden, left)
    assert masked.share.tolist() == pytest.approx((left.sum(dim=1) / pieces.word_mask.sum(dim=1)).tolist())


def test_masking_within_the_words_kept_never_comes_to_nothing():
    caption = CORPUS[0]
    pieces, generator = aligned("ours", [caption], 6), torch.Generator().manual_seed(0)
    rows = WordMasking().draw(graph(caption), 50, generator=generator, length=int(pieces.words_kept[0]))
    masked = mask_pieces(tokenizer("ours"), pieces, rows, captions=[0] * 50)
    assert not masked.lost.any() and masked.hidden.any(dim=1).all()


def test_bert_replaces_eight_in_ten_by_the_mask_one_by_chance_and_leaves_one():
    captions = [" ".join(CORPUS)] * 20
    own, pieces = tokenizer("ours"), aligned("ours", captions)
    every = [[Span(0, len(graph(captions[0]).tokens))]] * 20
    masked = mask_pieces(own, pieces, every, replacement="bert", generator=torch.Generator().manual_seed(0))
    ids, was = masked.input_ids[masked.hidden], pieces.input_ids[masked.hidden]
    count = len(ids)
    is_mask, is_kept = ids == own.mask_token_id, ids == was
    assert float(is_mask.sum()) / count == pytest.approx(0.8, abs=0.02)
    assert float(is_kept.sum()) / count == pytest.approx(0.1, abs=0.02)
    drawn = ids[~is_mask & ~is_kept]
    assert not set(drawn.tolist()) & set(own.all_special_ids) and len(set(drawn.tolist())) > 100


def test_a_batch_draws_as_its_captions_would_one_by_one():
    captions, own = ["a red dog near the lake", "a man", "two people stand on the grass"], tokenizer("roberta")
    spans = [[Span(0, 3)], [Span(1, 2)], [Span(1, 4)]]
    generator = torch.Generator().manual_seed(5)
    batch = mask_pieces(own, aligned("roberta", captions), spans, replacement="bert", generator=generator)
    generator = torch.Generator().manual_seed(5)
    for row, (caption, hidden) in enumerate(zip(captions, spans, strict=True)):
        pieces = aligned("roberta", [caption])
        alone = mask_pieces(own, pieces, [hidden], replacement="bert", generator=generator).input_ids[0]
        assert torch.equal(alone, batch.input_ids[row, : len(alone)])


def test_a_tokeniser_without_a_mask_token_and_chance_without_a_generator_are_refused():
    bare = PreTrainedTokenizerFast(tokenizer_object=tokenizer("gpt2").backend_tokenizer)
    pieces = align(bare, ["a"], [graph("a")])
    with pytest.raises(ItmlabError, match="no mask token"):
        mask_pieces(bare, pieces, [[]])
    with pytest.raises(ItmlabError, match="needs chance"):
        mask_pieces(tokenizer("gpt2"), pieces, [[]], replacement="bert")
    with pytest.raises(ItmlabError, match="no replacement"):
        mask_pieces(tokenizer("gpt2"), pieces, [[]], replacement="half")
