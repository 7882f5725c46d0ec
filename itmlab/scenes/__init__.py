"""The world `scenes`: pictures that the package draws and captions itself, so that the truth of any pair is known."""

from typing import TYPE_CHECKING, Any

from .build import load

if TYPE_CHECKING:
    from .world import World


__all__ = ["World", "load"]


def __getattr__(name: str) -> Any:
    if name == "World":  # late: it brings numpy and the drawing with it
        from .world import World

        return World
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
