"""Which word pieces belong to which words of a caption, for any fast tokeniser, and hiding them.

Words and pieces are matched by their characters in the caption, so the spelling of pieces does not matter. TAGS hides
whole phrases (Fan et al., 2022, Sec. 2.1.1; METHODS 3.1), so a phrase's pieces must be exactly those of its words.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..errors import ItmlabError
from .graph import SceneGraph, Span
from .masking import Phrase
from .tokens import plain_text

if TYPE_CHECKING:
    from tokenizers import Encoding
    from transformers import PreTrainedTokenizerFast

UNLABELLED = -100  # what torch's cross entropy leaves out
MASKED, RANDOM = 0.8, 0.1  # BERT's shares; the rest of the hidden pieces stay as they are


@dataclass(frozen=True)
class Pieces:
    """The word pieces of captions, right-padded, and the words that each piece belongs to.

    Attributes:
        word_mask: true at pieces of the caption, false at padding and special tokens.
        first_word: the first word of each piece.
        last_word: the word behind its last: no word if the piece is only a blank, several if it joins words.
        words_kept: how many words of a caption are whole before its cut.
    """

    input_ids: Int[Tensor, "caption piece"]
    attention_mask: Int[Tensor, "caption piece"]
    word_mask: Bool[Tensor, "caption piece"]
    first_word: Int[Tensor, "caption piece"]
    last_word: Int[Tensor, "caption piece"]
    words_kept: Int[Tensor, "caption"]

    def __len__(self) -> int:
        return len(self.input_ids)

    def under(
        self, hidden: Sequence[Sequence[Phrase | Span]], captions: Sequence[int] | None = None
    ) -> Bool[Tensor, "row piece"]:
        """Mark the pieces that overlap spans.

        Args:
            hidden: spans of words, a row for each result. A phrase of several words includes the blanks between them.
            captions: the caption of each row; by default row r is about caption r.
        """
        rows = torch.arange(len(hidden)) if captions is None else torch.as_tensor(captions, dtype=torch.long)
        most = max((len(row) for row in hidden), default=0)
        start, end = torch.zeros((2, len(hidden), most, 1), dtype=torch.long)  # start = end = 0: overlaps nothing
        for number, row in enumerate(hidden):
            for index, phrase in enumerate(row):
                span = phrase.span if isinstance(phrase, Phrase) else phrase
                start[number, index], end[number, index] = span.start, span.end
        overlap = (self.first_word[rows].unsqueeze(1) < end) & (self.last_word[rows].unsqueeze(1) > start)
        return (overlap & (end > start)).any(dim=1) & self.word_mask[rows]


def align(
    tokenizer: "PreTrainedTokenizerFast",
    captions: Sequence[str],
    graphs: Sequence[SceneGraph],
    maximum_pieces: int | None = None,
) -> Pieces:
    """Encode captions and find the words of their graphs in the pieces.

    Args:
        tokenizer: a model's tokeniser, which reads special tokens in a caption as text (`tokens.as_plain_text`).
        captions: the captions.
        graphs: the scene graph of each caption.
        maximum_pieces: a longer caption loses its last pieces, never its closing special token.

    Raises:
        ItmlabError: a graph of another caption.

    >>> from itmlab.text.tokens import train_wordpiece
    >>> pieces = align(train_wordpiece(["a dog", "a dog"]), ["a dog"], [SceneGraph(tokens=("a", "dog"))])
    >>> pieces.under([[Span(1, 2)]]).tolist()  # [CLS] a dog [SEP]
    [[False, False, True, False]]
    """
    if not captions or len(captions) != len(graphs):
        raise ItmlabError(f"{len(captions)} captions with {len(graphs)} graphs", remedy="give one graph a caption")
    encodings = tokenizer.backend_tokenizer.encode_batch([plain_text(caption) for caption in captions])
    rows = [_row(*caption, maximum_pieces) for caption in zip(captions, graphs, encodings, strict=True)]
    padding = {"input_ids": tokenizer.pad_token_id or 0}
    padded = {name: pad_sequence([row[name] for row in rows], True, padding.get(name, 0)) for name in rows[0]}
    return Pieces(**padded | {"words_kept": padded["words_kept"].squeeze(1)})


def _row(caption: str, graph: SceneGraph, encoding: "Encoding", maximum: int | None) -> dict[str, Any]:
    """The fields of `Pieces` for one caption, not padded."""
    count, special = len(encoding.ids), encoding.special_tokens_mask
    places, whole_until = [*range(count)], len(caption)
    if maximum is not None and count > maximum:
        places = [*range(maximum - special[-1]), *range(count - special[-1], count)]  # a closing special piece stays
        whole_until = encoding.offsets[maximum - special[-1]][0]
    words = torch.tensor(token_characters(caption, graph.tokens), dtype=torch.long).reshape(-1, 2)
    starts, ends = words[:, 0].contiguous(), words[:, 1].contiguous()
    characters = torch.tensor([encoding.offsets[at] for at in places], dtype=torch.long).reshape(-1, 2)
    return {
        "input_ids": torch.tensor([encoding.ids[at] for at in places], dtype=torch.long),
        "attention_mask": torch.ones(len(places), dtype=torch.long),
        "word_mask": torch.tensor([not special[at] for at in places], dtype=torch.bool),
        # A word that overlaps a piece neither ends before it begins nor begins after it ends; both lists rise.
        "first_word": torch.searchsorted(ends, characters[:, 0].contiguous(), right=True),
        "last_word": torch.searchsorted(starts, characters[:, 1].contiguous(), right=False),
        "words_kept": (ends <= whole_until).sum(dim=0, keepdim=True),
    }


def token_characters(caption: str, tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Return the first character of each token in a caption and the one behind its last.

    Between tokens there may be only blanks and control characters, which parsers take for blanks.

    Raises:
        ItmlabError: tokens of another caption; the first that differs is named.

    >>> token_characters("a  dog.", ("a", "dog", "."))
    [(0, 1), (3, 6), (6, 7)]
    """
    caption, places, at = plain_text(caption), [], 0
    for token in map(plain_text, tokens):
        start = caption.find(token, at)
        if start < 0 or any(not sign.isspace() and unicodedata.category(sign) != "Cc" for sign in caption[at:start]):
            raise ItmlabError(
                f"the graph's token {token[:40]!r} is not at character {at} of the caption {caption[:60]!r}",
                remedy="give each caption with the graph that was parsed from it",
            )
        at = start + len(token)
        places.append((start, at))
    return places


