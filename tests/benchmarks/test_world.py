"""Drawing the world: 6,000 pictures with captions, masks and truth in under a minute on one core."""

import pytest
import torch

from itmlab.scenes.build import load, rows
from tests.benchmarks.timing import seconds_of

pytestmark = pytest.mark.usefixtures("one_thread")


def test_drawing_the_world(benchmark, capsys):
    count = 120
    drawn = {"images": count, "size": 96, "seed": 7, "unannotated": 0.41}
    seconds = benchmark.pedantic(lambda: seconds_of(lambda: rows(**drawn)))
    with capsys.disabled():
        print(f"\n6,000 scenes at 96 px: {6000 * seconds / count:.0f} s on one core (bound: 60 s)")


def test_truth_of_a_split(benchmark, capsys):
    """Against asking for one pair after another, measured on a sample of the same run."""
    world = load(images=200).world
    all_at_once = benchmark.pedantic(lambda: seconds_of(world.truth))
    pairs = torch.randint(200, (400,), generator=torch.Generator().manual_seed(0)).tolist()
    one_by_one = seconds_of(lambda: [world.entails(image, world.graphs[image]) for image in pairs]) / len(pairs)
    with capsys.disabled():
        ratio = one_by_one * 200 * 1000 / all_at_once
        print(f"\ntruth of 200 × 1,000 pairs: {ratio:.0f} times a loop over pairs, {all_at_once:.1f} s")
