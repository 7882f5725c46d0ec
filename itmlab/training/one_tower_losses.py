"""The terms of TAGS-DC's loss for the rows of a batch, each from a forward pass of its own (Eqs. 1 to 9)."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from ..losses import (
    correction_labels,
    info_nce,
    masked_language,
    matching_triplet,
    word_correction,
    word_discrimination,
)
from ..losses.matching_choices import matching_binary, matching_contrast
from ..models import EmbeddedRegions, OneTower
from ..models.encode_apart import captions_apart, images_apart
from ..text.piece_masking import MaskedPieces
from .pair_rows import TOGETHER, Tokens, pair_logits
from .tags_settings import TagsSettings
from .word_tokens import word_tokens

Rows = Int64[Tensor, "row"]
Matching = Callable[
    [Float[Tensor, "anchor"], Float[Tensor, "anchor negative"], Bool[Tensor, "anchor negative"]], Tensor
]


def matching_of(settings: TagsSettings) -> Matching:
    """One direction's loss of each anchor's match and negatives (Eq. 4, or what stands for it)."""
    if settings.matching == "triplet":
        return lambda positives, negatives, allowed: matching_triplet(positives, negatives, allowed, settings.margin)
    return {"binary": matching_binary, "contrast": matching_contrast}[settings.matching]


def language_loss(model: OneTower, masked: MaskedPieces, regions: EmbeddedRegions, images: Rows) -> Float[Tensor, ""]:
    """L_MLM (Eq. 1) of captions with hidden pieces; `images` are their rows of `regions`."""
    device = regions.values.device
    ids, labels, mask = (each.to(device) for each in (masked.input_ids, masked.labels, masked.attention_mask))
    output = model(ids, mask.bool(), regions.take(images), heads=("mlm",), positions=masked.hidden.to(device))
    return masked_language(output.mlm.float(), labels)


def alignment_loss(
    model: OneTower, captions: Tokens, regions: EmbeddedRegions, images: Rows, image_ids: Rows, temperature: float
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
    of_caption: Rows,
    regions: EmbeddedRegions,
    images: Rows,
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
