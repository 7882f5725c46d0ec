"""All maps of one caption over its own picture, by checkpoint, with what each word means there."""

from collections.abc import Mapping
from typing import Any, Literal

from jaxtyping import Bool
from numpy import ndarray

from ..data.captionset import CaptionSet
from .attention import AttentionMap, word_maps
from .pointing import word_masks
from .relevance import relevance

Measure = Literal["similarity", "gradient"]


def caption_maps(
    runs: Mapping[str, Any], data: CaptionSet, caption: int, *, measure: Measure = "similarity", named: bool = False
) -> tuple[dict[str, list[AttentionMap]], list[Bool[ndarray, "height width"] | None]]:
    """For each Run or model the maps of the caption's words, and for each word the mask of what it means, or None.

    `measure` is the similarity of word and patch or the gradient's relevance; `named` keeps only the words that mean
    something visible, which takes the world of `scenes`.
    """
    picture, text = data.images[int(data.image_of_caption[caption])], data.captions[caption]
    maps = {name: word_maps(run, picture, text) for name, run in runs.items()}
    words = [entry.word.casefold() for entry in next(iter(maps.values()))]
    if measure == "gradient":
        times = [words[:number].count(word) for number, word in enumerate(words)]
        maps = {
            name: [relevance(run, picture, text, word=word, occurrence=n) for word, n in zip(words, times, strict=True)]
            for name, run in runs.items()
        }
    outlines = word_masks(next(iter(runs.values())), data, caption)
    keep = [number for number in range(len(words)) if not named or outlines[number] is not None]
    return {name: [row[number] for number in keep] for name, row in maps.items()}, [outlines[n] for n in keep]
