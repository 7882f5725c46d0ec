"""One step of the optimiser on a batch, or on a few whose gradients are added up."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from ..data.batches import Batch
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from .gather import add_up_gradients
from .recipe import Recipe
from .state import State
from .task import BatchLoss


class Learned(NamedTuple):
    """What a step did: its loss, its gradient's norm, and more for the record."""

    loss: float
    norm: float
    more: dict[str, Any]


def learn(state: State, recipe: Recipe, data: CaptionSet, group: list[Batch], rate: float, directory: Path) -> Learned:
    """One step of the optimiser on a group of batches (one, unless accumulating)."""
    model, task, position = state.model, state.task, state.position
    model.train()
    total, found = 0.0, []
    for batch in group:
        made = task(batch, position.epoch)
        if not torch.isfinite(made.loss):
            blamed = made.blamed if len(made.blamed) else batch.image_indices
            stop_not_finite("the loss", made.loss, blamed, state, data, directory)
        (made.loss / len(group)).backward()
        total += made.loss.item() / len(group)
        found.append(made)
        if made.chosen is not None:
            digest = hashlib.sha256(position.choices.encode() + made.chosen.cpu().numpy().tobytes())
            position.choices = digest.hexdigest()[:16]
    add_up_gradients(model, state.accelerator)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.optimiser.clip)
    if not torch.isfinite(norm):
        everybody = torch.cat([batch.image_indices for batch in group])
        stop_not_finite("the gradient", norm, everybody, state, data, directory)
    for settings in state.optimiser.param_groups:
        settings["lr"] = rate
    state.optimiser.step()
    state.optimiser.zero_grad()
    task.after_step()
    return Learned(total, norm.item(), in_all(found))


def in_all(found: list[BatchLoss]) -> dict[str, Any]:
    """Of a group of batches, the mean of each loss and the sum of each histogram; only those there are."""
    losses = {name: sum(one.losses[name] for one in found) / len(found) for name in found[0].losses}
    counts = {name: np.sum([one.counts[name] for one in found], axis=0).tolist() for name in found[0].counts}
    return ({"losses": losses} if losses else {}) | ({"difficulty": counts} if counts else {})


def stop_not_finite(
    what: str, value: Tensor, images: Int64[Tensor, "image"], state: State, data: CaptionSet, directory: Path
) -> None:
    """Stop with the step and the images that are to blame."""
    blamed = list(dict.fromkeys(images.tolist()))
    ids = [data.image_ids[image] for image in blamed[:8]]
    more = f" and {len(blamed) - 8} more" if len(blamed) > 8 else ""
    raise ItmlabError(
        f"{what} is {value.item()} at step {state.position.step + 1} (epoch {state.position.epoch + 1}), "
        f"images {', '.join(ids)}{more}",
        where=str(directory),
        remedy="the last checkpoint is intact; try a lower optimiser.learning_rate",
    )
