"""Does a word's map land on the object that the word means? Measured on drawn scenes, whose masks are known."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor
from torch.nn.functional import interpolate

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..models import TwoTower
from ..text.graph import TOKEN
from .attention import device_of, evaluating, patch_similarity, spoken_words, tower_of

AT_ONCE = 64  # captions through the model


@dataclass(frozen=True)
class Pointing:
    """One entry a word that means a visible object: is its map's peak there, how much of the map, how large it is."""

    hit: Bool[ndarray, "word"]
    mass: Float[ndarray, "word"]  # share of the map's weight inside the object
    area: Float[ndarray, "word"]  # share of the picture that the object takes: chance, for both measures
    image: Int[ndarray, "word"]

    @property
    def chance(self) -> float:
        """What a flat map, or a peak thrown anywhere, reaches on average."""
        return float(self.area.mean())

    def measures(self, *, resamples: int = 1000, seed: int = 0) -> dict[str, tuple[float, float, float]]:
        """ "accuracy" and "mass", each with a 95 % interval from resampling images (words of one belong together)."""
        return {
            "accuracy": _interval(self.hit.astype(float), self.image, resamples, seed),
            "mass": _interval(self.mass, self.image, resamples, seed),
        }


@torch.no_grad()
def pointing(model: Any, data: CaptionSet, *, captions_per_image: int | None = 1) -> Pointing:
    """Measure every word that means a visible object, in the first captions of each image (None: in all).

    A map is enlarged bilinearly to the mask's size, as torch's `interpolate` does with corners not aligned. Its peak is
    the first pixel of the largest value; its mass is what remains after the lowest value is taken from all, as the
    figures show it. Needs the world of `scenes` and a two-tower model or Run.
    """
    if data.world is None:
        raise ItmlabError("pointing needs masks of the objects", where=data.name, remedy="use the data set scenes")
    model = tower_of(model)
    chosen = [own[:captions_per_image] for own in data.captions_of_image]
    captions = torch.cat(chosen).tolist() if chosen else []
    entries = []
    with evaluating(model):
        for start in range(0, len(captions), AT_ONCE):
            entries += list(_words(model, data, captions[start : start + AT_ONCE]))
    if not entries:
        raise ItmlabError("no word of these captions means a visible object", where=data.name)
    hit, mass, area, image = (np.array(column) for column in zip(*entries, strict=True))
    return Pointing(hit, mass, area, image)


def enlarge(weights: Float[ndarray, "row column"], height: int, width: int) -> Float[ndarray, "height width"]:
    """A map of patches as a map of pixels, bilinearly."""
    patches = torch.from_numpy(weights)[None, None]
    return interpolate(patches, (height, width), mode="bilinear", align_corners=False)[0, 0].numpy()


def token_pieces(model: TwoTower, caption: str) -> list[list[int]]:
    """For each token of a scene graph's sentence the positions of its pieces in the model's own tokens.

    The two cut differently ("T-shirt" is one token there and three words here), so they are matched by where in the
    caption they stand; a token that the model does not read has no piece.
    """
    spans, cursor = [], 0
    for word, pieces in model.caption_words(caption):
        start = caption.find(word, cursor)
        if start >= 0:
            cursor = start + len(word)
            spans.append((start, cursor, pieces))
    return [
        [piece for start, end, pieces in spans if match.start() <= start and end <= match.end() for piece in pieces]
        for match in TOKEN.finditer(caption)
    ]


def word_masks(model: Any, data: CaptionSet, caption: int) -> list[Bool[ndarray, "height width"] | None]:
    """For each map of `word_maps` the visible pixels of what the word means in its own picture, or None.

    Without a world all are None.
    """
    model, text = tower_of(model), data.captions[caption]
    words = spoken_words(model, text)
    if data.world is None:
        return [None] * len(words)
    masks = np.asarray(data.world.masks(int(data.image_of_caption[caption])))
    meant: dict[int, Bool[ndarray, "height width"]] = {}
    for token, pieces in enumerate(token_pieces(model, text)):
        objects = data.world.object_of_word(caption, token)
        if objects and masks[objects].any():
            meant |= dict.fromkeys(pieces, masks[objects].any(axis=0))
    return [meant.get(pieces[0]) for _, pieces in words]


def _words(model: TwoTower, data: CaptionSet, captions: list[int]) -> Iterator[tuple[bool, float, float, int]]:
    images = data.image_of_caption[captions].tolist()
    patches = _patches(model, data, sorted(set(images)))
    texts = [data.captions[caption] for caption in captions]
    tokens = {name: value.to(device_of(model)) for name, value in model.prepare_captions(texts).items()}
    features = model.encode_captions(tokens).local
    for row, (caption, image, text) in enumerate(zip(captions, images, texts, strict=True)):
        masks = np.asarray(data.world.masks(image))
        for token, pieces in enumerate(token_pieces(model, text)):
            objects = data.world.object_of_word(caption, token)
            mask = masks[objects].any(axis=0) if objects and pieces else np.zeros(0, dtype=bool)
            if mask.any():
                weights = patch_similarity(patches[image], features[row, pieces].mean(dim=0), model.patch_grid)
                yield *_measure(enlarge(weights, *mask.shape), mask), image


def _patches(model: TwoTower, data: CaptionSet, images: list[int]) -> dict[int, Float[Tensor, "patch dimension"]]:
    pixels = model.prepare_images([data.images[image] for image in images]).to(device_of(model))
    return dict(zip(images, model.encode_images(pixels).local, strict=True))


def _measure(weights: Float[ndarray, "height width"], mask: Bool[ndarray, "height width"]) -> tuple[bool, float, float]:
    """Whether the peak is inside the mask, the share of mass inside it, and the mask's share of the picture."""
    area = float(mask.mean())
    above = weights - weights.min()
    total = float(above.sum())
    return bool(mask.flat[weights.argmax()]), float(above[mask].sum()) / total if total > 0 else area, area


def _interval(
    values: Float[ndarray, "word"], groups: Int[ndarray, "word"], resamples: int, seed: int
) -> tuple[float, float, float]:
    """The mean over words and the 95 % percentile interval of its bootstrap over groups."""
    _, group = np.unique(groups, return_inverse=True)
    sums, counts = np.bincount(group, values), np.bincount(group)
    drawn = np.random.default_rng(seed).integers(0, len(sums), (resamples, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    lower, upper = np.percentile(means, [2.5, 97.5])
    return float(values.mean()), float(lower), float(upper)
