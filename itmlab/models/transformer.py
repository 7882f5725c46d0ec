"""The transformer of the cross-encoder, BERT's (Devlin et al., 2019), and how tokens and regions enter it.

A layer is Attention(Q, K, V) = softmax(Q Kᵀ / sqrt(d)) V over all heads, then a feed-forward network, each followed by
a residual sum and LayerNorm. Tokens enter as in BERT, regions as in UNITER (Chen et al., ECCV 2020) or in OSCAR (Li et
al., ECCV 2020).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from ..errors import ItmlabError
from .config import CrossEncoderConfig, LateInteractionConfig
from .encoded import is_full

States = Float[Tensor, "pair position hidden"]
Regions = Float[Tensor, "image region number"]


class Encoder(nn.ModuleList):
    """All layers; positions with a false `mask` are not attended to, so they change no other position.

    `answered` limits the last layer to that many first positions, when the rest is not read.
    """

    def __init__(self, config: CrossEncoderConfig):
        super().__init__(Layer(config) for _ in range(config.layers))

    def forward(self, states: States, mask: Bool[Tensor, "pair position"], answered: int | None = None) -> States:
        """Return the states after all layers."""
        keys = None if is_full(mask) else mask[:, None, None, :]  # without a mask the fastest kernels apply
        for number, layer in enumerate(self, start=1):
            states = layer(states, keys, answered if number == len(self) else None)
        return states


class Layer(nn.Module):
    """Self-attention, then a feed-forward network, each with dropout, residual sum and LayerNorm (BERT's order).

    With `answered` only so many first positions are computed, from all of them.
    """

    def __init__(self, config: CrossEncoderConfig):
        super().__init__()
        hidden, epsilon = config.hidden, config.layer_norm_epsilon
        self.heads, self.dropout = config.heads, nn.Dropout(config.dropout)
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.attended, self.attended_norm = nn.Linear(hidden, hidden), nn.LayerNorm(hidden, eps=epsilon)
        self.intermediate, self.output = nn.Linear(hidden, config.intermediate), nn.Linear(config.intermediate, hidden)
        self.output_norm = nn.LayerNorm(hidden, eps=epsilon)

    def forward(self, states: States, mask: Bool[Tensor, "pair 1 1 position"] | None, answered: int | None) -> States:
        """Return the states after this layer."""
        key, value = self._split(self.key(states)), self._split(self.value(states))
        states = states[:, :answered]
        query = self._split(self.query(states))
        rate = self.dropout.p if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=rate)
        mixed = self.attended(mixed.transpose(1, 2).flatten(2))
        states = self.attended_norm(states + self.dropout(mixed))
        changed = self.output(functional.gelu(self.intermediate(states)))
        return self.output_norm(states + self.dropout(changed))

    def _split(self, states: States) -> Float[Tensor, "pair head position size"]:
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def initialise(module: nn.Module) -> None:
    """BERT's starting values: weights normal with deviation 0.02, biases zero; a patch stem keeps torch's own."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


class EmbeddedRegions(NamedTuple):
    """The image side of the transformer's input, computed once per image and read with every candidate sentence.

    Attributes:
        values: embeddings of regions or patches.
        mask: false at padding.
        tags: pieces of OSCAR's object tags. Their places depend on the caption, so `CrossEncoder.tagged` puts their
            states before the parts.
        tag_mask: false at the padding of tags.

    >>> images = EmbeddedRegions(torch.zeros(2, 3, 4), torch.tensor([[True, True, False], [True, False, False]]))
    >>> images.take(torch.tensor([1, 1, 0])).values.shape
    torch.Size([3, 3, 4])
    """

    values: Float[Tensor, "image part hidden"]
    mask: Bool[Tensor, "image part"]
    tags: Int[Tensor, "image tag"] | None = None
    tag_mask: Bool[Tensor, "image tag"] | None = None

    def take(self, images: Int[Tensor, "pair"]) -> "EmbeddedRegions":
        """Return the parts of these images, one row per pair; the gradients of all pairs of an image add up."""
        return EmbeddedRegions(*(None if part is None else part[images] for part in self))


class TextEmbedding(nn.Module):
    """Words, positions and types, summed and normalised (BERT); positions count from 0 unless `places` gives them."""

    def __init__(self, config: CrossEncoderConfig):
        super().__init__()
        self.words = nn.Embedding(config.vocabulary_size, config.hidden)
        self.positions = nn.Embedding(config.positions, config.hidden)
        self.types = nn.Embedding(config.types, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.layer_norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, tokens: Int[Tensor, "n token"], *, places: Int[Tensor, "n token"] | None = None, kind: int = 0
    ) -> Float[Tensor, "n token hidden"]:
        """Return the states of tokens before the first layer."""
        places = torch.arange(tokens.shape[1], device=tokens.device) if places is None else places
        return self.dropout(self.norm(self.words(tokens) + self.positions(places) + self.types.weight[kind]))


class UniterRegions(nn.Module):
    """UNITER's image embedding: feature and box, each mapped and normalised, plus the image type, normalised again."""

    def __init__(self, config: CrossEncoderConfig):
        super().__init__()
        hidden, epsilon = config.hidden, config.layer_norm_epsilon
        self.features, self.boxes = nn.Linear(config.region_dimension, hidden), nn.Linear(7, hidden)
        self.features_norm, self.boxes_norm, self.norm = (nn.LayerNorm(hidden, eps=epsilon) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, regions: Regions, boxes: Regions, image_type: Float[Tensor, "hidden"]) -> Regions:
        """Return the states of regions before the first layer."""
        values = self.features_norm(self.features(regions)) + self.boxes_norm(self.boxes(boxes)) + image_type
        return self.dropout(self.norm(values))


class OscarRegions(nn.Module):
    """OSCAR's image embedding: one linear map of feature and box together, without an image type.

    VinVL's checkpoints normalise after it.
    """

    def __init__(self, config: CrossEncoderConfig):
        super().__init__()
        self.features = nn.Linear(config.region_dimension + 6, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.layer_norm_epsilon) if config.normalised_regions else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, regions: Regions, boxes: Regions, image_type: Float[Tensor, "hidden"]) -> Regions:
        """Return the states of regions before the first layer."""
        values = self.features(torch.cat([regions, boxes], dim=-1))
        return self.dropout(values if self.norm is None else self.norm(values))


