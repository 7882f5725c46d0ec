"""SAM, the semantic adaptive margin: triplets whose margin follows how much less a negative describes the image.

Biten et al. (2022), Eq. 7, puts a margin of its own for every anchor and negative in the place of the triplet's α.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int64
from torch import Generator, Tensor

from ..components import Component
from ..context import Direction
from ..errors import ItmlabError
from ..fields import FROM_0, Positive, check_fields
from ..samplers import Hardest, Random, Softest
from .base import PerAnchor, Scalar, mean_of

Rows = Int64[Tensor, "pair"]  # captions or images, as rows of the training data
Relevance = Callable[[Rows, Rows], Float[Tensor, "pair"]]  # φ: how well captions describe images


@dataclass
class SemanticAdaptiveMargin(Component):
    """SAM's triplets beside the recipe's loss, or instead of it.

    Args:
        temperature: τ, by which differences of φ are divided.
        negatives: which negatives these triplets take: the farthest from the anchor ("softest", the paper's SN), the
            "hardest" (HN) or "random" ones (RS).
        with_triplet: whether the recipe's own loss is added (Tables 4 and 5).
        ceiling: the largest margin.
        relevance: φ: "cider" (CIDEr-D, 0 to 10, with the document frequencies of the training captions) or "spice" (0
            to 1).
        tokenise: how captions become words for CIDEr: lower-cased and cut at spaces.
        weight: the weight of these triplets beside the recipe's loss.
        rank: how many negatives are passed over before one is taken; None is the preset's (0, released 1).
        reading: what is subtracted in a margin, as Eq. 7's subscripts are swapped (METHODS 2.5): φ of the "pairs" that
            the hinges hold, φ(G_p, c_m) and φ(G_l, c_p); "corrected" φ(G_p, c_m) and φ(G_p, c_l); as "printed",
            φ(G_p, c_l) and φ(G_p, c_m).
        preset: "released" does what the public code does: its own reading, with "softest" and "hardest" for its `soft`
            and `hard`.

    Raises:
        ItmlabError: a parameter out of its range.

    References:
        Biten et al. (2022), Is an Image Worth Five Sentences?, Eq. 7, Tables 4 and 5.
    """

    temperature: Positive = 10.0
    negatives: Literal["softest", "hardest", "random"] = "softest"
    with_triplet: bool = True
    ceiling: Positive = 1.0
    relevance: Literal["cider", "spice"] = "cider"
    tokenise: Literal["whitespace"] = "whitespace"
    weight: Positive = 1.0
    rank: Annotated[int | None, FROM_0] = None
    reading: Literal["pairs", "corrected", "printed"] = "pairs"
    preset: Literal["paper", "released"] = "paper"

    def __post_init__(self) -> None:
        check_fields(self, "adaptive_margin")
        if self.preset == "released" and self.reading != "pairs":
            remedy = "leave reading at 'pairs': the released preset has its own"
            raise ItmlabError(f"the released adaptive margin has no reading {self.reading!r}", remedy=remedy)

    def __call__(
        self, of_images: Direction, of_captions: Direction, relevance: Relevance, *, generator: Generator
    ) -> Scalar:
        """The triplets of both directions, each with the margin of its own anchor and negative (Eq. 7).

        Args:
            of_images: images as anchors.
            of_captions: captions as anchors.
            relevance: φ of captions and images.
            generator: the random numbers of "random" negatives.
        """
        if self.preset == "released":
            return self.weight * self._released(of_images, relevance, generator)
        rank = self.rank or 0
        sampler = {"softest": Softest(rank), "hardest": Hardest(rank), "random": Random()}[self.negatives]
        directions, context = (of_images, of_captions), of_images.context
        chosen = [sampler(*direction[:3], generator=generator) for direction in directions]
        # Both directions ask how well captions describe images: the caption taken for an image anchor is held against
        # that image, a caption anchor against the image taken for it. Other readings of Eq. 7 subtract φ of the
        # anchor's image and a caption in both, that taken (c_m) or that of the image taken (c_l) (METHODS 2.5).
        from_image, from_caption = (columns.clamp(min=0) for columns in chosen)
        images, captions = context.anchor_images, context.anchor_captions
        c_m, c_l = context.candidate_captions[from_image], context.candidate_captions[from_caption]
        subtracted = {
            "pairs": ((c_m, images), (captions, context.candidate_images[from_caption])),
            "corrected": ((c_m, images), (c_l, images)),
            "printed": ((c_l, images), (c_m, images)),
        }[self.reading]
        margins, total = self._margins(relevance, (captions, images), subtracted), 0
        for direction, columns, margin in zip(directions, chosen, margins, strict=True):
            negative_scores = direction.scores.gather(1, columns.clamp(min=0)[:, None]).squeeze(1)
            hinges = (negative_scores - direction.positive_scores + margin).relu()
            total = total + mean_of(hinges, columns >= 0)
        return self.weight * total

    def _released(self, direction: Direction, relevance: Relevance, generator: Generator) -> Scalar:
        """What the public code computes in the place of Eq. 7, but for its sum, which is a mean here (METHODS 2.5).

        Image i takes two captions of its row, the one nearest (or farthest) after subtracting its own score, the other
        after subtracting each caption's own; the match may be among them. The other is the anchor of the second hinge,
        with image i as its negative. A hinge has the margin of the pair whose caption it took, from φ of the caption
        that this pair took for the other hinge.
        """
        scores, context = direction.scores, direction.context
        match_scores, rank = scores.diagonal(), 1 if self.rank is None else self.rank
        # the public code's "soft" negatives are nearest, its "hard" ones farthest
        sampler = {"softest": Hardest(rank), "hardest": Softest(rank), "random": Random()}[self.negatives]
        excluded = torch.eye(len(scores), dtype=torch.bool, device=scores.device) & (self.negatives == "random")
        chosen = [
            sampler(scores - shift, excluded, match_scores, generator=generator)
            for shift in (match_scores[:, None], match_scores)
        ]
        first, second = (columns.clamp(min=0) for columns in chosen)
        images, captions = context.anchor_images, context.anchor_captions
        subtracted = (captions[second], images), (captions[first], images)
        first_margin, second_margin = self._margins(relevance, (captions, images), subtracted)
        first_scores, second_scores = (scores.gather(1, columns[:, None]).squeeze(1) for columns in (first, second))
        first_hinges = (first_scores - match_scores + first_margin[first]).relu()
        second_hinges = (second_scores - match_scores[second] + second_margin[second]).relu()
        return mean_of(first_hinges, chosen[0] >= 0) + mean_of(second_hinges, chosen[1] >= 0)

    def _margins(
        self, relevance: Relevance, matches: tuple[Rows, Rows], subtracted: tuple[tuple[Rows, Rows], ...]
    ) -> list[PerAnchor]:
        """The margins of the matched captions and images, one for each of those whose φ is subtracted."""
        captions, images = (torch.cat(rows) for rows in zip(matches, *subtracted, strict=True))
        matched, *others = relevance(captions, images).chunk(3)  # asked once, as a GPU has to be waited for
        return [adaptive_margin(matched, other, self.temperature, self.ceiling) for other in others]


def adaptive_margin(
    positive_relevance: PerAnchor, negative_relevance: PerAnchor, temperature: float, ceiling: float = 1.0
) -> PerAnchor:
    """(φ⁺ − φ⁻) / τ per anchor, at most `ceiling`: the margin of SAM.

    Args:
        positive_relevance: φ⁺, how well the match's caption describes the anchor's image.
        negative_relevance: φ⁻, the same of the negative. From an image: of the caption taken, to the captions of the
            anchor's image. From a caption: of the anchor itself, to the captions of the image taken. The printed
            subscripts are swapped; for the other readings see METHODS 2.5.
        temperature: τ.
        ceiling: the largest margin. A negative that describes the image better than the match does has a margin below
            0, and keeps it.

    References:
        Biten et al. (2022), SAM, Eq. 7.

    >>> import torch
    >>> adaptive_margin(torch.tensor([3.0, 1.0]), torch.tensor([1.0, 2.0]), temperature=4.0)
    tensor([ 0.5000, -0.2500])
    """
    return ((positive_relevance - negative_relevance) / temperature).clamp(max=ceiling)
