"""What is minimised for one batch: which candidates there are, which negatives are taken, both directions' loss."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from ..losses import info_nce, max_of_hinges, sampled_triplet, sum_of_hinges
from ..samplers import Hardest, MomentumMemory, Pool
from .recipe import Recipe


class Outcome(NamedTuple):
    """The loss, and the negatives taken: image anchors then caption anchors, −1 for none; None when none is chosen."""

    loss: Float[Tensor, ""]
    chosen: Int64[Tensor, "anchor"] | None


class Objective:
    """A recipe's loss over a batch of unit-length features, with the sampler and the memory whose state it keeps."""

    def __init__(self, recipe: Recipe, memory: MomentumMemory | None, generator: torch.Generator):
        self.recipe = recipe
        self.memory = memory
        self.generator = generator
        self.sampler = recipe.sampler.build(margin=recipe.loss.margin) if recipe.sampler else None

    def start_epoch(self, epoch: int) -> None:
        """Statistics of similarity belong to an epoch (`methods.md` 1.1)."""
        if self.sampler and epoch >= self.recipe.data.warm_up_epochs:
            self.sampler.start_epoch(epoch - self.recipe.data.warm_up_epochs)

    def __call__(
        self,
        images: Float[Tensor, "anchor dimension"],
        captions: Float[Tensor, "anchor dimension"],
        image_ids: Int64[Tensor, "anchor"],
        slow: tuple[Float[Tensor, "anchor dimension"], Float[Tensor, "anchor dimension"]] | None,
        epoch: int,
    ) -> Outcome:
        """The loss of a batch of pairs; `slow` holds their momentum features when the recipe has a memory.

        In epoch 0 the memory only fills, whether that is an epoch of warm-up or not.
        """
        batch = Pool(images, captions, image_ids)
        pool, filling = batch, self.memory is not None and epoch == 0
        if self.memory is not None:
            if not filling:
                pool = self.memory.pool(*slow, image_ids)
            self.memory.enqueue(*slow, image_ids)
        if epoch < self.recipe.data.warm_up_epochs:
            return self._without_choice("sum_of_hinges", images, captions, image_ids, batch)
        if self.sampler is None:
            return self._without_choice(self.recipe.loss.kind, images, captions, image_ids, pool)
        return self._with_choice(images, captions, image_ids, pool, plain=filling)

    def _without_choice(self, kind, images, captions, image_ids, pool: Pool) -> Outcome:
        positive_scores = (images * captions).sum(-1)
        positives = pool.positives(image_ids)
        loss = images.new_zeros(())
        for anchors, candidates in ((images, pool.caption_features), (captions, pool.image_features)):
            scores = anchors @ candidates.T
            if kind == "info_nce":
                loss = loss + info_nce(scores, positives, positive_scores, self.recipe.loss.temperature)
            else:
                hinges = {"sum_of_hinges": sum_of_hinges, "max_of_hinges": max_of_hinges}[kind]
                loss = loss + hinges(scores, positives, positive_scores, self.recipe.loss.margin)
        return Outcome(loss, None)

    def _with_choice(self, images, captions, image_ids, pool: Pool, *, plain: bool) -> Outcome:
        """Eq. 15; `plain` takes the hardest, as while the memory fills in the first epoch (`methods.md` 1.4)."""
        sampler = Hardest() if plain else self.sampler
        positive_scores = (images * captions).sum(-1)
        positives = pool.positives(image_ids)
        with torch.no_grad():
            scores, own = images @ captions.T, image_ids[:, None] == image_ids[None, :]
            self.sampler.observe(scores, own)
            self.sampler.observe(scores.T, own.T)
        loss, taken = images.new_zeros(()), []
        for anchors, candidates in ((images, pool.caption_features), (captions, pool.image_features)):
            with torch.no_grad():  # the full matrix is for choosing; only the chosen ones need a gradient
                scores = anchors @ candidates.T
                chosen = sampler(scores, positives, positive_scores.detach(), generator=self.generator)
            negative_scores = (anchors * candidates[chosen.clamp(min=0)]).sum(-1)
            loss = loss + sampled_triplet(positive_scores, negative_scores, chosen >= 0, self.recipe.loss.margin)
            taken.append(chosen)
        return Outcome(loss, torch.cat(taken))
