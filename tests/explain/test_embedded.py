"""Maps of a split by several models."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from itmlab.errors import ItmlabError
from itmlab.explain import embedded, neighbours_kept, untrained
from itmlab.explain.embedded import Embedded
from itmlab.models import OneTowerConfig
from itmlab.training import train
from itmlab.training.evaluation import Embeddings
from tests.training.world import micro, small_world

from .small_world import small_set


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))


def test_each_model_has_a_map_that_pictures_and_captions_share(tiny):
    maps = embedded({"one": tiny, "same": tiny}, small_set(), perplexity=5)
    one, same = maps.values()
    assert list(maps) == ["one", "same"]
    assert one.images.shape == (16, 2) and one.captions.shape == (32, 2)
    assert torch.allclose(one.features.images.norm(dim=1), torch.ones(16), atol=1e-5)
    assert np.array_equal(one.images, same.images) and np.array_equal(one.captions, same.captions)
    both = np.concatenate([one.images, one.captions])
    assert one.kept(5) == neighbours_kept(torch.cat(one.features), both, 5)


@pytest.mark.parametrize("rows", [7, 1024])
def test_mixed_is_counted_point_by_point(monkeypatch, rows):
    monkeypatch.setattr(import_module("itmlab.explain.embedded"), "ROWS", rows)
    source = torch.Generator().manual_seed(0)
    features = Embeddings(*(nn.functional.normalize(torch.randn(n, 3, generator=source), dim=1) for n in (9, 14)))
    both, other = torch.cat(features), 0
    for one in range(23):
        nearest = max((each for each in range(23) if each != one), key=lambda each: float(both[one] @ both[each]))
        other += (nearest < 9) != (one < 9)
    maps = Embedded(features, np.zeros((9, 2)), np.zeros((14, 2)))
    assert maps.mixed() == pytest.approx(other / 23)


def test_what_lies_apart_is_not_mixed():
    features = Embeddings(torch.eye(4)[:1].expand(5, 4), torch.eye(4)[1:2].expand(6, 4))
    assert Embedded(features, np.zeros((5, 2)), np.zeros((6, 2))).mixed() == 0


def test_a_model_that_only_scores_pairs_is_refused_in_one_line():
    with pytest.raises(ItmlabError, match="tower: Linear has no features of pictures alone"):
        embedded({"tower": nn.Linear(1, 1)}, small_set())


def test_untrained_is_what_the_run_began_from(tmp_path):
    still = micro("triplet", optimiser__learning_rate=1e-12)
    run = train(still, small_world(), tmp_path, max_steps=1, progress=False)
    began = untrained(run)
    assert not began.training
    weights = run.model.state_dict()
    assert all(torch.allclose(weight, weights[name], rtol=0, atol=1e-10) for name, weight in began.state_dict().items())


def test_what_a_one_tower_began_from_is_refused_in_one_line():
    run = SimpleNamespace(recipe=SimpleNamespace(model=OneTowerConfig.tiny(), name="tags"), directory="runs/one")
    with pytest.raises(ItmlabError, match="runs/one: tags is no two-tower model's recipe"):
        untrained(run)