FORMS = {"uniter": UniterRegions, "oscar": OscarRegions}


def prepare_regions(images: Sequence[Any], config: CrossEncoderConfig | LateInteractionConfig) -> dict[str, Tensor]:
    """Return `regions`, `region_mask` and, where the model reads them, `boxes` of images, padded to the most regions.

    Args:
        images: records with `features` and `boxes`; also pictures, for a model with a `photo_encoder`.
        config: the model's configuration.

    Raises:
        ItmlabError: features of another width than the model reads, no region, or missing boxes.
    """
    if config.photo_encoder and not all(hasattr(image, "features") for image in images):
        from .photographs import photo_encoder

        regions_of = photo_encoder().regions
        images = [image if hasattr(image, "features") else regions_of(image) for image in images]
    for number, image in enumerate(images):
        shape, message = tuple(image.features.shape), None
        if len(shape) != 2 or not shape[0] or shape[1] != config.region_dimension:
            message = f"features of shape {shape}, the model reads one or more of {config.region_dimension} numbers"
        elif config.box_dimension and image.boxes is None:
            message = "no boxes, which the model reads"
        if message is not None:
            raise ItmlabError(message, where=f"regions of image {number}", remedy="see RegionFeatures in itmlab.data")
    real = [torch.ones(len(image.features), dtype=torch.bool, device="cpu") for image in images]
    prepared = {"regions": pad_sequence([image.features.float() for image in images], batch_first=True)}
    if config.box_dimension:
        boxes = [image.boxes[:, : config.box_dimension].float() for image in images]
        prepared["boxes"] = pad_sequence(boxes, batch_first=True)
    return prepared | {"region_mask": pad_sequence(real, batch_first=True)}
