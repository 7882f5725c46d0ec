"""The four heads of TAGS-DC on the one tower: H_MLM, H_ITM, H_WoD and H_WoC."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from itmlab.errors import ItmlabError

from .one_tower_config import OneTowerConfig

HEADS = ("itm", "mlm", "wod", "woc")


class WordHead(nn.Module):
    """A two-layer network to the vocabulary (TAGS, Sec. 2.1.1), its second layer tied to the word embeddings (BERT)."""

    def __init__(self, config: OneTowerConfig):
        super().__init__()
        self.transform = nn.Linear(config.hidden, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.layer_norm_epsilon)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary_size))

    def forward(
        self, states: Float[Tensor, "*place hidden"], words: Float[Tensor, "vocabulary hidden"]
    ) -> Float[Tensor, "*place vocabulary"]:
        return functional.linear(self.norm(functional.gelu(self.transform(states))), words, self.bias)


class Heads(nn.Module):
    """H_ITM gives one matching logit a pair, H_WoD two logits a token, the other two the vocabulary's logits."""

    def __init__(self, config: OneTowerConfig):
        super().__init__()
        self.itm, self.wod = nn.Linear(config.hidden, 1), nn.Linear(config.hidden, 2)
        self.mlm, self.woc = WordHead(config), WordHead(config)


def known_heads(heads: Sequence[str]) -> tuple[str, ...]:
    """The names as given; one that is no head is an ItmlabError."""
    heads = (heads,) if isinstance(heads, str) else tuple(heads)
    unknown = [head for head in heads if head not in HEADS]
    if unknown:
        raise ItmlabError(f"no head {', '.join(map(repr, unknown))}", remedy=f"the heads are {', '.join(HEADS)}")
    return heads
