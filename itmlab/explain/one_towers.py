"""A one-tower model asked what it makes of sentences on pictures: every head that speaks of words, and the score."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..errors import ItmlabError
from ..losses.word_level import REPLACED
from ..models import OneTower
from ..synthesis.evaluation import evaluating
from ..synthesis.vocabulary import Vocabulary
from ..training.reading import on_device

TOGETHER = 64  # sentences through the tower


@dataclass(frozen=True)
class WordAnswers:
    """What a tower says of each piece of some sentences, each on its picture; on the CPU, padded to the longest.

    `mismatch` is the probability of "replaced" (H_WoD), `written` the piece that H_WoC would write there, special ones
    never. `word_mask` is false at special pieces and padding, `match` the matching logit.
    """

    input_ids: Int[Tensor, "sentence piece"]
    word_mask: Bool[Tensor, "sentence piece"]
    mismatch: Float[Tensor, "sentence piece"]
    written: Int[Tensor, "sentence piece"]
    match: Float[Tensor, "sentence"]


def one_tower_of(model: Any) -> OneTower:
    """The model itself, or the model of a Run; one that does not read words and picture together is an ItmlabError."""
    model = getattr(model, "model", model)
    if not isinstance(model, OneTower):
        raise ItmlabError(
            f"{type(model).__name__} has no heads that discriminate and correct words", remedy="take a one-tower model"
        )
    return model


def word_answers(
    model: OneTower, images: Sequence[Any], sentences: Sequence[str], image_of: Sequence[int] | None = None
) -> WordAnswers:
    """The answers on each sentence, on image `image_of[sentence]` (default: on image number sentence).

    Images are pictures or records of regions, whichever the model reads; each is embedded once. What is said of a
    sentence depends on no other. Pieces behind the model's `maximum_tokens` are not read.
    """
    rows = torch.arange(len(sentences)) if image_of is None else torch.as_tensor(image_of, dtype=torch.long)
    if not len(sentences) or rows.shape != (len(sentences),) or int(rows.max()) >= len(images):
        raise ItmlabError(
            f"{len(sentences)} sentences on {len(images)} images", remedy="give one or more, each with its image"
        )
    if model.config.visual == "regions" and not all(hasattr(image, "features") for image in images):
        raise ItmlabError("this model looks at regions, not at pictures", remedy="give records of `data.regions`")
    tokens = model.prepare_captions(sentences)
    ids, mask, word_mask = tokens["input_ids"], tokens["attention_mask"].bool(), tokens["word_mask"]
    mismatch, written = torch.zeros(ids.shape), torch.zeros_like(ids)
    match, allowed = torch.zeros(len(ids)), Vocabulary(model.tokenizer).allowed
    order = torch.argsort(rows, stable=True)
    with evaluating(model):
        for some in order.split(TOGETHER):
            different, at = rows[some].unique(return_inverse=True)
            regions = model.embed_regions(
                **on_device(model, model.prepare_images([images[image] for image in different.tolist()]))
            )
            length = int(mask[some].sum(dim=1).max())
            device = regions.values.device
            said = model(
                ids[some, :length].to(device),
                mask[some, :length].to(device),
                regions.take(at.to(device)),
                heads=("itm", "wod", "woc"),
            )
            mismatch[some, :length] = said.wod.float().softmax(dim=-1)[..., REPLACED].cpu()
            written[some, :length] = (
                said.woc.float().cpu()[..., : len(allowed)].masked_fill(~allowed, -torch.inf).argmax(dim=-1)
            )
            match[some] = said.itm.float().cpu()
    return WordAnswers(ids, word_mask, mismatch, written, match)
