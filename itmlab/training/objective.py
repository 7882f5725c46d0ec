"""The loss of one batch of features: which candidates there are, which negatives are taken, what is minimised.

A batch has two directions, images as anchors and then captions as anchors (which is the order of the random draws).
The recipe's sampler and loss are objects; this file only brings them their scores.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int8, Int64
from torch import Tensor
from torch.nn.functional import pad

from ..context import Context
from ..losses import Loss, adaptive_margin
from ..losses.base import mean_of
from ..recipes.recipe import Recipe
from ..samplers import Hardest, MomentumQueue, Pool, Random, Sampler, Softest

Features = Float[Tensor, "anchor dimension"]
Mask = Bool[Tensor, "anchor candidate"]
Columns = Int64[Tensor, "anchor"]
# How well captions describe images (φ), both as rows of the training split.
Relevance = Callable[[Int64[Tensor, "pair"], Int64[Tensor, "pair"]], Float[Tensor, "pair"]]
# Whether captions are true of images, rows too: 1 true, 0 false, -1 undecided.
Truth = Callable[[Int64[Tensor, "caption"], Int64[Tensor, "image"]], Int8[Tensor, "caption image"]]


class PerAnchorNegatives(NamedTuple):
    """Negatives that each anchor has for itself, and which of them there are."""

    features: Float[Tensor, "anchor extra dimension"]
    allowed: Bool[Tensor, "anchor extra"]

    def joined(self, other: "PerAnchorNegatives | None") -> "PerAnchorNegatives":
        """These, then the other's, if there is one."""
        if other is None:
            return self
        features = torch.cat([self.features, other.features], dim=1)
        return PerAnchorNegatives(features, torch.cat([self.allowed, other.allowed], dim=1))


@dataclass
class Direction:
    """Anchors with their matches and candidates: one direction of a batch.

    Attributes:
        anchors: unit-length features of the anchors.
        matches: the feature of each anchor's match.
        candidates: features that all anchors share as candidates.
        positives: which candidates are not negatives of an anchor.
        context: where training stands, and whose the anchors and candidates are.
        per_anchor: further negatives of each anchor.
        shared: further negatives of all anchors, such as noise.
        matrix: of a model that compares parts, its scores of anchors and candidates; anchor i's match is candidate i.
            Such a model has no further negatives, because their parts are unknown.
    """

    anchors: Features
    matches: Features
    candidates: Float[Tensor, "candidate dimension"]
    positives: Mask
    context: Context
    per_anchor: PerAnchorNegatives | None = None
    shared: Float[Tensor, "shared dimension"] | None = None
    matrix: Float[Tensor, "anchor candidate"] | None = None

    def positive_scores(self) -> Float[Tensor, "anchor"]:
        """The score of each anchor with its match."""
        return (self.anchors * self.matches).sum(-1) if self.matrix is None else self.matrix.diagonal()

    def scores(self) -> Float[Tensor, "anchor column"]:
        """The scores of every anchor with all candidates, then its own further negatives, then the shared ones."""
        if self.matrix is not None:
            return self.matrix
        scores = [self.anchors @ self.candidates.T]
        if self.per_anchor is not None:
            scores.append(torch.einsum("ad,aed->ae", self.anchors, self.per_anchor.features))
        if self.shared is not None:
            scores.append(self.anchors @ self.shared.T)
        return torch.cat(scores, dim=1)

    def barred(self) -> Bool[Tensor, "anchor column"]:
        """Which columns of `scores` are not negatives."""
        if self.matrix is not None:
            return self.positives
        barred = [self.positives]
        if self.per_anchor is not None:
            barred.append(~self.per_anchor.allowed)
        if self.shared is not None:
            barred.append(self.positives.new_zeros(len(self.anchors), len(self.shared)))
        return torch.cat(barred, dim=1)

    def scores_of(self, columns: Columns) -> Float[Tensor, "anchor"]:
        """The score of each anchor with one column of `scores`, whose gradient reaches that candidate only."""
        rows = torch.arange(len(columns), device=columns.device)
        if self.matrix is not None:
            return self.matrix[rows, columns]
        taken = self.candidates[columns.clamp(max=len(self.candidates) - 1)]
        if self.per_anchor is not None:
            further = columns - len(self.candidates)
            own = self.per_anchor.features[rows, further.clamp(min=0)]
            taken = torch.where((further >= 0)[:, None], own, taken)
        return (self.anchors * taken).sum(-1)


