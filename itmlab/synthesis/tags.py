"""Algorithm 1 of TAGS-DC: negative sentences of a caption, masked, refilled, filtered, scored, the hardest kept.

Fan et al. (2022), Sec. 2.1 and A.2, lines 2 to 12 and 15, for image I and its caption T (METHODS 3.1 to 3.4):

    T⁻ := {}
    for k in 1 .. K:
        T_k := T with phrases of its scene graph masked at random       Sec. 2.1.1
        for l in 1 .. L:
            T_kl ~ softmax(H_MLM(I, T_k) / τ)                           Eq. 2, at every masked place
            if T_kl satisfies C1, add it to T⁻ with its score s(I, T_kl)
    keep of T⁻ the m with the greatest scores                           Eq. 6

C1 is read as: T_kl is neither T nor in T⁻ yet, and some word that was put in stands in no caption of I (Sec. 2.1.2).
As printed this asks the model K · L times for a caption. But T_k is the same for all l, so here the model reads each
masking once, the maskings of several captions together, and L pieces are drawn from the one softmax of each place.
`Tags` is the algorithm with a cross-encoder, `MaskedRefill` its lines 3 to 7, `FilteredTopM` the others.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import ABOVE_0, FROM_1, check_ranges
from ..models import CrossEncoder, EmbeddedRegions
from ..models.cross_encoder import Tokens, pair_logits
from ..models.encoded import evaluating
from ..models.pairs import ImageInputs
from ..text import PhraseMasking, SceneGraph, Span, parse
from ..text.alignment import Pieces, align, mask_pieces, token_characters
from ..text.graph import tokenise
from ..text.masking import Masking, Phrase
from ..text.tokens import plain_text
from . import negative as base
from .negative import Captions, Change, Draws, Graphs, Negative, OfImage, Rows, distinct, edited, own_generators

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@dataclass
class FilteredTopM:
    """Algorithm 1 on the candidates of any generator: filter them, score them, keep the hardest.

    Args:
        generate: makes the candidates: `MaskedRefill` for T_kl, `RuleSwaps`, or a function with the same arguments.
        score: how well sentences match the images; without it the first `keep` candidates stay.
        keep: m, how many stay for each caption; None keeps all.
        filtered: leave out false negatives (criterion C1) before sentences are scored.
        implied: what words imply, for the filter (see `without_false_negatives`).

    Raises:
        ItmlabError: `keep` is below 1.

    References:
        Fan et al. (2022), TAGS-DC, Algorithm 1 and Eq. 6.
    """

    generate: base.Generate
    score: base.Score | None = None
    keep: int | None = 31
    filtered: bool = True
    implied: base.Implied | None = None

    def __post_init__(self) -> None:
        check_ranges(self, "tags", keep=FROM_1)

    def __call__(self, captions: Captions, graphs: Graphs, image_captions: OfImage, *, generator: Draws) -> Rows:
        """Return the negatives of each caption, best first if they are scored."""
        # lines 3 to 7: K maskings of each caption, L refillings of each masking
        candidates = self.generate(captions, graphs, image_captions, generator=generator)
        # line 8, C1: no copy of T, nothing twice, and nothing that the captions of the image say
        rows = [distinct(caption, row) for caption, row in zip(captions, candidates, strict=True)]
        if self.filtered:
            rows = [
                base.without_false_negatives(row, [caption, *others], self.implied)
                for row, caption, others in zip(rows, captions, image_captions, strict=True)
            ]
        # lines 9 and 15: s(I, T_kl) of all that is left, and the m greatest
        if self.score is not None:
            rows = [base.best(row, len(row)) for row in base.scored(rows, self.score)]
        return [row[: self.keep] for row in rows]


# (token ids, attention mask, the number in the call of the caption of each row) → logits for every piece
Fill = Callable[
    [Int[Tensor, "row piece"], Int[Tensor, "row piece"], Int[Tensor, "row"]], Float[Tensor, "row piece vocabulary"]
]
Drawn = Int[Tensor, "hidden sample"]  # L pieces for each hidden place
MASKINGS_READ = 64  # maskings that the model reads at a time


@dataclass
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

    fill: Fill
    tokenizer: "PreTrainedTokenizerFast"
    maskings: int = 20
    samples: int = 20
    temperature: float = 1.0
    masking: Masking = field(default_factory=PhraseMasking)
    maximum_pieces: int | None = None

    def __post_init__(self) -> None:
        check_ranges(self, "tags", maskings=FROM_1, samples=FROM_1, temperature=ABOVE_0)
        self.vocabulary = Vocabulary(self.tokenizer)

    def __call__(self, captions: Captions, graphs: Graphs, image_captions: object = None, *, generator: Draws) -> Rows:
        """Return the distinct sentences made from each caption; `image_captions` is ignored.

        The negatives of a caption do not depend on the other captions of the call.
        """
        generators = own_generators(len(captions), generator)
        together = max(MASKINGS_READ // self.maskings, 1)
        negatives: Rows = []
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
        message = f"the refiller's vocabulary holds {share:.0%} of the captions' words, and {COVERED:.0%} are needed"
        remedy = "use vse_c, or a model whose language model learnt from captions like these"
        raise ItmlabError(message, where=where, remedy=remedy)


_UNUSED = re.compile(r"\[unused\d+\]")  # BERT's spare entries
_GLUED = ".?!,"  # signs that WordPiece's decoder writes without a blank


class Vocabulary:
    """The pieces of a WordPiece tokeniser that can be drawn: all but special, unknown and spare ones.

    Attributes:
        allowed: the pieces that can be drawn.
        beginning: those of them that begin a word.
        words: returns the text of pieces that follow a blank.

    Raises:
        ItmlabError: a tokeniser of another kind.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerFast"):
        backend = tokenizer.backend_tokenizer
        if type(backend.model).__name__ != "WordPiece":
            raise ItmlabError(f"{type(tokenizer).__name__} has other pieces than WordPiece's", remedy="use WordPiece")
        special, names = set(tokenizer.all_special_ids), tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
        ordinary = [piece not in special and not _UNUSED.fullmatch(name) for piece, name in enumerate(names)]
        begins = [not name.startswith("##") and name not in _GLUED for name in names]
        self.allowed: Bool[Tensor, vocabulary] = torch.tensor(ordinary)
        self.beginning: Bool[Tensor, vocabulary] = self.allowed & torch.tensor(begins)
        # decoded behind a first piece, as a decoder writes blanks only between pieces
        first = next(piece for piece, may in enumerate(self.beginning.tolist()) if may and names[piece].isalnum())
        self.words = lru_cache(maxsize=65536)(
            lambda pieces: backend.decode([first, *pieces], skip_special_tokens=False)[len(names[first]) :].strip()
        )

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
        logits, begins, chance = logits[:, : len(self.allowed)], begins.to(logits.device), chance.to(logits.device)
        beginning, anywhere = self.beginning.to(logits.device), self.allowed.to(logits.device)
        allowed = torch.where(begins[:, None], beginning, anywhere)
        allowed_logits = logits.double().masked_fill(~allowed, -torch.inf)  # double: sums of 30,000 shares are compared
        if not bool(allowed_logits.amax(dim=1).isfinite().all()):  # NaN and infinity pass through amax
            raise ItmlabError("the model that refills gave logits that are not numbers", remedy="check its weights")
        shares = (allowed_logits / temperature).softmax(dim=1).cumsum(dim=1)
        wanted = chance.double() * shares[:, -1:]  # not times 1: the last sum is rounded
        last = len(self.allowed) - 1 - allowed.flip(dims=(1,)).int().argmax(dim=1, keepdim=True)
        return torch.searchsorted(shares, wanted, right=True).minimum(last).cpu()


