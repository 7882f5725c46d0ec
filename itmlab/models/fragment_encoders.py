"""What the fragment matchers share: a map of regions and a recurrent network over words."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .config import FragmentConfig
from .encoded import Encoded, masked_mean, unit


class RegionMap(nn.Sequential):
    """v_i = W f_i + b (SCAN, Sec. 3.3); with `region_layers` above one, further layers behind rectifiers."""

    def __init__(self, config: FragmentConfig):
        linear = [nn.Linear(config.region_dimension + config.box_dimension, config.dimension)]
        linear += [nn.Linear(config.dimension, config.dimension) for _ in range(config.region_layers - 1)]
        for layer in linear:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        super().__init__(linear[0], *(part for layer in linear[1:] for part in (nn.ReLU(), layer)))


class RegionEncoder(nn.Module):
    """Regions as unit vectors; the image as a whole is the direction of their mean (SCAN, SGRAF, VSE++)."""

    def __init__(self, config: FragmentConfig):
        super().__init__()
        self.map, self.unit_parts = RegionMap(config), config.kind != "vsepp"

    def forward(
        self, regions: Float[Tensor, "image region feature"], region_mask: Bool[Tensor, "image region"]
    ) -> Encoded:
        local = self.map(regions).float()
        local = masked_units(local, region_mask) if self.unit_parts else local
        return Encoded(unit(masked_mean(local, region_mask, region_mask)), local, region_mask)


class WordEncoder(nn.Module):
    """Word pieces through a GRU: both directions' mean for each (SCAN, Sec. 3.4), or the last state for all (VSE++).

    Of the former the caption as a whole is the direction of the mean over its words. The frame ([CLS], [SEP]) is read
    by the network and is no word.
    """

    def __init__(self, config: FragmentConfig):
        super().__init__()
        self.last_state = config.kind in ("vsrn", "vsepp")
        self.embedding = nn.Embedding(config.vocabulary_size, config.word_dimension)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.network = nn.GRU(
            config.word_dimension, config.dimension, batch_first=True, bidirectional=not self.last_state
        )

    def forward(
        self,
        input_ids: Int[Tensor, "caption token"],
        attention_mask: Int[Tensor, "caption token"],
        word_mask: Bool[Tensor, "caption token"],
    ) -> Encoded:
        states, last = run_recurrent(self.network, self.embedding(input_ids), attention_mask.sum(1))
        frame = attention_mask.bool()
        words = torch.where(word_mask.any(dim=1, keepdim=True), word_mask, frame)  # no word: the frame stands for it
        if self.last_state:
            return Encoded(unit(last), states, words)
        forth, back = states.chunk(2, dim=-1)
        local = masked_units((forth + back) / 2, words)
        return Encoded(unit(masked_mean(local, words, frame)), local, words)


def masked_units(
    local: Float[Tensor, "n part dimension"], mask: Bool[Tensor, "n part"]
) -> Float[Tensor, "n part dimension"]:
    """Each part at length one; padding is zero, so that it has no likeness to anything."""
    return functional.normalize(local, dim=-1).masked_fill(~mask.unsqueeze(-1), 0.0)


def run_recurrent(
    network: nn.GRU, inputs: Float[Tensor, "n part input"], lengths: Int[Tensor, "n"]
) -> tuple[Float[Tensor, "n part output"], Float[Tensor, "n dimension"]]:
    """All states and the forward direction's last, each row read to its own length; in single precision."""
    with torch.autocast(inputs.device.type, enabled=False):
        packed = pack_padded_sequence(inputs.float(), lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, last = network(packed)
        return pad_packed_sequence(states, batch_first=True, total_length=inputs.shape[1])[0], last[0]


# VSRN's second task: to write the caption from the regions, word by word.


class CaptionWriter(nn.Module):
    """p(y_t | y_1 … y_{t-1}, V*) of VSRN (Li et al., ICCV 2019, Sec. 3.4), which serves training only.

    One recurrent network reads the regions V*, a second begins in its last state and writes. Before each word piece it
    attends to what was read (additive attention, asked by its state) and is given that and the piece before. Every
    network has the matcher's `dimension`, where the released code has 512.
    """

    def __init__(self, config: FragmentConfig):
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


# VSRN: regions that reason over each other in a graph and are then read one by one.


class VsrnImages(nn.Module):
    """Images of VSRN (Li et al., "Visual Semantic Reasoning for Image-Text Matching", ICCV 2019).

    `local`, the regions V* after the graph, is what its `CaptionWriter` reads as well. Regions have unit length before
    the graph and after it (over their own numbers: the released code's runs over the regions by mistake), and keep
    their order.
    """

    def __init__(self, config: FragmentConfig):
        super().__init__()
        self.map = RegionMap(config)
        self.graph = nn.ModuleList(RegionGraph(config.dimension) for _ in range(config.graph_layers))
        self.network = nn.GRU(config.dimension, config.dimension, batch_first=True)

    def forward(
        self, regions: Float[Tensor, "image region feature"], region_mask: Bool[Tensor, "image region"]
    ) -> Encoded:
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
    """

    def __init__(self, dimension: int):
        super().__init__()
        self.one, self.other, self.value, self.residual = (nn.Linear(dimension, dimension) for _ in range(4))
        nn.init.zeros_(self.residual.weight)
        nn.init.zeros_(self.residual.bias)

    def forward(
        self, local: Float[Tensor, "image region dimension"], mask: Bool[Tensor, "image region"]
    ) -> Float[Tensor, "image region dimension"]:
        real = mask.unsqueeze(-1)
        affinity = self.one(local) @ self.other(local).transpose(1, 2) / real.sum(dim=1, keepdim=True)
        return self.residual(affinity @ self.value(local).masked_fill(~real, 0.0)) + local
