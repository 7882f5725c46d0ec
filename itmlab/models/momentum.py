"""The slowly moving copy of a model that fills the momentum memory."""

import copy

import torch
from torch import Tensor, nn

from itmlab.errors import ItmlabError

from .encoded import Encoded
from .two_tower import TwoTower


class Momentum(nn.Module):
    """θ_k ← m·θ_k + (1 − m)·θ_q, always in evaluation mode and without gradients (FNE, Sec. 3.3, m = 0.995).

    `state_dict` and `load_state_dict` carry the copy's weights for resuming.
    """

    def __init__(self, model: TwoTower, m: float = 0.995):
        super().__init__()
        if not 0 <= m < 1:
            raise ItmlabError(f"a momentum of {m} never follows the model", remedy="use 0 ≤ m < 1, such as 0.995")
        self.m = m
        self.model = copy.deepcopy(model, {id(model.tokenizer): model.tokenizer})  # one tokeniser serves both
        self.model.requires_grad_(False)
        self.train(False)

    def train(self, mode: bool = True) -> "Momentum":
        """Stay in evaluation mode: a memory filled through dropout would be noise that the queue keeps."""
        return super().train(False)

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Move towards `model` (also inside a distributed wrapper) once; buffers, which hold no slope, are copied."""
        model = getattr(model, "module", model)
        slow, fast = list(self.model.parameters()), list(model.parameters())
        torch._foreach_lerp_(slow, [one.detach() for one in fast], 1 - self.m)
        for kept, current in zip(self.model.buffers(), model.buffers(), strict=True):
            kept.copy_(current)

    @torch.no_grad()
    def encode_images(self, pixels: Tensor) -> Encoded:
        """`TwoTower.encode_images` of the copy."""
        return self.model.encode_images(pixels)

    @torch.no_grad()
    def encode_captions(self, tokens: dict[str, Tensor]) -> Encoded:
        """`TwoTower.encode_captions` of the copy."""
        return self.model.encode_captions(tokens)