class Objective:
    """A recipe's loss of a batch of unit-length features, with copies of its sampler and loss, and its memory.

    Args:
        recipe: the recipe; its components are copied.
        memory: the queue of momentum features, if the recipe has a memory.
        generator: the random numbers of samplers and noise.
        captions: the captions of the training data.
        relevance: φ of captions and images, for a recipe with an adaptive margin.
        truth: what the world calls true, for components that need it.
    """

    def __init__(
        self,
        recipe: Recipe,
        memory: MomentumQueue | None,
        generator: torch.Generator,
        *,
        captions: Sequence[str] = (),
        relevance: Relevance | None = None,
        truth: Truth | None = None,
    ):
        self.recipe = recipe
        self.memory, self.generator = memory, generator
        self.captions, self.relevance, self.truth = captions, relevance, truth
        self.step, self.total_steps = 0, 1  # the task sets them before each batch
        self.loss: Loss = copy.deepcopy(recipe.loss)
        self.sampler: Sampler | None = copy.deepcopy(recipe.sampler)
        # a model that compares parts may learn by features as well, whose scores have other statistics
        by_parts = recipe.model.compares_parts and self.asks_features((None, None))
        self.feature_sampler = copy.deepcopy(recipe.sampler) if by_parts else None

    def start_epoch(self, epoch: int) -> None:
        """Statistics of similarity belong to an epoch (METHODS 1.1)."""
        if epoch < self.recipe.data.warm_up_epochs:
            return
        for component in (self.sampler, self.feature_sampler, self.loss):
            if component is not None:
                component.start_epoch(epoch - self.recipe.data.warm_up_epochs)

    def asks_features(self, per_anchor: tuple[PerAnchorNegatives | None, PerAnchorNegatives | None]) -> bool:
        """Whether a model that compares parts also learns by features: always where something has no parts."""
        recipe = self.recipe
        without_parts = recipe.synthesis is not None or recipe.extra_negatives is not None
        noise = getattr(recipe.loss, "noise", 0) > 0
        return recipe.global_features or noise or without_parts or per_anchor != (None, None)

    def __call__(
        self,
        images: Features,
        captions: Features,
        image_ids: Int64[Tensor, "anchor"],
        caption_ids: Int64[Tensor, "anchor"],
        slow: tuple[Features, Features] | None,
        epoch: int,
        per_anchor: tuple[PerAnchorNegatives | None, PerAnchorNegatives | None] = (None, None),
        matrix: Float[Tensor, "image caption"] | None = None,
    ) -> Float[Tensor, ""]:
        """The loss of a batch of pairs.

        Args:
            images: the feature of each pair's image.
            captions: the feature of each pair's caption.
            image_ids: the number of each pair's image in the training data.
            caption_ids: the number of each pair's caption.
            slow: momentum features of the pairs, if the recipe has a memory.
            epoch: the epoch, from 0.
            per_anchor: further negatives of the image anchors and of the caption anchors, after the warm-up. Triplets
                with an adaptive margin go without them, because φ is known of the data's own captions only.
            matrix: the scores of a model that compares parts, row i an image and column i a caption of pair i.
        """
        batch = Pool(images, captions, image_ids, caption_ids)
        pool, matches, filling = batch, (images, captions), self.memory is not None and epoch == 0
        if self.memory is not None:
            # In epoch 0 the memory only fills and negatives are the batch's (METHODS 1.4). After that an anchor's match
            # is its momentum feature as well, as in the released code: a live match would have drifted along with the
            # anchor since the memory was filled, and the loss would vanish by drifting.
            if not filling:
                pool, matches = self.memory.pool(*slow, image_ids, caption_ids), slow
            self.memory.enqueue(*slow, image_ids, caption_ids)  # after the pool, which has this batch already
        by_features = matrix is not None and self.asks_features(per_anchor)
        matrices = [matrix, None] if by_features else [matrix]
        if epoch < self.recipe.data.warm_up_epochs:
            warm_up = self.recipe.warm_up
            directions = [self._directions(batch, batch, (images, captions), one, epoch) for one in matrices]
            return sum(self._loss_over_all(warm_up, direction) for both in directions for direction in both)
        margin = self.recipe.adaptive_margin
        directions = [self._directions(batch, pool, matches, one, epoch) for one in matrices]
        total = images.new_zeros(())
        if margin is None or margin.with_triplet:
            for both in directions:
                if both[0].matrix is None:
                    both = [replace(one, per_anchor=own) for one, own in zip(both, per_anchor, strict=True)]
                total = total + self._own_loss(batch, both, filling)
        if margin is not None:
            total = total + self._adaptive_margin_loss(batch, pool, directions[0])
        return total

    def _directions(
        self,
        batch: Pool,
        pool: Pool,
        matches: tuple[Features, Features],
        matrix: Float[Tensor, "image caption"] | None,
        epoch: int,
    ) -> list[Direction]:
        """Images, then captions, of the batch as anchors, with the pool's features as candidates."""
        positives = pool.positives(batch.image_ids)
        of_batch = {"anchor_images": batch.image_ids, "anchor_captions": batch.caption_ids, "captions": self.captions}
        of_pool = {"candidate_images": pool.image_ids, "candidate_captions": pool.caption_ids}
        context = Context(self.step, self.total_steps, epoch, **of_batch, **of_pool)
        of_images = Direction(batch.image_features, matches[1], pool.caption_features, positives, context)
        of_captions = Direction(batch.caption_features, matches[0], pool.image_features, positives, context)
        if matrix is not None:
            of_images.matrix, of_captions.matrix = matrix, matrix.T
        return [of_images, of_captions]

    def _own_loss(self, batch: Pool, directions: list[Direction], filling: bool) -> Float[Tensor, ""]:
        """The recipe's loss of both directions, over all negatives or over those that its sampler chooses."""
        by_parts = directions[0].matrix is not None
        sampler = self.sampler if by_parts or self.feature_sampler is None else self.feature_sampler
        with torch.no_grad():
            # statistics are of the live batch, whatever the pool is (METHODS 1.1)
            scores = directions[0].matrix if by_parts else batch.image_features @ batch.caption_features.T
            for component in (sampler, self.loss):
                if component is not None:
                    component.observe(scores, batch.positives(batch.image_ids))
        if sampler is None:
            shared = None if by_parts else self.loss.shared_negatives(batch.image_features, self.generator)
            for direction in directions:
                direction.shared = shared
            return sum(self._loss_over_all(self.loss, direction) for direction in directions)
        # while the memory fills, negatives are the batch's hardest; an oracle knows the truth then, too
        chooser = Hardest() if filling and not sampler.needs_truth else sampler
        chosen = self._choose(chooser, directions)
        return sum(
            self._loss_over_chosen(direction, columns) for direction, columns in zip(directions, chosen, strict=True)
        )

    def _loss_over_all(self, loss: Loss, direction: Direction) -> Float[Tensor, ""]:
        """A loss that looks at every negative."""
        scores, positive_scores = direction.scores(), direction.positive_scores()
        return loss(scores, direction.barred(), positive_scores, context=direction.context)

    def _loss_over_chosen(self, direction: Direction, columns: Columns) -> Float[Tensor, ""]:
        """The recipe's loss with one negative per anchor (FNE, Eq. 15); -1 is no negative."""
        negative_scores = direction.scores_of(columns.clamp(min=0))[:, None]
        return self.loss(
            negative_scores, (columns < 0)[:, None], direction.positive_scores(), context=direction.context
        )

    @torch.no_grad()  # the full matrix is for choosing; only the chosen scores need a gradient
    def _choose(self, sampler: Sampler, directions: list[Direction]) -> list[Columns]:
        """The sampler's negative of each anchor of both directions."""
        chosen = []
        for is_caption, direction in enumerate(directions):
            scores, context = direction.scores(), direction.context
            if sampler.needs_truth:
                context = replace(context, truth=self._truth_of(context, bool(is_caption), scores.shape[1]))
            columns = sampler(
                scores, direction.barred(), direction.positive_scores(), generator=self.generator, context=context
            )
            chosen.append(columns)
        return chosen

    def _truth_of(self, context: Context, of_captions: bool, columns: int) -> Int8[Tensor, "anchor column"]:
        """The truth of every anchor with every column; further negatives, which no world knows, count as false."""
        if of_captions:
            truth = self.truth(context.anchor_captions, context.candidate_images)
        else:
            truth = self.truth(context.candidate_captions, context.anchor_images).T
        return pad(truth, (0, columns - truth.shape[1]))

    # SAM: triplets with a margin per anchor.

    def _adaptive_margin_loss(self, batch: Pool, pool: Pool, directions: list[Direction]) -> Float[Tensor, ""]:
        """Triplets with negatives of their own, each with the margin of its own anchor and negative (SAM, Eq. 7).

        Both directions ask how well captions describe images: the caption taken for an image anchor is held against
        that image, a caption anchor against the image taken for it. Other readings of Eq. 7 subtract φ of the anchor's
        image and a caption in both, that taken (c_m) or that of the image taken (c_l) (METHODS 2.5).
        """
        settings, images = self.recipe.adaptive_margin, batch.image_ids
        matched = self.relevance(batch.caption_ids, images)
        if settings.preset == "released":
            return self._released_margin_loss(batch, directions[0], matched)
        samplers = {"softest": Softest(settings.rank or 0), "hardest": Hardest(settings.rank or 0), "random": Random()}
        chosen = self._choose(samplers[settings.negatives], directions)
        from_image, from_caption = (columns.clamp(min=0) for columns in chosen)
        c_m, c_l = pool.caption_ids[from_image], pool.caption_ids[from_caption]
        subtracted = {
            "pairs": ((c_m, images), (batch.caption_ids, pool.image_ids[from_caption])),
            "corrected": ((c_m, images), (c_l, images)),
            "printed": ((c_l, images), (c_m, images)),
        }
        total = 0.0
        for direction, columns, pair in zip(directions, chosen, subtracted[settings.reading], strict=True):
            negative_scores = direction.scores_of(columns.clamp(min=0))
            hinges = _hinges(direction.positive_scores(), negative_scores, self._margin(matched, *pair))
            total = total + mean_of(hinges, columns >= 0)
        return settings.weight * total

    def _margin(self, matched: Float[Tensor, "anchor"], captions: Columns, images: Columns) -> Float[Tensor, "anchor"]:
        """SAM's margin of pairs, from φ of their match and φ of these captions and images."""
        settings = self.recipe.adaptive_margin
        return adaptive_margin(matched, self.relevance(captions, images), settings.temperature, settings.ceiling)

    def _released_margin_loss(
        self, batch: Pool, direction: Direction, matched: Float[Tensor, "anchor"]
    ) -> Float[Tensor, ""]:
        """What the public code computes in the place of Eq. 7, but for its sum, which is a mean here (METHODS 2.5).

        Image i takes two captions of its row, the one nearest (or farthest) after subtracting its own score, the other
        after subtracting each caption's own; the match may be among them. The other is the anchor of the second hinge,
        with image i as its negative. A hinge has the margin of the pair whose caption it took, from φ of the caption
        that this pair took for the other hinge.
        """
        settings, scores = self.recipe.adaptive_margin, direction.scores()
        own, rows = scores.diagonal(), torch.arange(len(scores), device=scores.device)
        rank = 1 if settings.rank is None else settings.rank
        # the public code's "soft" negatives are nearest, its "hard" ones farthest
        samplers = {"softest": Hardest(rank), "hardest": Softest(rank), "random": Random()}
        excluded = torch.eye(len(scores), dtype=torch.bool, device=scores.device) & (settings.negatives == "random")
        chosen = [
            samplers[settings.negatives]((scores - own_score).detach(), excluded, own, generator=self.generator)
            for own_score in (own[:, None], own[None, :])
        ]
        first, second = (columns.clamp(min=0) for columns in chosen)
        first_margin = self._margin(matched, batch.caption_ids[second], batch.image_ids)[first]
        second_margin = self._margin(matched, batch.caption_ids[first], batch.image_ids)[second]
        first_hinges = _hinges(own, scores[rows, first], first_margin)
        second_hinges = _hinges(own[second], scores[rows, second], second_margin)
        total = mean_of(first_hinges, chosen[0] >= 0) + mean_of(second_hinges, chosen[1] >= 0)
        return settings.weight * total


def _hinges(
    positive_scores: Float[Tensor, "anchor"], negative_scores: Float[Tensor, "anchor"], margin: Float[Tensor, "anchor"]
) -> Float[Tensor, "anchor"]:
    """[margin − s⁺ + s⁻]₊ with a margin per anchor."""
    return (negative_scores - positive_scores + margin).relu()
