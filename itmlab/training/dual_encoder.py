"""Learning with models that give pictures and captions a feature each (FNE, SAM, ITContrast, VSRN): a batch's loss.

The features of a batch are gathered here, with what stands beside them (momentum features, synthetic negatives,
captions of a file); `objective` makes a loss of them.
"""

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from accelerate import Accelerator
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import normalize

from ..data.batches import Batch
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..models import Encoded
from ..models.base import Changes
from ..models.dual_encoder import Momentum
from ..models.pairs import on_device, pieces_read
from ..recipes.recipe import Recipe
from ..recipes.settings import ExtraNegatives
from ..samplers import MomentumQueue
from ..synthesis import Negative
from ..synthesis.files import read_negatives
from ..synthesis.negative import Readable
from .objective import Features, Objective, PerAnchorNegatives
from .relevance import CaptionRelevance, CaptionTruth
from .state import BatchLoss, Task, all_gather, rank_slice

Pairs = Int64[Tensor, "pair"]
PerAnchor = tuple[PerAnchorNegatives | None, PerAnchorNegatives | None]  # of the image anchors, of the caption anchors


class DualEncoderTask(Task):
    """A recipe's objective with its sampler, its momentum copy and memory, and negatives beside those of the batch.

    These are captions from a file, and hard negatives synthesised of features (SynHNC), whose making `clock` counts.
    """

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        recipe, model, margin = self.recipe, self.model, self.recipe.adaptive_margin
        self.momentum = memory = None
        if recipe.memory:
            self.momentum = Momentum(model, m=recipe.memory.momentum)
            memory = MomentumQueue(recipe.memory.length, model.config.dimension, device=self.accelerator.device)
        relevance = None if margin is None else CaptionRelevance(self.data, margin.tokenise, margin.relevance)
        self.synthesis = copy.deepcopy(recipe.synthesis)
        needs_truth = any(part is not None and part.needs_truth for part in (recipe.sampler, recipe.synthesis))
        self.truth = CaptionTruth(self.data) if needs_truth else None
        self.objective = Objective(
            recipe, memory, self.generator, captions=self.data.captions, relevance=relevance, truth=self.truth
        )
        if isinstance(self.objective.loss, nn.Module):  # what it learns belongs to the run, not to the model
            self.heads = self.objective.loss.to(self.accelerator.device)
        if model.compares_parts and self.accelerator.num_processes > 1:
            raise ItmlabError("models that compare parts train in one process", remedy="launch it without accelerate")
        self.extra = None if recipe.extra_negatives is None else ExtraCaptions(recipe.extra_negatives, self.data, model)

    def prepare(self, *, shown: bool) -> None:
        if self.truth is not None:
            self.truth.judge(progress=shown)

    def __call__(self, batch: Batch, epoch: int) -> BatchLoss:
        model, accelerator, device = self.model, self.accelerator, self.accelerator.device
        pixels, tokens = on_device(model, batch.images), on_device(model, batch.tokens)
        # each picture is encoded once, whatever the number of its captions: `rows` says whose picture is where
        slow, matrix, rows = None, None, batch.image_rows.to(device)
        with self.precision():
            seen, said = model.encode_images(pixels), model.encode_captions(tokens)
            if self.momentum is not None:
                slow = self.momentum.encode_images(pixels), self.momentum.encode_captions(tokens)
                slow = [all_gather(side.pooled.float(), accelerator) for side in slow]
                slow[0] = slow[0][rows]
            extra = self._extra(batch, epoch)
            if model.compares_parts:
                matrix = model.similarity(seen, said).float()[rows]
        different, captions = (all_gather(side.pooled.float(), accelerator) for side in (seen, said))
        images = different[rows]
        image_ids, caption_ids = batch.image_indices.to(device), batch.caption_indices.to(device)
        sides = (images, captions, *(slow or ()))  # before any of them is kept in the memory
        suspects = ~torch.stack([side.isfinite().all(dim=1) for side in sides]).all(dim=0).cpu()
        if suspects.any():
            return BatchLoss(images.new_tensor(torch.nan), batch.image_indices[suspects])
        per_anchor: PerAnchor = (extra, None)
        if self.synthesis is not None and epoch >= self.recipe.data.warm_up_epochs:
            with self.clock.measured("synthesis"):
                per_anchor = self._with_synthetic(per_anchor, different, captions, rows, image_ids, caption_ids)
        self.objective.step, self.objective.total_steps = self.step, self.total_steps
        loss = self.objective(images, captions, image_ids, caption_ids, slow, epoch, per_anchor, matrix)
        losses = {}
        if self.recipe.writing:
            writing = self._written(seen, tokens, rows)
            losses = {"matching": loss.item(), "writing": writing.item()}
            loss = loss + self.recipe.writing * writing
        cosines = normalize(images.detach(), dim=1) @ normalize(captions.detach(), dim=1).T
        known = cosines, image_ids[:, None] == image_ids
        return BatchLoss(loss, batch.image_indices[:0], losses, cosines=known)

    def _written(self, seen: Encoded, tokens: dict[str, Tensor], rows: Pairs) -> Float[Tensor, ""]:
        """Mean nats that it costs to write a caption of the whole batch, each from its own image."""
        own = rows[rank_slice(len(rows), self.accelerator)]
        own = own - own.min()  # the rows of this process's images begin there
        images = Encoded(seen.pooled[own], seen.local[own], seen.mask[own])
        nats = self.model.caption_nats(images, tokens)
        return all_gather(nats.unsqueeze(1), self.accelerator).mean()

    def _with_synthetic(
        self,
        per_anchor: PerAnchor,
        images: Float[Tensor, "image dimension"],
        captions: Features,
        rows: Pairs,
        image_ids: Pairs,
        caption_ids: Pairs,
    ) -> PerAnchor:
        """SynHNC's negatives both ways beside those there are, made from each image of the batch once.

        Of a model that compares parts they are made from its global features, and compared with those. By the oracle
        nothing is a prototype that is not surely false.
        """
        ids = torch.zeros(len(images), dtype=torch.int64, device=rows.device).index_copy(0, rows, image_ids)
        positives = ids[:, None] == image_ids
        if self.synthesis.needs_truth:
            positives = positives | (self.truth(caption_ids, ids).T != 0)
        of_images = self.synthesis(images, captions, positives, generator=self.generator)
        of_captions = self.synthesis(captions, images, positives.T, generator=self.generator)
        made = PerAnchorNegatives(of_images.features[rows], of_images.allowed[rows]), PerAnchorNegatives(*of_captions)
        return tuple(one.joined(other) for one, other in zip(made, per_anchor, strict=True))

    def _extra(self, batch: Batch, epoch: int) -> PerAnchorNegatives | None:
        """Features of the extra captions of each pair, from the encoder that the other candidates come from."""
        if self.extra is None or epoch < self.recipe.data.warm_up_epochs:
            return None
        sentences, allowed = self.extra.drawn(batch.caption_indices, generator=self.generator)
        own = sentences[rank_slice(len(sentences), self.accelerator)]
        tokens = on_device(self.model, self.model.prepare_captions([one for row in own for one in row]))
        slow = self.momentum is not None and epoch > 0  # in epoch 0 the memory only fills (METHODS 1.4)
        encoded = (self.momentum if slow else self.model).encode_captions(tokens)
        features = all_gather(encoded.pooled.float(), self.accelerator)
        return PerAnchorNegatives(features.unflatten(0, allowed.shape), allowed.to(features.device))

    def start_epoch(self, epoch: int) -> None:
        self.objective.start_epoch(epoch)

    def after_step(self) -> None:
        if self.momentum is not None:
            self.momentum.update(self.model)

    def _stateful(self) -> dict[str, Any]:
        """The parts that have a state, by their name in a checkpoint."""
        parts = {"momentum": self.momentum, "memory": self.objective.memory, "sampler": self.objective.sampler}
        parts |= {"sampler of features": self.objective.feature_sampler, "loss": self.objective.loss}
        return {name: part for name, part in parts.items() if part is not None}

    def state_dict(self) -> dict[str, Any]:
        return {name: part.state_dict() for name, part in self._stateful().items()}

    def load_state_dict(self, state: dict[str, Any], epoch: int) -> None:
        self.objective.start_epoch(epoch)  # first, as it clears the sampler's statistics
        for name, part in self._stateful().items():
            part.load_state_dict(state[name])

    def preparation(self) -> dict[str, Any]:
        return preparation(self.model, self.accelerator, self.recipe)


