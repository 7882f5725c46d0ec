"""The scene graph of each caption of a data set, as masking needs it."""

from collections.abc import Sequence

from ..data.captionset import CaptionSet
from ..text import SceneGraph, parse


def caption_graphs(data: CaptionSet, *, progress: bool = False) -> Sequence[SceneGraph]:
    """The world's own graphs where there is one, else what the shipped parser reads, kept in the cache of graphs."""
    return data.world.graphs if data.world is not None else parse(data.captions, progress=progress)
