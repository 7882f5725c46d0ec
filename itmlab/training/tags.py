"""Learning with a one-tower model: the training step of TAGS-DC (Algorithm 1), any of its losses switched off."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from ..data.batches import Batch
from ..errors import ItmlabError
from ..losses import (
    LossWeights,
    correction_labels,
    counted_tokens,
    info_nce,
    masked_language,
    matching_score,
    matching_triplet,
    weighted_sum,
    word_correction,
    word_discrimination,
)
from ..losses.tags import matching_binary, matching_contrast
from ..models import EmbeddedRegions, OneTower
from ..models.encoded import evaluating
from ..models.oscar import captions_apart, images_apart
from ..models.pairs import TOGETHER, ImageInputs, Tokens, all_captions, pair_logits
from ..recipes.settings import TagsSettings
from ..runs.checkpoint import Tensors
from ..synthesis import Negative
from ..text.alignment import MaskedPieces
from .mining import embedded, mined_captions, mined_images
from .sentences import Sentences, TrainedMaskings, caption_graphs
from .state import BatchLoss, Task

# How hard negatives are: how close their scores come to the match's (TAGS-DC, Figure 3), counted in fixed bins.


BINS = 40  # over [−1, 1]


def difficulty(
    positive_logits: Float[Tensor, "anchor"],
    negative_logits: Float[Tensor, "anchor negative"],
    allowed: Bool[Tensor, "anchor negative"],
) -> list[int]:
    """How many of the allowed negatives have s(I, T⁻) − s(I, T⁺) in each of 40 bins from −1 to 1."""
    with torch.no_grad():
        gaps = (matching_score(negative_logits) - matching_score(positive_logits)[:, None])[allowed]
        return torch.histc(gaps.float().cpu(), bins=BINS, min=-1, max=1).long().tolist()


# Synthetic sentences beside the captions that they were made of, token under token, for the two losses of words.


class WordTokens(NamedTuple):
    """Under each token of the sentences their captions', and which of them count."""

    original: Int64[Tensor, "sentence piece"]
    counted: Bool[Tensor, "sentence piece"]

    @property
    def compared(self) -> float:
        """The part of the sentences of which any token counts."""
        return float(self.counted.any(dim=1).double().mean())


def word_tokens(
    model: OneTower, sentences: Tokens, captions: Tokens, of_caption: Int64[Tensor, "sentence"]
) -> WordTokens:
    """The tokens of each sentence's caption, a row of `captions`, where both have as many.

    A filling may be read back in other pieces than were drawn ("dog" and "##s" as "dogs"). Of such a sentence, shorter
    or longer than its caption, no token counts.
    """
    width, longest = sentences.ids.shape[1], captions.ids.shape[1]
    original = torch.nn.functional.pad(captions.ids[of_caption].long(), (0, max(width - longest, 0)))[:, :width]
    same = sentences.lengths == captions.lengths[of_caption]
    original = torch.where(same[:, None], original, sentences.ids)
    counted = counted_tokens(sentences.ids, original, sentences.mask, model.tokenizer.all_special_ids)
    return WordTokens(original, counted & same[:, None])


# The terms of TAGS-DC's loss for the rows of a batch, each from a forward pass of its own (Eqs. 1 to 9).


LossRows = Int64[Tensor, "row"]
Matching = Callable[
    [Float[Tensor, "anchor"], Float[Tensor, "anchor negative"], Bool[Tensor, "anchor negative"]], Tensor
]


def matching_of(settings: TagsSettings) -> Matching:
    """One direction's loss of each anchor's match and negatives (Eq. 4, or what stands for it)."""
    if settings.matching == "triplet":
        return lambda positives, negatives, allowed: matching_triplet(positives, negatives, allowed, settings.margin)
    return {"binary": matching_binary, "contrast": matching_contrast}[settings.matching]


def language_loss(
    model: OneTower, masked: MaskedPieces, regions: EmbeddedRegions, images: LossRows
) -> Float[Tensor, ""]:
    """L_MLM (Eq. 1) of captions with hidden pieces; `images` are their rows of `regions`."""
    device = regions.values.device
    ids, labels, mask = (each.to(device) for each in (masked.input_ids, masked.labels, masked.attention_mask))
    output = model(ids, mask.bool(), regions.take(images), heads=("mlm",), positions=masked.hidden.to(device))
    return masked_language(output.mlm.float(), labels)


