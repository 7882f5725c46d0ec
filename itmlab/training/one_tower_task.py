"""Learning with a one-tower model: the training step of TAGS-DC (Algorithm 1), any of its losses switched off."""

import copy
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from ..data.batches import Batch
from ..errors import ItmlabError
from ..losses import LossWeights, weighted_sum
from ..models import EmbeddedRegions
from ..synthesis import Negative
from ..synthesis.evaluation import evaluating
from .caption_graphs import caption_graphs
from .checkpoint import Tensors
from .difficulty import difficulty
from .image_inputs import ImageInputs
from .maskings import TrainedMaskings
from .mining import embedded, mined_captions, mined_images
from .one_tower_losses import alignment_loss, language_loss, matching_of, retrieved_logits, sentence_terms
from .pair_rows import Tokens, all_captions, pair_logits
from .sentences import Sentences
from .task import BatchLoss, Task

Rows = Int64[Tensor, "pair"]


class OneTowerTask(Task):
    """Algorithm 1 for the pairs of a batch, with the tower's frozen first state where the generator is "static".

    What is made and mined comes first, in evaluation mode without gradients; then every image of the step is embedded
    once and the terms of the loss are computed from it. `clock` counts "synthesis" and "mining". Batches bring no
    images, as those of the whole set are drawn as negatives: they are kept by number.
    """

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        recipe, model, data = self.recipe, self.model, self.data
        if self.accelerator.num_processes > 1:
            raise ItmlabError("one-tower recipes train in one process", remedy="launch it without accelerate")
        self.settings = settings = recipe.tags
        self.tokens, self.inputs = all_captions(model, data), ImageInputs(model, data)
        self.matching = matching_of(settings)
        self.frozen = self.sentences = self.maskings = None
        tells_words = "masked_language" in settings.weights.wanted
        graphs = caption_graphs(data) if settings.makes_sentences or tells_words else []
        if tells_words:
            longest = model.config.maximum_tokens
            self.maskings = TrainedMaskings(settings, model.tokenizer, data.captions, graphs, longest)
        if settings.makes_sentences:
            if settings.generator == "static":
                self.frozen = copy.deepcopy(model, {id(model.tokenizer): model.tokenizer}).requires_grad_(False).eval()
            file = recipe.extra_negatives and recipe.extra_negatives.path
            self.sentences = Sentences(settings, model, data, graphs, self.inputs, refiller=self.frozen, file=file)

    def __call__(self, batch: Batch, epoch: int) -> BatchLoss:
        """Where the tower gives no numbers, whatever is told first, the images to which it gives none are blamed."""
        try:
            return self._loss(batch)
        except ItmlabError:
            blamed = self._not_finite(batch)
            if not len(blamed):
                raise
            return BatchLoss(torch.tensor(torch.nan), None, blamed)

    def _loss(self, batch: Batch) -> BatchLoss:
        settings, weights = self.settings, self.settings.weights
        if self.done < settings.matching_begins:
            weights = LossWeights(0.0, weights.masked_language, 0.0, 0.0, 0.0)
        wanted = weights.wanted
        captions, images = batch.caption_indices, batch.image_indices
        draws = torch.Generator().manual_seed(int(torch.randint(2**62, (1,), generator=self.generator)))
        with self.precision():
            makes = {"synthetic", "discrimination", "correction"} & set(wanted)
            made = self._synthesised(captions, draws) if makes else None
            masked = self.maskings(captions, generator=draws) if "masked_language" in wanted else None
            retrieved = self._mined(captions, images, draws) if "retrieved" in wanted else None
            shown = images if retrieved is None else torch.cat([images, retrieved[1].clamp(min=0).flatten()])
            different, rows = shown.unique(return_inverse=True)
            regions = embedded(self.model, self.inputs, different)
            rows = rows.to(regions.values.device)
            own, losses, counts = rows[: len(images)], {}, {}
            if masked is not None:
                each = own.repeat_interleave(settings.trained_maskings)
                losses["masked_language"] = language_loss(self.model, masked, regions, each)
            if settings.alignment:
                tokens = self.tokens.take(captions.to(own.device))
                ids = images.to(own.device)
                aligned = alignment_loss(self.model, tokens, regions, own, ids, settings.alignment_temperature)
            positives = None
            if retrieved is not None:
                positives = self._retrieved(captions, retrieved, regions, own, rows[len(own) :], losses, counts)
            if made is not None:
                if positives is None:
                    positives = pair_logits(self.model, self.tokens, captions.to(own.device), regions, own)
                self._synthetic(captions, made, regions, own, positives, losses, counts)
        losses = {name: value for name, value in losses.items() if name in wanted}
        loss = weighted_sum(losses, weights) if wanted else 0.0
        if settings.alignment:
            losses["alignment"] = aligned
            loss = loss + settings.alignment * aligned
        chosen = None if retrieved is None else torch.cat([each.flatten() for each in retrieved])
        blamed = images[:0]
        if not loss.isfinite():
            spoilt = ~regions.values.isfinite().all(dim=2).all(dim=1).cpu()
            blamed = torch.cat([self._not_finite(batch), different[spoilt]])
        return BatchLoss(loss, chosen, blamed, {name: one.item() for name, one in losses.items()}, counts)

    def _not_finite(self, batch: Batch) -> Int64[Tensor, "image"]:
        """The images of a batch that the tower gives no number with their captions."""
        with evaluating(self.model), self.precision():
            regions = embedded(self.model, self.inputs, batch.image_indices)
            device = regions.values.device
            rows = torch.arange(len(batch.image_indices), device=device)
            logits = pair_logits(self.model, self.tokens, batch.caption_indices.to(device), regions, rows)
            return batch.image_indices[~logits.isfinite().cpu()]

    def _synthesised(self, captions: Rows, draws: torch.Generator) -> list[list[Negative]]:
        with self.clock.measured("synthesis"):
            return self.sentences(captions, generator=draws)

    def _mined(self, captions: Rows, images: Rows, draws: torch.Generator) -> tuple[Tensor, Tensor]:
        """Negative captions of each image, and negative images of each caption."""
        given = self.model, self.tokens, self.inputs, self.data
        options = {"drawn": self.settings.drawn, "kept": self.settings.kept, "generator": draws}
        with self.clock.measured("mining"):
            return mined_captions(*given, images, **options), mined_images(*given, captions, **options)

    def _retrieved(
        self,
        captions: Rows,
        retrieved: tuple[Tensor, Tensor],
        regions: EmbeddedRegions,
        own: Rows,
        others: Int64[Tensor, "negative"],
        losses: dict[str, Tensor],
        counts: dict[str, list[int]],
    ) -> Float[Tensor, "pair"]:
        """L_IRTM (Eq. 5) from one pass over matches and both ways' negatives; the logits of the matches."""
        sentences, images = (each.to(own.device) for each in retrieved)
        positives, of_captions, of_images = retrieved_logits(
            self.model, self.tokens, captions.to(own.device), sentences, regions, own, others.view_as(images)
        )
        losses["retrieved"] = self.matching(positives, of_captions, sentences >= 0)
        losses["retrieved"] = losses["retrieved"] + self.matching(positives, of_images, images >= 0)
        counts["retrieved"] = difficulty(positives, of_captions, sentences >= 0)
        return positives

    def _synthetic(
        self,
        captions: Rows,
        made: list[list[Negative]],
        regions: EmbeddedRegions,
        own: Rows,
        positives: Float[Tensor, "pair"],
        losses: dict[str, Tensor],
        counts: dict[str, list[int]],
    ) -> None:
        """L_ISTM, L_WoD and L_WoC (Eqs. 7 to 9) of the sentences made for each pair."""
        device = own.device
        numbers = torch.tensor([len(row) for row in made], device=device)
        allowed = torch.arange(max(int(numbers.max()), 1), device=device) < numbers[:, None]
        logits = positives.new_zeros(allowed.shape)
        if allowed.any():
            pairs = torch.arange(len(made), device=device).repeat_interleave(numbers)
            tokens = Tokens.of(self.model, [one.sentence for row in made for one in row])
            of_caption = captions.to(device)[pairs]
            found, words = sentence_terms(
                self.model, self.settings, tokens, self.tokens, of_caption, regions, own[pairs]
            )
            logits = logits.masked_scatter(allowed, found)
            losses |= words
        else:
            losses |= dict.fromkeys(("discrimination", "correction"), positives.sum() * 0)
        losses["synthetic"] = self.matching(positives, logits, allowed)
        counts["synthetic"] = difficulty(positives, logits, allowed)

    def tensors(self) -> Tensors:
        return {} if self.frozen is None else {"generator": self.frozen.state_dict()}

    def restore(self, tensors: Tensors, epoch: int) -> None:
        if self.frozen is not None:
            self.frozen.load_state_dict(tensors["generator"])
