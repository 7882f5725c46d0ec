"""How tokens and regions enter the one tower."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .one_tower_config import OneTowerConfig


class EmbeddedRegions(NamedTuple):
    """The image side of the tower's input, made once an image and read with every candidate sentence.

    Parts are regions or patches, in OSCAR's form after the object tags. `mask` is false at padding.
    """

    values: Float[Tensor, "image part hidden"]
    mask: Bool[Tensor, "image part"]

    def take(self, images: Int[Tensor, "pair"]) -> "EmbeddedRegions":
        """The same parts once for each pair; gradients of all sentences of an image add up in its parts."""
        return EmbeddedRegions(self.values[images], self.mask[images])

    def trimmed(self) -> "EmbeddedRegions":
        """Without the part positions that are padding in every image."""
        used = self.mask.any(dim=0)
        return self if bool(used.all()) else EmbeddedRegions(self.values[:, used], self.mask[:, used])


class TextEmbedding(nn.Module):
    """Words, positions and types, summed and normalised (BERT); positions count from `first`."""

    def __init__(self, config: OneTowerConfig):
        super().__init__()
        self.words = nn.Embedding(config.vocabulary_size, config.hidden)
        self.positions = nn.Embedding(config.positions, config.hidden)
        self.types = nn.Embedding(config.types, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.layer_norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, tokens: Int[Tensor, "n token"], *, first: int = 0, kind: int = 0
    ) -> Float[Tensor, "n token hidden"]:
        places = torch.arange(first, first + tokens.shape[1], device=tokens.device)
        return self.dropout(self.norm(self.words(tokens) + self.positions(places) + self.types.weight[kind]))


class UniterRegions(nn.Module):
    """UNITER's image embedding: feature and box, each mapped and normalised, plus the image type, normalised again."""

    def __init__(self, config: OneTowerConfig):
        super().__init__()
        hidden, epsilon = config.hidden, config.layer_norm_epsilon
        self.features, self.boxes = nn.Linear(config.region_dimension, hidden), nn.Linear(7, hidden)
        self.features_norm, self.boxes_norm, self.norm = (nn.LayerNorm(hidden, eps=epsilon) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        regions: Float[Tensor, "image region dimension"],
        boxes: Float[Tensor, "image region 7"],
        image_type: Float[Tensor, "hidden"],
    ) -> Float[Tensor, "image region hidden"]:
        values = self.features_norm(self.features(regions)) + self.boxes_norm(self.boxes(boxes)) + image_type
        return self.dropout(self.norm(values))


class OscarRegions(nn.Module):
    """OSCAR's image embedding: one linear map of feature and box together; VinVL's checkpoints normalise after it."""

    def __init__(self, config: OneTowerConfig):
        super().__init__()
        self.features = nn.Linear(config.region_dimension + 6, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.layer_norm_epsilon) if config.normalised_regions else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, regions: Float[Tensor, "image region dimension"], boxes: Float[Tensor, "image region 6"]
    ) -> Float[Tensor, "image region hidden"]:
        values = self.features(torch.cat([regions, boxes], dim=-1))
        return self.dropout(values if self.norm is None else self.norm(values))


def patch_boxes(rows: int, columns: int) -> Float[Tensor, "patch 7"]:
    """The boxes of a grid of patches, row by row: x1, y1, x2, y2, width, height and area as shares of the picture."""
    y, x = (grid.flatten() for grid in torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij"))
    width, height = torch.full(x.shape, 1 / columns), torch.full(x.shape, 1 / rows)
    left, top = x / columns, y / rows
    return torch.stack([left, top, left + width, top + height, width, height, width * height], dim=1)