def alignment_loss(
    model: OneTower,
    captions: Tokens,
    regions: EmbeddedRegions,
    images: LossRows,
    image_ids: LossRows,
    temperature: float,
) -> Float[Tensor, ""]:
    """InfoNCE, the sum of both directions, of pairs whose two sides are read apart; `images` are rows of `regions`.

    Captions of one image are no negatives of each other.
    """
    tokenizer = model.tokenizer
    framing = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}  # an unknown word is a word
    words = captions.mask & ~torch.isin(captions.ids, torch.tensor(sorted(framing), device=captions.ids.device))
    tokens = {"input_ids": captions.ids, "attention_mask": captions.mask, "word_mask": words}
    sides = images_apart(model, regions.take(images)).pooled, captions_apart(model, tokens).pooled
    scores, positives = sides[0] @ sides[1].T, image_ids[:, None] == image_ids
    ways = (scores, scores.T)
    return sum(info_nce(way, positives, scores.diagonal(), temperature) for way in ways)


def retrieved_logits(
    model: OneTower,
    tokens: Tokens,
    captions: Int64[Tensor, "pair"],
    sentences: Int64[Tensor, "pair caption"],
    regions: EmbeddedRegions,
    own: Int64[Tensor, "pair"],
    others: Int64[Tensor, "pair image"],
) -> tuple[Float[Tensor, "pair"], Float[Tensor, "pair caption"], Float[Tensor, "pair image"]]:
    """Logits of pairs, of their images with `sentences`, and of their captions with `others`, from one pass.

    Captions are rows of `tokens`, images of `regions`; −1 stands for a sentence that is not there.
    """
    logits = pair_logits(
        model,
        tokens,
        torch.cat([captions, sentences.clamp(min=0).flatten(), captions.repeat_interleave(others.shape[1])]),
        regions,
        torch.cat([own, own.repeat_interleave(sentences.shape[1]), others.flatten()]),
    )
    positives, of_captions, of_images = logits.split([len(own), sentences.numel(), others.numel()])
    return positives, of_captions.view_as(sentences), of_images.view_as(others)


def sentence_terms(
    model: OneTower,
    settings: TagsSettings,
    sentences: Tokens,
    captions: Tokens,
    of_caption: LossRows,
    regions: EmbeddedRegions,
    images: LossRows,
) -> tuple[Float[Tensor, "sentence"], dict[str, Float[Tensor, ""]]]:
    """Matching logits of synthetic sentences, and L_WoD and L_WoC (Eqs. 8 and 9) as far as they are switched on.

    `of_caption` and `images` are each sentence's rows of `captions` and `regions`. One pass answers all three.
    """
    words = [name for name in ("discrimination", "correction") if name in settings.weights.wanted]
    heads = ("itm", *({"discrimination": "wod", "correction": "woc"}[name] for name in words))
    if words:
        original, counted = word_tokens(model, sentences, captions, of_caption)
        asked = correction_labels(sentences.ids, original, counted, settings.correction) >= 0
    parts = []
    for rows in torch.arange(len(sentences.ids), device=sentences.ids.device).split(TOGETHER):
        shown = regions.take(images[rows])
        places = asked[rows] if "correction" in words else None
        parts.append(model(sentences.ids[rows], sentences.mask[rows], shown, heads=heads, positions=places))
    losses = {}
    if "discrimination" in words:
        weights = {"replaced_weight": settings.replaced_weight, "kept_weight": settings.kept_weight}
        logits = torch.cat([part.wod for part in parts]).float()
        losses["discrimination"] = word_discrimination(logits, sentences.ids, original, counted, **weights)
    if "correction" in words:
        logits = torch.cat([part.woc for part in parts]).float()
        losses["correction"] = word_correction(logits, sentences.ids, original, counted, positions=settings.correction)
    return torch.cat([part.itm for part in parts]).float(), losses


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
