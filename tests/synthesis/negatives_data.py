"""What the tests here share: random numbers, and caption sets and generators as hostile as files must bear."""

import torch

from itmlab.data.captionset import CaptionSet
from itmlab.synthesis import Negative
from itmlab.text import Span

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


def hostile_set(count=10):
    """`count` captions of count / 2 images, each with something in it that a format could stumble over."""
    return caption_set([f"{HOSTILE[at % len(HOSTILE)]} {at}" for at in range(count)], [at // 2 for at in range(count)])


def swaps(captions, graphs, image_captions, *, generator):
    """Some random negatives of each caption; of every fourth caption none."""
    rows = []
    for number, caption in enumerate(captions):
        draws = torch.randint(1000, (number % 4,), generator=generator).tolist()
        rows.append(
            [
                Negative(
                    f"{HOSTILE[draw % len(HOSTILE)]} {caption} {place}",
                    spans=(Span(0, 2), Span(3, 4)),
                    source=("a\tdog", '"'),
                    replacement=(HOSTILE[draw % len(HOSTILE)], ""),
                    kind=("object", "relation"),
                    score=draw / 7 if draw % 2 else None,
                    fluency=None if draw % 3 else draw * 1.5,
                    truth=(None, True, False)[draw % 3],
                )
                for place, draw in enumerate(draws)
            ]
        )
    return rows
