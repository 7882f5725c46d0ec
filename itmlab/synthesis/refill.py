"""Masking and refilling (TAGS, Fan et al. 2022, Sec. 2.1.1, Algorithm 1 lines 3 to 7): K maskings, L samples of each.

    T_kl ~ softmax(H_MLM(I, T_k) / τ)        Eq. 2, at every masked place (METHODS 3.2)

As printed this asks the model K · L times for a caption. But T_k is the same for all l, so here the model reads each
masking once, the maskings of several captions together, and L pieces are drawn from the one softmax of each place.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..errors import ItmlabError
from ..text import PhraseMasking, SceneGraph, Span
from ..text.alignment import Pieces, align, mask_pieces, token_characters
from ..text.graph import tokenise
from ..text.masking import Masking, Phrase
from ..text.tokens import plain_text
from .negative import Captions, Change, Graphs, Negative, distinct, edited, own_generators

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

# (token ids, attention mask, the number in the call of the caption of each row) → logits for every piece
Fill = Callable[
    [Int[Tensor, "row piece"], Int[Tensor, "row piece"], Int[Tensor, "row"]], Float[Tensor, "row piece vocabulary"]
]
Drawn = Int[Tensor, "hidden sample"]  # L pieces for each hidden place


class MaskedRefill:
    """Makes negatives by masking phrases of a caption and refilling them with a masked language model.

    Every hidden piece is drawn independently. Special tokens and the unknown one are never drawn, nor a continuation
    where a hidden phrase begins, which would change the word before.

    Args:
        fill: the model; it is asked for each masking once.
        tokenizer: the model's tokeniser.
        maskings: K, how many maskings of each caption.
        samples: L, how many fillings of each masking.
        temperature: τ of Eq. 2.
        masking: what is hidden; phrases of the scene graph by default.
        maximum_pieces: how many pieces of a caption the model reads.
        rows: how many maskings are read at a time.

    Raises:
        ItmlabError: a number out of range, or a tokeniser without pieces that begin a word.

    References:
        Fan et al. (2022), TAGS-DC, Sec. 2.1.1, Eq. 2, Algorithm 1 lines 3 to 7.

    >>> from itmlab.text.tokens import train_wordpiece
    >>> tokenizer = train_wordpiece(["a dog", "a cat"] * 9, 60)
    >>> cat = 9.0 * torch.nn.functional.one_hot(torch.tensor(tokenizer.vocab["cat"]), len(tokenizer))
    >>> refill = MaskedRefill(lambda ids, mask, captions: cat.expand(*ids.shape, -1), tokenizer, temperature=0.1)
    >>> made = refill(["a dog"], [SceneGraph(tokens=("a", "dog"))], generator=torch.Generator())
    >>> sorted(negative.sentence for negative in made[0])
    ['a cat', 'cat dog']
    """

    def __init__(
        self,
        fill: Fill,
        tokenizer: "PreTrainedTokenizerFast",
        *,
        maskings: int = 20,
        samples: int = 20,
        temperature: float = 1.0,
        masking: Masking | None = None,
        maximum_pieces: int | None = None,
        rows: int = 64,
    ):
        if min(maskings, samples) < 1 or not 0 < temperature < float("inf"):
            message = f"{maskings} maskings, {samples} samples at a temperature of {temperature}"
            raise ItmlabError(message, remedy="give numbers above 0")
        self.fill, self.tokenizer = fill, tokenizer
        self.maskings, self.samples, self.temperature = maskings, samples, temperature
        self.masking = PhraseMasking() if masking is None else masking
        self.maximum_pieces, self.rows = maximum_pieces, rows
        self.vocabulary = Vocabulary(tokenizer)

    def __call__(
        self, captions: Captions, graphs: Graphs, image_captions: object = None, *, generator: torch.Generator
    ) -> list[list[Negative]]:
        """Return the distinct sentences made from each caption; `image_captions` is ignored.

        The negatives of a caption do not depend on the other captions of the call.
        """
        generators = own_generators(len(captions), generator)
        together = max(self.rows // self.maskings, 1)
        negatives: list[list[Negative]] = []
        for start in range(0, len(captions), together):
            part = slice(start, start + together)
            negatives += self._refilled(captions[part], graphs[part], generators[part], start)
        return negatives

    def _refilled(
        self, captions: Captions, graphs: Graphs, generators: Sequence[torch.Generator], start: int
    ) -> Iterator[list[Negative]]:
        """The negatives of captions from number `start` on, all their maskings read together."""
        # line 4: T_k, row by row the K of the first caption, then those of the next
        pieces = align(self.tokenizer, captions, graphs, self.maximum_pieces)
        phrases = [
            hidden
            for graph, length, generator in zip(graphs, pieces.words_kept.tolist(), generators, strict=True)
            for hidden in self.masking.draw(graph, self.maskings, generator=generator, length=length)
        ]
        of_row = torch.arange(len(captions)).repeat_interleave(self.maskings)
        masked = mask_pieces(self.tokenizer, pieces, phrases, captions=of_row.tolist())
        # Eq. 2: H_MLM(I, T_k), one forward for all rows
        logits = self.fill(masked.input_ids, masked.attention_mask, start + of_row)
        # lines 6 and 7: L pieces at each hidden place, by the caption's own numbers after those of its maskings
        places = [row.nonzero()[:, 0].tolist() for row in masked.hidden]
        groups = [_groups(*row, pieces, at) for *row, at in zip(phrases, places, of_row.tolist(), strict=True)]
        begins = torch.zeros_like(masked.hidden)
        for row, groups_of_row in enumerate(groups):
            begins[row, [group.positions[0] for group in groups_of_row]] = True
        chance = [
            torch.rand(len(row), self.samples, generator=generators[at])
            for row, at in zip(places, of_row.tolist(), strict=True)
        ]
        wanted = logits[masked.hidden.to(logits.device)]
        drawn = self.vocabulary.drawn(wanted, begins[masked.hidden], self.temperature, torch.cat(chance))
        filled = drawn.split([len(row) for row in places])
        for at, (caption, graph) in enumerate(zip(captions, graphs, strict=True)):
            rows = slice(at * self.maskings, (at + 1) * self.maskings)
            yield distinct(caption, self._sentences(caption, graph, groups[rows], filled[rows]))

    def _sentences(
        self, caption: str, graph: SceneGraph, groups: Sequence[list["Group"]], filled: Sequence[Drawn]
    ) -> Iterator[Negative]:
        """The sentences of one caption, each filling of a masking once. A phrase filled with itself is unchanged."""
        # spelled into the caption itself, so that nothing outside the hidden phrases passes through the tokeniser
        characters = token_characters(caption, graph.tokens)
        for parts, fillings in zip(groups, filled, strict=True):
            originals = [
                caption[characters[span.start][0] : characters[span.end - 1][1]].lower() for _, _, span in parts
            ]
            masked = tuple(position for group in parts for position in group.positions)
            for filling in dict.fromkeys(map(tuple, fillings.T.tolist())):
                drawn, changes = iter(filling), []
                for group, old in zip(parts, originals, strict=True):
                    words = self.vocabulary.words(tuple(islice(drawn, len(group.positions))))
                    if words.lower() != old:
                        changes.append(Change(group.span, words, group.kind))
                if changes:
                    yield replace(edited(caption, graph.tokens, characters, changes), masked=masked)


class Group(NamedTuple):
    """Hidden pieces that are read as one change."""

    kind: str  # of their phrase
    positions: list[int]
    span: Span  # the tokens that they spell


def _groups(hidden: Sequence[Phrase], positions: Sequence[int], pieces: Pieces, caption: int) -> list[Group]:
    """The hidden pieces of a caption by the phrase that they belong to, of phrases within each other the inner one.

    A piece that joins words belongs with all of them to one group: no word is in two.
    """
    inner: dict[int, Phrase] = {}
    for phrase in sorted(hidden, key=lambda phrase: phrase.span.start - phrase.span.end):  # the longest first
        inner |= dict.fromkeys(range(phrase.span.start, phrase.span.end), phrase)
    first_word, last_word = pieces.first_word[caption].tolist(), pieces.last_word[caption].tolist()
    groups: list[tuple[Phrase, list[int]]] = []
    reached = -1  # the word behind the last group's
    for position in positions:
        first, last = first_word[position], last_word[position]
        word = first if last > first else first - 1  # a blank goes with the word before it
        phrase = inner.get(word) or next(inner[at] for at in range(word, last) if at in inner)
        if groups and position == groups[-1][1][-1] + 1 and (groups[-1][0] == phrase or word < reached):
            groups[-1][1].append(position)
        else:
            groups.append((phrase, [position]))
        reached = last
    return [Group(phrase.kind, places, Span(first_word[places[0]], last_word[places[-1]])) for phrase, places in groups]


# Of the words of Flickr30K, COCO and Flickr8k the vocabulary of `scenes` holds 0.65, 0.63 and 0.69, of its own all; one
# of 1,000 pieces learnt on Flickr30K holds 0.80 there, 0.75 of COCO's.
COVERED = 0.72


def refuse_unknown_words(tokenizer: "PreTrainedTokenizerFast", captions: Captions, *, where: str | None = None) -> None:
    """Check that a refiller knows the words of captions; otherwise its sentences would be word salad.

    Raises:
        ItmlabError: less than `COVERED` of the captions' words are whole pieces.
    """
    words = [word for caption in captions for word in tokenise(plain_text(caption)) if word[0].isalnum()]
    pieces = [encoding.ids for encoding in tokenizer.backend_tokenizer.encode_batch(words, add_special_tokens=False)]
    share = sum(len(ids) == 1 and ids != [tokenizer.unk_token_id] for ids in pieces) / max(len(words), 1)
    if words and share < COVERED:
        raise ItmlabError(
            f"the refiller's vocabulary holds {share:.0%} of the captions' words, and {COVERED:.0%} are needed",
            where=where,
            remedy="use vse_c, or a model whose language model learnt from captions like these",
        )


_UNUSED = re.compile(r"\[unused\d+\]")  # BERT's spare entries
_BROKEN = "\ufffd"  # a byte that is no letter by itself
_BATCH_SIZE = 2**22  # shares worked on at a time: some 100 MB
_ANCHOR = "a"  # a word before the drawn pieces: decoders write blanks and joints only between pieces


class Vocabulary:
    """The pieces of a tokeniser that can be drawn.

    Special pieces, the unknown one, spare ones and those that spell nothing are never drawn.

    Attributes:
        allowed: the pieces that can be drawn.
        beginning: those of them that begin a word.
        words: returns the text of pieces that follow a blank.

    Raises:
        ItmlabError: a tokeniser without any piece that begins a word.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerFast"):
        special, size = set(tokenizer.all_special_ids), len(tokenizer)
        self._backend = tokenizer.backend_tokenizer
        self._anchor = list(tokenizer(_ANCHOR, add_special_tokens=False)["input_ids"])
        (self._before,) = self._texts([()])
        names = tokenizer.convert_ids_to_tokens(list(range(size)))
        texts = self._texts([(piece,) for piece in range(size)])
        ordinary = [piece not in special and not _UNUSED.fullmatch(name or "") for piece, name in enumerate(names)]
        spelled = [bool(text[len(self._before) :].strip()) and _BROKEN not in text for text in texts]
        apart = [text.startswith(self._before + " ") for text in texts]
        self.allowed: Bool[Tensor, vocabulary] = torch.tensor(ordinary) & torch.tensor(spelled)
        self.beginning: Bool[Tensor, vocabulary] = self.allowed & torch.tensor(apart)
        if not self.beginning.any():
            raise ItmlabError(
                f"{type(tokenizer).__name__} has no piece that begins a word", remedy="use WordPiece or RoBERTa's"
            )
        self.words = lru_cache(maxsize=65536)(lambda ids: self._texts([ids])[0][len(self._before) :].strip())

    def _texts(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return self._backend.decode_batch([[*self._anchor, *ids] for ids in rows], skip_special_tokens=False)

    def drawn(
        self,
        logits: Float[Tensor, "hidden vocabulary"],
        begins: Bool[Tensor, "hidden"],
        temperature: float,
        chance: Float[Tensor, "hidden sample"],
    ) -> Drawn:
        """Draw pieces from softmax(logits / temperature) over the allowed ones, one for each chance.

        Args:
            logits: of each hidden place; a model may have more outputs than the tokeniser has pieces.
            begins: the places where a hidden phrase begins.
            temperature: τ.
            chance: numbers in [0, 1); each takes the first piece up to which the probabilities add up to more.

        Raises:
            ItmlabError: logits that are not numbers.
        """
        size = len(self.allowed)
        block = max(_BATCH_SIZE // size, 1)
        drawn, opening, anywhere = [], self.beginning.to(logits.device), self.allowed.to(logits.device)
        parts = zip(logits[:, :size].split(block), begins.split(block), chance.split(block), strict=True)
        for some, opens, numbers in parts:
            allowed = torch.where(opens[:, None].to(logits.device), opening, anywhere)
            allowed_logits = some.double().masked_fill(
                ~allowed, -torch.inf
            )  # double: sums of 30,000 shares are compared
            if not bool(allowed_logits.amax(dim=1).isfinite().all()):  # NaN and infinity pass through amax
                raise ItmlabError("the model that refills gave logits that are not numbers", remedy="check its weights")
            shares = (allowed_logits / temperature).softmax(dim=1).cumsum(dim=1)
            wanted = numbers.to(shares) * shares[:, -1:]  # not times 1: the last sum is rounded
            last = size - 1 - allowed.flip(dims=(1,)).int().argmax(dim=1, keepdim=True)
            drawn.append(torch.searchsorted(shares, wanted, right=True).minimum(last).cpu())
        return torch.cat(drawn)
