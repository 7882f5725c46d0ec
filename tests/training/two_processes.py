"""What each of the launched processes does: train in two goes, in the directory given."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))  # `accelerate launch` runs a file, not a module of a package

from itmlab.training import train
from tests.training.world import micro, small_world

RECIPE = micro(model__dropout=0.0, adaptive_margin={"negatives": "random"})


def run(directory: Path) -> None:
    torch.set_num_threads(1)
    train(RECIPE, small_world(), directory, max_steps=9, progress=False)
    train(RECIPE, small_world(), directory, progress=False)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
