"""Defaults that a session may have changed before it calls us, as context managers by name."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


SESSIONS = {
    "float64": lambda: _default_dtype(torch.float64),
    "bfloat16": lambda: _default_dtype(torch.bfloat16),
    "device": lambda: torch.device("meta"),  # stands for a GPU: what is made on it by mistake has no content
    "no grad": torch.no_grad,
    "inference": torch.inference_mode,
}
