"""One modality through the one tower without the other, and its global feature (ITContrast, Sec. 3.1)."""

from typing import TYPE_CHECKING

from torch import Tensor

from .encoded import Encoded, masked_mean, unit
from .one_tower_embedding import EmbeddedRegions

if TYPE_CHECKING:
    from .one_tower import OneTower


def images_apart(tower: "OneTower", parts: EmbeddedRegions, *, attentions: bool = False) -> Encoded:
    """Features of images that `tower.embed_regions` took; the pooled one is the mean of tags and regions or patches."""
    states, maps = tower.encoder(parts.values, parts.mask, attentions)
    local = states.float()
    return Encoded(unit(masked_mean(local, parts.mask, otherwise=parts.mask)), local, parts.mask, maps)


def captions_apart(tower: "OneTower", tokens: dict[str, Tensor], *, attentions: bool = False) -> Encoded:
    """Features of captions that `tower.prepare_captions` took; the pooled one is the mean of their word pieces."""
    frame, words = tokens["attention_mask"].bool(), tokens["word_mask"]
    states, maps = tower.encoder(tower.text(tokens["input_ids"]), frame, attentions)
    local = states.float()
    return Encoded(unit(masked_mean(local, words, otherwise=frame)), local, words, maps)