LOOKED_THROUGH = 1_000  # captions, spread over a set, for words that a vocabulary does not hold


class Tags:
    """Algorithm 1 with a cross-encoder that looks at the image: its H_MLM refills, its H_ITM scores.

    Args:
        model: the cross-encoder.
        data: the data set of the captions.
        keep: m; None keeps all.
        filtered: see `FilteredTopM`.
        implied: see `FilteredTopM`.
        refiller: a model with the same vocabulary that refills instead of `model` (the ablation "SG").
        inputs: the images, if they are prepared already.
        fresh: whether the weights are random, so that an unsuitable vocabulary is accepted.
        drawing: K, L, τ and what is hidden, by their names in `MaskedRefill`: `maskings`, `samples`, `temperature`,
            `masking` (`WordMasking()` is the ablation "WM").

    Raises:
        ItmlabError: data without the pictures or regions that the model needs, or captions with too many words that its
            vocabulary lacks (`COVERED`).

    References:
        Fan et al. (2022), TAGS-DC, Algorithm 1; METHODS 3.1 to 3.4.
    """

    def __init__(
        self,
        model: CrossEncoder,
        data: CaptionSet,
        *,
        keep: int | None = 31,
        filtered: bool = True,
        implied: base.Implied | None = None,
        refiller: CrossEncoder | None = None,
        inputs: ImageInputs | None = None,
        fresh: bool = False,
        **drawing: Any,
    ):
        if not fresh:
            step = max(-(-len(data.captions) // LOOKED_THROUGH), 1)
            refuse_unknown_words(model.tokenizer, data.captions[::step], where=data.name)
        self.model, self.data = model, data
        self.inputs = ImageInputs(model, data) if inputs is None else inputs
        self.refiller = model if refiller is None else refiller
        self._refill = MaskedRefill(
            self.refiller, model.tokenizer, maximum_pieces=model.config.maximum_tokens, **drawing
        )
        self._tailored = FilteredTopM(self._refill, keep=keep, filtered=filtered, implied=implied)

    def __call__(
        self, captions: Captions, graphs: Graphs, image_captions: OfImage, *, generator: Draws, numbers: Sequence[int]
    ) -> Rows:
        """Return the negatives of each caption, best first; `numbers` are the captions' positions in `data`."""
        model, refiller = self.model, self.refiller
        with evaluating(model), evaluating(refiller):
            images, image_of = self.data.image_of_caption[list(numbers)].unique(return_inverse=True)
            prepared = self.inputs(images.tolist())
            regions = model.embed_regions(**prepared)  # once an image, for all its captions and their candidates
            refiller_regions = regions if refiller is model else refiller.embed_regions(**prepared)
            device = regions.values.device

            def h_mlm(
                ids: Int[Tensor, "row piece"], mask: Int[Tensor, "row piece"], captions: Int[Tensor, "row"]
            ) -> Float[Tensor, "row piece vocabulary"]:
                images = refiller_regions.take(image_of[captions].to(device))
                return refiller(ids.to(device), mask.to(device).bool(), images, heads=("mlm",)).mlm.float().cpu()

            def s(sentences: list[str], captions: Int[Tensor, "sentence"]) -> Float[Tensor, "sentence"]:
                return matched(model, sentences, regions, image_of[captions])

            self._refill.fill, self._tailored.score = h_mlm, s  # other images with each call
            return self._tailored(captions, graphs, image_captions, generator=generator)


def matched(
    model: CrossEncoder, sentences: Sequence[str], regions: EmbeddedRegions, rows: Int64[Tensor, "sentence"]
) -> Float[Tensor, "sentence"]:
    """Return the matching logit (Eq. 3 before its sigmoid) of each sentence with its row of `regions`, on the CPU."""
    if not len(sentences):
        return torch.zeros(0)
    device = regions.values.device
    numbers = torch.arange(len(sentences), device=device)
    return pair_logits(model, Tokens.of(model, sentences), numbers, regions, rows.to(device)).cpu()


def cross_encoder_score(
    model: CrossEncoder, data: CaptionSet, inputs: ImageInputs | None = None
) -> Callable[[Sequence[int], Sequence[str]], Float[Tensor, "sentence"]]:
    """Return a function that scores sentences with images of `data`, by the images' numbers."""
    inputs = ImageInputs(model, data) if inputs is None else inputs

    def score(images: Sequence[int], sentences: Sequence[str]) -> Float[Tensor, "sentence"]:
        different, image_of = torch.tensor(images).unique(return_inverse=True)
        with evaluating(model):
            return matched(model, sentences, model.embed_regions(**inputs(different.tolist())), image_of)

    return score


def implied_in(data: CaptionSet) -> base.Implied | None:
    """Return what the words of a data set's world imply, for the filter of false negatives; None without a world."""
    return None if data.world is None else data.world.implied_words()


def graphs_of(data: CaptionSet, captions: Sequence[int] | None = None) -> Sequence[SceneGraph]:
    """Return the scene graphs of captions by number (None: all): those of the data's world, or parsed ones."""
    if data.world is None:
        return parse(data.captions if captions is None else [data.captions[number] for number in captions])
    return data.world.graphs if captions is None else [data.world.graphs[number] for number in captions]
