"""What is matched: image–caption sets, from files, from `datasets` and from packages that register theirs."""

from .loading import load, names

__all__ = ["load", "names"]
