"""Several processes as one: features of the whole batch on each of them, gradients added up.

Every process computes the loss of the whole batch, from its own features (with gradient) and the others' (without).
The gradient with respect to its own features is then the single process's, and the sum over processes is the single
process's gradient of the weights. Nothing needs rescaling, and negatives come from the whole batch.
"""

import torch
from accelerate import Accelerator
from jaxtyping import Float
from torch import Tensor, nn

from ..errors import ItmlabError


def share(count: int, accelerator: Accelerator) -> slice:
    """This process's part of a batch of `count` pairs; a count that does not divide evenly is an ItmlabError."""
    each, rest = divmod(count, accelerator.num_processes)
    if rest:
        raise ItmlabError(
            f"a batch of {count} pairs cannot be split evenly over {accelerator.num_processes} processes",
            remedy="choose data.batch_size as a multiple of the number of processes, not above the number of images",
        )
    return slice(accelerator.process_index * each, (accelerator.process_index + 1) * each)


def whole_batch(features: Float[Tensor, "part dimension"], accelerator: Accelerator) -> Float[Tensor, "n dimension"]:
    """All processes' features in the order of the batch; the gradient flows into this process's own."""
    if accelerator.num_processes == 1:
        return features
    everyone = accelerator.gather(features.detach().contiguous())
    own = share(len(everyone), accelerator)
    return torch.cat([everyone[: own.start], features, everyone[own.stop :]])


def add_up_gradients(model: nn.Module, accelerator: Accelerator) -> None:
    """Give every process the sum of all processes' gradients, in one message."""
    if accelerator.num_processes == 1:
        return
    weights = [weight for weight in model.parameters() if weight.grad is not None]
    flat = accelerator.reduce(torch.cat([weight.grad.flatten() for weight in weights]), reduction="sum")
    for weight, total in zip(weights, flat.split([weight.numel() for weight in weights]), strict=True):
        weight.grad.copy_(total.view_as(weight))
