"""Torch's defaults of a session: the public functions work whatever a notebook has set."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch


@contextmanager
def usual_defaults() -> Iterator[None]:
    """Give torch its usual defaults during a block or, as a decorator, during a function.

    New tensors are in single precision and on the CPU, and gradients can be recorded, whatever
    `torch.set_default_dtype`, `set_default_device`, `set_grad_enabled` or `inference_mode` say outside.

    >>> with torch.inference_mode(), usual_defaults():
    ...     print(torch.is_inference_mode_enabled(), torch.is_grad_enabled())
    False True
    """
    dtype = torch.get_default_dtype()
    # entered only where it is needed, as it slows every call of torch down
    on_cpu = nullcontext() if torch.get_default_device().type == "cpu" else torch.device("cpu")
    torch.set_default_dtype(torch.float32)
    try:
        with torch.inference_mode(False), torch.enable_grad(), on_cpu:
            yield
    finally:
        torch.set_default_dtype(dtype)
