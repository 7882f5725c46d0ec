"""An ensemble scores by the mean of its runs' similarities."""

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.training import ensemble, similarity, train

from .world import micro


def test_the_mean_of_two_seeds(finished, data, tmp_path):
    other = train(micro(seed=1), data, tmp_path / "other", progress=False)
    both = ensemble([finished, other])
    expected = (similarity(finished.model, data) + similarity(other.model, data)) / 2
    torch.testing.assert_close(both.similarity(data), expected)
    assert 0 < both.evaluate(data)["rsum"] <= 600


def test_one_run_is_itself_and_none_is_refused(finished, data):
    assert ensemble([finished]).evaluate(data, split="val") == finished.evaluate(data, split="val")
    assert ensemble([finished]).evaluate(data, split=None, folds=3) == finished.evaluate(data, split=None, folds=3)
    with pytest.raises(ItmlabError, match="at least one run"):
        ensemble([])
