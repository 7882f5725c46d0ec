"""Retrieved negatives of the pairs of a batch from the whole data set, both ways (TAGS-DC, appendix A.1)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..models import CrossEncoder, EmbeddedRegions
from ..models.cross_encoder import Tokens, pair_logits
from ..models.encoded import evaluating
from ..models.pairs import ImageInputs
from ..samplers.retrieved import hardest_negatives, mined_negatives, random_negatives

BATCH_SIZE = 256  # images embedded at a time

Rows = Int64[Tensor, "pair"]


@dataclass(frozen=True)
class Mining:
    """Takes the hardest `top_k` of `candidates` random negatives by the model as it is, −1 behind where fewer exist."""

    model: CrossEncoder
    tokens: Tokens
    inputs: ImageInputs
    data: CaptionSet
    candidates: int
    top_k: int

    def captions(
        self, images: Rows, generator: torch.Generator, part: slice = slice(None)
    ) -> Int64[Tensor, "pair top_k"]:
        """For each image of a `part` of a batch, captions of other images; drawn as for the whole batch."""
        different, rows = images[part].unique(return_inverse=True)

        def score(anchors: Rows, columns: Rows) -> Tensor:
            device = self.tokens.ids.device
            return pair_logits(self.model, self.tokens, columns.to(device), regions, rows[anchors].to(device)).cpu()

        with evaluating(self.model):  # every image of the batch is an anchor: embedded once for all its candidates
            regions = embedded(self.model, self.inputs, different) if self.top_k < self.candidates else None
            return self._hardest(score, images, self.data.image_of_caption, generator, part)

    def images(
        self, captions: Rows, generator: torch.Generator, part: slice = slice(None)
    ) -> Int64[Tensor, "pair top_k"]:
        """For each caption of a `part` of a batch, images that are not its own; drawn as for the whole batch."""

        def score(anchors: Rows, columns: Rows) -> Tensor:
            # each anchor has images of its own: only those that are asked for now are embedded
            different, rows = columns.unique(return_inverse=True)
            device, regions = self.tokens.ids.device, embedded(self.model, self.inputs, different)
            own = captions[part][anchors].to(device)
            return pair_logits(self.model, self.tokens, own, regions, rows.to(device)).cpu()

        own, every = self.data.image_of_caption[captions], torch.arange(len(self.data))
        with evaluating(self.model):
            return self._hardest(score, own, every, generator, part)

    def _hardest(
        self, score: Callable[[Rows, Rows], Tensor], anchors: Rows, pool: Rows, generator: torch.Generator, part: slice
    ) -> Int64[Tensor, "pair top_k"]:
        if self.top_k >= self.candidates:  # nothing to choose, so nothing is scored
            return random_negatives(anchors, pool, self.candidates, generator=generator)[part]
        return mined_negatives(
            score, anchors, pool, candidates=self.candidates, top_k=self.top_k, generator=generator, part=part
        )


def embedded(model: CrossEncoder, inputs: ImageInputs, images: Rows) -> EmbeddedRegions:
    """The image side of the tower's input of these images, a part of them at a time."""
    return EmbeddedRegions.joined([model.embed_regions(**inputs(part.tolist())) for part in images.split(BATCH_SIZE)])


def negatives_in_batch(
    near: Float[Tensor, "image caption"], images: Int64[Tensor, "pair"], top_k: int, *, generator: torch.Generator
) -> tuple[Int64[Tensor, "pair top_k"], Int64[Tensor, "pair top_k"]]:
    """Of each image the captions, of each caption the images that are drawn in a batch of pairs, by number; −1: none.

    `top_k` different ones, each with a probability in proportion to exp(`near`), never of the same image (ALBEF: Li et
    al., 2021, Sec. 3.2, which draws one): what the two sides apart nearly take for a match is read together.
    """
    different = images[:, None] != images
    return tuple(
        # the largest of logits with Gumbel noise are such a draw without replacement
        hardest_negatives(way - (-torch.rand(way.shape, generator=generator).log()).log(), different, top_k)
        for way in (near, near.T)
    )
