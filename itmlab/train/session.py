"""What a training run needs of its process: repeatable sums, `accelerate`, and enough memory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from accelerate import Accelerator

from ..errors import ItmlabError

DISTRIBUTED = "unset WORLD_SIZE, RANK, LOCAL_RANK and the variables of accelerate, or start with accelerate launch"


@contextmanager
def repeatable(accelerator: Accelerator) -> Iterator[None]:
    """Use deterministic kernels on a GPU where there are any, without autocast; restore the settings at exit."""
    on_gpu = accelerator.device.type == "cuda"
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    filling = torch.utils.deterministic
    fill = filling.fill_uninitialized_memory
    device = accelerator.device
    with torch.random.fork_rng(devices=[device] if on_gpu else []), torch.autocast(device.type, enabled=False):
        if on_gpu:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS asks for
            torch.use_deterministic_algorithms(True, warn_only=True)
            filling.fill_uninitialized_memory = False  # half of all kernels, for memory that is written anyway
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
            filling.fill_uninitialized_memory = fill


def world_size() -> int:
    """Return how many processes train together, as `accelerate launch` says in WORLD_SIZE.

    Raises:
        ItmlabError: WORLD_SIZE is not a number.
    """
    value = os.environ.get("WORLD_SIZE", "1")
    if not value.isdecimal():
        raise ItmlabError(f"WORLD_SIZE is not a number: {value!r}", where="environment", remedy=DISTRIBUTED)
    return int(value)


def this_process() -> Accelerator:
    """Return `accelerate`'s view of this process and its device.

    Raises:
        ItmlabError: the environment asks for processes that do not exist.
    """
    world_size()
    try:
        return Accelerator()
    except Exception as error:  # a wrong variable of the environment has many types
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ItmlabError(f"accelerate does not start: {reason[:200]}", remedy=DISTRIBUTED) from None


@contextmanager
def memory_named(where: object) -> Iterator[None]:
    """Turn a failed allocation into one ItmlabError with a remedy."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        words = ("allocate", "out of memory", "Storage size")
        if not isinstance(error, MemoryError) and not any(word in str(error) for word in words):
            raise
        remedy = "choose a smaller data.batch_size, memory.length, size of the model, or count of negatives"
        raise ItmlabError("this recipe needs more memory than there is", where=str(where), remedy=remedy) from None
