"""The training step of a cross-encoder: Algorithm 1 of TAGS-DC (Fan et al., 2022, A.2), any of its losses switched off.

    lines 2-12, 15   the m hardest synthetic sentences T̄ of each caption          Eqs. 2, 6   `sentences`
    line 4           captions with hidden pieces, for line 5                                  `masked_captions`
    line 14          retrieved negatives T⁻ of each image, I⁻ of each caption                 `mine`
    line 5           L_MLM                                                         Eq. 1       `masked_language`
    line 14          L_IRTM                                                        Eq. 5       `retrieved`
    line 16          L_ISTM                                                        Eq. 7       `synthetic`
    lines 18-20      L_WoD and L_WoC                                               Eqs. 8, 9   `read_sentences`
                     L, the weighted sum                                           Eq. 10      `__call__`

What is trained on is made and mined first, in evaluation mode without gradients. Then every image of the step is
embedded once, and the terms of the loss are computed from it. The equations themselves are in `losses.tags`.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from .. import losses
from ..data.batches import Batch
from ..errors import ItmlabError
from ..models import CrossEncoder, EmbeddedRegions
from ..models.cross_encoder import PAIR_BATCH_SIZE, Tokens, pair_logits
from ..models.encoded import evaluating, joined
from ..models.pairs import ImageInputs, all_captions
from ..samplers.retrieved import mined_negatives
from ..synthesis import FilteredTopM, Negative
from ..synthesis.negative import OneByOne, own_generators
from ..synthesis.tags import Tags, cross_encoder_score, graphs_of, implied_in
from ..text import PhraseMasking, WordMasking
from ..text.alignment import MaskedPieces, align, mask_pieces
from .state import BatchLoss, Task, all_gather, rank_slice, whole_mean

IMAGES_AT_A_TIME = 256  # images embedded at a time
BINS = 40  # of the histogram of difficulty, over [-1, 1]
HEADS = {"discrimination": "wod", "correction": "woc"}  # the head of each word loss of sentences
Rows = Int64[Tensor, "row"]
# Negative captions of each image and negative images of each caption, by number; -1 where fewer exist.
Retrieved = tuple[Int64[Tensor, "pair top_k"], ...]


@dataclass
class Step:
    """One step of one process: its pairs, the images that it looks at, and the terms of the loss so far.

    Attributes:
        captions: the captions of the pairs, by number.
        images: the images of the pairs, as rows of `regions`.
        numbers: the numbers of all images that the step looks at, in ascending order.
        regions: these images, embedded.
        positives: matching logits of the pairs, once they are known.
        terms: values of the losses by name.
        counts: histograms of difficulty by name.
    """

    captions: Rows
    images: Rows
    numbers: Rows
    regions: EmbeddedRegions
    positives: Float[Tensor, "pair"] | None = None
    terms: dict[str, Float[Tensor, ""]] = field(default_factory=dict)
    counts: dict[str, list[int]] = field(default_factory=dict)


class CrossEncoderTask(Task):
    """Algorithm 1 for the pairs of a batch.

    Batches bring no images, because images of the whole data set are negatives: they are kept by number. Each of
    several processes takes its part of the batch with what a single process would have drawn for it, and all have the
    loss of the whole batch.
    """

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        recipe, model, data = self.recipe, self.model, self.data
        self.settings = settings = recipe.tags
        self.word_losses = [name for name in HEADS if name in settings.weights.wanted]
        if settings.alignment or settings.matching_begins or settings.mining == "batch":
            remedy = 'begin with the shipped run: start="uniter_pretraining"'
            raise ItmlabError("UNITER's pretraining is not part of this version", where=recipe.name, remedy=remedy)
        self.tokens, self.inputs = all_captions(model, data), ImageInputs(model, data)
        needs_graphs = settings.makes_sentences or settings.weights.masked_language
        self.graphs = graphs_of(data) if needs_graphs else ()
        self.masking = (WordMasking if settings.masking == "word" else PhraseMasking)(settings.probability)
        if settings.makes_sentences:
            refiller = None
            if settings.generator == "static":  # the ablation "SG": refilled by the model as it was at the start
                refiller = copy.deepcopy(model, {id(model.tokenizer): model.tokenizer}).requires_grad_(False).eval()
                self.stateful["generator"] = refiller
            self.score = cross_encoder_score(model, data, self.inputs)
            implied = implied_in(data) if settings.implied else None
            self.choice = {"keep": settings.hardest, "filtered": settings.filtered, "implied": implied}
            if isinstance(settings.generator, str):
                drawing = {name: getattr(settings, name) for name in ("maskings", "samples", "temperature")}
                drawing |= {"masking": self.masking, "refiller": refiller}
                self.tags = Tags(model, data, inputs=self.inputs, fresh=recipe.start is None, **drawing, **self.choice)

    def __call__(self, batch: Batch, epoch: int) -> BatchLoss:
        """Compute the loss of a batch (Eq. 10), its terms, and histograms of difficulty."""
        weights = self.settings.weights
        wanted = weights.wanted
        part = rank_slice(len(batch.caption_indices), self.accelerator)
        # one number a step from the run's generator: however much a step draws, the next begins at the same place
        draws = torch.Generator().manual_seed(int(torch.randint(2**62, (1,), generator=self.generator)))
        sentences = masked = negatives = None
        with self.precision():
            if self.settings.makes_sentences:
                sentences = self.sentences(batch.caption_indices, generator=draws, part=part)
            if "masked_language" in wanted:
                masked = self.masked_captions(batch.caption_indices, draws, part)
            if "retrieved" in wanted:
                negatives = self.mine(batch, draws, part)

            step = self.embedded(batch, negatives, part)
            if masked is not None:
                self.masked_language(step, masked)
            if negatives is not None:
                self.retrieved(step, negatives)
            if sentences is not None:
                self.synthetic(step, sentences)

        terms = {name: step.terms[name] for name in wanted}
        loss = losses.weighted_sum(terms, weights)
        return BatchLoss(loss, {name: term.item() for name, term in terms.items()}, step.counts)

    def preparation(self) -> dict[str, Any]:
        return {"images": None}

    # What is trained on.

    def sentences(
        self, numbers: Rows, *, generator: torch.Generator, part: slice = slice(None)
    ) -> list[list[Negative]]:
        """Lines 2 to 12 and 15: at most `hardest` negatives of each caption of a part of a batch, best first."""
        rows, data = numbers[part].tolist(), self.data
        images = data.image_of_caption[rows]
        captions, graphs = [data.captions[row] for row in rows], [self.graphs[row] for row in rows]
        arguments = captions, graphs, data.captions_of(images.tolist())
        generators = own_generators(len(numbers), generator)[part]
        if isinstance(self.settings.generator, str):
            return self.tags(*arguments, generator=generators, numbers=rows)

        def score(sentences: list[str], of: Rows) -> Float[Tensor, "sentence"]:
            return self.score(images[of].tolist(), sentences)

        tailored = FilteredTopM(OneByOne(self.settings.generator), score=score, **self.choice)
        return tailored(*arguments, generator=generators)

    def masked_captions(self, captions: Rows, draws: torch.Generator, part: slice) -> MaskedPieces:
        """Line 4: `trained_maskings` of each caption of a part of a batch, 80 / 10 / 10; drawn for the whole."""
        times, graphs = self.settings.trained_maskings, [self.graphs[number] for number in captions.tolist()]
        texts = [self.data.captions[number] for number in captions.tolist()]
        pieces = align(self.model.tokenizer, texts, graphs, self.model.config.maximum_tokens)
        hidden = []
        for graph, length in zip(graphs, pieces.words_kept.tolist(), strict=True):
            hidden += self.masking.draw(graph, times, generator=draws, length=length)
        rows = torch.arange(len(captions)).repeat_interleave(times).tolist()
        masked = mask_pieces(self.model.tokenizer, pieces, hidden, captions=rows, generator=draws)
        rows_of_part = slice(part.start * times, part.stop * times)
        return replace(masked, **{item.name: getattr(masked, item.name)[rows_of_part] for item in fields(masked)})

    def mine(self, batch: Batch, draws: torch.Generator, part: slice) -> Retrieved:
        """Line 14: the hardest `top_k` of `candidates` random negatives by the current model, both ways."""
        images, captions, settings = batch.image_indices, batch.caption_indices, self.settings
        logits, matches = self.logits, self.data.matches
        sides = (
            (lambda anchors, columns: logits(columns, images[part][anchors]), matches(images)),
            (lambda anchors, columns: logits(captions[part][anchors], columns), matches(captions=captions).T),
        )
        options = {"candidates": settings.candidates, "top_k": settings.top_k, "generator": draws, "part": part}
        with evaluating(self.model):
            return tuple(mined_negatives(score, positives, **options) for score, positives in sides)

    def logits(self, captions: Rows, images: Rows) -> Float[Tensor, "pair"]:
        """Matching logits of captions and images by number, each image embedded once."""
        different, rows = images.unique(return_inverse=True)
        regions = embed(self.model, self.inputs, different)
        device = regions.values.device
        return pair_logits(self.model, self.tokens, captions.to(device), regions, rows.to(device)).cpu()

    def embedded(self, batch: Batch, negatives: Retrieved | None, part: slice) -> Step:
        """The images of the step, with gradient, each embedded once."""
        images = batch.image_indices[part]
        others = images if negatives is None else negatives[1].clamp(min=0).flatten()
        numbers = torch.cat([images, others]).unique()
        regions = embed(self.model, self.inputs, numbers)
        device = regions.values.device
        rows = torch.searchsorted(numbers, images).to(device)
        return Step(batch.caption_indices[part].to(device), rows, numbers, regions)

    # The terms of the loss, each with a forward pass of its own.

    def masked_language(self, step: Step, masked: MaskedPieces) -> None:
        """Line 5: L_MLM (Eq. 1) of the hidden pieces."""
        times, device = self.settings.trained_maskings, step.regions.values.device
        ids, labels, mask = (side.to(device) for side in (masked.input_ids, masked.labels, masked.attention_mask))
        regions = step.regions.take(step.images.repeat_interleave(times))
        output = self.model(ids, mask.bool(), regions, heads=("mlm",), positions=masked.hidden.to(device))
        groups = self.groups(torch.arange(len(step.images), device=device).repeat_interleave(times))
        value = losses.token_likelihood(output.mlm.float(), labels, groups=groups)
        step.terms["masked_language"] = self.batch_mean(value, losses.label_weight(labels, groups=groups))

    def retrieved(self, step: Step, negatives: Retrieved) -> None:
        """Line 14: L_IRTM (Eq. 5), from one pass over the pairs and the negatives of both ways."""
        captions, images = (side.to(step.images.device) for side in negatives)
        sentences = [step.captions, captions.clamp(min=0).flatten(), step.captions.repeat_interleave(images.shape[1])]
        others = torch.searchsorted(step.numbers, negatives[1].clamp(min=0).flatten()).to(images.device)
        shown = [step.images, step.images.repeat_interleave(captions.shape[1]), others]
        logits = pair_logits(self.model, self.tokens, torch.cat(sentences), step.regions, torch.cat(shown))
        step.positives, of_captions, of_images = logits.split([len(step.images), captions.numel(), images.numel()])
        parts = step.positives, of_captions.view_as(captions), of_images.view_as(images), captions >= 0, images >= 0
        scores = [self.gathered(part) for part in parts]
        step.terms["retrieved"] = losses.retrieved_matching(*scores, self.settings.margin)
        step.counts["retrieved"] = difficulty(scores[0], scores[1], scores[3])

    def synthetic(self, step: Step, sentences: list[list[Negative]]) -> None:
        """Lines 16 to 20: L_ISTM, L_WoD and L_WoC (Eqs. 7 to 9), from one pass over the sentences."""
        if step.positives is None:
            step.positives = pair_logits(self.model, self.tokens, step.captions, step.regions, step.images)
        lengths = torch.tensor([len(row) for row in sentences], device=step.images.device)
        pairs = torch.arange(len(sentences), device=lengths.device).repeat_interleave(lengths)
        exist = torch.arange(self.settings.hardest, device=lengths.device) < lengths[:, None]
        logits = step.positives.new_zeros(len(pairs))
        if len(pairs):
            logits = self.read_sentences(step, [negative for row in sentences for negative in row], pairs)
        else:  # other processes may have some
            for name in self.word_losses:
                step.terms[name] = self.batch_mean(step.positives.sum() * 0, 0.0)
        negatives = logits.new_zeros(exist.shape).masked_scatter(exist, logits)
        scores = self.gathered(step.positives), self.gathered(negatives), self.gathered(exist)
        step.terms["synthetic"] = losses.synthetic_matching(*scores, self.settings.margin)
        step.counts["synthetic"] = difficulty(*scores)

    def read_sentences(self, step: Step, sentences: list[Negative], pairs: Rows) -> Float[Tensor, "sentence"]:
        """Matching logits of the sentences of these pairs; L_WoD and L_WoC become terms of the step."""
        tokens = Tokens.of(self.model, [negative.sentence for negative in sentences])
        original, counted = word_tokens(self.model, tokens, self.tokens, step.captions[pairs])
        refilled = torch.zeros_like(counted)
        for row, negative in enumerate(sentences):
            refilled[row, [place for place in negative.masked if place < counted.shape[1]]] = True
        asked = {"positions": self.settings.correction, "masked": refilled}
        corrected = losses.correction_labels(tokens.ids, original, counted, **asked)
        heads = [HEADS[name] for name in self.word_losses]
        outputs = []
        for rows in torch.arange(len(sentences), device=pairs.device).split(PAIR_BATCH_SIZE):
            places = corrected[rows] >= 0 if "woc" in heads else None  # the vocabulary's head is dear
            regions = step.regions.take(step.images[pairs[rows]])
            part = tokens.ids[rows], tokens.mask[rows]
            outputs.append(self.model(*part, regions, heads=("itm", *heads), positions=places))
        groups = self.groups(pairs)
        if "wod" in heads:
            replaced = torch.cat([output.wod for output in outputs]).float()
            step.terms["discrimination"] = self.discrimination(replaced, tokens, original, counted, groups)
        if "woc" in heads:
            written = torch.cat([output.woc for output in outputs]).float()
            value = losses.word_correction(written, tokens.ids, original, counted, **asked, groups=groups)
            step.terms["correction"] = self.batch_mean(value, losses.label_weight(corrected, groups=groups))
        return torch.cat([output.itm for output in outputs]).float()

    def discrimination(
        self, logits: Tensor, tokens: Tokens, original: Tensor, counted: Tensor, groups: Rows | None
    ) -> Float[Tensor, ""]:
        """Line 19: L_WoD (Eq. 8)."""
        # the released code asks at [CLS] and [SEP] too, of sentences as long as their captions
        asked = counted if groups is None else tokens.mask & counted.any(dim=1, keepdim=True)
        weights = {"replaced_weight": self.settings.replaced_weight, "kept_weight": self.settings.kept_weight}
        value = losses.word_discrimination(logits, tokens.ids, original, asked, **weights, groups=groups)
        labels = losses.discrimination_labels(tokens.ids, original, asked)
        return self.batch_mean(value, losses.label_weight(labels, torch.tensor(list(weights.values())), groups))

    def groups(self, captions: Rows) -> Rows | None:
        """The caption of each row where word losses are means over captions, as in the released code."""
        return captions if self.settings.word_means == "captions" else None

    # Several processes as one.

    def gathered(self, values: Tensor) -> Tensor:
        return all_gather(values, self.accelerator)

    def batch_mean(self, mean: Float[Tensor, ""], weight: float | Tensor) -> Float[Tensor, ""]:
        return whole_mean(mean, weight, self.accelerator)


def embed(model: CrossEncoder, inputs: Callable[[Sequence[int]], dict[str, Tensor]], images: Rows) -> EmbeddedRegions:
    """Embed these images, a part of them at a time."""
    parts = images.split(IMAGES_AT_A_TIME)
    return joined([model.embed_regions(**inputs(part.tolist())) for part in parts])


def word_tokens(
    model: CrossEncoder, sentences: Tokens, captions: Tokens, of_caption: Rows
) -> tuple[Int64[Tensor, "sentence piece"], Bool[Tensor, "sentence piece"]]:
    """Under each sentence's tokens those of its caption, a row of `captions`, and which of them count.

    A filling may be read back in other pieces than were drawn ("dog" and "##s" as "dogs"). Of such a sentence, shorter
    or longer than its caption, no token counts.
    """
    width, longest = sentences.ids.shape[1], captions.ids.shape[1]
    padded = torch.nn.functional.pad(captions.ids[of_caption].long(), (0, max(width - longest, 0)))[:, :width]
    same = (sentences.lengths == captions.lengths[of_caption])[:, None]
    original = torch.where(same, padded, sentences.ids)
    counted = losses.counted_tokens(sentences.ids, original, sentences.mask, model.tokenizer.all_special_ids)
    return original, counted & same


def difficulty(
    positives: Float[Tensor, "anchor"],
    negatives: Float[Tensor, "anchor negative"],
    exist: Bool[Tensor, "anchor negative"],
) -> list[int]:
    """How many negatives have s(I, T⁻) − s(I, T⁺) in each of 40 bins from −1 to 1 (Figure 3); all are logits.

    >>> difficulty(torch.tensor([0.0]), torch.tensor([[0.0, 99.0]]), torch.tensor([[True, False]]))[20]
    1
    """
    with torch.no_grad():
        gaps = losses.matching_score(negatives) - losses.matching_score(positives)[:, None]
        return torch.histc(gaps[exist].float().cpu(), bins=BINS, min=-1, max=1).long().tolist()