def preparation(model: nn.Module, accelerator: Accelerator, recipe: Recipe) -> dict[str, Any]:
    """How this process's part of each batch is read by a model that encodes images and captions apart."""

    def prepare_images(pictures: list, changes: Changes = None) -> Any:
        own = rank_slice(len(pictures), accelerator)
        return model.prepare_images(pictures[own], **({} if changes is None else {"changes": changes[own]}))

    return {
        "images": model.reads,
        "augmentation": recipe.data.augmentation,
        "prepare_images": prepare_images,
        "prepare_captions": lambda captions: model.prepare_captions(captions[rank_slice(len(captions), accelerator)]),
    }


class ExtraCaptions:
    """The negatives of each caption of `data` in an export's file; `number` of them are drawn at a time.

    Those that `model` reads as their caption are never drawn.
    """

    def __init__(self, settings: ExtraNegatives, data: CaptionSet, model: nn.Module | None = None):
        self.number = settings.number
        self.readable = None if model is None else Readable(partial(pieces_read, model))
        self._looked_at: set[int] = set()
        self.sentences = [[one.sentence for one in row] for row in read_negatives(settings.path).of(data)]
        self.captions: Sequence[str] = data.captions

    def _leave_unread_out(self, captions: Sequence[int]) -> None:
        fresh = sorted(set(captions) - self._looked_at)
        if self.readable is not None and fresh:
            rows = [[Negative(sentence) for sentence in self.sentences[at]] for at in fresh]
            for at, row in zip(fresh, self.readable([self.captions[at] for at in fresh], rows), strict=True):
                self.sentences[at] = [one.sentence for one in row]
        self._looked_at.update(fresh)

    def drawn(
        self, captions: Pairs, *, generator: torch.Generator
    ) -> tuple[list[list[str]], Bool[Tensor, "pair extra"]]:
        """Different negatives of each caption, and which there are; a caption stands in for those that are missing.

        One number is drawn for each caption and place, however many negatives it has.
        """
        self._leave_unread_out(captions.tolist())
        chance = torch.rand(len(captions), self.number, generator=generator)
        rows, allowed = [], torch.zeros(len(captions), self.number, dtype=torch.bool)
        for row, (caption, numbers) in enumerate(zip(captions.tolist(), chance.tolist(), strict=True)):
            left = list(self.sentences[caption])
            taken = [left.pop(int(one * len(left))) for one in numbers[: len(left)]]
            allowed[row, : len(taken)] = True
            rows.append(taken + [self.captions[caption]] * (self.number - len(taken)))
        return rows, allowed
