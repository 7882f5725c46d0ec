"""Learning with a cross-encoder: the training step of TAGS-DC (Fan et al. 2022, Algorithm 1), any loss switched off.

`synthesis.tags` makes sentences, `training.mining` retrieves, `losses.tags` has Eqs. 1 to 10; here they become a step.
"""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from .. import losses
from ..data.batches import Batch
from ..errors import ItmlabError
from ..models import CrossEncoder, EmbeddedRegions
from ..models.cross_encoder import PAIR_BATCH_SIZE, Tokens, pair_logits
from ..models.encoded import evaluating
from ..models.oscar import captions_apart, images_apart
from ..models.pairs import ImageInputs, all_captions
from ..recipes.settings import TagsSettings
from ..synthesis import Negative
from ..text.alignment import MaskedPieces
from .mining import Mining, embedded, negatives_in_batch
from .sentences import Sentences, TrainedMaskings, caption_graphs
from .state import BatchLoss, Task, all_gather, rank_slice, whole_mean

BINS = 40  # over [−1, 1]
HEADS = {"discrimination": "wod", "correction": "woc"}  # which head answers for a loss of words
Rows = Int64[Tensor, "row"]


class CrossEncoderTask(Task):
    """Algorithm 1 for the pairs of a batch, with the tower's frozen first state where the generator is "static".

    What is made and mined comes first, in evaluation mode without gradients; then every image of the step is embedded
    once and the terms of the loss are computed from it. `clock` counts "synthesis" and "mining". Batches bring no
    images, as those of the whole set are drawn as negatives: they are kept by number. Each of several processes does
    so for its part of the batch, with what one process would have drawn, and all have the loss of the whole.
    """

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        recipe, model, data = self.recipe, self.model, self.data
        self.settings = settings = recipe.tags
        self.tokens, self.inputs = all_captions(model, data), ImageInputs(model, data)
        self.mining = Mining(model, self.tokens, self.inputs, data, settings.candidates, settings.top_k)
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
            more = {"refiller": self.frozen, "file": file, "fresh": recipe.start is None}
            self.sentences = Sentences(settings, model, data, graphs, self.inputs, **more)

    def __call__(self, batch: Batch, epoch: int) -> BatchLoss:
        """Where the tower gives no numbers, whatever is told first, the images to which it gives none are blamed."""
        try:
            return self._loss(batch)
        except ItmlabError:
            blamed = self._not_finite(batch)
            if not len(blamed):
                raise
            return BatchLoss(torch.tensor(torch.nan), blamed)

    def _loss(self, batch: Batch) -> BatchLoss:
        settings, weights, model = self.settings, self.settings.weights, self.model
        if self.step / self.total_steps < settings.matching_begins:
            told = 0.0 if model.aligned is not None else weights.masked_language  # apart alone, which takes no time
            weights = losses.LossWeights(0.0, told, 0.0, 0.0, 0.0)
        captions, images, wanted = batch.caption_indices, batch.image_indices, weights.wanted
        part, whole = rank_slice(len(captions), self.accelerator), images
        # one number a step from the run's generator: however much the step draws, the next begins at the same place
        draws = torch.Generator().manual_seed(int(torch.randint(2**62, (1,), generator=self.generator)))
        with self.precision():
            makes = {"synthetic", "discrimination", "correction"} & set(wanted)
            made = self._synthesised(captions, draws, part) if makes else None
            masked = self.maskings(captions, generator=draws, part=part) if "masked_language" in wanted else None
            mined, in_batch = None, "retrieved" in wanted and settings.mining == "batch"
            if "retrieved" in wanted and not in_batch:
                mined = self._mined(captions, images, draws, part)
            every, images = captions, images[part]
            others = whole if in_batch else images[:0] if mined is None else mined[1].clamp(min=0).flatten()
            different = torch.cat([images, others]).unique()
            regions = embedded(model, self._augmented(draws.initial_seed()), different)
            captions, own = captions[part].to(regions.values.device), rows_of(images, different, regions)
            terms, counts = {}, {}
            if masked is not None:
                each = own.repeat_interleave(settings.trained_maskings)
                groups = torch.arange(len(own)).repeat_interleave(settings.trained_maskings)
                groups = groups.to(own.device) if settings.word_means == "captions" else None
                value = language_loss(model, masked, regions, each, groups)
                terms["masked_language"] = whole_mean(value, counted(masked.labels, groups), self.accelerator)
            if settings.alignment:
                scores = alignment_scores(model, self.tokens.take(captions), regions, own, self._gathered)
                aligned = alignment_loss(scores, whole.to(own.device), settings.alignment_temperature)
            if in_batch:
                near = scores.detach().float().cpu() / settings.alignment_temperature
                columns = negatives_in_batch(near, whole, settings.top_k, generator=draws)
                mined = tuple(
                    each[at].where(at >= 0, -1)[part] for each, at in zip((every, whole), columns, strict=True)
                )
            if mined is not None:
                others = rows_of(mined[1].clamp(min=0).flatten(), different, regions)
                given = captions, mined, regions, own, others
                positives, terms["retrieved"], counts["retrieved"] = self._retrieved(*given)
            if made is not None:
                if mined is None:
                    positives = pair_logits(model, self.tokens, captions, regions, own)
                found, counts["synthetic"] = self._synthetic(captions, made, regions, own, positives)
                terms |= found
        terms = {name: value for name, value in terms.items() if name in wanted}
        loss = losses.weighted_sum(terms, weights) if wanted else 0.0
        if settings.alignment:
            terms["alignment"] = aligned
            loss = loss + settings.alignment * aligned
        blamed = images[:0]
        if not loss.isfinite():
            spoilt = ~regions.values.isfinite().all(dim=2).all(dim=1).cpu()
            blamed = torch.cat([self._not_finite(batch), different[spoilt]])
        return BatchLoss(loss, blamed, {name: one.item() for name, one in terms.items()}, counts)

    def _augmented(self, seed: int) -> Callable[[Sequence[int]], dict[str, Tensor]]:
        """The images of a step as they are learnt from, each changed as `seed` says where the recipe augments."""
        augmentation = self.recipe.data.augmentation
        if augmentation is None:
            return self.inputs

        def change(image: int) -> Callable[..., Any]:
            return partial(augmentation, generator=np.random.default_rng([seed, 1 + image]))

        return partial(self.inputs, change=change)

    def _not_finite(self, batch: Batch) -> Int64[Tensor, "image"]:
        """The images of a batch that the tower gives no number with their captions."""
        with evaluating(self.model), self.precision():
            regions = embedded(self.model, self.inputs, batch.image_indices)
            device = regions.values.device
            rows = torch.arange(len(batch.image_indices), device=device)
            logits = pair_logits(self.model, self.tokens, batch.caption_indices.to(device), regions, rows)
            return batch.image_indices[~logits.isfinite().cpu()]

    def _gathered(self, values: Tensor) -> Tensor:
        return all_gather(values, self.accelerator)

    def _synthesised(self, captions: Rows, draws: torch.Generator, part: slice) -> list[list[Negative]]:
        with self.clock.measured("synthesis"):
            return self.sentences(captions, generator=draws, part=part)

    def _mined(self, captions: Rows, images: Rows, draws: torch.Generator, part: slice) -> tuple[Tensor, Tensor]:
        """Negative captions of each image, and negative images of each caption."""
        with self.clock.measured("mining"):
            return self.mining.captions(images, draws, part), self.mining.images(captions, draws, part)

    def _retrieved(
        self, captions: Rows, mined: tuple[Tensor, Tensor], regions: EmbeddedRegions, own: Rows, others: Rows
    ) -> tuple[Float[Tensor, "pair"], Float[Tensor, ""], list[int]]:
        """The logits of the matches, L_IRTM (Eq. 5) and its `difficulty`, from one pass with both ways' negatives.

        `captions` are rows of the kept tokens, `own` and `others` of `regions`; −1 is a negative that is not there.
        """
        sentences, images = (each.to(own.device) for each in mined)
        rows = [captions, sentences.clamp(min=0).flatten(), captions.repeat_interleave(images.shape[1])]
        shown = torch.cat([own, own.repeat_interleave(sentences.shape[1]), others])
        logits = pair_logits(self.model, self.tokens, torch.cat(rows), regions, shown)
        positives, of_captions, of_images = logits.split([len(own), sentences.numel(), images.numel()])
        scored = positives, of_captions.view_as(sentences), of_images.view_as(images)
        *scored, there, theirs = map(self._gathered, (*scored, sentences >= 0, images >= 0))
        given = there, theirs, self.settings.margin, self.settings.matching
        return positives, losses.retrieved_matching(*scored, *given), difficulty(*scored[:2], there)

    def _synthetic(
        self, captions: Rows, made: list[list[Negative]], regions: EmbeddedRegions, own: Rows, positives: Tensor
    ) -> tuple[dict[str, Float[Tensor, ""]], list[int]]:
        """L_ISTM, L_WoD and L_WoC (Eqs. 7 to 9) of the sentences made for each pair, and the `difficulty` of these."""
        pairs = torch.tensor([at for at, row in enumerate(made) for _ in row], dtype=torch.int64, device=own.device)
        wanted = [name for name in HEADS if name in self.settings.weights.wanted]  # the same in every process
        found, words, weights = positives.new_zeros(0), dict.fromkeys(wanted, positives.sum() * 0), {}
        if len(pairs):
            tokens = Tokens.of(self.model, [one.sentence for row in made for one in row])
            masked = [one.masked for row in made for one in row]
            given = tokens, self.tokens, captions[pairs], regions, own[pairs], pairs, masked
            found, words, weights = sentence_terms(self.model, self.settings, *given)
        words = {name: whole_mean(words[name], weights.get(name, 0.0), self.accelerator) for name in wanted}
        anchors = torch.cat([torch.arange(len(made), device=own.device), pairs])
        matches = torch.arange(len(anchors), device=own.device) < len(made)
        own_positives, negatives, there = losses.rows_by_anchor(torch.cat([positives, found]), anchors, matches)
        if self.accelerator.num_processes > 1:  # as wide as any process's
            room = (0, self.settings.hardest - negatives.shape[1])
            negatives, there = (torch.nn.functional.pad(each, room) for each in (negatives, there))
        scored = [self._gathered(each) for each in (own_positives, negatives, there)]
        synthetic = losses.synthetic_matching(*scored, self.settings.margin, self.settings.matching)
        return {**words, "synthetic": synthetic}, difficulty(*scored)

    def state_dict(self) -> dict[str, Any]:
        return {} if self.frozen is None else {"generator": self.frozen.state_dict()}

    def load_state_dict(self, state: dict[str, Any], epoch: int) -> None:
        if self.frozen is not None:
            self.frozen.load_state_dict(state["generator"])


