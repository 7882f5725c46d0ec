"""Models that have learnt nothing, searching through coloured squares whose truth is known."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from workshop.analysis.rankings import Retrievals, retrievals

from itmlab.errors import ItmlabError
from itmlab.models import DualEncoderConfig, build_model
from tests.workshop.small_world import COLOURS, SmallWorld, small_set


class ReadingWorld(SmallWorld):
    """Squares that judge typed sentences too: true if they name the square's colour, unread without a colour."""

    def truth(self, images: None = None, captions: Sequence[Any] | None = None) -> torch.Tensor:
        if captions is None:
            return super().truth()
        if not any(name in sentence for sentence in captions for name in COLOURS):
            raise ItmlabError("this sentence cannot be read")
        rows = [[list(COLOURS)[image % 4] in sentence for sentence in captions] for image in self.images]
        return torch.tensor(rows, dtype=torch.int8)


@cache
def small_retrievals(count: int = 16) -> Retrievals:
    """CIDEr and two models, a and b, over squares with two captions each."""
    data = small_set(count)
    data.world = ReadingWorld(data.world.images, data.captions, data.image_of_caption.tolist())
    models = {name: build_model(DualEncoderConfig.tiny(), data.captions, seed=seed) for seed, name in enumerate("ab")}
    return retrievals(models, data, by=("CIDEr",))
