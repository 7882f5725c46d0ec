"""Five captions an image, as five people might write them, each with its scene graph and what its words mean."""

from .write import Caption, write_captions

__all__ = ["Caption", "write_captions"]
