"""What each of two processes does: train every recipe here in two goes, in the directory given."""

import os
from pathlib import Path

import torch
from accelerate import Accelerator

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


def run(rank: int, port: int, directory: Path) -> None:
    """The environment is what `torchrun --nproc_per_node 2` sets."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "ACCELERATE_USE_CPU": "true"}
    torch.set_num_threads(1)
    accelerator = Accelerator()
    assert accelerator.num_processes == 2
    for name, recipe in RECIPES.items():
        for steps in (5, None):
            train(recipe, small_world(), directory / name, max_steps=steps, progress=False)
    accelerator.end_training()
