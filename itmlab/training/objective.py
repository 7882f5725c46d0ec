"""What is minimised for one batch of features: which candidates there are, which negatives are taken, both losses.

Every number comes from a function of `itmlab.losses`, by its name there. A direction is a `Side`; a batch has two, with
images as anchors first (which is the order of the random draws).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from .. import losses
from ..recipes.recipe import Recipe
from ..recipes.settings import SAMPLERS
from ..samplers import Hardest, MomentumQueue, Pool, Sampler

Features = Float[Tensor, "anchor dimension"]
Mask = Bool[Tensor, "anchor candidate"]
# φ of pairs: how well captions describe images, both as rows of the training split.
Relevance = Callable[[Int64[Tensor, "pair"], Int64[Tensor, "pair"]], Float[Tensor, "pair"]]


class Extra(NamedTuple):
    """Candidates of one direction that each anchor has for itself, and which of them there are."""

    features: Float[Tensor, "anchor extra dimension"]
    allowed: Bool[Tensor, "anchor extra"]

    def joined(self, other: "Extra | None") -> "Extra":
        """These, then the other's, if there is one."""
        return self if other is None else Extra(*(torch.cat(both, dim=1) for both in zip(self, other, strict=True)))


class Side(NamedTuple):
    """One direction: anchors, the candidates of all of them, each anchor's match, and candidates of its own.

    Where a model compares parts and not features, `matrix` holds its scores of anchors and candidates, anchor i's match
    being candidate i; then an anchor has no candidates of its own, whose parts nobody knows.
    """

    anchors: Features
    candidates: Float[Tensor, "candidate dimension"]
    matches: Features
    extra: Extra | None = None
    matrix: Float[Tensor, "anchor candidate"] | None = None

    def shared_scores(self) -> Float[Tensor, "anchor candidate"]:
        """Of every anchor with the candidates of all."""
        return self.anchors @ self.candidates.T if self.matrix is None else self.matrix

    def own_scores(self) -> Float[Tensor, "anchor extra"] | None:
        """Of every anchor with the candidates of its own."""
        return None if self.extra is None else torch.einsum("ad,aed->ae", self.anchors, self.extra.features)

    def positive_scores(self) -> Float[Tensor, "anchor"]:
        """Of each anchor with its match."""
        return (self.anchors * self.matches).sum(-1) if self.matrix is None else self.matrix.diagonal()

    def all_scores(self, positives: Mask) -> tuple[Float[Tensor, "anchor candidate"], Mask]:
        """Of every anchor with every candidate, its own last, and which are no negatives (or not there at all)."""
        shared = self.shared_scores()
        if self.extra is None:
            return shared, positives
        return torch.cat([shared, self.own_scores()], dim=1), torch.cat([positives, ~self.extra.allowed], dim=1)

    def scores_of(self, columns: Int64[Tensor, "anchor"]) -> Float[Tensor, "anchor"]:
        """Of each anchor with one candidate, a column of `all_scores`."""
        rows = torch.arange(len(columns), device=columns.device)
        if self.matrix is not None:
            return self.matrix[rows, columns]
        taken, own = self.candidates[columns.clamp(max=len(self.candidates) - 1)], columns - len(self.candidates)
        if self.extra is not None:
            taken = torch.where((own >= 0)[:, None], self.extra.features[rows, own.clamp(min=0)], taken)
        return (self.anchors * taken).sum(-1)


class Outcome(NamedTuple):
    """The loss, and the negatives taken: image anchors then caption anchors, −1 for none; None when none is chosen.

    Those of a triplet with an adaptive margin follow the recipe's own.
    """

    loss: Float[Tensor, ""]
    chosen: Int64[Tensor, "anchor"] | None


