"""Words and wordpieces, character by character, for tokenisers of every kind."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.text.alignment import align, mask_pieces, token_characters
from itmlab.text.graph import SceneGraph, Span, tokenise
from itmlab.text.tokens import plain_text
from tests.refusals import refused
from tests.text.fast_tokenizers import KINDS, tokenizer

WORDS = ["dog", "Man", "skateboard", "café", "cafe\u0301", "ﬁre", "🐕\u200d🦺", "isn't", "İstanbul", "…"]
WORDS += ["ab\u200bcd", "ẞ", "犬"]
SENTENCES = st.lists(
    st.tuples(st.sampled_from(WORDS) | st.text(max_size=6), st.sampled_from([" ", "  ", "\t", "\u00a0", ""])),
    max_size=9,
).map(lambda parts: "".join(word + blank for word, blank in parts))


def graph(caption: str) -> SceneGraph:
    return SceneGraph(tokens=tokenise(caption.encode("utf-8", "replace").decode()))


@st.composite
def captions_with_spans(draw):
    caption = draw(SENTENCES)
    count = len(graph(caption).tokens)
    edges = st.tuples(st.integers(0, count), st.integers(0, count)).map(sorted).map(lambda pair: Span(*pair))
    return caption, draw(st.lists(edges, max_size=3))


def overlapping(pieces, encoding, row: int, caption: str, spans: list[Span]) -> list[bool]:
    """Said slowly: a piece is under a span if they share a character, or it stands between two of its characters."""
    places, flags = token_characters(caption, graph(caption).tokens), []
    characters = [*encoding.offsets, *[(0, 0)] * (pieces.word_mask.shape[1] - len(encoding.offsets))]
    for (start, end), of_caption in zip(characters, pieces.word_mask[row].tolist(), strict=True):
        ranges = [(places[span.start][0], places[span.end - 1][1]) for span in spans if span.end > span.start]
        flags.append(of_caption and any(start < last and end > first for first, last in ranges))
    return flags


@pytest.mark.parametrize(
    ("caption", "tokens", "places"),
    [
        ("a  dog,\t🐕", ("a", "dog", ",", "🐕"), [(0, 1), (3, 6), (6, 7), (8, 9)]),
        ("a  dog", ("a", " ", "dog"), [(0, 1), (1, 2), (3, 6)]),  # blanks may be tokens too
        ("a\x00 \x85dog\x07", ("a", "dog"), [(0, 1), (4, 7)]),  # control characters count as blanks
    ],
)
def test_tokens_are_found_in_the_caption(caption, tokens, places):
    assert token_characters(caption, tokens) == places


@pytest.mark.parametrize("tokens", [("a", "cat"), ("dog", "a"), ("a", "dog", "dog"), ("a", "og")])
def test_a_graph_of_another_caption_is_refused(tokens):
    refused("not at character", token_characters, "a dog", tokens)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(st.lists(captions_with_spans(), min_size=1, max_size=3))
def test_exactly_the_pieces_that_overlap_the_spans_are_under_them(kind, batch):
    captions, spans = [plain_text(caption) for caption, _ in batch], [spans for _, spans in batch]
    pieces = align(tokenizer(kind), captions, [graph(caption) for caption in captions])
    under, backend = pieces.under(spans), tokenizer(kind).backend_tokenizer
    for row, caption in enumerate(captions):
        assert under[row].tolist() == overlapping(pieces, backend.encode(caption), row, caption, spans[row])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("maximum", [4, 9, 14])
def test_a_long_caption_loses_its_last_pieces_and_keeps_its_frame(kind, maximum):
    caption = "A man in a red shirt is riding a brown horse near the lake ."
    words, backend = graph(caption), tokenizer(kind)
    complete, cut = align(backend, [caption], [words]), align(backend, [caption], [words], maximum)
    closing = 1 if int(complete.word_mask[0, -1]) == 0 else 0
    assert cut.input_ids.shape == (1, maximum)
    assert torch.equal(cut.input_ids[0, : maximum - closing], complete.input_ids[0, : maximum - closing])
    assert torch.equal(
        cut.input_ids[0, maximum - closing :], complete.input_ids[0, complete.input_ids.shape[1] - closing :]
    )
    kept_words = int(cut.words_kept[0])
    assert int(complete.words_kept[0]) == len(words.tokens)
    for at in range(len(words.tokens)):  # every piece of a kept word is there, and some piece of the next is not
        is_complete = int(cut.under([[Span(at, at + 1)]]).sum()) == int(complete.under([[Span(at, at + 1)]]).sum())
        assert is_complete == (at < kept_words)


def test_a_special_token_that_a_caption_spells_is_text():
    pieces = align(tokenizer("roberta"), ["a red </s> <mask>"], [graph("a red </s> <mask>")])
    assert tokenizer("roberta").mask_token_id not in pieces.input_ids.tolist()[0]


def test_what_does_not_fit_together_is_refused():
    refused("one graph a caption", align, tokenizer("ours"), ["a dog"], [])


def aligned(kind: str, captions: list[str], maximum: int | None = None):
    return align(tokenizer(kind), captions, [graph(caption) for caption in captions], maximum)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(st.lists(captions_with_spans(), min_size=1, max_size=3), st.sampled_from([None, torch.Generator()]))
def test_unmasking_restores_ids_and_text(kind, batch, generator):
    captions, spans = [caption for caption, _ in batch], [spans for _, spans in batch]
    backend, pieces = tokenizer(kind), aligned(kind, captions)
    masked = mask_pieces(backend, pieces, spans, generator=generator)
    assert torch.equal(masked.restored(), pieces.input_ids)
    assert torch.equal(masked.hidden, pieces.under(spans)) and not (masked.hidden & ~pieces.word_mask).any()
    untouched = ~masked.hidden
    assert torch.equal(masked.input_ids[untouched], pieces.input_ids[untouched])
    if generator is None:
        assert (masked.input_ids[masked.hidden] == backend.mask_token_id).all()
    if kind == "gpt2":  # byte for byte, without a frame: its text is the caption
        text = backend.decode(masked.restored()[0][pieces.word_mask[0]].tolist(), clean_up_tokenization_spaces=False)
        assert text == captions[0].encode("utf-8", "replace").decode()
