"""Small cross-encoders, and pairs of different lengths and numbers of regions."""

from types import SimpleNamespace

import numpy as np
import torch
from PIL import Image

from itmlab.models import CrossEncoder, CrossEncoderConfig
from itmlab.text.tokens import train_wordpiece

CAPTIONS = ["a dog runs on the grass", "two red cars next to a tree", "a cat", "a man rides a horse in a green field"]
TAGS = [("dog",), (), ("car", "tree"), ("cat",), ("man", "horse")]
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def build(form: str = "uniter", visual: str = "regions", **changes) -> CrossEncoder:
    tokenizer = train_wordpiece(CAPTIONS, 120)
    sizes = dict(region_dimension=16, hidden=24, layers=2, heads=3, intermediate=40, maximum_tokens=30, positions=40,
                 image_size=32, patch_size=8, vocabulary_size=len(tokenizer))  # fmt: skip
    if form == "oscar":
        sizes["object_tags"] = True
    torch.manual_seed(0)
    model = CrossEncoder(CrossEncoderConfig(form=form, visual=visual, **(sizes | changes)), tokenizer)
    for weights in model.parameters():  # larger than fresh ones, so that every part matters
        weights.data += 0.2 * torch.randn_like(weights)
    return model.eval()


def pictures(count: int) -> list[Image.Image]:
    numbers = np.random.default_rng(1)
    return [Image.fromarray(numbers.integers(0, 256, (32, 32, 3), np.uint8)) for _ in range(count)]


def records(counts: list[int]) -> list[SimpleNamespace]:
    torch.manual_seed(1)
    return [SimpleNamespace(features=torch.randn(n, 16), boxes=torch.rand(n, 7), tags=TAGS[n - 1]) for n in counts]


def inputs(model: CrossEncoder, count: int = 4) -> tuple[dict, dict]:
    """Return captions and images of `count` pairs with different lengths and numbers of regions and tags."""
    source = pictures(count) if model.stem else records([3, 5, 1, 4][:count])
    return model.prepare_captions(CAPTIONS[:count]), model.prepare_images(source)