@dataclass(frozen=True)
class MaskedPieces:
    """Captions with hidden pieces.

    Attributes:
        labels: the hidden pieces; -100 where nothing is to be predicted.
    """

    input_ids: Int[Tensor, "row piece"]
    attention_mask: Int[Tensor, "row piece"]
    labels: Int[Tensor, "row piece"]
    word_mask: Bool[Tensor, "row piece"]

    @property
    def hidden(self) -> Bool[Tensor, "row piece"]:
        """Which pieces are to be predicted."""
        return self.labels != UNLABELLED

    @property
    def share(self) -> Float[Tensor, "row"]:
        """The share of a row's word pieces that is hidden; 0 for a row without any."""
        return self.hidden.sum(dim=1) / self.word_mask.sum(dim=1).clamp(min=1)

    def restored(self) -> Int[Tensor, "row piece"]:
        """Return the ids of the original captions."""
        return torch.where(self.hidden, self.labels, self.input_ids)


def mask_pieces(
    tokenizer: "PreTrainedTokenizerFast",
    pieces: Pieces,
    hidden: Sequence[Sequence[Phrase | Span]],
    *,
    captions: Sequence[int] | None = None,
    generator: torch.Generator | None = None,
) -> MaskedPieces:
    """Hide the pieces of phrases.

    Args:
        tokenizer: the tokeniser of the pieces, with a mask token.
        pieces: captions, as `align` returns them.
        hidden: phrases or spans, a row for each result.
        captions: the caption of each row; by default row r is about caption r.
        generator: without one every piece becomes the mask token (generation, TAGS). With random numbers 80 % of them
            do, 10 % become any ordinary piece, and 10 % stay (Devlin et al., 2019, Sec. 3.1).
    """
    rows = torch.arange(len(pieces)) if captions is None else torch.as_tensor(captions, dtype=torch.long)
    under = pieces.under(hidden, rows.tolist())
    original = pieces.input_ids[rows]
    ids = torch.where(under, tokenizer.mask_token_id, original)
    if generator is not None:
        special = set(tokenizer.all_special_ids)
        allowed = torch.tensor([piece for piece in range(len(tokenizer)) if piece not in special])
        # Two numbers a hidden piece, row by row: a batch draws what its captions would draw one after the other.
        chance, which = torch.rand(int(under.sum()), 2, generator=generator).unbind(dim=1)
        drawn = allowed[(which * len(allowed)).long().clamp(max=len(allowed) - 1)]
        otherwise = torch.where(chance < MASKED + RANDOM, drawn, original[under])
        ids[under] = torch.where(chance < MASKED, ids[under], otherwise)
    labels = torch.where(under, original, UNLABELLED)
    return MaskedPieces(ids, pieces.attention_mask[rows], labels, pieces.word_mask[rows])
