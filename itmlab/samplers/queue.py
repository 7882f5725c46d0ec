"""Queues of earlier batches' features, so that an anchor has thousands of candidates (FNE: Li et al. 2023, 3.3)."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor

Features = Float[Tensor, "pair dimension"]
Ids = Int64[Tensor, "pair"]


class Pool(NamedTuple):
    """Features of pairs, and which images and captions of the data they are of: a batch, or its candidates.

    What `MomentumQueue.pool` returns holds the batch's momentum features first, then the queue's.
    """

    image_features: Features
    caption_features: Features
    image_ids: Ids
    caption_ids: Ids


class MomentumQueue:
    """Two queues of momentum features, of images and of captions, with the image and the caption each entry is of.

    The oldest leave first. What is enqueued is detached and copied. In a pool the queue stands in the order of its
    slots, not of age.

    Args:
        length: K, the number of pairs that it holds; it need not be a multiple of the batch (METHODS 1.4).
        dimension: D, of the features.
        device: where they are kept.

    >>> memory, features, ids = MomentumQueue(3, 2), torch.zeros(2, 2), torch.tensor([0, 1])
    >>> for first in (0, 2):
    ...     memory.enqueue(features, features, ids + first, ids + first)
    >>> memory.queues.image_ids
    tensor([3, 1, 2])
    """

    def __init__(self, length: int, dimension: int, *, device: torch.device | str = "cpu"):
        features = [torch.zeros(length, dimension, device=device) for _ in range(2)]
        ids = [torch.full((length,), -1, dtype=torch.int64, device=device) for _ in range(2)]
        self.length, self.queues = length, Pool(*features, *ids)
        self.position, self.filled = 0, 0  # the slot that is written next, and how many hold a pair

    @torch.no_grad()
    def enqueue(self, *batch: Tensor) -> None:
        """Add the four parts of a batch's `Pool` over the oldest; of a batch longer than the queue the last K stay."""
        size = len(batch[0])
        count, end = min(size, self.length), self.position + size
        slots = torch.arange(end - count, end, device=self.queues.image_ids.device) % self.length
        for queue, rows in zip(self.queues, batch, strict=True):
            queue[slots] = rows[size - count :].to(queue)
        self.position = end % self.length
        self.filled = min(self.filled + count, self.length)

    @torch.no_grad()
    def pool(self, *batch: Tensor) -> Pool:
        """Return the batch's `Pool`, then all that the queue holds: a copy, which later steps leave alone."""
        pairs = zip(self.queues, batch, strict=True)
        return Pool(*(torch.cat([rows.to(queue), queue[: self.filled]]) for queue, rows in pairs))

    def state_dict(self) -> dict[str, Tensor]:
        """Return the queues and where they stand, as plain tensors (copies)."""
        queues = {name: queue.clone() for name, queue in self.queues._asdict().items()}
        return queues | {"position": torch.tensor(self.position), "filled": torch.tensor(self.filled)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore what `state_dict` of a queue of the same length and dimension returned."""
        for name, queue in self.queues._asdict().items():
            queue.copy_(state[name])
        self.position, self.filled = int(state["position"]), int(state["filled"])
