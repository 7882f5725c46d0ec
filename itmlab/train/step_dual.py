"""The step of dual encoders and late interaction (FNE, SAM, ITContrast, VSRN): from a batch to its loss.

Read from top to bottom, in the order of a step. `DualEncoderTask` encodes the batch, also with the momentum encoder,
and adds negatives that the batch does not have: captions of a file, and features made by a synthesiser. `Objective`
turns features into scores, chooses negatives with the recipe's sampler, and computes the recipe's loss.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int8, Int64
from torch import Tensor, nn
from torch.nn.functional import pad

from ..context import Context, Direction
from ..data.batches import Batch
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..losses import Loss
from ..losses.sam import Relevance
from ..metrics.relevance import CaptionRelevance, CaptionTruth
from ..models import Encoded
from ..models.dual_encoder import Momentum
from ..samplers import Hardest, MomentumQueue, Pool, Sampler
from ..synthesis import FeatureNegatives
from ..synthesis.files import read_negatives
from .recipes import Recipe
from .settings import ExtraNegatives
from .state import BatchLoss, Task, all_gather, rank_slice

Features = Float[Tensor, "pair dimension"]
Scores = Float[Tensor, "image caption"]
Ids = Int64[Tensor, "pair"]
Mask = Bool[Tensor, "anchor candidate"]
PerAnchor = tuple[FeatureNegatives | None, FeatureNegatives | None]  # of the image anchors, of the caption anchors
# Whether captions are true of images, as rows of the training data: 1 true, 0 false, -1 undecided.
Truth = Callable[[Int64[Tensor, "caption"], Int64[Tensor, "image"]], Int8[Tensor, "caption image"]]


class DualEncoderTask(Task):
    """The step of a recipe with a model that encodes images and captions apart.

    This file never waits for a GPU. φ and truth do, which are on the CPU, and so does FNE's sampler for its statistics.
    """

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        recipe, model, data, device = self.recipe, self.model, self.data, self.accelerator.device
        if model.compares_parts and self.accelerator.num_processes > 1:
            raise ItmlabError("models that compare parts train in one process", remedy="launch it without accelerate")
        self.encode = self._encoders(model)
        self.momentum = memory = None
        if recipe.memory:
            self.momentum = Momentum(model, m=recipe.memory.momentum)
            self.encode_slowly = self._encoders(self.momentum.model)
            memory = MomentumQueue(recipe.memory.length, model.config.dimension, device=device)
        self.draws = self.generator  # on a GPU numbers are drawn there, as copying them would wait for it
        if device.type != "cpu":
            self.draws = torch.Generator(device).manual_seed(recipe.seed)
        self.synthesis, margin = copy.deepcopy(recipe.synthesis), recipe.adaptive_margin
        needs_truth = any(part is not None and part.needs_truth for part in (recipe.sampler, recipe.synthesis))
        self.truth = CaptionTruth(data) if needs_truth else None
        relevance = None if margin is None else CaptionRelevance(data, margin.relevance)
        self.extra = None if recipe.extra_negatives is None else ExtraCaptions(recipe.extra_negatives, data)
        self.objective = Objective(recipe, memory, self.draws, data, relevance, self.truth)
        if isinstance(self.objective.loss, nn.Module):  # what it learns belongs to the run, not to the model
            self.heads = self.objective.loss.to(device)
        samplers = {"sampler": self.objective.sampler, "sampler of parts": self.objective.parts_sampler}
        parts = {"momentum": self.momentum, "memory": memory, "loss": self.objective.loss, **samplers}
        self.stateful = {name: part for name, part in parts.items() if part is not None}

    def _encoders(self, model: nn.Module) -> tuple[Callable[..., Encoded], Callable[..., Encoded]]:
        """The encoders of images and captions, compiled if the recipe asks for it: a graph for each shape."""
        encoders, mode = (model.encode_images, model.encode_captions), self.recipe.optimiser.compile
        if mode == "off":
            return encoders
        return tuple(torch.compile(encoder, mode=mode, dynamic=False) for encoder in encoders)

    def start_epoch(self, epoch: int) -> None:
        self.objective.start_epoch(epoch)

    def __call__(self, batch: Batch, epoch: int) -> BatchLoss:
        device, warming_up = self.accelerator.device, epoch < self.recipe.data.warm_up_epochs
        if self.recipe.optimiser.compile != "off":
            torch.compiler.cudagraph_mark_step_begin()  # outputs of the last step may be overwritten
        pixels, tokens = to_device(batch.images, device), to_device(batch.tokens, device)
        image_ids, caption_ids = to_device(batch.image_indices, device), to_device(batch.caption_indices, device)
        # each picture is encoded once, whatever the number of its captions: `rows` says whose picture is where
        rows = to_device(batch.image_rows, device)

        # 1. Encode, also with the momentum encoder.
        slow, matrix, extra = None, None, None
        with self.precision():
            encoded_images, encoded_captions = self.encode[0](pixels), self.encode[1](tokens)
            if self.momentum is not None:
                slow_images, slow_captions = self.encode_slowly[0](pixels), self.encode_slowly[1](tokens)
                slow = Pool(self._pooled(slow_images)[rows], self._pooled(slow_captions), image_ids, caption_ids)
            if self.extra is not None and not warming_up:
                extra = self._extra(batch, epoch)
            if self.model.compares_parts:
                matrix = self.model.similarity(encoded_images, encoded_captions).float()[rows]
        pictures = self._pooled(encoded_images)
        pairs = Pool(pictures[rows], self._pooled(encoded_captions), image_ids, caption_ids)

        # 2. Make negatives of features.
        per_anchor: PerAnchor = (extra, None)
        if self.synthesis is not None and not warming_up:
            of_images, of_captions = self._synthetic(pictures, pairs, rows)
            if extra is not None:
                of_images = FeatureNegatives(*map(partial(torch.cat, dim=1), zip(of_images, extra, strict=True)))
            per_anchor = of_images, of_captions

        # 3. Choose negatives and compute the loss.
        self.objective.step, self.objective.total_steps = self.step, self.total_steps
        loss = self.objective(pairs, slow, epoch, per_anchor, matrix)

        # Features that are not finite make the loss NaN, which the loop finds, before a memory keeps them.
        features = torch.stack([*pairs[:2], *(slow or ())[:2]])
        loss = torch.where(features.isfinite().all(), loss, torch.nan)
        cosines = pairs.image_features.detach() @ pairs.caption_features.detach().T
        return BatchLoss(loss, cosines=(cosines, self.data.matches(image_ids, caption_ids)))

    def _pooled(self, encoded: Encoded) -> Features:
        """The features of the whole batch, from all processes, in single precision."""
        return all_gather(encoded.pooled.float(), self.accelerator)

    def _extra(self, batch: Batch, epoch: int) -> FeatureNegatives:
        """Encode the extra captions of each pair by the encoder that the other candidates come from."""
        sentences, allowed = self.extra.drawn(batch.caption_indices, generator=self.generator)
        part = sentences[rank_slice(len(sentences), self.accelerator)]
        tokens = self.model.prepare_captions([sentence for row in part for sentence in row])
        slow = self.momentum is not None and epoch > 0  # in epoch 0 the memory only fills (METHODS 1.4)
        encode = self.momentum.model.encode_captions if slow else self.model.encode_captions
        features = self._pooled(encode(to_device(tokens, self.accelerator.device)))
        return FeatureNegatives(features.unflatten(0, allowed.shape), to_device(allowed, features.device))

    def _synthetic(self, pictures: Features, pairs: Pool, rows: Ids) -> tuple[FeatureNegatives, FeatureNegatives]:
        """Synthesise negatives in both directions, from each picture once.

        A model that compares parts has them from its global features, and compares them with those. With the oracle
        only what is surely false is a prototype.
        """
        numbers = torch.zeros(len(pictures), dtype=torch.int64, device=rows.device)
        numbers = numbers.index_copy(0, rows, pairs.image_ids)
        positives = self.data.matches(numbers, pairs.caption_ids)
        if self.synthesis.needs_truth:
            positives = positives | (self.truth(pairs.caption_ids, numbers).T != 0)
        of_pictures = self.synthesis(pictures, pairs.caption_features, positives, generator=self.draws)
        of_captions = self.synthesis(pairs.caption_features, pictures, positives.T, generator=self.draws)
        return FeatureNegatives(*(part[rows] for part in of_pictures)), of_captions

    def after_step(self) -> None:
        if self.momentum is not None:
            self.momentum.update(self.model)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"draws": self.draws.get_state()}

    def load_state_dict(self, state: dict[str, Any], epoch: int) -> None:
        super().load_state_dict(state, epoch)
        self.draws.set_state(state["draws"])


@dataclass
class Objective:
    """A recipe's loss of a batch of unit-length features, with copies of its sampler and loss, and its memory.

    A batch has two directions, images as anchors and then captions as anchors, which is the order of the random draws.

    Args:
        recipe: the recipe; its components are copied.
        memory: the queue of momentum features, if the recipe has a memory.
        generator: the random numbers of samplers and noise.
        data: the training data, which know equal pictures and captions.
        relevance: φ of captions and images, for a recipe with an adaptive margin.
        truth: what the world calls true, for components that need it.
        step: how many steps are done.
        total_steps: how many steps the run has.
    """

    recipe: Recipe
    memory: MomentumQueue | None
    generator: torch.Generator
    data: CaptionSet
    relevance: Relevance | None = None
    truth: Truth | None = None
    step: int = 0
    total_steps: int = 1

    def __post_init__(self) -> None:
        recipe = self.recipe
        self.loss: Loss = copy.deepcopy(recipe.loss)
        self.sampler: Sampler | None = copy.deepcopy(recipe.sampler)
        self.parts_sampler = copy.deepcopy(recipe.sampler)  # scores of parts have statistics of their own
        # a model that compares parts also learns by features where something has no parts
        without_parts = recipe.synthesis is not None or recipe.extra_negatives is not None
        self.by_features = recipe.global_features or without_parts or getattr(recipe.loss, "noise", 0) > 0

    def start_epoch(self, epoch: int) -> None:
        """Begin the statistics of similarity again, which belong to an epoch (METHODS 1.1)."""
        own_epoch = epoch - self.recipe.data.warm_up_epochs
        for component in (self.sampler, self.parts_sampler, self.loss):
            if component is not None and own_epoch >= 0:
                component.start_epoch(own_epoch)

    def __call__(
        self, batch: Pool, slow: Pool | None, epoch: int, per_anchor: PerAnchor, matrix: Scores | None
    ) -> Float[Tensor, ""]:
        """Compute the loss of a batch of pairs.

        Args:
            batch: the features of each pair's image and caption, and which they are in the training data.
            slow: the same of the momentum encoder, if the recipe has a memory.
            epoch: the epoch, from 0.
            per_anchor: further negatives of the image anchors and of the caption anchors, after the warm-up. Triplets
                with an adaptive margin go without them, because φ is known of the data's own captions only.
            matrix: the scores of a model that compares parts, row i an image and column i a caption of pair i.
        """
        # 1. Candidates. In epoch 0 the memory only fills and negatives are the batch's (METHODS 1.4). After that an
        # anchor's match is its momentum feature as well, as in the released code: a live match would have drifted
        # along with the anchor since the memory was filled, and the loss would vanish by drifting.
        warming_up, filling = epoch < self.recipe.data.warm_up_epochs, slow is not None and epoch == 0
        pool = matches = batch
        if slow is not None:
            if not filling and not warming_up:
                pool, matches = self.memory.pool(*slow), slow
            self.memory.enqueue(*slow)  # after the pool, which has this batch already

        # 2. Scores of both directions: of parts, of features, or of both.
        of_pool = self.data.matches(pool.image_ids, batch.caption_ids).T
        positives = self.data.matches(batch.image_ids, pool.caption_ids), of_pool
        numbers = batch.image_ids, batch.caption_ids, pool.image_ids, pool.caption_ids
        context = Context(self.step, self.total_steps, epoch, *numbers, self.data.captions)
        contexts = (context,) * 2 if warming_up else self._with_truth(context)
        images, captions = batch.image_features, batch.caption_features
        of_parts, of_features = [], []
        if matrix is not None:
            of_parts = list(map(Direction, (matrix, matrix.T), positives, (matrix.diagonal(),) * 2, contexts))
        if matrix is None or self.by_features or per_anchor != (None, None):
            scores = images @ pool.caption_features.T, captions @ pool.image_features.T
            of_matches = (images * matches.caption_features).sum(dim=1), (captions * matches.image_features).sum(dim=1)
            of_features = list(map(Direction, scores, positives, of_matches, contexts))

        # 3. The loss: in the warm-up over all negatives of the batch, then the recipe's own.
        if warming_up:
            return _over_all(self.recipe.warm_up, of_parts + of_features)
        loss, margin = images.new_zeros(()), self.recipe.adaptive_margin
        if margin is None or margin.with_triplet:
            own_positives = positives[0] if pool is batch else self.data.matches(batch.image_ids, batch.caption_ids)
            if of_parts:
                loss = loss + self._own_loss(of_parts, self.parts_sampler, (matrix, own_positives), filling)
            if of_features:
                # statistics are of the live batch, whatever the pool is (METHODS 1.1)
                live = scores[0] if pool is batch else images.detach() @ captions.detach().T
                noise = self.loss.shared_negatives(images, self.generator)
                sides = zip(of_features, (images, captions), per_anchor, strict=True)
                extended = [_with_further(direction, anchors, further, noise) for direction, anchors, further in sides]
                loss = loss + self._own_loss(extended, self.sampler, (live, own_positives), filling)
        if margin is not None:
            loss = loss + margin(*(of_parts or of_features), self.relevance, generator=self.generator)
        return loss

    def _with_truth(self, context: Context) -> tuple[Context, Context]:
        """The context of each direction, with the truth if the sampler asks for it."""
        if self.sampler is None or not self.sampler.needs_truth:
            return context, context
        of_images = self.truth(context.candidate_captions, context.anchor_images).T
        of_captions = self.truth(context.anchor_captions, context.candidate_images)
        return replace(context, truth=of_images), replace(context, truth=of_captions)

    def _own_loss(
        self, directions: list[Direction], sampler: Sampler | None, live: tuple[Scores, Mask], filling: bool
    ) -> Float[Tensor, ""]:
        """The recipe's loss, over all negatives or with the one that the sampler chooses (FNE, Eq. 15)."""
        for component in (sampler, self.loss):
            if component is not None:
                component.observe(live[0].detach(), live[1])
        if sampler is None:
            return _over_all(self.loss, directions)
        # while the memory fills, negatives are the batch's hardest; an oracle knows the truth then, too
        chooser = Hardest() if filling and not sampler.needs_truth else sampler
        chosen = [chooser(*side[:3], generator=self.generator, context=side.context) for side in directions]
        loss = 0
        for direction, columns in zip(directions, chosen, strict=True):
            negative_scores = direction.scores.gather(1, columns.clamp(min=0)[:, None])
            none, positive_scores = (columns < 0)[:, None], direction.positive_scores
            loss = loss + self.loss(negative_scores, none, positive_scores, context=direction.context)
        return loss


