"""Masking and refilling (TAGS Sec. 2.1.1, Algorithm 1 lines 2–12): K maskings of a caption, L fillings of each."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..errors import ItmlabError
from ..text import PhraseMasking, SceneGraph, Span
from ..text.alignment import Pieces, align, token_characters
from ..text.masking import Masking, Phrase
from ..text.piece_masking import MaskedPieces, mask_pieces
from .candidates import distinct
from .edit import Change, edited
from .evaluation import evaluating
from .negative import Negative
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

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
