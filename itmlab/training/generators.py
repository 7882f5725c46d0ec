"""The generators of synthetic negatives by name, ready to be exported: VSE-C's rules and TAGS' refilled maskings."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..models import EmbeddedRegions, OneTower
from ..synthesis import MaskedRefill, Negative, RuleSwaps, Tailored
from ..synthesis.evaluation import evaluating
from ..synthesis.export_rows import Score
from ..synthesis.false_negatives import Implied
from ..text import PhraseMasking, SceneGraph, WordMasking
from .evaluation import on_device

TOGETHER = 64  # rows that the tower reads at a time: maskings, sentences


def vse_c(number: int | None = None) -> RuleSwaps:
    """VSE-C's swaps by the category lexicon of `scenes`; `number` of them a caption, None for all."""
    from ..data.scenes import categories

    return RuleSwaps(categories.noun_swaps(), categories.relation_swaps(), number=number)


class Tags:
    """TAGS' negatives of captions of `data` (Algorithm 1): what a tower refills, looking at the image, and its best.

    K = `maskings`, L = `samples`, τ = `temperature`, m = `keep` (Eq. 6; None: all). `words` masks single words (the
    ablation "WM"), `implied` is the filter's (see `Tailored`). The tower looks at pictures or regions, as it was made
    to; without these it is an ItmlabError.
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
    ):
        _check_sight(model, data)
        self.model, self.data, self.keep, self.implied = model, data, keep, implied
        self.options = dict(
            maskings=maskings,
            samples=samples,
            temperature=temperature,
            masking=WordMasking() if words else PhraseMasking(),
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
        model = self.model
        images, image_of = self.data.image_of_caption[numbers].unique(return_inverse=True)
        regions = _embedded(model, self.data, images.tolist())
        device = regions.values.device

        def of(captions: Int[Tensor, "row"]) -> EmbeddedRegions:
            return regions.take(image_of[captions].to(device))

        def fill(
            ids: Int[Tensor, "row piece"], mask: Int[Tensor, "row piece"], captions: Int[Tensor, "row"]
        ) -> Float[Tensor, "row piece vocabulary"]:
            return model(ids.to(device), mask.to(device).bool(), of(captions), heads=("mlm",)).mlm.float().cpu()

        def score(sentences: list[str], captions: Int[Tensor, "sentence"]) -> Float[Tensor, "sentence"]:
            return _matched(model, sentences, regions, image_of[captions])

        refill = MaskedRefill(
            fill,
            model.tokenizer,
            conditioned=True,
            module=model,
            maximum_pieces=model.config.maximum_tokens,
            rows=TOGETHER,
            **self.options,
        )
        tailored = Tailored(refill, score=score, keep=self.keep, implied=self.implied)
        return tailored(captions, graphs, image_captions, generator=generator)


def tower_score(model: OneTower, data: CaptionSet) -> Score:
    """How well sentences match images of `data` by number, for sentences that no tower made."""
    _check_sight(model, data)

    def score(images: Sequence[int], sentences: Sequence[str]) -> Float[Tensor, "sentence"]:
        different, image_of = torch.tensor(images).unique(return_inverse=True)
        with evaluating(model):
            return _matched(model, sentences, _embedded(model, data, different.tolist()), image_of)

    return score


def _check_sight(model: OneTower, data: CaptionSet) -> None:
    if model.config.visual == "regions" and data.regions is None:
        raise ItmlabError(
            "this model looks at regions and the data have none", where=data.name, remedy="load them with regions"
        )


def _embedded(model: OneTower, data: CaptionSet, images: Sequence[int]) -> EmbeddedRegions:
    source: Any = data.regions if model.config.visual == "regions" else data.images
    return model.embed_regions(**on_device(model, model.prepare_images([source[image] for image in images])))


def _matched(
    model: OneTower, sentences: Sequence[str], regions: EmbeddedRegions, rows: Int[Tensor, "sentence"]
) -> Float[Tensor, "sentence"]:
    """The matching logit of each sentence with its row of `regions`."""
    device, found = regions.values.device, [torch.zeros(0)]
    for start in range(0, len(sentences), TOGETHER):
        tokens = on_device(model, model.prepare_captions(sentences[start : start + TOGETHER]))
        images = regions.take(rows[start : start + TOGETHER].to(device))
        found.append(model.score(tokens["input_ids"], tokens["attention_mask"].bool(), images).float().cpu())
    return torch.cat(found)
