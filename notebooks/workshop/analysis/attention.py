"""Where a word lands in a picture, and whether it lands on what it means.

FNE's paper does not define its attention map. Here it is the cosine of a word's feature with each patch's feature
(METHODS 1.5). `relevance` is a second view, by gradients. `pointing` measures both against the masks of drawn scenes.

References:
    Li et al. (2023), FNE, Figures 3 and 7.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, interpolate

from itmlab.data.captionset import CaptionSet
from itmlab.data.pictures import read_image
from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import Interval, interval
from itmlab.models import DualEncoder
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import on_device
from itmlab.text.graph import TOKEN

from .scoring import model_of


@dataclass(frozen=True)
class AttentionMap:
    """The map of one word over one picture.

    Args:
        weights: one number per patch, rows from the top.
        word: the word.
        picture: the part of the picture that the patches cover.
    """

    weights: Float[np.ndarray, "row column"]
    word: str
    picture: Image.Image


@torch.no_grad()
def word_maps(model: Any, picture: Image.Image | Path, caption: str) -> list[AttentionMap]:
    """Return the maps of all words of a caption in order, without punctuation.

    A weight is the cosine, in [-1, 1], of the word's feature (the mean over its pieces) with the patch's feature, both
    in the common space before pooling. It does not depend on any other picture or caption.

    Args:
        model: a dual encoder or a Run of one. For photographs the patches are the regions of the frozen encoder.
        picture: a picture or its file.
        caption: the caption.
    """
    model = dual_encoder_of(model)
    picture = read_image(picture) if isinstance(picture, Path) else picture
    with evaluating(model):
        pixels = on_device(model, model.prepare_images([picture]))
        patches = model.encode_images(pixels).local[0]
        features = model.encode_captions(on_device(model, model.prepare_captions([caption]))).local[0]
    covered = picture.convert("RGB")
    return [
        AttentionMap(patch_similarity(patches, features[pieces].mean(dim=0), model.patch_grid), word, covered)
        for word, pieces in spoken_words(model, caption)
    ]


def spoken_words(model: DualEncoder, caption: str) -> list[tuple[str, list[int]]]:
    """Return the caption's words without punctuation, each with the positions of its pieces."""
    return [entry for entry in model.caption_words(caption) if any(character.isalnum() for character in entry[0])]


def patch_similarity(
    patches: Float[Tensor, "patch dimension"], word: Float[Tensor, "dimension"], grid: tuple[int, int]
) -> Float[np.ndarray, "row column"]:
    """Return the cosine of each patch's feature with the word's feature, arranged like the patches."""
    return cosine_similarity(patches, word[None], dim=-1).reshape(grid).float().cpu().numpy()


def dual_encoder_of(model: Any) -> DualEncoder:
    """Return the model itself, or the model of a Run.

    Raises:
        ItmlabError: it has no features of patches and words.
    """
    model = model_of(model)
    if not (model.encodes_apart and model.takes_pictures):
        message = f"{type(model).__name__} has no features of words and patches"
        raise ItmlabError(message, remedy="take a dual encoder")
    return model


# Which patches the score of a word depends on: gradient times activation inside the image tower.

LAYER = -2  # the normalisation behind the last block ignores the length of a feature, so nothing would remain there


def relevance(model: Any, picture: Image.Image, caption: str) -> list[AttentionMap]:
    """Return for each word of a caption how much each patch matters for the word's similarity with the picture.

    The relevance is the positive part of Σ_d (∂s/∂h)·h, where h is the patch's feature after the last block but one of
    the image tower and s the cosine of the pooled picture with the word. Unlike the similarity of word and patch, it
    includes what attention carries among patches.

    Args:
        model: a dual encoder or a Run of one. Its gradients are left unchanged.
        picture: the picture.
        caption: the caption.

    Raises:
        ItmlabError: the image tower is frozen.
    """
    model = dual_encoder_of(model)
    if model.image_tower is None:
        raise ItmlabError("no gradient goes through a frozen encoder", remedy="take word_maps")
    with evaluating(model), torch.enable_grad():
        pixels = on_device(model, model.prepare_images([picture]))
        hidden, pooled = _hidden_and_pooled(model, pixels)
        words = model.encode_captions(on_device(model, model.prepare_captions([caption]))).local[0].detach()
        covered, maps = picture.convert("RGB"), []
        for word, pieces in spoken_words(model, caption):
            score = torch.cosine_similarity(pooled, words[pieces].mean(dim=0), dim=0)
            (gradient,) = torch.autograd.grad(score, hidden, retain_graph=True)
            rows, columns = model.patch_grid
            parts = (gradient * hidden)[0, -rows * columns :].sum(dim=-1)  # positions before the patches are special
            weights = parts.detach().clamp(min=0).reshape(rows, columns)
            maps.append(AttentionMap(weights.float().cpu().numpy(), word, covered))
    return maps


def _hidden_and_pooled(
    model: DualEncoder, pixels: Float[Tensor, "1 3 height width"]
) -> tuple[Float[Tensor, "1 position hidden"], Float[Tensor, "dimension"]]:
    """Return the features after one block, and the picture's pooled feature computed from them."""
    blocks = max((part for part in model.image_tower.modules() if isinstance(part, nn.ModuleList)), key=len)
    caught: list[Tensor] = []

    def catch(block: nn.Module, inputs: Any, output: Any) -> None:
        features = output[0] if isinstance(output, tuple) else output
        caught.append(features if features.requires_grad else features.requires_grad_())  # frozen weights: start here

    with blocks[LAYER].register_forward_hook(catch):
        pooled = model.encode_images(pixels).pooled[0]
    return caught[0], pooled


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

