"""Prints VSE-C's swaps of Flickr30K's validation captions, for reading: grammatical? false? silly? (METHODS 3.8)

    python -m tests.real.read_swaps [SEED] [NUMBER]

draws captions by SEED and one swap of each, and prints the kind, the caption and the swap. The captions lie in
ITMLAB_REAL_DATA, else in ../shared/data beside the repository (`real_data` in `tests/conftest.py`).
"""

import os
import sys
from pathlib import Path

import torch

from itmlab.data import load
from itmlab.synthesis.tags import vse_c
from itmlab.text import parse

ROOT = Path(os.environ.get("ITMLAB_REAL_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


def drawn(seed: int, number: int) -> list[tuple[str, str, str]]:
    """Kind, caption and swap of `number` captions in a random order, each with one of its swaps at random."""
    data = load("captions", ROOT / "flickr30k").split("val")
    graphs = parse(data.captions)
    swaps, draws = vse_c(data, 1, graphs=graphs), torch.Generator().manual_seed(seed)
    found: list[tuple[str, str, str]] = []
    for at in torch.randperm(len(data.captions), generator=draws).tolist():
        image = data.captions_of_image[int(data.image_of_caption[at])].tolist()
        others = [data.captions[other] for other in image]
        [row] = swaps([data.captions[at]], [graphs[at]], [others], generator=draws)
        found += [(one.kind[0], data.captions[at], one.sentence) for one in row]
        if len(found) == number:
            break
    return found


if __name__ == "__main__":
    given = list(map(int, sys.argv[1:]))
    for place, (kind, caption, sentence) in enumerate(drawn(*given, *(0, 200)[len(given) :]), start=1):
        print(f"{place:3} {kind}\n    {caption}\n    {sentence}")
