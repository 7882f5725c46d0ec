"""Masking and refilling beside Algorithm 1's loops, and what may never be drawn."""

import pytest
import torch
from torch import nn

from itmlab.synthesis import tags
from itmlab.synthesis.tags import MaskedRefill
from itmlab.text import PhraseMasking, Relation, SceneGraph, SceneObject, Span, WordMasking
from itmlab.text.alignment import align, mask_pieces, token_characters
from itmlab.text.graph import tokenise
from itmlab.text.tokens import train_wordpiece
from tests.refusals import refused
from tests.synthesis.negatives_data import seeded
from tests.text.fast_tokenizers import tokenizer as fast_tokenizer

CAPTIONS = ["A man riding a horse.", "two dogs next to a very red horse", "dog"]
CORPUS = [*CAPTIONS, "a woman holding a cat", "dogs and cats riding horses", "men and horses"] * 3
TOKENIZER = train_wordpiece(CORPUS, 90)
GRAPHS = [
    SceneGraph(
        (SceneObject("man", span=Span(1, 2)), SceneObject("horse", span=Span(4, 5))),
        (Relation(0, "ride", 1, Span(2, 3)),),
        tokenise(CAPTIONS[0]),
    ),
    SceneGraph(
        (SceneObject("dog", plural=True, span=Span(0, 2)), SceneObject("horse", span=Span(5, 8))),
        (Relation(0, "next to", 1, Span(2, 4)),),
        tokenise(CAPTIONS[1]),
    ),
    SceneGraph(tokens=("dog",)),
]


class Table(nn.Module):
    """Logits that depend on the piece before and the one behind, the same in any batch."""

    def __init__(self, size: int = len(TOKENIZER)):
        super().__init__()
        torch.manual_seed(0)
        self.before, self.behind = nn.Embedding(size, size), nn.Embedding(size, size)
        self.asked = 0

    def forward(self, ids, attention, captions=None):
        self.asked += 1
        return (2 * self.before(ids.roll(1, 1)) + self.behind(ids.roll(-1, 1))).detach()


def made(fill=None, number: int = 0, captions=CAPTIONS, graphs=GRAPHS, **options):
    refill = MaskedRefill(Table() if fill is None else fill, TOKENIZER, **options)
    return refill(captions, graphs, generator=seeded(number))


def algorithm_1(caption, graph, backend, maskings, samples, temperature, masking):
    """Lines 2–12 as printed: one forward a sample, one piece after the other; the set of sentences in order."""
    model, sentences_found = Table(), {}
    pieces = align(TOKENIZER, [caption], [graph])
    special = set(TOKENIZER.all_special_ids)
    names = TOKENIZER.convert_ids_to_tokens(range(len(TOKENIZER)))
    masked_captions = [masking(graph, generator=backend) for _ in range(maskings)]
    for phrases in masked_captions:
        masked = mask_pieces(TOKENIZER, pieces, [phrases])
        positions = masked.hidden[0].nonzero()[:, 0].tolist()
        starts = {phrase.span.start for phrase in phrases}
        numbers = torch.rand(len(positions), samples, generator=backend)
        for sample in range(samples):
            logits = model(masked.input_ids, masked.attention_mask)[0]
            ids = masked.input_ids[0].tolist()
            for at, position in enumerate(positions):
                word = int(pieces.first_word[0, position])
                opens = word in starts and (position == 1 or int(pieces.first_word[0, position - 1]) < word)
                shares = (logits[position].double() / temperature).exp()
                for piece, name in enumerate(names):
                    punctuation = not any(letter.isalnum() for letter in name)
                    if piece in special or (opens and (name.startswith("##") or punctuation)):
                        shares[piece] = 0
                sums = torch.cumsum(shares / shares.sum(), 0).tolist()
                ids[position] = next(p for p, total in enumerate(sums) if total > float(numbers[at, sample]))
            text = TOKENIZER.decode(ids, skip_special_tokens=True)
            if text != TOKENIZER.decode(pieces.input_ids[0].tolist(), skip_special_tokens=True):
                sentences_found[text] = None
    return list(sentences_found)


@pytest.mark.parametrize("masking", [PhraseMasking(), WordMasking(0.3)])
@pytest.mark.parametrize("temperature", [1.0, 1.5])
def test_the_same_sentences_as_algorithm_1(masking, temperature):
    seeds = torch.randint(2**62, (3,), generator=seeded(5)).tolist()
    rows = made(number=5, maskings=6, samples=5, temperature=temperature, masking=masking)
    for caption, graph, number, row in zip(CAPTIONS, GRAPHS, seeds, rows, strict=True):
        reference = algorithm_1(caption, graph, seeded(number), 6, 5, temperature, masking)
        assert len(reference) > 3
        assert [letters(negative.sentence) for negative in row] == [letters(sentence) for sentence in reference]


def letters(sentence: str) -> str:
    return "".join(sentence.lower().split())


def test_one_forward_for_all_maskings_of_a_batch_and_not_one_a_sample():
    model = Table()
    made(model, maskings=20, samples=20)
    assert model.asked == 1


def test_batching_and_company_change_nothing(monkeypatch):
    together = made()
    monkeypatch.setattr(tags, "MASKINGS_READ", 1)
    assert together == made()
    assert together[0] == made(captions=CAPTIONS[:1], graphs=GRAPHS[:1])[0]


def test_no_special_token_no_unknown_one_and_no_copy_is_made():
    def insistent(ids, attention, captions):
        logits = torch.zeros(*ids.shape, len(TOKENIZER))
        logits[..., TOKENIZER.all_special_ids] = 50.0
        return logits

    rows = made(insistent)
    assert min(map(len, rows)) > 10
    for caption, row in zip(CAPTIONS, rows, strict=True):
        sentences = [negative.sentence for negative in row]
        assert not any("[" in sentence for sentence in sentences)
        assert caption not in sentences and len(set(sentences)) == len(sentences)


def test_everything_outside_the_hidden_phrases_stays_to_the_letter():
    for caption, row in zip(CAPTIONS, made(), strict=True):
        for negative in row:
            places = token_characters(negative.sentence, tokenise(negative.sentence))
            restored, at = "", 0
            for span, source in zip(negative.spans, negative.source, strict=True):
                restored += negative.sentence[at : places[span.start][0]] + source
                at = places[span.end - 1][1]
            assert restored + negative.sentence[at:] == caption


def test_a_word_that_was_filled_with_itself_was_masked_too():
    horse = 9.0 * nn.functional.one_hot(torch.tensor(TOKENIZER.vocab["horse"]), len(TOKENIZER))
    options = {"masking": WordMasking(1.0), "temperature": 0.1, "maskings": 1, "samples": 1}
    ((sentences_found,),) = made(
        lambda ids, mask, captions: horse.expand(*ids.shape, -1),
        captions=["a horse"],
        graphs=[SceneGraph(tokens=("a", "horse"))],
        **options,
    )
    assert (sentences_found.sentence, sentences_found.source, sentences_found.masked) == ("horse horse", ("a",), (1, 2))


def test_what_cannot_be_is_refused():
    for options, reason in (({"maskings": 0}, "maskings"), ({"temperature": 0.0}, "temperature")):
        refused(reason, made, **options)
    refused("not numbers", made, lambda ids, mask, of: torch.full((*ids.shape, len(TOKENIZER)), float("nan")))
    assert made(captions=[], graphs=[]) == []


def test_a_tokeniser_of_other_pieces_is_refused():
    refused("use WordPiece", MaskedRefill, Table(), fast_tokenizer("clip"))