BATCH_SIZE = 64  # captions through the model


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


@torch.no_grad()
def pointing(model: Any, data: CaptionSet) -> Pointing:
    """Measure how well the maps of words point at what the words mean, on the first caption of each image.

    A map is enlarged bilinearly to the size of the mask (`interpolate` with align_corners=False). Its peak is the first
    pixel of the largest value. Its mass is what remains after subtracting the lowest value, as the figures show it.

    Args:
        model: a dual encoder or a Run of one.
        data: a set with a world.

    Raises:
        ItmlabError: there are no masks, or no word means a visible object.
    """
    if data.world is None:
        raise ItmlabError("pointing needs masks of the objects", where=data.name, remedy="use the data set scenes")
    model = dual_encoder_of(model)
    captions = [int(numbers[0]) for numbers in data.captions_of_image if len(numbers)]
    entries: list[tuple[bool, float, float, int]] = []
    with evaluating(model):
        for start in range(0, len(captions), BATCH_SIZE):
            entries += _measured(model, data, captions[start : start + BATCH_SIZE])
    if not entries:
        raise ItmlabError("no word of these captions means a visible object", where=data.name)
    return Pointing(*(np.array(column) for column in zip(*entries, strict=True)))


def _measured(model: DualEncoder, data: CaptionSet, captions: list[int]) -> Iterator[tuple[bool, float, float, int]]:
    """Yield the fields of `Pointing` for each word that means something visible, in their order."""
    images, rows = data.image_of_caption[captions].unique(return_inverse=True)
    pixels = on_device(model, model.prepare_images([data.images[image] for image in images.tolist()]))
    patches = model.encode_images(pixels).local
    tokens = model.prepare_captions([data.captions[caption] for caption in captions])
    features = model.encode_captions(on_device(model, tokens)).local
    for caption, row, words in zip(captions, rows.tolist(), features, strict=True):
        for pieces, mask in _visible_words(model, data, caption):
            small = patch_similarity(patches[row], words[pieces].mean(dim=0), model.patch_grid)
            weights, area = enlarge(small, *mask.shape), float(mask.mean())
            above = weights - weights.min()
            mass = float(above[mask].sum() / above.sum()) if above.any() else area
            yield bool(mask.flat[weights.argmax()]), mass, area, int(images[row])


def enlarge(weights: Float[ndarray, "row column"], height: int, width: int) -> Float[ndarray, "height width"]:
    """Return a map of patches as a map of pixels, bilinearly.

    >>> enlarge(np.array([[0.0, 1.0]], dtype=np.float32), 1, 4).tolist()
    [[0.0, 0.25, 0.75, 1.0]]
    """
    patches = torch.from_numpy(weights)[None, None]
    return interpolate(patches, (height, width), mode="bilinear", align_corners=False)[0, 0].numpy()


# What the words of a caption mean in its picture, and all their maps.


def token_pieces(model: DualEncoder, caption: str) -> list[list[int]]:
    """Return for each token of a scene graph's sentence the positions of its pieces in the model's tokens.

    The two tokenisers split differently ("T-shirt" is one token in the graph and three words here), so tokens are
    matched by their position in the caption. A token that the model does not read has no piece.
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
    """Return for each map of `word_maps` the visible pixels of the word's object in its own picture, or None.

    Without a world all are None.
    """
    model = dual_encoder_of(model)
    words = spoken_words(model, data.captions[caption])
    if data.world is None:
        return [None] * len(words)
    meant = {piece: mask for pieces, mask in _visible_words(model, data, caption) for piece in pieces}
    return [meant.get(pieces[0]) for _, pieces in words]


def _visible_words(
    model: DualEncoder, data: CaptionSet, caption: int
) -> Iterator[tuple[list[int], Bool[ndarray, "height width"]]]:
    """Yield the pieces and the pixels of each token that means something visible in its own picture."""
    masks = np.asarray(data.world.masks(int(data.image_of_caption[caption])))
    for token, pieces in enumerate(token_pieces(model, data.captions[caption])):
        meant = data.world.object_of_word(caption, token)
        if meant and pieces and masks[meant].any():
            yield pieces, masks[meant].any(axis=0)


Measure = Literal["similarity", "gradient"]


def caption_maps(
    runs: Mapping[str, Any], data: CaptionSet, caption: int, *, measure: Measure = "similarity", named: bool = False
) -> tuple[dict[str, list[AttentionMap]], list[Bool[ndarray, "height width"] | None]]:
    """Return each model's maps of a caption's words, and for each word the mask of what it means, or None.

    Args:
        runs: Runs or models by name.
        data: the set.
        caption: the number of the caption.
        measure: the similarity of word and patch, or the gradient's relevance.
        named: keep only the words that mean something visible, which takes a world.
    """
    picture, text = data.images[int(data.image_of_caption[caption])], data.captions[caption]
    mapped = word_maps if measure == "similarity" else relevance
    maps = {name: mapped(run, picture, text) for name, run in runs.items()}
    outlines = word_masks(next(iter(runs.values())), data, caption)
    keep = [number for number, mask in enumerate(outlines) if not named or mask is not None]
    return {name: [row[number] for number in keep] for name, row in maps.items()}, [outlines[n] for n in keep]
