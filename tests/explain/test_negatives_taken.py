"""Of the negatives that samplers take, the share that is true, counted by hand on a study whose truth is made up."""

from types import SimpleNamespace

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.explain import Study, negatives_taken
from itmlab.samplers import FalseNegativeEliminating, Hardest, Softest


def made_up(truth) -> Study:
    """Three pictures with a caption each; the best-scoring other caption of each is the next one."""
    scores = torch.tensor([[0.9, 0.5, 0.1], [0.1, 0.9, 0.5], [0.5, 0.1, 0.9]])
    sampler = FalseNegativeEliminating(minimum_positives=1)
    sampler.observe(scores, torch.eye(3, dtype=torch.bool))
    data = SimpleNamespace(name="made up")
    return Study(data, scores, torch.eye(3, dtype=torch.bool), truth, sampler, scores.diagonal().numpy(), None)


def test_the_shares_are_those_counted_by_hand() -> None:
    truth = torch.tensor([[1, 1, 0], [0, 1, -1], [0, 0, 1]], dtype=torch.int8)
    shares = negatives_taken(made_up(truth), {"hardest": Hardest(), "softest": Softest()})
    # Hardest takes captions 1, 2, 0: true, undecided, false. Softest takes 2, 0, 1: all false.
    value, lower, upper = shares["hardest"]
    assert value == pytest.approx(50) and 0 < lower < 50 < upper < 100
    assert shares["softest"][0] == 0


def test_fne_is_given_the_statistics_of_the_study() -> None:
    study, sampler = made_up(torch.eye(3, dtype=torch.int8)), FalseNegativeEliminating(minimum_positives=1)
    assert negatives_taken(study, {"FNE": sampler})["FNE"][0] == 0
    assert sampler.statistics == study.sampler.statistics


def test_what_cannot_be_counted_is_said() -> None:
    with pytest.raises(ItmlabError, match="no world"):
        negatives_taken(made_up(None), {"hardest": Hardest()})
    undecided = torch.full((3, 3), -1, dtype=torch.int8)
    with pytest.raises(ItmlabError, match="decided"):
        negatives_taken(made_up(undecided), {"hardest": Hardest()})
