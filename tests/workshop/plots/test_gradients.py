"""Where a loss looks: shares of its gradient over a score matrix."""

import pytest
import torch
from workshop.plots import draw_gradients, shares_of_push

from itmlab.losses import InfoNCE, TripletLoss
from itmlab.samplers import Random, SemiHard

SCORES = torch.tensor([[0.7, 0.6, 0.55], [0.1, 0.8, 0.2], [0.5, 0.9, 0.6]])
RULES = {"sum": TripletLoss(reduce="sum"), "semi-hard": SemiHard(), "InfoNCE": InfoNCE(0.1), "random": Random()}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_pushes_add_up_to_a_hundred_and_each_row_to_zero(rule) -> None:
    shares = shares_of_push(SCORES, rule)
    assert shares.clamp(min=0).sum() == pytest.approx(100, abs=1e-3)
    assert shares.sum(dim=1).abs().max() < 1e-3 and (shares.diagonal() <= 0).all()


def test_a_loss_looks_only_where_its_definition_says() -> None:
    assert (shares_of_push(SCORES, TripletLoss()) > 0).nonzero().tolist() == [[0, 1], [2, 1]]
    assert (shares_of_push(SCORES, SemiHard()) > 0).nonzero().tolist() == [[0, 1], [2, 0]]
    assert int((shares_of_push(SCORES, InfoNCE(0.1)) > 0).sum()) == 6


def test_the_figure_has_a_panel_for_the_scores_and_each_rule() -> None:
    figure = draw_gradients(SCORES, RULES, true=torch.zeros(3, 3).bool())
    assert len(figure.data) == 1 + len(RULES)
