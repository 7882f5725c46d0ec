"""Late interaction: regions and words are encoded separately, and their parts are compared pair by pair (METHODS 5).

Regions are mapped linearly, v_i = W f_i + b, and words are read by a recurrent network, as in SCAN (Lee et al., ECCV
2018, Sec. 3.3 and 3.4). SCAN and SGRAF then compare parts (`matchers`); VSE++ (Faghri et al., BMVC 2018) compares the
mean region with the network's last state; in VSRN (Li et al., "Visual Semantic Reasoning for Image-Text Matching", ICCV
2019) the regions reason over each other first. VSRN's second loss, which learns to write the caption, is left out: it
changes nothing at test time.

METHODS 5 has a table of what `preset="released"` changes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ..errors import ItmlabError
from .config import LateInteractionConfig
from .encoded import Encoded, Mask, Parts, masked_mean, unit
from .matchers import ComparesParts, Scan, Sgraf
from .photographs import photo_encoder, pooled_region
from .transformer import prepare_regions

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Ids = Int[Tensor, "n part"]  # a caption's parts are its tokens


class LateInteraction(ComparesParts):
    """SCAN, SGRAF, VSRN or VSE++ over region features, by `config.kind`.

    A feature depends on its own image or caption only, never on padding or the other members of a batch. `pooled` is
    the direction of the mean over parts (SCAN, SGRAF, VSE++'s images) or a network's last state (VSRN, VSE++'s
    captions). SCAN and SGRAF compare the parts, whose `local` features have unit length; VSRN and VSE++ compare
    `pooled`.
    """

    config_class = LateInteractionConfig

    def __init__(self, config: LateInteractionConfig, tokenizer: "PreTrainedTokenizerFast"):
        super().__init__(config, tokenizer)
        self.images = VsrnImages(config) if config.kind == "vsrn" else RegionEncoder(config)
        self.captions = WordEncoder(config)
        self.matcher = None
        if config.compares_parts:
            self.matcher = (Scan if config.kind.startswith("scan") else Sgraf)(config)

    def prepare_images(self, images: Sequence[Any]) -> dict[str, Tensor]:
        """Return `regions`, `region_mask` and, where they are read, `boxes`.

        VSE++ with a linear map above a photo encoder reads the mean of the regions: the same feature for a 49th of the
        products.

        Args:
            images: records with `features` and `boxes`; with a `photo_encoder` also pictures.
        """
        config = self.config
        if config.photo_encoder and config.kind == "vsepp" and config.region_layers == 1 and not config.boxes:
            images = [pooled_region(image) if hasattr(image, "features") else image for image in images]
        prepared = prepare_regions(images, config)
        fixed = config.released and config.kind in ("sgr", "saf")
        if fixed and bool((prepared["region_mask"].sum(dim=1) != config.region_count).any()):
            message = f"the released {config.kind} reads {config.region_count} regions of every image"
            raise ItmlabError(message, remedy="set region_count, or take preset='paper', which reads any number")
        return prepared

    @property
    def patch_grid(self) -> tuple[int, int]:
        """Rows and columns of the regions that the `photo_encoder` makes of a picture, in the order of `local`."""
        return tuple(photo_encoder().grid)

    def encode_images(self, prepared: dict[str, Tensor]) -> Encoded:
        """Return the features of prepared images."""
        regions = (prepared["regions"] - self.config.region_mean) / self.config.region_std
        if self.config.boxes:
            regions = torch.cat([regions, prepared["boxes"].to(regions)], dim=-1)
        return self.with_whole(self.images(regions, prepared["region_mask"].bool()), "of_images")

    def encode_captions(self, tokens: dict[str, Tensor]) -> Encoded:
        """Return the features of prepared captions."""
        return self.with_whole(self.captions(**tokens), "of_captions")


class RegionMap(nn.Sequential):
    """v_i = W f_i + b (SCAN, Sec. 3.3); with `region_layers` above one, further layers behind rectifiers."""

    def __init__(self, config: LateInteractionConfig):
        linear = [nn.Linear(config.region_dimension + config.box_dimension, config.dimension)]
        linear += [nn.Linear(config.dimension, config.dimension) for _ in range(config.region_layers - 1)]
        for layer in linear:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        super().__init__(linear[0], *(part for layer in linear[1:] for part in (nn.ReLU(), layer)))


class RegionEncoder(nn.Module):
    """Regions as unit vectors (VSE++: as they are); the image is the direction of their mean (SCAN, SGRAF, VSE++)."""

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        self.map, self.unit_parts = RegionMap(config), config.kind != "vsepp"
        self.dropout = nn.Dropout(config.dropout if config.photo_encoder else 0.0)

    def forward(self, regions: Parts, region_mask: Mask) -> Encoded:
        """Return the encoded images of region features."""
        local = self.map(self.dropout(regions)).float()
        local = masked_units(local, region_mask) if self.unit_parts else local
        return Encoded(unit(masked_mean(local, region_mask, region_mask)), local, region_mask)


class WordEncoder(nn.Module):
    """Word pieces through a GRU: the mean of both directions per piece (SCAN, Sec. 3.4), or the last state (VSE++).

    With a feature per piece the caption is the direction of the mean over its words. The network reads the frame
    ([CLS], [SEP]), which does not count as words; in the released code it does, and SGRAF drops shares of word
    embeddings. With `word_vectors` a word is a linear map of its fixed vector, and the caption is the words' mean.
    """

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        self.fixed, self.unit_parts = config.word_vectors is not None, config.kind != "vsepp"
        self.last_state, self.frame_is_words = not config.compares_parts and not self.fixed, config.released
        self.dropout = nn.Dropout(config.dropout if config.released and config.kind in ("sgr", "saf") else 0.0)
        self.embedding = nn.Embedding(config.vocabulary_size, config.word_dimension)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        sizes = config.word_dimension, config.dimension
        if self.fixed:
            self.embedding.weight.requires_grad_(False)
            self.network = nn.Linear(*sizes)
        else:
            self.network = nn.GRU(*sizes, batch_first=True, bidirectional=not self.last_state)

    def forward(self, input_ids: Ids, attention_mask: Ids, word_mask: Mask) -> Encoded:
        """Return the encoded captions of tokens."""
        embedded = self.dropout(self.embedding(input_ids))
        frame = attention_mask.bool()
        words = frame if self.frame_is_words else word_mask
        words = torch.where(words.any(dim=1, keepdim=True), words, frame)  # no word: the frame stands for it
        if self.fixed:
            local = self.network(embedded).float()
        else:
            states, last = run_recurrent(self.network, embedded, attention_mask.sum(1))
            if self.last_state:
                return Encoded(unit(last), states, words)
            local = sum(states.chunk(2, dim=-1)) / 2  # the mean of both directions
        local = masked_units(local, words) if self.unit_parts else local
        return Encoded(unit(masked_mean(local, words, frame)), local, words)


def masked_units(local: Parts, mask: Mask) -> Parts:
    """Scale each part to length one; padding becomes zero, so that it is similar to nothing.

    >>> masked_units(torch.tensor([[[3.0, 4.0], [1.0, 1.0]]]), torch.tensor([[True, False]]))
    tensor([[[0.6000, 0.8000],
             [0.0000, 0.0000]]])
    """
    return functional.normalize(local, dim=-1).masked_fill(~mask.unsqueeze(-1), 0.0)


def run_recurrent(network: nn.GRU, inputs: Parts, lengths: Int[Tensor, "n"]) -> tuple[Parts, Float[Tensor, "n output"]]:
    """Read rows of different lengths by a recurrent network, in single precision.

    Args:
        network: the network.
        inputs: the parts, padded on the right.
        lengths: parts per row.

    Returns:
        All states, and the forward direction's last state of each row.
    """
    with torch.autocast(inputs.device.type, enabled=False):
        packed = pack_padded_sequence(inputs.float(), lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, last = network(packed)
        return pad_packed_sequence(states, batch_first=True, total_length=inputs.shape[1])[0], last[0]


class VsrnImages(nn.Module):
    """Images of VSRN: regions that reason over each other in a graph and are then read one by one.

    Regions have unit length before the graph and after it, and keep their order. The released code makes each number of
    unit length over the regions instead; its Flickr30K model (`batch_norm`) does so only after the graph, and
    normalises the image's feature over the batch.
    """

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        self.map, self.released = RegionMap(config), config.released
        self.graph = nn.ModuleList(RegionGraph(config.dimension, config.released) for _ in range(config.graph_layers))
        self.network = nn.GRU(config.dimension, config.dimension, batch_first=True)
        self.norm = nn.BatchNorm1d(config.dimension) if config.released and config.batch_norm else None

    def forward(self, regions: Parts, region_mask: Mask) -> Encoded:
        """Return the encoded images of region features."""
        local = self.map(regions).float()
        local = self.units(local, region_mask) if self.norm is None else local
        for layer in self.graph:
            local = layer(local, region_mask)
        local = self.units(local, region_mask)
        _, last = run_recurrent(self.network, local, region_mask.sum(1))
        return Encoded(unit(last if self.norm is None else self.norm(last)), local, region_mask)

    def units(self, local: Parts, mask: Mask) -> Parts:
        """Scale regions to unit length, or, as released, each number over the regions."""
        if not self.released:
            return masked_units(local, mask)
        return functional.normalize(local.masked_fill(~mask.unsqueeze(-1), 0.0), dim=1)


class RegionGraph(nn.Module):
    """V* = W_r(R V W_g) + V with R_ij = φ(v_i)ᵀϕ(v_j), each row divided by the number of regions (Sec. 3.2).

    W_r starts at zero, so a fresh graph changes nothing. There is no batch normalisation, so that an image's feature
    does not depend on its batch. The released code has one behind W_r, over real regions, which starts at zero instead.

    >>> local = torch.rand(1, 3, 4)
    >>> torch.equal(RegionGraph(4)(local, torch.ones(1, 3, dtype=torch.bool)), local)
    True
    """

    def __init__(self, dimension: int, released: bool = False):
        super().__init__()
        self.one, self.other = nn.Linear(dimension, dimension), nn.Linear(dimension, dimension)  # φ and ϕ
        self.value, self.residual = nn.Linear(dimension, dimension), nn.Linear(dimension, dimension)  # W_g and W_r
        self.norm = nn.BatchNorm1d(dimension) if released else None
        last = self.norm or self.residual
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)

    def forward(self, local: Parts, mask: Mask) -> Parts:
        """Return the regions after one layer of the graph."""
        real = mask.unsqueeze(-1)
        affinity = self.one(local) @ self.other(local).transpose(1, 2) / real.sum(dim=1, keepdim=True)
        added = self.residual(affinity @ self.value(local).masked_fill(~real, 0.0))
        return (added if self.norm is None else added.masked_scatter(real, self.norm(added[mask]))) + local
