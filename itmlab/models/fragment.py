"""The fragment matchers: regions and words encoded apart, their parts compared pair by pair (METHODS 5).

Regions are mapped linearly, v_i = W f_i + b, and words are read by a recurrent network, as in SCAN (Lee et al., ECCV
2018, Sec. 3.3 and 3.4). SCAN and SGRAF then compare parts (`matchers`); VSE++ (Faghri et al., BMVC 2018) compares the
mean region with the network's last state; VSRN (Li et al., "Visual Semantic Reasoning for Image-Text Matching", ICCV
2019) lets the regions reason over each other first, and learns to write the caption as well.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from tqdm import tqdm

from ..errors import ItmlabError
from .config import LateInteractionConfig
from .encoded import Encoded, EncodesApart, Mask, Parts, masked_mean, unit
from .matchers import Scan, Sgraf
from .transformer import prepare_regions

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Ids = Int[Tensor, "n part"]  # a caption's parts are its tokens
Block = Callable[[Encoded, Encoded], Float[Tensor, "image caption"]]


class LateInteraction(EncodesApart):
    """SCAN, SGRAF, VSRN or VSE++ over region features, by `config.kind`.

    A feature depends on its own image or caption only, never on padding or the other members of a batch. `pooled` is
    the direction of the mean over parts (SCAN, SGRAF, VSE++'s images) or a network's last state (VSRN, VSE++'s
    captions). SCAN and SGRAF compare the parts, whose `local` have unit length; VSRN and VSE++ compare `pooled`.
    """

    config_class, reads = LateInteractionConfig, "regions"

    def __init__(self, config: LateInteractionConfig, tokenizer: "PreTrainedTokenizerFast"):
        super().__init__(config, tokenizer)
        self.images = VsrnImages(config) if config.kind == "vsrn" else RegionEncoder(config)
        self.captions = WordEncoder(config)
        self.matcher = None
        if config.kind not in ("vsrn", "vsepp"):
            self.matcher = (Scan if config.kind.startswith("scan") else Sgraf)(config)
        self.writer = CaptionWriter(config) if config.kind == "vsrn" else None

    def prepare_images(self, images: Sequence[Any]) -> dict[str, Tensor]:
        """`regions` and `region_mask` (and `boxes`, where they are read) of records with `features` and `boxes`."""
        return prepare_regions(images, self.config)

    def encode_images(self, prepared: dict[str, Tensor]) -> Encoded:
        """Features of prepared images."""
        regions = (prepared["regions"] - self.config.region_mean) / self.config.region_std
        if self.config.boxes:
            regions = torch.cat([regions, prepared["boxes"].to(regions)], dim=-1)
        return self.images(regions, prepared["region_mask"].bool())

    def encode_captions(self, tokens: dict[str, Tensor]) -> Encoded:
        """Features of prepared captions."""
        return self.captions(**tokens)

    def caption_nats(self, images: Encoded, tokens: dict[str, Tensor]) -> Float[Tensor, "caption"]:
        """What it costs VSRN to write prepared caption i from image i, in nats (L_G, ICCV 2019, Sec. 3.4)."""
        if self.writer is None:
            raise ItmlabError(f"{self.config.kind} writes no captions", remedy="take a model of kind vsrn")
        return self.writer(images, tokens)

    def similarity(
        self, images: Encoded | Tensor, captions: Encoded | Tensor, *, chunk: int | None = None, progress: bool = False
    ) -> Float[Tensor, "image caption"]:
        """The score of every image with every caption, at most `chunk` pairs at a time (None: what suits the machine).

        With gradients where the features have them. VSRN and VSE++ take pooled features as well; for SCAN and SGRAF,
        which compare parts, these are an ItmlabError.
        """
        if self.matcher is None:
            count = len(captions.pooled if isinstance(captions, Encoded) else captions)
            chunk = 2**20 if chunk is None else chunk
            return super().similarity(images, captions, chunk=-(-chunk // max(count, 1)))
        if not (isinstance(images, Encoded) and isinstance(captions, Encoded)):
            what = f"{self.config.kind} compares parts, which pooled features have not"
            raise ItmlabError(what, remedy="give what encode_images and encode_captions return")
        device = images.local.device.type
        if chunk is None:
            chunk = self.matcher.pairs_at_once * (1 if device == "cpu" else 16)
        with torch.autocast(device, enabled=False):
            if isinstance(self.matcher, Sgraf):
                images, captions = self.matcher.with_globals(images, captions)
            return all_pairs(self.matcher, images, captions, chunk=chunk, progress=progress)


def all_pairs(
    block: Block, images: Encoded, captions: Encoded, *, chunk: int, progress: bool = False
) -> Float[Tensor, "image caption"]:
    """`block` over all pairs, at most `chunk` at a time, parts of like number together; gradients flow."""
    if chunk < 1:
        raise ItmlabError(f"a chunk of {chunk} pairs is none", remedy="give chunk=1 or more")
    tall = min(math.isqrt(chunk), len(images.mask))
    columns = list(_blocks(captions, chunk // max(tall, 1)))
    scores = torch.zeros(len(images.mask), len(captions.mask), device=images.local.device)
    with tqdm(total=len(images.mask), desc="scoring", unit="image", disable=not progress) as bar:
        for row_numbers, some_images in _blocks(images, tall):
            for column_numbers, some_captions in columns:
                scores[row_numbers[:, None], column_numbers] = block(some_images, some_captions)
            bar.update(len(row_numbers))
    return scores


def _blocks(items: Encoded, size: int) -> Iterator[tuple[Int[Tensor, "block"], Encoded]]:
    """Items with like numbers of parts, their row numbers beside them, without the padding that none of them needs."""
    for numbers in torch.argsort(items.mask.sum(dim=1), stable=True).split(max(size, 1)):
        mask = items.mask[numbers]
        used = mask.any(dim=0)
        yield numbers, Encoded(items.pooled[numbers], items.local[numbers][:, used], mask[:, used])


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

    def forward(self, regions: Parts, region_mask: Mask) -> Encoded:
        local = self.map(regions).float()
        local = masked_units(local, region_mask) if self.unit_parts else local
        return Encoded(unit(masked_mean(local, region_mask, region_mask)), local, region_mask)


class WordEncoder(nn.Module):
    """Word pieces through a GRU: both directions' mean for each (SCAN, Sec. 3.4), or the last state for all (VSE++).

    Of the former the caption as a whole is the direction of the mean over its words. The frame ([CLS], [SEP]) is read
    by the network and is no word.
    """

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        self.last_state = config.kind in ("vsrn", "vsepp")
        self.embedding = nn.Embedding(config.vocabulary_size, config.word_dimension)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        both = not self.last_state
        self.network = nn.GRU(config.word_dimension, config.dimension, batch_first=True, bidirectional=both)

    def forward(self, input_ids: Ids, attention_mask: Ids, word_mask: Mask) -> Encoded:
        states, last = run_recurrent(self.network, self.embedding(input_ids), attention_mask.sum(1))
        frame = attention_mask.bool()
        words = torch.where(word_mask.any(dim=1, keepdim=True), word_mask, frame)  # no word: the frame stands for it
        if self.last_state:
            return Encoded(unit(last), states, words)
        forth, back = states.chunk(2, dim=-1)
        local = masked_units((forth + back) / 2, words)
        return Encoded(unit(masked_mean(local, words, frame)), local, words)


def masked_units(local: Parts, mask: Mask) -> Parts:
    """Each part at length one; padding is zero, so that it has no likeness to anything.

    >>> masked_units(torch.tensor([[[3.0, 4.0], [1.0, 1.0]]]), torch.tensor([[True, False]]))
    tensor([[[0.6000, 0.8000],
             [0.0000, 0.0000]]])
    """
    return functional.normalize(local, dim=-1).masked_fill(~mask.unsqueeze(-1), 0.0)


def run_recurrent(network: nn.GRU, inputs: Parts, lengths: Int[Tensor, "n"]) -> tuple[Parts, Float[Tensor, "n output"]]:
    """All states and the forward direction's last, each row read to its own length; in single precision."""
    with torch.autocast(inputs.device.type, enabled=False):
        packed = pack_padded_sequence(inputs.float(), lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, last = network(packed)
        return pad_packed_sequence(states, batch_first=True, total_length=inputs.shape[1])[0], last[0]


class VsrnImages(nn.Module):
    """Images of VSRN: regions that reason over each other in a graph and are then read one by one.

    `local`, the regions V* after the graph, is what its `CaptionWriter` reads as well. Regions have unit length before
    the graph and after it (over their own numbers: the released code's runs over the regions by mistake), and keep
    their order.
    """

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        self.map = RegionMap(config)
        self.graph = nn.ModuleList(RegionGraph(config.dimension) for _ in range(config.graph_layers))
        self.network = nn.GRU(config.dimension, config.dimension, batch_first=True)

    def forward(self, regions: Parts, region_mask: Mask) -> Encoded:
        local = masked_units(self.map(regions).float(), region_mask)
        for layer in self.graph:
            local = layer(local, region_mask)
        local = masked_units(local, region_mask)
        _, last = run_recurrent(self.network, local, region_mask.sum(1))
        return Encoded(unit(last), local, region_mask)


class RegionGraph(nn.Module):
    """V* = W_r(R V W_g) + V with R_ij = φ(v_i)ᵀϕ(v_j), each row divided by the number of regions (Sec. 3.2).

    W_r starts at zero, so a fresh graph changes nothing. No batch normalisation: an image is encoded alike in all
    company.

    >>> local = torch.rand(1, 3, 4)
    >>> torch.equal(RegionGraph(4)(local, torch.ones(1, 3, dtype=torch.bool)), local)
    True
    """

    def __init__(self, dimension: int):
        super().__init__()
        self.one, self.other, self.value, self.residual = (nn.Linear(dimension, dimension) for _ in range(4))
        nn.init.zeros_(self.residual.weight)
        nn.init.zeros_(self.residual.bias)

    def forward(self, local: Parts, mask: Mask) -> Parts:
        real = mask.unsqueeze(-1)
        affinity = self.one(local) @ self.other(local).transpose(1, 2) / real.sum(dim=1, keepdim=True)
        return self.residual(affinity @ self.value(local).masked_fill(~real, 0.0)) + local


class CaptionWriter(nn.Module):
    """p(y_t | y_1 … y_{t-1}, V*) of VSRN (Sec. 3.4): to write the caption from the regions, in training only.

    One recurrent network reads the regions V*, a second begins in its last state and writes. Before each word piece it
    attends to what was read (additive attention, asked by its state) and is given that and the piece before. Every
    network has the matcher's `dimension`, where the released code has 512.
    """

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        size = config.dimension
        self.embedding = nn.Embedding(config.vocabulary_size, config.word_dimension)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.reader = nn.GRU(size, size, batch_first=True)
        self.part, self.state = nn.Linear(size, size), nn.Linear(size, size, bias=False)
        self.weigh = nn.Linear(size, 1, bias=False)
        self.writer = nn.GRUCell(config.word_dimension + size, size)
        self.answer = nn.Linear(size, config.vocabulary_size)

    def forward(self, images: Encoded, tokens: dict[str, Tensor]) -> Float[Tensor, "caption"]:
        """−Σ_t log p(y_t) of each caption, of image i caption i, in nats; the sign that ends it is its last word."""
        pieces, frame = tokens["input_ids"], tokens["attention_mask"].bool()
        with torch.autocast(pieces.device.type, enabled=False):
            read, state = run_recurrent(self.reader, images.local.float(), images.mask.sum(1))
            keys, padding, states = self.part(read), ~images.mask, []
            for before in self.embedding(pieces[:, :-1]).unbind(1):
                logits = self.weigh(torch.tanh(keys + self.state(state).unsqueeze(1))).squeeze(-1)
                weights = logits.masked_fill(padding, float("-inf")).softmax(dim=1)
                seen = (weights.unsqueeze(1) @ read).squeeze(1)
                state = self.writer(torch.cat([before, seen], dim=1), state)
                states.append(state)
            logits = self.answer(torch.stack(states, dim=1))
            nats = functional.cross_entropy(logits.transpose(1, 2), pieces[:, 1:], reduction="none")
        return nats.masked_fill(~frame[:, 1:], 0.0).sum(dim=1)