# The terms that need a forward pass of their own.


def language_loss(
    model: CrossEncoder, masked: MaskedPieces, regions: EmbeddedRegions, images: Rows, groups: Rows | None = None
) -> Float[Tensor, ""]:
    """L_MLM (Eq. 1) of captions with hidden pieces; `images` are their rows of `regions`, `groups` their captions."""
    device = regions.values.device
    ids, labels, mask = (each.to(device) for each in (masked.input_ids, masked.labels, masked.attention_mask))
    output = model(ids, mask.bool(), regions.take(images), heads=("mlm",), positions=masked.hidden.to(device))
    return losses.masked_language(output.mlm.float(), labels, groups=groups)


def counted(labels: Int64[Tensor, "row piece"], groups: Rows | None) -> int:
    """What a mean of a loss of words is over: labelled pieces, or the captions that have any."""
    there = labels != losses.UNLABELLED
    return int(there.sum()) if groups is None else len(groups[there.any(dim=1).to(groups.device)].unique())


def rows_of(images: Rows, different: Rows, regions: EmbeddedRegions) -> Rows:
    """Where images stand among the `different` ones, in ascending order, that `regions` are of."""
    return torch.searchsorted(different, images).to(regions.values.device)


def alignment_scores(
    model: CrossEncoder,
    captions: Tokens,
    regions: EmbeddedRegions,
    images: Rows,
    gathered: Callable[[Tensor], Tensor] = lambda features: features,
) -> Float[Tensor, "image caption"]:
    """Cosines of the two sides of pairs read apart; `images` are rows of `regions`, features of all are `gathered`."""
    if model.aligned is not None:
        return gathered(regions.aligned[images]) @ gathered(model.aligned_captions(*captions).pooled).T
    words = model.word_mask(*captions)
    tokens = {"input_ids": captions.ids, "attention_mask": captions.mask, "word_mask": words}
    sides = images_apart(model, regions.take(images)).pooled, captions_apart(model, tokens).pooled
    return gathered(sides[0]) @ gathered(sides[1]).T


