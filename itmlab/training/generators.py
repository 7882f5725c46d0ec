"""The generators of synthetic negatives by name, ready to be exported: VSE-C's rules and TAGS' refilled maskings."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..models import EmbeddedRegions, OneTower
from ..synthesis import MaskedRefill, Negative, RuleSwaps, Tailored
from ..synthesis.evaluation import evaluating
from ..synthesis.export_rows import Score
from ..synthesis.false_negatives import Implied
from ..text import PhraseMasking, SceneGraph, WordMasking
from ..text.masking import PROBABILITY
from .image_inputs import ImageInputs
from .pair_rows import Tokens, pair_logits

TOGETHER = 64  # maskings that the tower reads at a time


def vse_c(number: int | None = None) -> RuleSwaps:
    """VSE-C's swaps by the category lexicon of `scenes`; `number` of them a caption, None for all."""
    from ..data.scenes import categories

    return RuleSwaps(categories.noun_swaps(), categories.relation_swaps(), number=number)


def implied_in(data: CaptionSet) -> Implied | None:
    """What the words of a data set's world imply, for the filter of false negatives; None where it has no world."""
    if data.world is None:
        return None
    from ..data.scenes.categories import implied_words

    return implied_words()


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


def tower_score(model: OneTower, data: CaptionSet, inputs: ImageInputs | None = None) -> Score:
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
