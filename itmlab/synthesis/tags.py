"""Algorithm 1 of TAGS-DC: negative sentences of a caption, masked, refilled, filtered, scored, the hardest kept.

Fan et al. (2022), Sec. 2.1 and A.2, lines 2 to 12 and 15, for image I and its caption T (METHODS 3.1 to 3.4):

    T⁻ := {}
    for k in 1 .. K:
        T_k := T with phrases of its scene graph masked at random       Sec. 2.1.1
        for l in 1 .. L:
            T_kl ~ softmax(H_MLM(I, T_k) / τ)                           Eq. 2
            if T_kl satisfies C1, add it to T⁻ with its score s(I, T_kl)
    keep of T⁻ the m with the greatest scores                           Eq. 6

C1 is read as: T_kl is neither T nor in T⁻ yet, and some word that was put in stands in no caption of I (Sec. 2.1.2).
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..metrics.wordnet import Nouns
from ..models import CrossEncoder, EmbeddedRegions
from ..models.cross_encoder import Tokens, pair_logits
from ..models.encoded import evaluating
from ..models.pairs import ImageInputs, pieces_read
from ..text import PhraseMasking, SceneGraph, WordMasking, parse
from ..text.masking import PROBABILITY
from .caption_swaps import GREATER, PLACES, CaptionLexicon, Kinds
from .negative import (
    Captions,
    Generate,
    Graphs,
    Implied,
    Negative,
    Readable,
    Score,
    best,
    distinct,
    scored,
    without_false_negatives,
)
from .refill import MaskedRefill, refuse_unknown_words
from .rules import RuleSwaps


class FilteredTopM:
    """Algorithm 1 on the candidates of any generator: filter them, score them, keep the hardest.

    Args:
        generate: makes the candidates: `MaskedRefill` for T_kl, `RuleSwaps`, or a function with the same arguments.
        score: how well sentences match the images; without it the first `keep` candidates stay.
        keep: m, how many stay for each caption; None keeps all.
        filtered: leave out false negatives (criterion C1) before sentences are scored.
        implied: what words imply, for the filter (see `without_false_negatives`).
        readable: leaves out what a model cannot tell from the caption.

    Raises:
        ItmlabError: `keep` is below 1.

    References:
        Fan et al. (2022), TAGS-DC, Algorithm 1 and Eq. 6.
    """

    def __init__(
        self,
        generate: Generate,
        *,
        score: Score | None = None,
        keep: int | None = 31,
        filtered: bool = True,
        implied: Implied | None = None,
        readable: Readable | None = None,
    ):
        if keep is not None and keep < 1:
            raise ItmlabError(f"{keep} negatives cannot be kept", remedy="give 1 or more, or None for all")
        self.generate, self.score, self.keep = generate, score, keep
        self.filtered, self.implied, self.readable = filtered, implied, readable

    def __call__(
        self, captions: Captions, graphs: Graphs, image_captions: Sequence[Captions], *, generator: torch.Generator
    ) -> list[list[Negative]]:
        """Return the negatives of each caption, best first if they are scored."""
        # lines 3 to 7: K maskings of each caption, L refillings of each masking
        candidates = self.generate(captions, graphs, image_captions, generator=generator)
        # line 8, C1: no copy of T, nothing twice, and nothing that the captions of the image say
        rows = [distinct(caption, row) for caption, row in zip(captions, candidates, strict=True)]
        if self.filtered:
            texts = [[caption, *others] for caption, others in zip(captions, image_captions, strict=True)]
            rows = [without_false_negatives(row, some, self.implied) for row, some in zip(rows, texts, strict=True)]
        if self.readable is not None:
            rows = self.readable(captions, rows)
        # lines 9 and 15: s(I, T_kl) of all that is left, and the m greatest
        if self.score is not None:
            rows = [best(row, len(row)) for row in scored(rows, self.score)]
        return [row[: self.keep] for row in rows]


LOOKED_THROUGH = 1_000  # captions, spread over a set, for words that a vocabulary does not hold


class Tags:
    """Algorithm 1 with a cross-encoder that looks at the image: its H_MLM refills, its H_ITM scores.

    Args:
        model: the cross-encoder.
        data: the data set of the captions.
        maskings: K.
        samples: L.
        temperature: τ.
        keep: m; None keeps all.
        words: mask single words instead of phrases (the ablation "WM").
        implied: see `FilteredTopM`.
        filtered: see `FilteredTopM`.
        probability: of hiding a phrase or word.
        refiller: a model with the same vocabulary that refills instead of `model` (the ablation "SG").
        inputs: the images, if they are prepared already.
        fresh: whether the weights are random, so that an unsuitable vocabulary is accepted.

    Raises:
        ItmlabError: data without the pictures or regions that the model needs, or captions with too many words that its
            vocabulary lacks (`refill.COVERED`).

    References:
        Fan et al. (2022), TAGS-DC, Algorithm 1; METHODS 3.1 to 3.4.
    """

    def __init__(
        self,
        model: CrossEncoder,
        data: CaptionSet,
        *,
        maskings: int = 20,
        samples: int = 20,
        temperature: float = 1.0,
        keep: int | None = 31,
        words: bool = False,
        implied: Implied | None = None,
        filtered: bool = True,
        probability: float = PROBABILITY,
        refiller: CrossEncoder | None = None,
        inputs: ImageInputs | None = None,
        fresh: bool = False,
    ):
        if not fresh:
            step = max(-(-len(data.captions) // LOOKED_THROUGH), 1)
            refuse_unknown_words(model.tokenizer, data.captions[::step], where=data.name)
        self.model, self.data = model, data
        self.inputs = ImageInputs(model, data) if inputs is None else inputs
        self.refiller = model if refiller is None else refiller
        self.readable = Readable(partial(pieces_read, model))
        self.choice = {"keep": keep, "implied": implied, "filtered": filtered, "readable": self.readable}
        self._refill = MaskedRefill(
            self.refiller,
            model.tokenizer,
            maskings=maskings,
            samples=samples,
            temperature=temperature,
            masking=(WordMasking if words else PhraseMasking)(probability),
            maximum_pieces=model.config.maximum_tokens,
        )

    def __call__(
        self,
        captions: Captions,
        graphs: Graphs,
        image_captions: Sequence[Captions],
        *,
        generator: torch.Generator,
        numbers: Sequence[int],
    ) -> list[list[Negative]]:
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

            self._refill.fill = h_mlm  # other images with each call; the vocabulary behind it is read only once
            tailored = FilteredTopM(self._refill, score=s, **self.choice)
            return tailored(captions, graphs, image_captions, generator=generator)


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


def implied_in(data: CaptionSet) -> Implied | None:
    """Return what the words of a data set's world imply, for the filter of false negatives; None without a world."""
    return None if data.world is None else data.world.implied_words()


