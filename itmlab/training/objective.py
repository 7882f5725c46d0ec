"""What is minimised for one batch of features: which candidates there are, which negatives are taken, both losses.

Every number comes from a function of `itmlab.losses`, by its name there, or from a recipe's own loss. A batch has two
directions, with images as anchors first (which is the order of the random draws).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int8, Int64
from torch import Tensor
from torch.nn.functional import pad

from .. import losses
from ..recipes.custom import Custom
from ..recipes.recipe import Recipe
from ..recipes.settings import SAMPLERS
from ..samplers import Hardest, MomentumQueue, Pool, Sampler

Features = Float[Tensor, "anchor dimension"]
Mask = Bool[Tensor, "anchor candidate"]
# φ of pairs: how well captions describe images, both as rows of the training split.
Relevance = Callable[[Int64[Tensor, "pair"], Int64[Tensor, "pair"]], Float[Tensor, "pair"]]
# Whether captions are true of images, rows too: 1 true, 0 false, -1 undecided.
Truth = Callable[[Int64[Tensor, "caption"], Int64[Tensor, "image"]], Int8[Tensor, "caption image"]]


class PerAnchorNegatives(NamedTuple):
    """Candidates of one direction that each anchor has for itself, and which of them there are."""

    features: Float[Tensor, "anchor extra dimension"]
    allowed: Bool[Tensor, "anchor extra"]

    def joined(self, other: "PerAnchorNegatives | None") -> "PerAnchorNegatives":
        """These, then the other's, if there is one."""
        if other is None:
            return self
        return PerAnchorNegatives(*(torch.cat(both, dim=1) for both in zip(self, other, strict=True)))


class Direction(NamedTuple):
    """Anchors, the candidates of all of them, each anchor's match, and candidates of its own.

    Where a model compares parts and not features, `matrix` holds its scores of anchors and candidates, anchor i's match
    being candidate i; then an anchor has no candidates of its own, whose parts nobody knows.
    """

    anchors: Features
    candidates: Float[Tensor, "candidate dimension"]
    matches: Features
    per_anchor: PerAnchorNegatives | None = None
    matrix: Float[Tensor, "anchor candidate"] | None = None

    def shared_scores(self) -> Float[Tensor, "anchor candidate"]:
        """Of every anchor with the candidates of all."""
        return self.anchors @ self.candidates.T if self.matrix is None else self.matrix

    def per_anchor_scores(self) -> Float[Tensor, "anchor extra"] | None:
        """Of every anchor with the candidates of its own."""
        return None if self.per_anchor is None else torch.einsum("ad,aed->ae", self.anchors, self.per_anchor.features)

    def positive_scores(self) -> Float[Tensor, "anchor"]:
        """Of each anchor with its match."""
        return (self.anchors * self.matches).sum(-1) if self.matrix is None else self.matrix.diagonal()

    def all_scores(self, positives: Mask) -> tuple[Float[Tensor, "anchor candidate"], Mask]:
        """Of every anchor with every candidate, its own last, and which are no negatives (or not there at all)."""
        shared = self.shared_scores()
        if self.per_anchor is None:
            return shared, positives
        return torch.cat([shared, self.per_anchor_scores()], dim=1), torch.cat(
            [positives, ~self.per_anchor.allowed], dim=1
        )

    def scores_of(self, columns: Int64[Tensor, "anchor"]) -> Float[Tensor, "anchor"]:
        """Of each anchor with one candidate, a column of `all_scores`."""
        rows = torch.arange(len(columns), device=columns.device)
        if self.matrix is not None:
            return self.matrix[rows, columns]
        taken, own = self.candidates[columns.clamp(max=len(self.candidates) - 1)], columns - len(self.candidates)
        if self.per_anchor is not None:
            taken = torch.where((own >= 0)[:, None], self.per_anchor.features[rows, own.clamp(min=0)], taken)
        return (self.anchors * taken).sum(-1)


