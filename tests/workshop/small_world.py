"""A world of one coloured square a picture, small enough that every answer can be told by looking at it."""

import numpy as np
import torch
from PIL import Image, ImageDraw

from itmlab.data.captionset import CaptionSet
from itmlab.text.graph import tokenise

COLOURS = {"red": (214, 60, 50), "blue": (40, 90, 200), "green": (40, 160, 80), "white": (250, 250, 250)}
SIZE = 48


class SmallWorld:
    """Square number i has colour i modulo 4 and stands in one corner of its picture, the corners in turn."""

    def __init__(self, images: list[int], captions: list[str], image_of_caption: list[int]):
        self.images, self.captions, self.image_of_caption = images, captions, image_of_caption

    def corner(self, image: int) -> tuple[int, int]:
        """Left and top of the square, in pixels."""
        return 24 * (self.images[image] // 4 % 2), 24 * (self.images[image] // 8 % 2)

    def masks(self, image: int) -> np.ndarray:
        left, top = self.corner(image)
        mask = np.zeros((1, SIZE, SIZE), dtype=bool)
        mask[0, top : top + 24, left : left + 24] = True
        return mask

    def object_of_word(self, caption: int, token_index: int) -> list[int]:
        return [0] if tokenise(self.captions[caption])[token_index] == "square" else []

    def truth(
        self, images: torch.Tensor | None = None, captions: torch.Tensor | list[str] | None = None
    ) -> torch.Tensor:
        names = list(COLOURS)
        sentences = captions if isinstance(captions, list) else self.captions
        truth = torch.tensor([[names[image % 4] in one for one in sentences] for image in self.images]).to(torch.int8)
        if sentences is self.captions:
            truth[:, -1] = -1  # of the last caption nothing is known
            truth = truth if captions is None else truth[:, captions]
        return truth if images is None else truth[images]


def small_set(count: int = 16) -> CaptionSet:
    """`count` squares with two captions each."""
    names = list(COLOURS)
    captions, owners, pictures = [], [], []
    for image in range(count):
        captions += [f"A {names[image % 4]} square.", f"there is a square that is {names[image % 4]}"]
        owners += [image, image]
    world = SmallWorld(list(range(count)), captions, owners)
    for image in range(count):
        picture = Image.new("RGB", (SIZE, SIZE), (226, 220, 205))
        left, top = world.corner(image)
        ImageDraw.Draw(picture).rectangle([left, top, left + 23, top + 23], fill=COLOURS[names[image % 4]])
        pictures.append(picture)
    return CaptionSet(
        name="squares",
        images=pictures,
        image_ids=[f"image {image}" for image in range(count)],
        captions=captions,
        caption_ids=[f"caption {caption}" for caption in range(len(captions))],
        image_of_caption=torch.tensor(owners),
        splits={"test": torch.arange(count)},
        world=world,
    )
