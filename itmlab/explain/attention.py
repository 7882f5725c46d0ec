"""Where a word lands in a picture: the similarity of its feature with each patch's (FNE, Figures 3 and 7)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from ..errors import ItmlabError
from ..models import TwoTower


@dataclass(frozen=True)
class AttentionMap:
    """One word over one picture: a number a patch, rows from the top; `picture` is the part that the patches cover."""

    weights: Float[np.ndarray, "row column"]
    word: str
    picture: Image.Image


@torch.no_grad()
def word_maps(model: Any, picture: Image.Image, caption: str) -> list[AttentionMap]:
    """The maps of all words of a caption in order, punctuation left out; `model` is a two-tower model or a Run.

    A weight is the cosine, in [−1, 1], of the word's feature (the mean over its pieces) and the patch's, both in the
    common space before pooling. The weights do not depend on any other picture or caption.
    """
    model = tower_of(model)
    with evaluating(model):
        pixels = model.prepare_images([picture]).to(device_of(model))
        patches = model.encode_images(pixels).local[0]
        tokens = {name: value.to(device_of(model)) for name, value in model.prepare_captions([caption]).items()}
        features = model.encode_captions(tokens).local[0]
    covered = covered_part(model, picture, pixels)
    return [
        AttentionMap(patch_similarity(patches, features[pieces].mean(dim=0), model.patch_grid), word, covered)
        for word, pieces in spoken_words(model, caption)
    ]


def word_to_patch(model: Any, picture: Image.Image, caption: str, word: str, *, occurrence: int = 0) -> AttentionMap:
    """The map of one word of a caption, whatever its case; `occurrence` 1 is its second, and so on.

    A word that is not in the caption is an ItmlabError that names those that are.
    """
    number = find_word(tower_of(model), caption, word, occurrence)
    return word_maps(model, picture, caption)[number]


def spoken_words(model: TwoTower, caption: str) -> list[tuple[str, list[int]]]:
    """The caption's words without punctuation, each with the positions of its pieces."""
    return [entry for entry in model.caption_words(caption) if any(character.isalnum() for character in entry[0])]


def find_word(model: TwoTower, caption: str, word: str, occurrence: int = 0) -> int:
    """The number of a word among `spoken_words`; one that is not there is an ItmlabError that names those that are."""
    words = [spoken for spoken, _ in spoken_words(model, caption)]
    found = [number for number, spoken in enumerate(words) if spoken.casefold() == word.casefold()]
    if not 0 <= occurrence < len(found):
        times = f"{occurrence + 1} times " if occurrence else ""
        listed = ", ".join(dict.fromkeys(words)) or "none"
        raise ItmlabError(f"the word {word!r} does not occur {times}in the caption", remedy=f"its words are {listed}")
    return found[occurrence]


def patch_similarity(
    patches: Float[Tensor, "patch dimension"], word: Float[Tensor, "dimension"], grid: tuple[int, int]
) -> Float[np.ndarray, "row column"]:
    """Cosine of each patch's feature with the word's, laid out as the patches lie."""
    return cosine_similarity(patches, word[None], dim=-1).reshape(grid).float().cpu().numpy()


def tower_of(model: Any) -> TwoTower:
    """The model itself, or the model of a Run; one without patch and word features is an ItmlabError."""
    if not isinstance(model, nn.Module):
        model = model.model
    if not hasattr(model, "caption_words"):
        raise ItmlabError(
            f"{type(model).__name__} has no features of words and patches", remedy="take a two-tower model"
        )
    return model


def device_of(model: nn.Module) -> torch.device:
    """Where the model's weights are."""
    return next(model.parameters()).device


def covered_part(model: TwoTower, picture: Image.Image, pixels: Float[Tensor, "1 3 height width"]) -> Image.Image:
    """The part of the picture that the patches cover: all of it, unless the model's preparation cuts the centre out."""
    if model.config.shortest_edge is None:
        return picture.convert("RGB")
    mean, deviation = (torch.tensor(three).view(3, 1, 1) for three in (model.config.mean, model.config.deviation))
    values = (pixels[0].cpu() * deviation + mean).clamp(0, 1) * 255
    return Image.fromarray(values.round().byte().permute(1, 2, 0).numpy())


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode (no dropout) for the length of the block."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
