"""The control of TAGS-DC's tables that no paper prints: what is told as well beside a wrong picture is told from words.

A cross-encoder fills in masked words, and tells captions from sentences with a replaced phrase, beside the caption's
own picture and beside another one. Only what the first has over the second was seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from ...data.captionset import CaptionSet
from ...errors import ItmlabError
from ...metrics import discrimination
from ...metrics.statistics import Share, share
from ...models import CrossEncoder
from ...models.encoded import evaluating
from ...models.pairs import ImageInputs
from ...text import WordMasking
from ...text.alignment import MaskedPieces, align, mask_pieces
from ..kit.scoring import matching
from .negatives import SyntheticNegatives, graphs, synthetic_negatives
from .word_accuracy import KINDS, piece_kinds
from .words import BATCH_SIZE, cross_encoder_of


@dataclass(frozen=True)
class BothPictures:
    """How much was told beside the right pictures, and beside wrong ones.

    >>> both = BothPictures(share(torch.tensor([True, True])), share(torch.tensor([True, False])))
    >>> both.gap, print(both)
    right picture 100.0 % [34.2, 100.0] of 2, wrong picture 50.0 % [9.5, 90.5] of 2
    (50.0, None)
    """

    right: Share
    wrong: Share

    def __str__(self) -> str:
        return f"right picture {self.right}, wrong picture {self.wrong}"

    @property
    def gap(self) -> float:
        """Points that the right picture is worth."""
        return self.right.percent - self.wrong.percent


def wrong_pictures(count: int, seed: int = 0) -> Int64[Tensor, "image"]:
    """For each of `count` pictures another one, each taken once: the next in a random circle of all of them.

    One picture alone is an ItmlabError.
    """
    if count < 2:
        raise ItmlabError(f"{count} pictures have no other beside them", remedy="give two or more")
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    return torch.empty_like(order).index_copy(0, order, order.roll(-1))


def masked_words(
    model: Any, data: CaptionSet, captions: Sequence[int] | None = None, *, probability: float = 0.15, seed: int = 0
) -> dict[str, BothPictures]:
    """How often the likeliest piece by H_MLM is the one that was masked, by kind of phrase, and of "all".

    Each word is masked with `probability`, at least one of a caption (UNITER: Chen et al., 2020, Sec. 3.2). `model` is
    a cross-encoder or a Run of one, `captions` are numbers (default: all).
    """
    cross_encoder = cross_encoder_of(model)
    numbers = list(range(len(data.captions)) if captions is None else captions)
    parsed, tokenizer = graphs(data, numbers), cross_encoder.tokenizer
    pieces = align(tokenizer, [data.captions[at] for at in numbers], parsed, cross_encoder.config.maximum_tokens)
    generator, masking = torch.Generator().manual_seed(seed), WordMasking(probability)
    lengths = pieces.words_kept.tolist()
    hidden = [masking(one, generator=generator, length=most) for one, most in zip(parsed, lengths, strict=True)]
    masked = mask_pieces(tokenizer, pieces, hidden)
    images, other = data.image_of_caption[numbers], wrong_pictures(len(data), seed)
    told = [_filled(cross_encoder, data, masked, beside) for beside in (images, other[images])]
    asked, owners = masked.hidden, images[:, None].expand(masked.hidden.shape)
    kinds = piece_kinds(pieces, parsed)
    chosen = {"all": asked, **{kind: asked & (kinds == at) for at, kind in enumerate(KINDS)}}
    return {
        kind: BothPictures(*(share(right[which], owners[which]) for right in told)) for kind, which in chosen.items()
    }


def _filled(
    model: CrossEncoder, data: CaptionSet, masked: MaskedPieces, images: Int64[Tensor, "row"]
) -> Bool[Tensor, "row piece"]:
    """Where the likeliest piece beside these images is the masked one."""
    inputs, right = ImageInputs(model, data), torch.zeros_like(masked.hidden)
    with evaluating(model):
        for rows in torch.argsort(images, stable=True).split(BATCH_SIZE):  # captions of one image stand together
            different, at = images[rows].unique(return_inverse=True)
            regions, asked = model.embed_regions(**inputs(different.tolist())), masked.hidden[rows]
            device = regions.values.device
            given = masked.input_ids[rows].to(device), masked.attention_mask[rows].bool().to(device)
            said = model(*given, regions.take(at.to(device)), heads=("mlm",), positions=asked.to(device)).mlm
            found = torch.zeros_like(asked)
            found[asked] = said.argmax(dim=1).cpu() == masked.labels[rows][asked]
            right[rows] = found
    return right


def replaced_phrases(
    model: Any, data: CaptionSet, made: SyntheticNegatives | None = None, *, seed: int = 0
) -> BothPictures:
    """How often `model` (a Run or model of any kind) matches a caption better than a sentence made of it.

    Of those `made` only the ones that the world calls false count; by default one a caption, in which VSE-C has
    replaced a noun, a relation or a number. Beside a wrong picture, one that knows nothing of how captions read tells
    half of them.
    """
    if made is None:
        made = synthetic_negatives(data, range(len(data.captions)), "vse_c", keep=1, seed=seed)
    false = [one for one in made.all() if one.truth is False]
    if not false:
        raise ItmlabError("no sentence is known to be false", where=data.name, remedy="take scenes, whose world knows")
    match, images = matching(model, data), torch.tensor([one.image for one in false])
    said, was = [one.sentence for one in false], [data.captions[one.caption] for one in false]
    beside = images, wrong_pictures(len(data), seed)[images]
    return BothPictures(*(discrimination(match(b.tolist(), was), match(b.tolist(), said), images) for b in beside))
