"""Where a word lands in a picture, and whether it lands on what it means.

FNE's paper does not define its attention map. Here it is the cosine of a word's feature with each patch's feature
(METHODS 1.5). `relevance` is a second view, by gradients. `pointing` measures both against the masks of drawn scenes.

References:
    Li et al. (2023), FNE, Figures 3 and 7.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, interpolate

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import Interval, interval
from itmlab.models import DualEncoder
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import on_device

from .scoring import dual_encoder_of, require_truth

Pixels = Float[Tensor, "1 3 height width"]
Feature = Float[Tensor, "dimension"]
Weights = Float[ndarray, "row column"]  # one number per patch
Mask = Bool[ndarray, "height width"]


@dataclass(frozen=True)
class AttentionMap:
    """The map of one word over one picture.

    Args:
        weights: one number per patch, rows from the top.
        word: the word.
        picture: the part of the picture that the patches cover.
    """

    weights: Weights
    word: str
    picture: Image.Image


Measure = Literal["similarity", "gradient"]


def word_maps(model: Any, picture: Image.Image, caption: str, *, measure: Measure = "similarity") -> list[AttentionMap]:
    """Return the maps of all words of a caption in order, without punctuation.

    A weight does not depend on any other picture or caption. A word's feature is the mean over its pieces.

    Args:
        model: a dual encoder or a Run of one. For photographs the patches are the regions of the frozen encoder.
        picture: the picture.
        caption: the caption.
        measure: `similarities` of word and patch, or the `relevance` by gradients.

    Raises:
        ItmlabError: gradients of a frozen image tower are asked for.
    """
    model = dual_encoder_of(model, pictures=True)
    words = spoken_words(model, caption)
    with evaluating(model):
        pixels = on_device(model, model.prepare_images([picture]))
        pieces = model.encode_captions(on_device(model, model.prepare_captions([caption]))).local[0]
        features = [pieces[numbers].mean(dim=0) for _, _, numbers in words]
        weigh = similarities if measure == "similarity" else relevance
        maps = weigh(model, pixels, features)
    covered = picture.convert("RGB")
    return [AttentionMap(weights, word, covered) for weights, (_, word, _) in zip(maps, words, strict=True)]


def spoken_words(model: DualEncoder, caption: str) -> list[tuple[int, str, list[int]]]:
    """Return the caption's words without punctuation: the number, the word, and the positions of its pieces."""
    words = enumerate(model.caption_words(caption))
    return [(number, word, pieces) for number, (word, pieces) in words if any(map(str.isalnum, word))]


def similarities(model: DualEncoder, pixels: Pixels, words: Sequence[Feature]) -> list[Weights]:
    """Return for each word's feature its cosine, in [-1, 1], with the patches' features before pooling."""
    patches = model.encode_images(pixels).local[0]
    cosines = [cosine_similarity(patches, word[None], dim=-1) for word in words]
    return [weights.reshape(model.patch_grid).float().cpu().numpy() for weights in cosines]


# Which patches the score of a word depends on: gradient times activation inside the image tower.


@torch.enable_grad()
def relevance(model: DualEncoder, pixels: Pixels, words: Sequence[Feature]) -> list[Weights]:
    """Return for each word's feature how much each patch matters for the word's similarity with the picture.

    The relevance is the positive part of Σ_d (∂s/∂h)·h, where h is the patch's feature before the last block of the
    image tower (the normalisation behind that block ignores the length of a feature, so nothing would remain there) and
    s the cosine of the pooled picture with the word. Unlike the similarity of word and patch, it includes what
    attention carries among patches. The model's gradients are left unchanged.

    Raises:
        ItmlabError: the image tower is frozen.
    """
    if model.image_tower is None:
        raise ItmlabError("no gradient goes through a frozen encoder", remedy='take measure="similarity"')
    blocks = max((part for part in model.image_tower.modules() if isinstance(part, nn.ModuleList)), key=len)
    caught: list[Tensor] = []  # frozen weights ask for no gradient, so it begins here

    with blocks[-1].register_forward_pre_hook(lambda _, inputs: caught.append(inputs[0].requires_grad_())):
        pooled = model.encode_images(pixels).pooled[0]
    maps, (rows, columns) = [], model.patch_grid
    for word in words:
        score = cosine_similarity(pooled, word, dim=0)
        (gradient,) = torch.autograd.grad(score, caught, retain_graph=True)
        parts = (gradient * caught[0])[0, -rows * columns :].sum(dim=-1)  # positions before the patches are special
        maps.append(parts.detach().clamp(min=0).reshape(rows, columns).float().cpu().numpy())
    return maps


