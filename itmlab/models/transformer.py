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
from .encoded import right_padded

States = Float[Tensor, "pair position hidden"]
Regions = Float[Tensor, "image region number"]


class Encoder(nn.ModuleList):
    """All layers; positions whose `mask` is false are attended to by none, so they change no other position.

    `answered` limits the last layer to that many first positions, where the rest is not going to be read.
    """

    def __init__(self, config: CrossEncoderConfig):
        super().__init__(Layer(config) for _ in range(config.layers))

    def forward(self, states: States, mask: Bool[Tensor, "pair position"], answered: int | None = None) -> States:
        keys = None if bool(mask.all()) else mask[:, None, None, :]  # without a mask the fastest kernels apply
        for number, layer in enumerate(self, start=1):
            states = layer(states, keys, answered if number == len(self) else None)
        return states


class Layer(nn.Module):
    """Self-attention, then a feed-forward network, each with dropout, residual sum and LayerNorm (BERT's order).

    With `answered` only so many first positions are worked out, from all of them.
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
    """The image side of the tower's input, made once an image and read with every candidate sentence.

    Parts are regions or patches; `mask` is false at padding. `tags` are the pieces of OSCAR's object tags, −1 at
    padding: their places may depend on the caption, so `CrossEncoder.tagged` puts their states before the parts.
    `aligned` are the images' features of an aligned start, at length one.

    >>> two = EmbeddedRegions(torch.zeros(2, 3, 4), torch.tensor([[True, True, False], [True, False, False]]))
    >>> two.take(torch.tensor([1, 1])).trimmed().values.shape
    torch.Size([2, 1, 4])
    """

    values: Float[Tensor, "image part hidden"]
    mask: Bool[Tensor, "image part"]
    tags: Int[Tensor, "image tag"] | None = None
    aligned: Float[Tensor, "image dimension"] | None = None

    def take(self, images: Int[Tensor, "pair"]) -> "EmbeddedRegions":
        """The same parts once for each pair; gradients of all sentences of an image add up in its parts."""
        return EmbeddedRegions(*(None if each is None else each[images] for each in self))

    @classmethod
    def joined(cls, parts: "Sequence[EmbeddedRegions]") -> "EmbeddedRegions":
        """All rows of several, padded to the most parts and tags."""
        values, masks, tags, aligned = zip(*parts, strict=True)
        if any(each is not None for each in tags):
            tags = [mask.new_empty((len(mask), 0), dtype=torch.int64) if each is None else each
                    for each, mask in zip(tags, masks, strict=True)]  # fmt: skip
        return cls(
            right_padded(values),
            right_padded(masks),
            None if tags[0] is None else right_padded(tags, value=-1),
            None if aligned[0] is None else torch.cat(aligned),
        )

    def trimmed(self) -> "EmbeddedRegions":
        """Without the positions of parts and of tags that are padding in every image."""
        used, tags = self.mask.any(dim=0), self.tags
        kept = self if bool(used.all()) else self._replace(values=self.values[:, used], mask=self.mask[:, used])
        return kept if tags is None else kept._replace(tags=tags[:, (tags >= 0).any(dim=0)])


class TextEmbedding(nn.Module):
    """Words, positions and types, summed and normalised (BERT); positions count from 0 unless `places` says them."""

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
        values = self.features_norm(self.features(regions)) + self.boxes_norm(self.boxes(boxes)) + image_type
        return self.dropout(self.norm(values))


class OscarRegions(nn.Module):
    """OSCAR's image embedding: one linear map of feature and box together; VinVL's checkpoints normalise after it.

    It has no image type.
    """

    def __init__(self, config: CrossEncoderConfig):
        super().__init__()
        self.features = nn.Linear(config.region_dimension + 6, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.layer_norm_epsilon) if config.normalised_regions else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, regions: Regions, boxes: Regions, image_type: Float[Tensor, "hidden"]) -> Regions:
        values = self.features(torch.cat([regions, boxes], dim=-1))
        return self.dropout(values if self.norm is None else self.norm(values))


FORMS = {"uniter": UniterRegions, "oscar": OscarRegions}


def prepare_regions(images: Sequence[Any], config: CrossEncoderConfig | LateInteractionConfig) -> dict[str, Tensor]:
    """`regions`, `boxes` and `region_mask` of records with `features` and `boxes`, padded to the most regions.

    Pictures become regions by the model's `photo_encoder`. Boxes only where the model reads some. Features of another
    width than it reads, an image without a region and missing boxes are an ItmlabError.
    """
    if not len(images):
        raise ItmlabError("there is no image to prepare", remedy="give at least one")
    if config.photo_encoder:
        from .photographs import photo_encoder

        seen = photo_encoder().regions
        images = [image if hasattr(image, "features") else seen(image) for image in images]
    for number, image in enumerate(images):
        shape, what = tuple(image.features.shape), None
        if len(shape) != 2 or not shape[0] or shape[1] != config.region_dimension:
            what = f"features of shape {shape}, the model reads one or more of {config.region_dimension} numbers"
        elif config.box_dimension and image.boxes is None:
            what = "no boxes, which the model reads"
        if what is not None:
            raise ItmlabError(what, where=f"regions of image {number}", remedy="see RegionFeatures in itmlab.data")
    counts = torch.tensor([len(image.features) for image in images])
    read = {"regions": [image.features.float() for image in images]}
    if config.box_dimension:
        read["boxes"] = [image.boxes[:, : config.box_dimension].float() for image in images]
    padded = {name: pad_sequence(values, batch_first=True) for name, values in read.items()}
    return padded | {"region_mask": torch.arange(int(counts.max()))[None, :] < counts[:, None]}
