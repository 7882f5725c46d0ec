"""What the fragment matchers share: a map of regions and a recurrent network over words."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .encoded import Encoded, masked_mean, unit
from .fragment_config import FragmentConfig


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