def graphs_of(data: CaptionSet, captions: Sequence[int] | None = None) -> Sequence[SceneGraph]:
    """Return the scene graphs of captions by number (None: all): those of the data's world, or parsed ones."""
    if data.world is None:
        return parse(data.captions if captions is None else [data.captions[number] for number in captions])
    return data.world.graphs if captions is None else [data.world.graphs[number] for number in captions]


LEARNT = 30_000  # captions, spread over a set, that say how its words are used


def vse_c(
    data: CaptionSet, number: int | None = None, *, filtered: bool = True, graphs: Graphs | None = None
) -> RuleSwaps:
    """Return VSE-C's swaps for a data set.

    The lexicon is that of the data's world, or else WordNet and how the set's captions use their words.

    Args:
        data: the data set.
        number: how many negatives are drawn for each caption; None makes all.
        filtered: leave out what the image's captions say.
        graphs: the scene graphs of the captions; parsed by default.

    Raises:
        MissingPart: the data have no world, and WordNet is not installed.
    """
    if data.world is not None:
        return RuleSwaps(*data.world.swaps(), number=number, filtered=filtered)
    kinds = Kinds(Nouns())
    step = -(-len(data.captions) // LEARNT)  # whole images, so that all captions of each are there
    rows = [at for image in range(0, len(data), max(step, 1)) for at in data.captions_of_image[image].tolist()]
    used = graphs_of(data, rows) if graphs is None else [graphs[at] for at in rows]
    lexicon = CaptionLexicon(used, data.image_of_caption[rows].tolist(), kinds)
    options = {"number": number, "filtered": filtered, "implied": lexicon.implied}
    return RuleSwaps(lexicon.nouns, PLACES, GREATER, **options)
