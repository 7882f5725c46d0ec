"""Masking and refilling (TAGS Sec. 2.1.1, Algorithm 1 lines 2–12): K maskings of a caption, L fillings of each."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..errors import ItmlabError
from ..models.encoded import evaluating
from ..text import PhraseMasking, SceneGraph, Span
from ..text.alignment import MaskedPieces, Pieces, align, mask_pieces, token_characters
from ..text.masking import Masking, Phrase
from .negative import Change, Negative, distinct, edited

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


# Which pieces of a vocabulary may be drawn, drawing them, and the words that drawn pieces spell.


_UNUSED = re.compile(r"\[unused\d+\]")  # BERT's spare entries
_BROKEN = "\ufffd"  # a byte that is no letter by itself
_AT_ONCE = 2**22  # shares worked on at a time: some 100 MB
_ANCHOR = "a"  # a word before the drawn pieces: decoders write blanks and joints only between pieces


class Vocabulary:
    """The pieces of a tokeniser that can be drawn (`allowed`), and those of them that open a word (`beginning`).

    Special pieces, the unknown one, spare ones and those that spell nothing are never drawn. A tokeniser without any
    piece that opens a word is an ItmlabError.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerFast"):
        self._tokenizer = tokenizer
        encoded = tokenizer(_ANCHOR, add_special_tokens=False)["input_ids"]
        special, size = set(tokenizer.all_special_ids), len(tokenizer)
        self._anchor = list(encoded)
        self._before = self._text(())
        after = self._texts([(piece,) for piece in range(size)])
        names = tokenizer.convert_ids_to_tokens(list(range(size)))
        ordinary = torch.tensor(
            [piece not in special and not _UNUSED.fullmatch(names[piece] or "") for piece in range(size)]
        )
        spelled = torch.tensor([bool(text[len(self._before) :].strip()) and _BROKEN not in text for text in after])
        apart = torch.tensor([text.startswith(self._before + " ") for text in after])
        self.allowed: Bool[Tensor, vocabulary] = ordinary & spelled
        self.beginning: Bool[Tensor, vocabulary] = self.allowed & apart
        if not self.beginning.any():
            raise ItmlabError(
                f"{type(tokenizer).__name__} has no piece that begins a word",
                remedy="use WordPiece or RoBERTa's",
            )
        self.words = lru_cache(maxsize=65536)(self._words)

    def drawn(
        self,
        logits: Float[Tensor, "hidden vocabulary"],
        begins: Bool[Tensor, "hidden"],
        temperature: float,
        chance: Float[Tensor, "hidden sample"],
    ) -> Int[Tensor, "hidden sample"]:
        """Pieces from softmax(logits / temperature) over those allowed there, one for each chance in [0, 1).

        The piece is the first up to which the shares add up to more than the number. A model with more outputs than the
        tokeniser has pieces is cut; with fewer, or with logits that are not numbers, it is an ItmlabError.
        """
        size = len(self.allowed)
        if logits.ndim != 2 or logits.shape[1] < size:
            raise ItmlabError(
                f"logits of shape {tuple(logits.shape)} for a vocabulary of {size}",
                remedy="fill with a model of the tokeniser's vocabulary",
            )
        block = max(_AT_ONCE // size, 1)
        parts = zip(logits[:, :size].split(block), begins.split(block), chance.split(block), strict=True)
        return torch.cat([self._drawn(*part, temperature) for part in parts])

    def _drawn(
        self,
        logits: Float[Tensor, "hidden vocabulary"],
        begins: Bool[Tensor, "hidden"],
        chance: Float[Tensor, "hidden sample"],
        temperature: float,
    ) -> Int[Tensor, "hidden sample"]:
        """The same for a few, in double precision: the sums of 30,000 shares are compared."""
        allowed = torch.where(begins[:, None].to(logits.device), *self._masks(logits.device))
        kept = logits.double().masked_fill(~allowed, -torch.inf)
        if bool(kept.isnan().any()) or bool(kept.isposinf().any()) or not bool(kept.isfinite().any(dim=1).all()):
            raise ItmlabError("the model that refills gave logits that are not numbers", remedy="check its weights")
        shares = (kept / temperature).softmax(dim=1).cumsum(dim=1)
        wanted = chance.to(shares) * shares[:, -1:]
        last = kept.shape[1] - 1 - allowed.flip(dims=(1,)).int().argmax(dim=1, keepdim=True)
        return torch.searchsorted(shares, wanted, right=True).minimum(last).cpu()

    def _masks(self, device: torch.device) -> tuple[Bool[Tensor, "vocabulary"], Bool[Tensor, "vocabulary"]]:
        return self.beginning.to(device), self.allowed.to(device)

    def _words(self, ids: tuple[int, ...]) -> str:
        """What pieces spell, behind a blank."""
        return self._text(ids)[len(self._before) :].strip()

    def _text(self, ids: Sequence[int]) -> str:
        return self._texts([ids])[0]

    def _texts(self, rows: Sequence[Sequence[int]]) -> list[str]:
        backend = self._tokenizer.backend_tokenizer
        return backend.decode_batch([[*self._anchor, *ids] for ids in rows], skip_special_tokens=False)


Fill = Callable[..., Float[Tensor, "row piece vocabulary"]]
Group = tuple[Phrase, list[int]]  # a hidden phrase and the pieces of it that no phrase within it claims


class MaskedRefill:
    """K = `maskings` maskings of each caption and L = `samples` fillings of each at `temperature` (Eq. 2).

    `fill(token_ids, attention_mask)` gives logits for every piece; a module is put into evaluation mode for as long as
    it is asked, as is `module`, the one behind a function. With `conditioned` it is given a third argument, the number
    of the caption in the call that each row was masked from, to look at its image. It is asked once a masking, for
    `rows` maskings of any captions at a time. Every hidden piece is drawn by itself; special tokens and the unknown
    one are never drawn, nor a continuation where a hidden phrase begins (it would change the word before).
    """

    def __init__(
        self,
        fill: Fill | nn.Module,
        tokenizer: "PreTrainedTokenizerFast",
        *,
        maskings: int = 20,
        samples: int = 20,
        temperature: float = 1.0,
        masking: Masking | None = None,
        conditioned: bool = False,
        module: nn.Module | None = None,
        maximum_pieces: int | None = None,
        rows: int = 256,
    ):
        if min(maskings, samples, rows) < 1:
            raise ItmlabError(
                f"{maskings} maskings, {samples} samples, {rows} rows at a time", remedy="give 1 or more of each"
            )
        if not 0 < temperature < float("inf"):
            raise ItmlabError(f"a temperature of {temperature} cannot be", remedy="give a number above 0")
        self.fill, self.tokenizer, self.conditioned = fill, tokenizer, conditioned
        self.module = fill if module is None and isinstance(fill, nn.Module) else module
        self.maskings, self.samples, self.temperature = maskings, samples, temperature
        self.masking = PhraseMasking() if masking is None else masking
        self.maximum_pieces, self.rows = maximum_pieces, rows
        self.vocabulary = Vocabulary(tokenizer)

    def __call__(
        self,
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        image_captions: Sequence[Sequence[str]] | None = None,
        *,
        generator: torch.Generator,
    ) -> list[list[Negative]]:
        """The distinct sentences made of each caption, none of them the caption; the filter is `generator`'s affair.

        One number is drawn a caption: its negatives do not depend on how its neighbours are masked or batched.
        """
        if not len(captions):
            return []
        seeds = torch.randint(2**62, (len(captions),), generator=generator, device=generator.device).tolist()
        own = [torch.Generator().manual_seed(seed) for seed in seeds]
        pieces = align(self.tokenizer, captions, graphs, self.maximum_pieces)
        at_a_time = max(self.rows // self.maskings, 1)
        with evaluating(self.module) if self.module is not None else nullcontext():
            return [
                negatives
                for start in range(0, len(captions), at_a_time)
                for negatives in self._of(
                    range(start, min(start + at_a_time, len(captions))), captions, graphs, pieces, own
                )
            ]

    def _of(
        self,
        numbers: range,
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        pieces: Pieces,
        own: Sequence[torch.Generator],
    ) -> Iterator[list[Negative]]:
        """The negatives of some captions, all their maskings filled together."""
        rows = [
            _Row(at, phrases)
            for at in numbers
            for phrases in self.masking.draw(
                graphs[at], self.maskings, generator=own[at], length=int(pieces.words_kept[at])
            )
        ]
        masked = mask_pieces(
            self.tokenizer, pieces, [row.phrases for row in rows], captions=[row.caption for row in rows]
        )
        for row, hidden in zip(rows, masked.hidden, strict=True):
            row.groups = _groups(row.phrases, hidden.nonzero()[:, 0].tolist(), pieces, row.caption)
        filled = self._filled(rows, masked, own)
        for at in numbers:
            places = token_characters(captions[at], graphs[at].tokens)
            mine = [(row, found) for row, found in zip(rows, filled, strict=True) if row.caption == at]
            yield distinct(captions[at], _read(captions[at], graphs[at], places, mine, pieces, self.vocabulary))

    def _filled(
        self, rows: Sequence["_Row"], masked: MaskedPieces, own: Sequence[torch.Generator]
    ) -> list[Int[Tensor, "sample hidden"]]:
        """For each row L fillings of its hidden pieces, in the order of the sentence: one forward for all rows."""
        length = int(masked.attention_mask.sum(dim=1).max())
        ids, attention, under = (each[:, :length] for each in (masked.input_ids, masked.attention_mask, masked.hidden))
        of_row = torch.tensor([row.caption for row in rows])
        output = self.fill(ids, attention, of_row) if self.conditioned else self.fill(ids, attention)
        logits = getattr(output, "logits", output)
        if logits.shape[:2] != ids.shape:
            raise ItmlabError(
                f"{tuple(ids.shape)} pieces were filled with logits of shape {tuple(logits.shape)}",
                remedy="fill must give logits for every piece of every row",
            )
        begins = torch.zeros_like(under)
        for number, row in enumerate(rows):
            begins[number, [positions[0] for _, positions in row.groups]] = True
        counts = under.sum(dim=1).tolist()
        chance = [
            torch.rand(count, self.samples, generator=own[row.caption]) for row, count in zip(rows, counts, strict=True)
        ]
        wanted = logits[under.to(logits.device)]
        filled = self.vocabulary.drawn(wanted, begins[under], self.temperature, torch.cat(chance))
        return [each.T for each in filled.split(counts)]


@dataclass
class _Row:
    """One masking of one caption of the call."""

    caption: int
    phrases: list[Phrase]
    groups: list[Group] = field(default_factory=list)


def _read(
    caption: str,
    graph: SceneGraph,
    places: Sequence[tuple[int, int]],
    rows: Sequence[tuple[_Row, Int[Tensor, "sample hidden"]]],
    pieces: Pieces,
    vocabulary: Vocabulary,
) -> Iterator[Negative]:
    """The sentences of one caption's fillings, the same filling of a masking once; what says the same is no change."""
    for row, filled in rows:
        parts, start = [], 0
        for phrase, positions in row.groups:
            first, last = (
                int(pieces.first_word[row.caption, positions[0]]),
                int(pieces.last_word[row.caption, positions[-1]]),
            )
            said = caption[places[first][0] : places[last - 1][1]]
            parts.append((Span(first, last), phrase.kind, said.lower(), slice(start, start + len(positions))))
            start += len(positions)
        for filling in dict.fromkeys(map(tuple, filled.tolist())):
            changes = [
                Change(span, words, kind)
                for span, kind, said, where in parts
                if (words := vocabulary.words(filling[where])).lower() != said
            ]
            if changes:
                yield edited(caption, graph.tokens, places, changes)


def _groups(hidden: Sequence[Phrase], positions: Sequence[int], pieces: Pieces, at: int) -> list[Group]:
    """The hidden pieces of caption `at` by the phrase that they belong to, of phrases within each other the inner one.

    A piece that joins words belongs with all of them to one group: no word is in two.
    """
    inner: dict[int, Phrase] = {}
    for phrase in sorted(hidden, key=lambda one: one.span.start - one.span.end):  # the longest first
        inner |= dict.fromkeys(range(phrase.span.start, phrase.span.end), phrase)
    groups: list[Group] = []
    reached = -1  # the word behind the last group's
    for position in positions:
        first, last = int(pieces.first_word[at, position]), int(pieces.last_word[at, position])
        word = first if last > first else first - 1  # a blank goes with the word before it
        phrase = inner.get(word) or next(inner[one] for one in range(word, last) if one in inner)
        if groups and position == groups[-1][1][-1] + 1 and (groups[-1][0] == phrase or word < reached):
            groups[-1][1].append(position)
        else:
            groups.append((phrase, [position]))
        reached = last
    return groups