def word_drops(score: Callable[[str], float], caption: str) -> list[tuple[str, float]]:
    """Return each word of a caption with how much the score drops when the word is left out.

    Args:
        score: returns the score of a sentence with one picture.
        caption: the caption.

    >>> word_drops(len, "a dog runs")
    [('a', 2), ('dog', 4), ('runs', 5)]
    """
    words, full = caption.split(), score(caption)
    return [(word, full - score(" ".join(words[:at] + words[at + 1 :]))) for at, word in enumerate(words)]


# Does a word's map land on the object that the word means? Measured on drawn scenes, whose masks are known.


@dataclass(frozen=True)
class Pointing:
    """Measures of each word that means a visible object.

    Args:
        hit: whether the map's peak is on the object.
        mass: the share of the map's weight on the object.
        area: the share of the picture that the object covers, which is chance for both measures.
        image: the word's image.
    """

    hit: Bool[ndarray, "word"]
    mass: Float[ndarray, "word"]
    area: Float[ndarray, "word"]
    image: Int[ndarray, "word"]

    @property
    def chance(self) -> float:
        """What a flat map or a random peak reaches on average."""
        return float(self.area.mean())

    def by_image(self, images: int) -> Float[ndarray, "image"]:
        """Return the percentage of each image's words whose peak is on the object; NaN without such a word."""
        words = np.bincount(self.image, minlength=images)
        with np.errstate(invalid="ignore"):
            return 100 * np.bincount(self.image, self.hit, minlength=images) / words

    def measures(self) -> dict[str, Interval]:
        """Return "accuracy" and "mass", each with a 95 % interval. Images are resampled with all their words."""
        kinds = {"accuracy": self.hit, "mass": self.mass}
        return {name: interval(values, self.image, times=1000) for name, values in kinds.items()}


def pointing(model: Any, data: CaptionSet) -> Pointing:
    """Measure how well the maps of words point at what the words mean, on the first caption of each image.

    A map is enlarged bilinearly to the size of the mask (`interpolate` with align_corners=False). Its peak is the first
    pixel of the largest value. Its mass is what remains after subtracting the lowest value, as the figures show it.

    Args:
        model: a dual encoder or a Run of one.
        data: a set with a world.

    Raises:
        ItmlabError: there are no masks.
    """
    require_truth(data.world, data)
    words = []
    for image, (caption, *_) in enumerate(data.captions_of_image):
        maps = word_maps(model, data.images[image], data.captions[caption])
        for entry, mask in zip(maps, word_masks(model, data, int(caption)), strict=True):
            if mask is not None:
                weights, area = enlarge(entry.weights, *mask.shape), float(mask.mean())
                above = weights - weights.min()
                mass = float(above[mask].sum() / above.sum()) if above.any() else area
                words.append((bool(mask.flat[weights.argmax()]), mass, area, image))
    return Pointing(*(np.array(column) for column in zip(*words, strict=True)))


def enlarge(weights: Weights, height: int, width: int) -> Float[ndarray, "height width"]:
    """Return a map of patches as a map of pixels, bilinearly.

    >>> enlarge(np.array([[0.0, 1.0]], dtype=np.float32), 1, 4).tolist()
    [[0.0, 0.25, 0.75, 1.0]]
    """
    patches = torch.from_numpy(weights)[None, None]
    return interpolate(patches, (height, width), mode="bilinear", align_corners=False)[0, 0].numpy()


# What the words of a caption mean in its picture, and all their maps.


def word_masks(model: Any, data: CaptionSet, caption: int) -> list[Mask | None]:
    """Return for each map of `word_maps` the visible pixels of the word's object in its own picture, or None.

    Without a world all are None. A world's captions are plain words, so that the words of a model are the tokens of the
    caption's scene graph.
    """
    words = spoken_words(dual_encoder_of(model, pictures=True), data.captions[caption])
    if data.world is None:
        return [None] * len(words)
    masks = np.asarray(data.world.masks(int(data.image_of_caption[caption])))
    meant = [masks[data.world.object_of_word(caption, token)].any(axis=0) for token, _, _ in words]
    return [mask if mask.any() else None for mask in meant]


def caption_maps(
    runs: Mapping[str, Any], data: CaptionSet, caption: int, *, measure: Measure = "similarity", named: bool = False
) -> tuple[dict[str, list[AttentionMap]], list[Mask | None]]:
    """Return each model's maps of a caption's words, and for each word the mask of what it means, or None.

    Args:
        runs: Runs or models by name.
        data: the set.
        caption: the number of the caption.
        measure: as for `word_maps`.
        named: keep only the words that mean something visible, which takes a world.
    """
    picture, text = data.images[int(data.image_of_caption[caption])], data.captions[caption]
    maps = {name: word_maps(run, picture, text, measure=measure) for name, run in runs.items()}
    outlines = word_masks(next(iter(runs.values())), data, caption)
    keep = [number for number, mask in enumerate(outlines) if not named or mask is not None]
    return {name: [row[number] for number in keep] for name, row in maps.items()}, [outlines[n] for n in keep]
