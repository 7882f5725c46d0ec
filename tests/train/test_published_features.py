"""The recipes of the published size learn from files of the published shape: 36 regions of 2048 numbers, five lines."""

import numpy as np
import pytest

import itmlab
from itmlab.data import load
from itmlab.models import LateInteractionConfig, build_model
from itmlab.train.loop import train
from itmlab.train.scores import similarity


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root, numbers = tmp_path_factory.mktemp("published"), np.random.default_rng(0)
    for split, images in (("train", 3), ("test", 2)):
        np.save(root / f"{split}_ims.npy", numbers.random((images, 36, 2048), np.float32))
        lines = [f"picture {line // 5} of a {'dog' if line % 2 else 'cat'} in a park" for line in range(5 * images)]
        (root / f"{split}_caps.txt").write_text("\n".join(lines) + "\n")
    return load("regions", root)


@pytest.mark.parametrize("name", ["scan+syn+info", "sgraf+syn+info", "vsepp+syn+info"])
def test_a_step_at_base_size(name, data, tmp_path):
    few = {"data__batch_size": 3, "data__captions_per_image": 1, "data__epochs": 1, "synthesis__clusters": 2}
    recipe = itmlab.recipe(name, size="base").replace(**few)
    run = train(recipe, data, tmp_path / "run", progress=False)
    assert run.model.config.region_dimension == 2048 and run.finished
    scores = similarity(run.model, data.split("test"))
    assert scores.shape == (2, 10) and scores.isfinite().all()


def test_the_largest_of_them_reads_the_same(data):
    model = build_model(LateInteractionConfig.base("vsrn"), data.captions, seed=0).eval()
    scores = similarity(model, data.split("test"))
    assert scores.shape == (2, 10) and scores.isfinite().all()