class Objective:
    """A recipe's loss over a batch of unit-length features, with the sampler and the memory whose state it keeps.

    `relevance` is asked only by a recipe with an adaptive margin.
    """

    def __init__(
        self,
        recipe: Recipe,
        memory: MomentumQueue | None,
        generator: torch.Generator,
        relevance: Relevance | None = None,
    ):
        self.recipe, self.memory, self.generator, self.relevance = recipe, memory, generator, relevance
        self.sampler = recipe.sampler.build(margin=recipe.loss.margin) if recipe.sampler else None

    def start_epoch(self, epoch: int) -> None:
        """Statistics of similarity belong to an epoch (METHODS 1.1)."""
        if self.sampler and epoch >= self.recipe.data.warm_up_epochs:
            self.sampler.start_epoch(epoch - self.recipe.data.warm_up_epochs)

    def __call__(
        self,
        images: Features,
        captions: Features,
        image_ids: Int64[Tensor, "anchor"],
        caption_ids: Int64[Tensor, "anchor"],
        slow: tuple[Features, Features] | None,
        epoch: int,
        extra: tuple[Extra | None, Extra | None] = (None, None),
        matrix: Float[Tensor, "image caption"] | None = None,
    ) -> Outcome:
        """The loss of a batch of pairs; `slow` holds their momentum features when the recipe has a memory.

        `extra` are further negatives of the image anchors and of the caption anchors, after the warm-up. Triplets with
        an adaptive margin go without: φ is known of the data's own captions. `matrix` are the scores of a model that
        compares parts, row i an image and column i a caption of pair i. What has no parts is compared by features, from
        which such a model then learns too, by the same loss beside.
        """
        batch = Pool(images, captions, image_ids, caption_ids)
        pool, own, filling = batch, (images, captions), self.memory is not None and epoch == 0
        if self.memory is not None:
            # In epoch 0 the memory only fills and negatives are the batch's (METHODS 1.4). After that an anchor's match
            # is its momentum feature as well, as in the released code: a live match would have drifted along with the
            # anchor since the memory was filled, and the loss would vanish by drifting.
            if not filling:
                pool, own = self.memory.pool(*slow, image_ids, caption_ids), slow
            self.memory.enqueue(*slow, image_ids, caption_ids)  # after the pool, which has this batch already
        matrices = [matrix, None] if matrix is not None and self._asks_features(extra) else [matrix]
        if epoch < self.recipe.data.warm_up_epochs:
            positives = batch.positives(image_ids)
            sides = [_sides(batch, batch, (images, captions), one) for one in matrices]
            return _added_up([self._of_all("info_nce", both, positives) for both in sides])
        positives, margin = pool.positives(image_ids), self.recipe.adaptive_margin
        plain, terms = [_sides(batch, pool, own, one) for one in matrices], []
        if margin is None or margin.with_triplet:
            # what has no parts goes with the last of them, which compares features
            last = [side._replace(extra=more) for side, more in zip(plain[-1], extra, strict=True)]
            terms += [self._own(batch, both, positives, filling) for both in (*plain[:-1], last)]
        if margin is not None:
            terms.append(self._with_adaptive_margin(batch, pool, plain[0], positives))
        return _added_up(terms)

    def _asks_features(self, extra: tuple[Extra | None, Extra | None]) -> bool:
        """Whether a model that compares parts learns by features too: always where something has no parts."""
        recipe = self.recipe
        noise = recipe.loss.kind == "info_cmr" and recipe.loss.noise > 0
        later = recipe.synthesis is not None or recipe.extra_negatives is not None
        return recipe.loss.global_features or noise or later or extra != (None, None)

    def _own(self, batch: Pool, sides: list[Side], positives: Mask, filling: bool) -> Outcome:
        """The recipe's own loss."""
        if self.sampler is None:
            return self._of_all(self.recipe.loss.kind, sides, positives)
        with torch.no_grad():
            # statistics are of the live batch, whatever the pool is (METHODS 1.1)
            matrix = sides[0].matrix
            scores = batch.image_features @ batch.caption_features.T if matrix is None else matrix
            matches = batch.positives(batch.image_ids)
            self.sampler.observe(scores, matches)
            self.sampler.observe(scores.T, matches.T)
        margins = [lambda chosen: self.recipe.loss.margin] * 2
        return self._with_choice(Hardest() if filling else self.sampler, sides, positives, margins)

    def _of_all(self, kind: str, sides: list[Side], positives: Mask) -> Outcome:
        """A loss that looks at every negative, by its name in `itmlab.losses`."""
        terms, settings, noise = [], self.recipe.loss, None
        scale = settings.temperature if kind in ("info_nce", "info_cmr") else settings.margin
        if kind == "info_cmr" and settings.noise and sides[0].matrix is None:
            noise = losses.gaussian_noise(settings.noise, sides[0].anchors, generator=self.generator)
        for side in sides:
            if kind == "info_cmr":
                # in this order, which is that in which their gradients are added up, to the bit
                scores, own, matched = side.shared_scores(), side.own_scores(), side.positive_scores()
                far = None if noise is None else side.anchors @ noise.T
                made = {"synthetic_scores": own, "synthetic_allowed": None if own is None else side.extra.allowed}
                terms.append(losses.info_cmr(scores, positives, matched, scale, noise_scores=far, **made))
            else:
                terms.append(getattr(losses, kind)(*side.all_scores(positives), side.positive_scores(), scale))
        return Outcome(sum(terms), None)

    def _with_adaptive_margin(self, batch: Pool, pool: Pool, sides: list[Side], positives: Mask) -> Outcome:
        """Triplets with negatives of their own, each with the margin of its own anchor and negative (SAM, Eq. 7).

        Both directions ask how well captions describe images: the caption taken for an image anchor is held against
        that image, a caption anchor against the image taken for it (METHODS 2.5).
        """
        settings = self.recipe.adaptive_margin
        matched = self.relevance(batch.caption_ids, batch.image_ids)

        def margin_of(captions: Int64[Tensor, "anchor"], images: Int64[Tensor, "anchor"]) -> Float[Tensor, "anchor"]:
            taken = self.relevance(captions, images)
            return losses.adaptive_margin(matched, taken, settings.temperature, settings.ceiling)

        margins = [
            lambda chosen: margin_of(pool.caption_ids[chosen], batch.image_ids),
            lambda chosen: margin_of(batch.caption_ids, pool.image_ids[chosen]),
        ]
        return self._with_choice(SAMPLERS[settings.negatives](), sides, positives, margins)

    def _with_choice(
        self,
        sampler: Sampler,
        sides: list[Side],
        positives: Mask,
        margins: list[Callable[[Int64[Tensor, "anchor"]], float | Float[Tensor, "anchor"]]],
    ) -> Outcome:
        """One negative an anchor (FNE, Eq. 15)."""
        terms, taken = [], []
        for side, margin in zip(sides, margins, strict=True):
            positive_scores = side.positive_scores()
            with torch.no_grad():  # the full matrix is for choosing; only the chosen scores need a gradient
                chosen = sampler(*side.all_scores(positives), positive_scores, generator=self.generator)
            negatives = chosen.clamp(min=0)  # −1, no negative: any will do, the loss does not read it
            scores = positive_scores, side.scores_of(negatives)
            terms.append(losses.sampled_triplet(*scores, chosen >= 0, margin(negatives)))
            taken.append(chosen)
        return Outcome(sum(terms), torch.cat(taken))


def _added_up(terms: list[Outcome]) -> Outcome:
    chosen = [term.chosen for term in terms if term.chosen is not None]
    return Outcome(sum(term.loss for term in terms), torch.cat(chosen) if chosen else None)


def _sides(
    batch: Pool, pool: Pool, own: tuple[Features, Features], matrix: Float[Tensor, "image caption"] | None
) -> list[Side]:
    """Both directions: images and captions of the batch with the pool's; `own` are each pair's features as matches."""
    return [
        Side(batch.image_features, pool.caption_features, own[1], matrix=matrix),
        Side(batch.caption_features, pool.image_features, own[0], matrix=None if matrix is None else matrix.T),
    ]
