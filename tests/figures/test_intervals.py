"""Error bars of shares."""

import pytest
import torch

from itmlab.figures.intervals import error_bars
from itmlab.metrics.share import share


def test_bars_reach_from_the_lower_to_the_upper_end():
    shares = [share(torch.tensor([True, False, True])), share(torch.zeros(0).bool())]
    bars = error_bars(shares, "#123456")
    assert bars["array"] == [pytest.approx(shares[0].upper - shares[0].percent), 0]
    assert bars["arrayminus"] == [pytest.approx(shares[0].percent - shares[0].lower), 0] and bars["color"] == "#123456"