def alignment_loss(
    scores: Float[Tensor, "image caption"], image_ids: Int64[Tensor, "pair"], temperature: float
) -> Float[Tensor, ""]:
    """InfoNCE, the sum of both directions, of pairs whose two sides are read apart.

    Captions of one image are no negatives of each other. (The paper has no such term: a network from scratch needs it.)
    """
    positives = image_ids[:, None] == image_ids
    loss = losses.InfoNCE(temperature)
    return sum(loss(way, positives, scores.diagonal()) for way in (scores, scores.T))


def sentence_terms(
    model: CrossEncoder,
    settings: TagsSettings,
    sentences: Tokens,
    captions: Tokens,
    of_caption: Rows,
    regions: EmbeddedRegions,
    images: Rows,
    pairs: Rows,
    masked: Sequence[Sequence[int]],
) -> tuple[Float[Tensor, "sentence"], dict[str, Float[Tensor, ""]], dict[str, float | Tensor]]:
    """Matching logits of synthetic sentences, L_WoD and L_WoC (Eqs. 8, 9) as far as they are on, and what they weigh.

    `of_caption` and `images` are each sentence's rows of `captions` and `regions`, `pairs` numbers of its pair and
    `masked` its refilled places. One pass answers all three.
    """
    heads = {name: head for name, head in HEADS.items() if name in settings.weights.wanted}
    if heads:
        original, words = word_tokens(model, sentences, captions, of_caption)
        refilled = torch.zeros_like(words)
        for row, places in enumerate(masked):
            refilled[row, [place for place in places if place < words.shape[1]]] = True
        where = {"positions": settings.correction, "masked": refilled}
        asked = losses.correction_labels(sentences.ids, original, words, **where)
    means = {"groups": pairs if settings.word_means == "captions" else None}
    parts = []
    for rows in torch.arange(len(sentences.ids), device=sentences.ids.device).split(PAIR_BATCH_SIZE):
        places = asked[rows] >= 0 if "correction" in heads else None  # the vocabulary's head is dear: not everywhere
        given = sentences.ids[rows], sentences.mask[rows], regions.take(images[rows])
        parts.append(model(*given, heads=("itm", *heads.values()), positions=places))
    terms, weights = {}, {}
    if "discrimination" in heads:
        told = words
        if settings.word_means == "captions":  # the released code tells [CLS] and [SEP] too
            told = sentences.mask & (sentences.lengths == captions.lengths[of_caption])[:, None]
        options = {"replaced_weight": settings.replaced_weight, "kept_weight": settings.kept_weight}
        logits, given = torch.cat([part.wod for part in parts]).float(), (sentences.ids, original, told)
        terms["discrimination"] = losses.word_discrimination(logits, *given, **options, **means)
        labels = losses.discrimination_labels(*given)
        each = ((labels == losses.REPLACED, settings.replaced_weight), (labels == losses.KEPT, settings.kept_weight))
        pooled = means["groups"] is None
        weights["discrimination"] = sum(one.sum() * by for one, by in each) if pooled else counted(labels, pairs)
    if "correction" in heads:
        logits = torch.cat([part.woc for part in parts]).float()
        terms["correction"] = losses.word_correction(logits, sentences.ids, original, words, **where, **means)
        weights["correction"] = counted(asked, means["groups"])
    return torch.cat([part.itm for part in parts]).float(), terms, weights


