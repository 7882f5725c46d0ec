"""VSRN's second task: to write the caption from the regions, word by word."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from .encoded import Encoded
from .fragment_config import FragmentConfig
from .fragment_encoders import run_recurrent


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
