"""Synthetic negatives of captions in one call: made, distinct, filtered, scored, the best kept (Algorithm 1)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..models import EmbeddedRegions, OneTower
from ..models.encoded import evaluating
from ..models.pairs import ImageInputs, Tokens, pair_logits
from ..text import PhraseMasking, SceneGraph, WordMasking, tokenise
from ..text.masking import PROBABILITY
from .export import Score as ImageScore
from .negative import Implied, Negative, Score, best, distinct, one_each, scored, without_false_negatives
from .refill import MaskedRefill
from .rules import RuleSwaps, wordnet_swaps

Generate = Callable[..., list[list[Negative]]]
Judge = Callable[[list[str], int], Sequence[bool | None]]  # sentences and the number of their caption → verdicts


class Tailored:
    """Any generator of candidates with what Algorithm 1 does to them (lines 8–12 and 15), for many captions at once.

    `generate` is a generator (`MaskedRefill`, `RuleSwaps`, any function called alike). Copies, duplicates and, if
    `filtered`, false negatives (with `implied`, see `without_false_negatives`) go before `score` sees a sentence; then
    the `keep` best stay (Eq. 6: m; None: all). Without a `score` the first `keep` stay. `judge` gives each that stayed
    its truth, where it is known.
    """

    def __init__(
        self,
        generate: Generate,
        *,
        score: Score | None = None,
        keep: int | None = 31,
        filtered: bool = True,
        implied: Implied | None = None,
        judge: Judge | None = None,
    ):
        if keep is not None and keep < 1:
            raise ItmlabError(f"{keep} negatives cannot be kept", remedy="give 1 or more, or None for all")
        self.generate, self.score, self.keep, self.judge = generate, score, keep, judge
        self.filtered, self.implied = filtered, implied

    def __call__(
        self,
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        image_captions: Sequence[Sequence[str]],
        *,
        generator: torch.Generator,
    ) -> list[list[Negative]]:
        """The negatives of each caption, best first if they are scored; fewer than `keep` where fewer were made."""
        one_each(captions, graphs, image_captions)
        made = self.generate(captions, graphs, image_captions, generator=generator)
        found = [distinct(caption, row) for caption, row in zip(captions, made, strict=True)]
        if self.filtered:
            found = [
                without_false_negatives(row, [caption, *others], self.implied)
                for caption, row, others in zip(captions, found, image_captions, strict=True)
            ]
        if self.score is not None:
            found = [best(row, len(row) if self.keep is None else self.keep) for row in scored(found, self.score)]
        found = [row[: self.keep] for row in found]
        return found if self.judge is None else [self._judged(row, at) for at, row in enumerate(found)]

    def _judged(self, row: list[Negative], caption: int) -> list[Negative]:
        verdicts = self.judge([negative.sentence for negative in row], caption) if row else []
        return [replace(negative, truth=truth) for negative, truth in zip(row, verdicts, strict=True)]


# The generators of synthetic negatives by name, ready to be exported: VSE-C's rules and TAGS' refilled maskings.


TOGETHER = 64  # maskings that the tower reads at a time


def vse_c(data: CaptionSet, number: int | None = None, *, filtered: bool = True) -> RuleSwaps:
    """VSE-C's swaps, by the lexicon of the data's world or else by an installed WordNet; `number` a caption, or all."""
    if data.world is not None:
        return RuleSwaps(*data.world.swaps(), number=number, filtered=filtered)
    nouns = wordnet_swaps({word.lower() for caption in data.captions for word in tokenise(caption)})
    return RuleSwaps(nouns, number=number, filtered=filtered)


def implied_in(data: CaptionSet) -> Implied | None:
    """What the words of a data set's world imply, for the filter of false negatives; None where it has no world."""
    return None if data.world is None else data.world.implied_words()


