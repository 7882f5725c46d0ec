"""What each of the launched processes does: train a recipe by its name here in two goes, in the directory given."""

import sys
from pathlib import Path

import torch
from accelerate import Accelerator

sys.path.insert(0, str(Path(__file__).parents[2]))  # a launcher runs a file, not a module of a package

from itmlab.train import train
from tests.train.towers import tower
from tests.train.world import micro, small_world

# ε is large, as Adam would make whole steps of the rounding errors of a gradient of zero
CROSS_ENCODER = {"model__dropout": 0.0, "data__accumulate": 2, "data__validation": 0, "optimiser__epsilon": 1e-3}
RECIPES = {
    "fne": micro(model__dropout=0.0, adaptive_margin={"negatives": "random"}),
    "tags_dc": tower(**CROSS_ENCODER),
    # From seed 0 two sentences of a caption score alike to the last digit, so that rounding chooses between them.
    "released": tower(seed=1, tags__word_means="captions", tags__correction="masked", **CROSS_ENCODER),
}


def run(name: str, directory: Path) -> None:
    torch.set_num_threads(1)
    accelerator = Accelerator()
    assert accelerator.num_processes == 2
    for steps in (5, None):
        train(RECIPES[name], small_world(), directory, max_steps=steps, progress=False)
    accelerator.end_training()


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]))
