"""Queues of earlier batches' features, so that an anchor has thousands of candidates (FNE: Li et al. 2023, 3.3)."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from ..errors import ItmlabError

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
    >>> memory.image_ids
    tensor([3, 1, 2])
    """

    def __init__(self, length: int, dimension: int, *, device: torch.device | str = "cpu"):
        self.length, self.dimension = length, dimension
        self.image_features = torch.zeros(length, dimension, device=device)
        self.caption_features = torch.zeros(length, dimension, device=device)
        self.image_ids = torch.full((length,), -1, dtype=torch.int64, device=device)
        self.caption_ids = torch.full((length,), -1, dtype=torch.int64, device=device)
        self.position, self.filled = 0, 0  # the slot that is written next, and how many hold a pair

    def __len__(self) -> int:
        """The number of pairs that the queues hold now."""
        return self.filled

    @torch.no_grad()
    def enqueue(self, image_features: Features, caption_features: Features, image_ids: Ids, caption_ids: Ids) -> None:
        """Adds the pairs of one batch over the oldest; of a batch longer than the queue the last K stay."""
        batch = Pool(image_features, caption_features, image_ids, caption_ids)
        count = min(len(image_ids), self.length)
        start = (self.position + len(image_ids) - count) % self.length
        until_end = min(count, self.length - start)  # the rest is written from slot 0 on
        for queue, rows in zip(self._queues(), batch, strict=True):
            latest = rows[len(rows) - count :].to(queue)
            queue[start : start + until_end] = latest[:until_end]
            queue[: count - until_end] = latest[until_end:]
        self.position = (start + count) % self.length
        self.filled = min(self.filled + count, self.length)

    @torch.no_grad()
    def pool(self, image_features: Features, caption_features: Features, image_ids: Ids, caption_ids: Ids) -> Pool:
        """This batch's momentum features, then all that the queue holds: a copy, which later steps leave alone."""
        batch = Pool(image_features, caption_features, image_ids, caption_ids)
        pairs = zip(self._queues(), batch, strict=True)
        return Pool(*(torch.cat([rows.to(queue), queue[: self.filled]]) for queue, rows in pairs))

    def state_dict(self) -> dict[str, Tensor]:
        """The queues and where they stand, as plain tensors (copies)."""
        queues = {name: queue.clone() for name, queue in self._queues()._asdict().items()}
        return queues | {"position": torch.tensor(self.position), "filled": torch.tensor(self.filled)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore what `state_dict` returned; ItmlabError if it is of another length or dimension."""
        mine = self.state_dict()
        if set(state) != set(mine) or any(state[name].shape != tensor.shape for name, tensor in mine.items()):
            raise ItmlabError("the state of another memory", remedy="resume with the recipe that wrote it")
        for name, queue in self._queues()._asdict().items():
            queue.copy_(state[name])
        self.position, self.filled = int(state["position"]), int(state["filled"])

    def _queues(self) -> Pool:
        return Pool(self.image_features, self.caption_features, self.image_ids, self.caption_ids)
