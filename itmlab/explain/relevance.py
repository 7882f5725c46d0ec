"""Which patches the score of a pair hangs on: gradient times activation inside the image tower."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor, nn

from ..errors import ItmlabError
from ..models import TwoTower
from .attention import AttentionMap, covered_part, device_of, evaluating, find_word, spoken_words, tower_of


def relevance(
    model: Any, picture: Image.Image, caption: str, *, word: str | None = None, occurrence: int = 0, layer: int = -2
) -> AttentionMap:
    """Relevance of each patch for the similarity of picture and caption, or of picture and one `word` of it (its
    first, or the one numbered `occurrence`).

    It is the positive part of Σ_d (∂s/∂h)·h, h being the patch's features after block `layer` of the image tower. The
    default is the last but one: behind the last comes a normalisation, which ignores the length of a patch's features,
    so that nothing would remain. Unlike the similarity of word and patch it sees what attention carries among patches.
    `model` is a two-tower model or a Run; its gradients are left as they were.
    """
    model = tower_of(model)
    with evaluating(model), torch.enable_grad():
        pixels = model.prepare_images([picture]).to(device_of(model))
        hidden, pooled = _hidden_and_pooled(model, pixels, layer)
        score = torch.cosine_similarity(pooled, _target(model, caption, word, occurrence), dim=0)
        (gradient,) = torch.autograd.grad(score, hidden)
    rows, columns = model.patch_grid
    parts = (gradient * hidden)[0, -rows * columns :].sum(dim=-1)  # positions before the patches are special
    weights: Float[np.ndarray, "row column"] = parts.clamp(min=0).detach().reshape(rows, columns).float().cpu().numpy()
    return AttentionMap(weights, word or "whole caption", covered_part(model, picture, pixels))


def _hidden_and_pooled(
    model: TwoTower, pixels: Float[Tensor, "1 3 height width"], layer: int
) -> tuple[Float[Tensor, "1 position hidden"], Float[Tensor, "dimension"]]:
    """Features after one block, and the picture's pooled feature computed from them."""
    tower = model.towers.image if model.config.image_tower == "vit" else model.towers.clip.vision_model
    blocks = max((part for part in tower.modules() if isinstance(part, nn.ModuleList)), key=len)
    if not -len(blocks) <= layer < len(blocks):
        raise ItmlabError(f"there is no block {layer} in an image tower of {len(blocks)}")
    caught: list[Tensor] = []

    def catch(block: nn.Module, inputs: Any, output: Any) -> Any:
        features = output[0] if isinstance(output, tuple) else output
        caught.append(features if features.requires_grad else features.requires_grad_())  # frozen weights: start here
        return output

    hook = blocks[layer].register_forward_hook(catch)
    try:
        pooled = model.encode_images(pixels).pooled[0]
    finally:
        hook.remove()
    return caught[0], pooled


@torch.no_grad()
def _target(model: TwoTower, caption: str, word: str | None, occurrence: int) -> Float[Tensor, "dimension"]:
    """The caption's pooled feature, or the mean over the pieces of one word."""
    tokens = {name: value.to(device_of(model)) for name, value in model.prepare_captions([caption]).items()}
    encoded = model.encode_captions(tokens)
    if word is None:
        return encoded.pooled[0]
    _, pieces = spoken_words(model, caption)[find_word(model, caption, word, occurrence)]
    return encoded.local[0, pieces].mean(dim=0)