def word_tokens(
    model: CrossEncoder, sentences: Tokens, captions: Tokens, of_caption: Rows
) -> tuple[Int64[Tensor, "sentence piece"], Bool[Tensor, "sentence piece"]]:
    """Under each sentence's tokens those of its caption, a row of `captions`, and which of them count.

    A filling may be read back in other pieces than were drawn ("dog" and "##s" as "dogs"). Of such a sentence, shorter
    or longer than its caption, no token counts.
    """
    width, longest = sentences.ids.shape[1], captions.ids.shape[1]
    original = torch.nn.functional.pad(captions.ids[of_caption].long(), (0, max(width - longest, 0)))[:, :width]
    same = sentences.lengths == captions.lengths[of_caption]
    original = torch.where(same[:, None], original, sentences.ids)
    counted = losses.counted_tokens(sentences.ids, original, sentences.mask, model.tokenizer.all_special_ids)
    return original, counted & same[:, None]


def difficulty(
    positive_logits: Float[Tensor, "anchor"],
    negative_logits: Float[Tensor, "anchor negative"],
    allowed: Bool[Tensor, "anchor negative"],
) -> list[int]:
    """How many of the allowed negatives have s(I, T⁻) − s(I, T⁺) in each of 40 bins from −1 to 1 (Figure 3).

    >>> difficulty(torch.tensor([0.0]), torch.tensor([[0.0, 99.0]]), torch.tensor([[True, False]]))[20]
    1
    """
    with torch.no_grad():
        scores = losses.matching_score(negative_logits), losses.matching_score(positive_logits)[:, None]
        gaps = (scores[0] - scores[1])[allowed]
        return torch.histc(gaps.float().cpu(), bins=BINS, min=-1, max=1).long().tolist()