class Outcome(NamedTuple):
    """The loss, and the negatives taken: image anchors then caption anchors, −1 for none; None when none is chosen.

    Those of a triplet with an adaptive margin follow the recipe's own.
    """

    loss: Float[Tensor, ""]
    chosen: Int64[Tensor, "anchor"] | None


class Objective:
    """A recipe's loss over a batch of unit-length features, with the sampler and the memory whose state it keeps.

    `relevance` is asked only by a recipe with an adaptive margin, `truth` only by one whose sampler is an oracle.
    """

    def __init__(
        self,
        recipe: Recipe,
        memory: MomentumQueue | None,
        generator: torch.Generator,
        relevance: Relevance | None = None,
        truth: Truth | None = None,
    ):
        self.recipe, self.memory, self.generator, self.relevance = recipe, memory, generator, relevance
        self.truth = truth
        self.loss = recipe.build("loss") if "loss" in recipe.custom_parts() else None
        self.sampler, self.feature_sampler = self._built_sampler(), None
        if self.sampler and getattr(recipe.model, "compares_parts", False) and self._asks_features((None, None)):
            self.feature_sampler = self._built_sampler()  # a sampler's statistics are of one scale

    def _built_sampler(self) -> Sampler | None:
        recipe = self.recipe
        if "sampler" in recipe.custom_parts():
            return recipe.build("sampler")
        return recipe.sampler.build(margin=recipe.loss.margin) if recipe.sampler else None

    def start_epoch(self, epoch: int) -> None:
        """Statistics of similarity belong to an epoch (METHODS 1.1)."""
        for sampler in filter(None, (self.sampler, self.feature_sampler)):
            if epoch >= self.recipe.data.warm_up_epochs:
                sampler.start_epoch(epoch - self.recipe.data.warm_up_epochs)

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
    ) -> Outcome:
        """The loss of a batch of pairs; `slow` holds their momentum features when the recipe has a memory.

        `per_anchor` are further negatives of the image anchors and of the caption anchors, after the warm-up. Triplets
        with an adaptive margin go without: φ is known of the data's own captions. `matrix` are the scores of a model
        that compares parts, row i an image and column i a caption of pair i. What has no parts is compared by features,
        from which such a model then learns too, by the same loss beside.
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
        matrices = [matrix, None] if matrix is not None and self._asks_features(per_anchor) else [matrix]
        if epoch < self.recipe.data.warm_up_epochs:
            positives = batch.positives(image_ids)
            directions = [_directions(batch, batch, (images, captions), one) for one in matrices]
            return _added_up([self._of_all("info_nce", both, positives) for both in directions])
        positives, margin = pool.positives(image_ids), self.recipe.adaptive_margin
        plain, terms = [_directions(batch, pool, own, one) for one in matrices], []
        if margin is None or margin.with_triplet:
            # what has no parts goes with the last of them, which compares features
            last = [direction._replace(per_anchor=more) for direction, more in zip(plain[-1], per_anchor, strict=True)]
            terms += [self._own(batch, pool, both, positives, filling) for both in (*plain[:-1], last)]
        if margin is not None:
            terms.append(self._with_adaptive_margin(batch, pool, plain[0], positives))
        return _added_up(terms)

    def _asks_features(self, per_anchor: tuple[PerAnchorNegatives | None, PerAnchorNegatives | None]) -> bool:
        """Whether a model that compares parts learns by features too: always where something has no parts."""
        recipe = self.recipe
        noise = recipe.loss.kind == "info_cmr" and recipe.loss.noise > 0
        later = recipe.synthesis is not None or recipe.extra_negatives is not None
        return recipe.loss.global_features or noise or later or per_anchor != (None, None)

    def _own(self, batch: Pool, pool: Pool, directions: list[Direction], positives: Mask, filling: bool) -> Outcome:
        """The recipe's own loss."""
        if self.sampler is None:
            return self._of_all(self.recipe.loss.kind, directions, positives)
        matrix = directions[0].matrix
        sampler = self.feature_sampler if matrix is None and self.feature_sampler else self.sampler
        with torch.no_grad():
            # statistics are of the live batch, whatever the pool is (METHODS 1.1)
            scores = batch.image_features @ batch.caption_features.T if matrix is None else matrix
            sampler.observe(scores, batch.positives(batch.image_ids))
        if self.truth is not None:  # an oracle knows while the memory fills, too
            chosen = self._by_truth(self.truth, batch, pool, directions, positives)
        else:
            chosen = self._chosen(Hardest() if filling else sampler, directions, positives)
        return _triplets(directions, chosen, [self.recipe.loss.margin] * 2)

    @torch.no_grad()
    def _by_truth(
        self, truth: Truth, batch: Pool, pool: Pool, directions: list[Direction], positives: Mask
    ) -> list[Int64[Tensor, "anchor"]]:
        """The oracle's negative of each anchor; an anchor's own candidates, which no world knows, count as false."""
        labels = truth(pool.caption_ids, batch.image_ids).T, truth(batch.caption_ids, pool.image_ids)
        chosen = []
        for direction, known in zip(directions, labels, strict=True):
            scores, barred = direction.all_scores(positives)
            told = pad(known, (0, scores.shape[1] - known.shape[1]))
            matched = direction.positive_scores()
            chosen.append(self.sampler(scores, barred, matched, generator=self.generator, truth=told))
        return chosen

    def _of_all(self, kind: str | Custom, directions: list[Direction], positives: Mask) -> Outcome:
        """A loss that looks at every negative, by its name in `itmlab.losses`, or the recipe's own."""
        terms, settings, noise = [], self.recipe.loss, None
        scale = settings.temperature if kind in ("info_nce", "info_cmr") else settings.margin
        if kind == "info_cmr" and settings.noise and directions[0].matrix is None:
            noise = losses.gaussian_noise(settings.noise, directions[0].anchors, generator=self.generator)
        for direction in directions:
            if kind == "info_cmr":
                # in this order, which is that in which their gradients are added up, to the bit
                scores, own, matched = (
                    direction.shared_scores(),
                    direction.per_anchor_scores(),
                    direction.positive_scores(),
                )
                far = None if noise is None else direction.anchors @ noise.T
                made = {
                    "synthetic_scores": own,
                    "synthetic_allowed": None if own is None else direction.per_anchor.allowed,
                }
                terms.append(losses.info_cmr(scores, positives, matched, scale, noise_scores=far, **made))
            elif isinstance(kind, Custom):
                terms.append(self.loss(*direction.all_scores(positives), direction.positive_scores()))
            else:
                terms.append(
                    getattr(losses, kind)(*direction.all_scores(positives), direction.positive_scores(), scale)
                )
        return Outcome(sum(terms), None)

    def _with_adaptive_margin(self, batch: Pool, pool: Pool, directions: list[Direction], positives: Mask) -> Outcome:
        """Triplets with negatives of their own, each with the margin of its own anchor and negative (SAM, Eq. 7).

        Both directions ask how well captions describe images: the caption taken for an image anchor is held against
        that image, a caption anchor against the image taken for it. Other readings of Eq. 7 subtract φ of the anchor's
        image and a caption in both, that taken (c_m) or that of the image taken (c_l) (METHODS 2.5).
        """
        settings, images = self.recipe.adaptive_margin, batch.image_ids
        matched = self.relevance(batch.caption_ids, images)
        if settings.preset == "released":
            return self._as_released(batch, directions[0], matched)
        sampler = SAMPLERS[settings.negatives](*([] if settings.negatives == "random" else [settings.rank or 0]))
        chosen = self._chosen(sampler, directions, positives)
        from_image, from_caption = (columns.clamp(min=0) for columns in chosen)
        c_m, c_l = pool.caption_ids[from_image], pool.caption_ids[from_caption]
        subtracted = {
            "pairs": ((c_m, images), (batch.caption_ids, pool.image_ids[from_caption])),
            "corrected": ((c_m, images), (c_l, images)),
            "printed": ((c_l, images), (c_m, images)),
        }
        margins = [self._margin(matched, *pairs) for pairs in subtracted[settings.reading]]
        return _triplets(directions, chosen, margins, settings.weight)

    def _margin(
        self, matched: Float[Tensor, "anchor"], captions: Int64[Tensor, "anchor"], images: Int64[Tensor, "anchor"]
    ) -> Float[Tensor, "anchor"]:
        settings = self.recipe.adaptive_margin
        taken = self.relevance(captions, images)
        return losses.adaptive_margin(matched, taken, settings.temperature, settings.ceiling)

    def _as_released(self, batch: Pool, direction: Direction, matched: Float[Tensor, "anchor"]) -> Outcome:
        """What the public code computes in the place of Eq. 7, but for its sum, which is a mean here (METHODS 2.5).

        Image i takes two captions of its row, the one nearest (or farthest) after taking its own score away, the other
        after taking each caption's own away; the match may be among them. The other is the anchor of the second hinge,
        with image i as its negative. A hinge has the margin of the pair whose caption it took, from φ of the caption
        that this pair took for the other hinge.
        """
        settings, scores = self.recipe.adaptive_margin, direction.shared_scores()
        own, rows = scores.diagonal(), torch.arange(len(scores), device=scores.device)
        drawn = settings.negatives == "random"
        rank, turned = 1 if settings.rank is None else settings.rank, {"softest": "hardest", "hardest": "softest"}
        sampler = SAMPLERS["random"]() if drawn else SAMPLERS[turned[settings.negatives]](rank)
        excluded = torch.eye(len(scores), dtype=torch.bool, device=scores.device) & drawn
        chosen = [
            sampler((scores - scores_of_match).detach(), excluded, own, generator=self.generator)
            for scores_of_match in (own[:, None], own[None, :])
        ]
        first, second = (columns.clamp(min=0) for columns in chosen)
        margins = [self._margin(matched, batch.caption_ids[taken], batch.image_ids) for taken in (second, first)]
        hinges = [
            losses.sampled_triplet(own, scores[rows, first], chosen[0] >= 0, margins[0][first]),
            losses.sampled_triplet(own[second], scores[rows, second], chosen[1] >= 0, margins[1][second]),
        ]
        return Outcome(settings.weight * sum(hinges), torch.cat(chosen))

    @torch.no_grad()  # the full matrix is for choosing; only the chosen scores need a gradient
    def _chosen(self, sampler: Sampler, directions: list[Direction], positives: Mask) -> list[Int64[Tensor, "anchor"]]:
        """The sampler's negative of each anchor of both directions."""
        return [
            sampler(*direction.all_scores(positives), direction.positive_scores(), generator=self.generator)
            for direction in directions
        ]


