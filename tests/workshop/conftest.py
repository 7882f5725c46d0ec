"""A model whose answers are known, and one that has learnt nothing."""

import pytest
import torch
from PIL import Image
from torch import nn

from itmlab.models import DualEncoder, DualEncoderConfig, Encoded, build_model
from tests.plain_model import PlainModel
from tests.workshop.small_world import COLOURS, small_set


class ColourModel(PlainModel):
    """Patches of 12 pixels whose feature is their mean colour; a colour's word has that colour as feature.

    Every other word has the feature of being far from the background, so that "square" finds any square.
    """

    patch_grid = (4, 4)

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.background = torch.tensor([226.0, 220, 205]) / 255

    def prepare_images(self, pictures: list[Image.Image]) -> torch.Tensor:
        return torch.stack([torch.tensor(list(p.convert("RGB").tobytes())).reshape(48, 48, 3) for p in pictures]) / 255

    def encode_images(self, pixels: torch.Tensor) -> Encoded:
        patches = pixels.reshape(-1, 4, 12, 4, 12, 3).mean(dim=(2, 4)).reshape(-1, 16, 3)
        colour = patches - self.background
        local = torch.cat([colour, colour.norm(dim=-1, keepdim=True), torch.full_like(colour[..., :1], 0.1)], dim=-1)
        return Encoded(local.mean(dim=1), local, torch.ones(local.shape[:2], dtype=torch.bool))

    def prepare_captions(self, captions: list[str]) -> dict[str, torch.Tensor]:
        words = [[word for word, _ in self.caption_words(caption)] for caption in captions]
        features = torch.zeros(len(captions), 2 + max(map(len, words)), 5)
        for row, sentence in enumerate(words):
            for at, word in enumerate(sentence):
                if word in COLOURS:
                    features[row, at + 1, :3] = torch.tensor(COLOURS[word]) / 255 - self.background
                else:
                    features[row, at + 1, 3] = 1
        return {"features": features}

    def encode_captions(self, tokens: dict[str, torch.Tensor]) -> Encoded:
        features = tokens["features"]
        return Encoded(features.mean(dim=1), features, features.norm(dim=-1) > 0)

    def caption_words(self, caption: str) -> list[tuple[str, list[int]]]:
        words = caption.replace(".", " .").split()
        return [(word, [at + 1]) for at, word in enumerate(words)]


@pytest.fixture
def colour_model() -> ColourModel:
    return ColourModel()


@pytest.fixture(scope="session")
def tiny() -> DualEncoder:
    """The package's own tiny model with fresh weights."""
    return build_model(DualEncoderConfig.tiny(), [*small_set().captions, "Two men ride; T-shirt & <b>hat</b>"], seed=0)


@pytest.fixture
def pictures() -> list[Image.Image]:
    """Six plain pictures, not all square."""
    colours = ("#C0392B", "#2980B9", "#27AE60", "#F1C40F", "#8E44AD", "#7F8C8D")
    return [Image.new("RGB", (32 + 8 * index, 32), colour) for index, colour in enumerate(colours)]
