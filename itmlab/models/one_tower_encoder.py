"""The transformer of the one tower: BERT's layers, with fused attention unless the attention maps are wanted."""

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from .one_tower_config import OneTowerConfig

Maps = Float[Tensor, "pair head position position"]


class Layer(nn.Module):
    """Self-attention and a feed-forward network, each followed by a residual sum and LayerNorm (BERT's order).

    With `answered` only so many first positions are worked out, from all of them.
    """

    def __init__(self, config: OneTowerConfig):
        super().__init__()
        hidden, epsilon = config.hidden, config.layer_norm_epsilon
        self.heads, self.dropout = config.heads, nn.Dropout(config.dropout)
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.attended, self.attended_norm = nn.Linear(hidden, hidden), nn.LayerNorm(hidden, eps=epsilon)
        self.intermediate, self.output = nn.Linear(hidden, config.intermediate), nn.Linear(config.intermediate, hidden)
        self.output_norm = nn.LayerNorm(hidden, eps=epsilon)

    def forward(
        self,
        states: Float[Tensor, "pair position hidden"],
        mask: Bool[Tensor, "pair 1 1 position"] | None,
        attentions: bool,
        answered: int | None = None,
    ) -> tuple[Float[Tensor, "pair answered hidden"], Maps | None]:
        key, value = self._split(self.key(states)), self._split(self.value(states))
        states = states[:, :answered]
        query = self._split(self.query(states))
        rate = self.dropout.p if self.training else 0.0
        maps = None
        if attentions:
            logits = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
            maps = (logits if mask is None else logits.masked_fill(~mask, float("-inf"))).softmax(dim=-1)
            mixed = functional.dropout(maps, rate) @ value
        else:
            mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=rate)
        mixed = self.attended(mixed.transpose(1, 2).flatten(2))
        states = self.attended_norm(states + self.dropout(mixed))
        changed = self.output(functional.gelu(self.intermediate(states)))
        return self.output_norm(states + self.dropout(changed)), maps

    def _split(self, states: Float[Tensor, "pair position hidden"]) -> Float[Tensor, "pair head position size"]:
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Encoder(nn.ModuleList):
    """All layers; positions whose `mask` is false are attended to by none, so they change no other position.

    `answered` limits the last layer to that many first positions, where the rest is not going to be read.
    """

    def __init__(self, config: OneTowerConfig):
        super().__init__(Layer(config) for _ in range(config.layers))

    def forward(
        self,
        states: Float[Tensor, "pair position hidden"],
        mask: Bool[Tensor, "pair position"],
        attentions: bool = False,
        answered: int | None = None,
    ) -> tuple[Float[Tensor, "pair answered hidden"], tuple[Maps, ...] | None]:
        keys = None if bool(mask.all()) else mask[:, None, None, :]  # without a mask the fastest kernels apply
        maps = []
        for number, layer in enumerate(self, start=1):
            states, weights = layer(states, keys, attentions, answered if number == len(self) else None)
            maps.append(weights)
        return states, tuple(maps) if attentions else None


def initialise(module: nn.Module) -> None:
    """BERT's starting values: weights normal with deviation 0.02, biases zero; a patch stem keeps torch's own."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
