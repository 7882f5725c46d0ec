"""Self-attention maps: only eager attention has them, scaled-dot-product attention silently returns none."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@contextmanager
def eager_if(wanted: bool, tower: "PreTrainedModel") -> Iterator[None]:
    """Eager attention in `tower` for the length of the block when `wanted`."""
    usual = tower.config._attn_implementation
    if not wanted or usual == "eager":
        yield
        return
    tower.set_attn_implementation("eager")
    try:
        yield
    finally:
        tower.set_attn_implementation(usual)
