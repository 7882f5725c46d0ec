"""What is matched: image–caption sets from the world `scenes`, from files and from `datasets`, and their batches."""

from .loading import load, names

__all__ = ["load", "names"]
