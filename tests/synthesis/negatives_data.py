"""What the tests here share: random numbers, and captions as hostile as files must bear."""

import torch

from itmlab.data.captionset import CaptionSet

HOSTILE = (
    'a "dog"\tbeside\na cat\\',
    '"',
    "a\r\nb\\t\\n\\\\",
    "# not a comment",
    "<script>alert('x')</script>",
    "dog\u2028on\x85a\x0bsofa\x1c",
    "ein Hund für 東京 🐕",
    "null",
    "[1]",
    " spaces ",
)


def seeded(number: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(number)


class Picture:
    """Pictures that are never opened."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count


def caption_set(captions, owners, *, world=None):
    """Captions of image owners[i], with ids that hold a tab and a quote."""
    count = max(owners) + 1
    return CaptionSet(
        name="made",
        images=Picture(count),
        image_ids=[f'image\t"{number}"' for number in range(count)],
        captions=captions,
        caption_ids=[f"id\n{number}" for number in range(len(captions))],
        image_of_caption=torch.tensor(owners),
        splits={},
        world=world,
    )
