"""Intervals of shares as plotly's error bars."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..metrics.share import Share


def error_bars(shares: "Sequence[Share]", shade: str) -> dict[str, Any]:
    """The 95 % intervals of percentages, as `error_x` or `error_y`; of a share of no cases none."""
    ends = [(share.upper - share.percent, share.percent - share.lower) if share.of else (0, 0) for share in shares]
    upper, lower = [up for up, _ in ends], [low for _, low in ends]
    return {"array": upper, "arrayminus": lower, "color": shade, "thickness": 1.8, "width": 5}
