"""The base of test models that have no configuration of their own."""

from types import SimpleNamespace

from torch import nn


class PlainModel(nn.Module):
    """Answers what may be asked of any model: it reads pictures, and both sides apart."""

    reads, takes_pictures = "pictures", True
    encodes_apart, compares_parts = True, False
    image_tower = tokenizer = None
    config = SimpleNamespace(photo_encoder=None)