def _over_all(loss: Loss, directions: list[Direction]) -> Float[Tensor, ""]:
    """Add up a loss over every negative of the directions."""
    return sum(loss(*direction[:3], context=direction.context) for direction in directions)


def _with_further(
    direction: Direction, anchors: Features, per_anchor: FeatureNegatives | None, shared: Features | None
) -> Direction:
    """A direction whose candidates are followed by negatives of each anchor, then by those that all anchors share."""
    scores, positives, context = [direction.scores], [direction.positives], direction.context
    if per_anchor is not None:
        scores.append(per_anchor.scores(anchors))
        positives.append(~per_anchor.allowed)
    if shared is not None:
        scores.append(anchors @ shared.T)
        positives.append(torch.zeros_like(scores[-1], dtype=torch.bool))
    if len(scores) == 1:
        return direction
    all_scores = torch.cat(scores, dim=1)
    more = all_scores.shape[1] - direction.scores.shape[1]
    images, captions = (pad(ids, (0, more), value=-1) for ids in (context.candidate_images, context.candidate_captions))
    truth = None if context.truth is None else pad(context.truth, (0, more))  # no world knows them: they count as false
    context = replace(context, candidate_images=images, candidate_captions=captions, truth=truth)
    return Direction(all_scores, torch.cat(positives, dim=1), direction.positive_scores, context)


