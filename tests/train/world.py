"""A small data set and micro recipes, so that a training run takes a second."""

import torch
from PIL import Image

import itmlab
from itmlab.data.captionset import CaptionSet
from itmlab.data.regions import RegionFeatures
from itmlab.models import DualEncoderConfig
from itmlab.train.named import DUAL
from itmlab.train.recipes import Recipe
from itmlab.train.settings import MemorySettings

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 220), "yellow": (230, 220, 20)}
PLACES = {"left": (0, 0, 16, 32), "right": (16, 0, 32, 32), "top": (0, 0, 32, 16), "bottom": (0, 16, 32, 32)}


class ListedRegions(list):
    """Regions in memory."""

    def select(self, indices) -> "ListedRegions":
        return ListedRegions(self[int(index)] for index in indices)


def caption_set(images, captions, owners, **changes) -> CaptionSet:
    """A data set of these pictures and captions, whose ids are numbers unless others are given."""
    ids = {"image_ids": list(map(str, range(len(images)))), "caption_ids": list(map(str, range(len(captions))))}
    image_of_caption = torch.as_tensor(owners, dtype=torch.int64)
    parts = {"name": "made", "images": images, "captions": captions, "image_of_caption": image_of_caption, "splits": {}}
    return CaptionSet(**parts | ids | changes)


def small_world(copies: int = 3, regions: int = 0) -> CaptionSet:
    """Pictures of one colour on one side, `copies` shades of each: the first for training, 8 for val and 8 for test.

    With `regions`, each picture has four random ones of so many numbers.
    """
    pictures, captions, owners = [], [], []
    for shade in range(copies):
        for colour, value in COLOURS.items():
            for place, box in PLACES.items():
                picture = Image.new("RGB", (32, 32), (shade * 40,) * 3)
                picture.paste(value, box)
                owners += [len(pictures)] * 2
                pictures.append(picture)
                captions += [f"a {colour} field on the {place}", f"the {place} is {colour}, shade {shade}"]
    count = len(pictures)
    order = torch.arange(count)
    numbers = torch.rand(count, 4, regions + 7, generator=torch.Generator().manual_seed(0))
    features = [RegionFeatures(row[:, 7:], row[:, :7], torch.ones(4), ("field",) * 4) for row in numbers]
    return caption_set(
        pictures,
        captions,
        owners,
        name="small world",
        image_ids=[f"picture-{index}" for index in range(count)],
        caption_ids=[f"caption-{index}" for index in range(len(captions))],
        splits={"train": order[:-16], "val": order[-16::2], "test": order[-15::2]},
        regions=ListedRegions(features) if regions else None,
    )


MICRO = DualEncoderConfig(
    dimension=16,
    image_size=32,
    patch_size=16,
    image_hidden=16,
    image_layers=1,
    image_heads=2,
    image_intermediate=32,
    text_hidden=16,
    text_layers=1,
    text_heads=2,
    text_intermediate=32,
    vocabulary_size=80,
    maximum_tokens=16,
)


def micro(name: str = "fne", **changes) -> Recipe:
    """A named recipe from scratch, at a size for tests: batches of 8, 4 epochs, 1 of them warm-up, dropout on."""
    scratch = itmlab.recipe(name, start="scratch" if name in DUAL else None)
    recipe = scratch.replace(model=MICRO, data__batch_size=8, data__epochs=4, optimiser__learning_rate=3e-3)
    recipe = recipe.replace(model__dropout=0.1, **({} if recipe.towers else {"data__warm_up_epochs": 1}))
    if recipe.memory:
        recipe = recipe.replace(memory=MemorySettings(length=20, momentum=0.9))
    if name.startswith("fne"):
        recipe = recipe.replace(sampler__minimum_positives=4)
    return recipe.replace(**changes)