class Tags:
    """TAGS' negatives of captions of `data` (Algorithm 1): what a tower refills, looking at the image, and its best.

    K = `maskings`, L = `samples`, τ = `temperature`, m = `keep` (Eq. 6; None: all). `words` masks single words (the
    ablation "WM"), phrases or words are hidden with `probability`; `implied` and `filtered` are as in `Tailored`. The
    tower looks at pictures or regions, as it was made to; without these it is an ItmlabError. A `refiller` of the same
    vocabulary refills instead of `model`, which still scores (the ablation "SG"); `inputs` are the images, kept.
    """

    def __init__(
        self,
        model: OneTower,
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
        refiller: OneTower | None = None,
        inputs: ImageInputs | None = None,
    ):
        self.model, self.data, self.keep = model, data, keep
        self.implied, self.filtered = implied, filtered
        self.inputs = ImageInputs(model, data) if inputs is None else inputs
        self.refiller = model if refiller is None else refiller
        self._refill = MaskedRefill(
            self.refiller,
            model.tokenizer,
            maskings=maskings,
            samples=samples,
            temperature=temperature,
            masking=(WordMasking if words else PhraseMasking)(probability),
            conditioned=True,
            maximum_pieces=model.config.maximum_tokens,
            rows=TOGETHER,
        )

    def __call__(
        self,
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        image_captions: Sequence[Sequence[str]],
        *,
        generator: torch.Generator,
        numbers: Sequence[int],
    ) -> list[list[Negative]]:
        """The negatives of each caption, best first; `numbers` are those of the captions in `data`."""
        with evaluating(self.model):
            return self._made(captions, graphs, image_captions, generator, list(numbers))

    def _made(
        self,
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        image_captions: Sequence[Sequence[str]],
        generator: torch.Generator,
        numbers: list[int],
    ) -> list[list[Negative]]:
        model, refiller = self.model, self.refiller
        images, image_of = self.data.image_of_caption[numbers].unique(return_inverse=True)
        prepared = self.inputs(images.tolist())
        regions = model.embed_regions(**prepared)
        device, shown = regions.values.device, regions
        if refiller is not model:
            with evaluating(refiller):
                shown = refiller.embed_regions(**prepared)

        def fill(
            ids: Int[Tensor, "row piece"], mask: Int[Tensor, "row piece"], captions: Int[Tensor, "row"]
        ) -> Float[Tensor, "row piece vocabulary"]:
            parts = shown.take(image_of[captions].to(device))
            return refiller(ids.to(device), mask.to(device).bool(), parts, heads=("mlm",)).mlm.float().cpu()

        def score(sentences: list[str], captions: Int[Tensor, "sentence"]) -> Float[Tensor, "sentence"]:
            return matched(model, sentences, regions, image_of[captions])

        self._refill.fill = fill
        tailored = Tailored(self._refill, score=score, keep=self.keep, implied=self.implied, filtered=self.filtered)
        return tailored(captions, graphs, image_captions, generator=generator)


def tower_score(model: OneTower, data: CaptionSet, inputs: ImageInputs | None = None) -> ImageScore:
    """How well sentences match images of `data` by number, for sentences that no tower made."""
    inputs = ImageInputs(model, data) if inputs is None else inputs

    def score(images: Sequence[int], sentences: Sequence[str]) -> Float[Tensor, "sentence"]:
        different, image_of = torch.tensor(images).unique(return_inverse=True)
        with evaluating(model):
            return matched(model, sentences, model.embed_regions(**inputs(different.tolist())), image_of)

    return score


def matched(
    model: OneTower, sentences: Sequence[str], regions: EmbeddedRegions, rows: Int64[Tensor, "sentence"]
) -> Float[Tensor, "sentence"]:
    """The matching logit of each sentence with its row of `regions`, on the CPU."""
    if not len(sentences):
        return torch.zeros(0)
    tokens, device = Tokens.of(model, sentences), regions.values.device
    return pair_logits(model, tokens, torch.arange(len(sentences), device=device), regions, rows.to(device)).cpu()


# Negatives that a data set holds: captions of other images, from the batch or from the whole set.


class Retrieved:
    """`number` captions of other images for each caption, drawn at random without replacement from a pool.

    The pool is `pool` (the whole set), or the captions of the call (the batch) if that is None. With `Tailored` on top
    its hardest are kept: TAGS draws 399 and keeps 31. Nothing is replaced in them, so they have no changed spans, and
    the filter of false negatives lets them pass. A caption that also describes the image is never taken.
    """

    def __init__(self, pool: Sequence[str] | None = None, *, number: int = 399):
        if number < 1:
            raise ItmlabError(f"{number} negatives a caption cannot be", remedy="give 1 or more")
        self.pool, self.number = pool, number

    def __call__(
        self,
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        image_captions: Sequence[Sequence[str]],
        *,
        generator: torch.Generator,
    ) -> list[list[Negative]]:
        """The negatives of each caption, fewer where the pool has fewer; sentences that the pool repeats count once."""
        pool = list(dict.fromkeys(captions if self.pool is None else self.pool))
        seeds = torch.randint(2**62, (len(captions),), generator=generator, device=generator.device).tolist()
        rows = zip(captions, image_captions, seeds, strict=True)
        return [self._of({caption, *others}, pool, seed) for caption, others, seed in rows]

    def _of(self, own: set[str], pool: Sequence[str], seed: int) -> list[Negative]:
        order = torch.Generator().manual_seed(seed)
        # As many more as can turn out to be the image's own: the draw stays one of distinct sentences.
        wanted = min(len(pool), self.number + len(own))
        drawn = torch.randperm(len(pool), generator=order)[:wanted].tolist()
        return [Negative(pool[at]) for at in drawn if pool[at] not in own][: self.number]