def to_device(prepared: Any, device: torch.device) -> Any:
    """Send a tensor, or a dictionary of tensors, to the device, without waiting until it is there."""
    if isinstance(prepared, dict):
        return {name: to_device(tensor, device) for name, tensor in prepared.items()}
    return prepared.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else prepared.to(device)


class ExtraCaptions:
    """The negatives of each caption of `data` in a file; some of them are drawn at a time."""

    def __init__(self, settings: ExtraNegatives, data: CaptionSet):
        self.number, self.captions = settings.number, data.captions
        self.negatives = read_negatives(settings.path).of(data)

    def drawn(self, captions: Ids, *, generator: torch.Generator) -> tuple[list[list[str]], Bool[Tensor, "pair extra"]]:
        """Draw different negatives of each caption.

        Args:
            captions: the captions, by number.
            generator: one number is drawn for each caption and place, however many negatives the caption has.

        Returns:
            The sentences, where the caption stands in for those that are missing, and a mask of those that exist.
        """
        chance = torch.rand(len(captions), self.number, generator=generator)
        sentences, allowed = [], torch.zeros(len(captions), self.number, dtype=torch.bool)
        for row, (caption, numbers) in enumerate(zip(captions.tolist(), chance.tolist(), strict=True)):
            left = [negative.sentence for negative in self.negatives[caption]]
            chosen = [left.pop(int(number * len(left))) for number in numbers[: len(left)]]
            allowed[row, : len(chosen)] = True
            sentences.append(chosen + [self.captions[caption]] * (self.number - len(chosen)))
        return sentences, allowed