def _triplets(
    directions: list[Direction],
    chosen: list[Int64[Tensor, "anchor"]],
    margins: list[float | Float[Tensor, "anchor"]],
    weight: float = 1.0,
) -> Outcome:
    """One negative an anchor (FNE, Eq. 15)."""
    terms = []
    for direction, columns, margin in zip(directions, chosen, margins, strict=True):
        positive_scores = direction.positive_scores()
        # −1, no negative: any will do, the loss does not read it
        scores = positive_scores, direction.scores_of(columns.clamp(min=0))
        terms.append(losses.sampled_triplet(*scores, columns >= 0, margin))
    return Outcome(weight * sum(terms), torch.cat(chosen))


def _added_up(terms: list[Outcome]) -> Outcome:
    chosen = [term.chosen for term in terms if term.chosen is not None]
    return Outcome(sum(term.loss for term in terms), torch.cat(chosen) if chosen else None)


def _directions(
    batch: Pool, pool: Pool, own: tuple[Features, Features], matrix: Float[Tensor, "image caption"] | None
) -> list[Direction]:
    """Both directions: images and captions of the batch with the pool's; `own` are each pair's features as matches."""
    return [
        Direction(batch.image_features, pool.caption_features, own[1], matrix=matrix),
        Direction(batch.caption_features, pool.image_features, own[0], matrix=None if matrix is None else matrix.T),
    ]
