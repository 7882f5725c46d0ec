"""Runs on benchmarks of true and false sentences."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from itmlab.data.captionset import CaptionSet
from itmlab.metrics.yardsticks import Yardstick, YardstickTable, measure, text_scores

from .scoring import matching


def run_on_yardstick(
    run: Any, yardstick: Yardstick, images: str | Path | CaptionSet | None = None, *, text: Sequence[str] = ()
) -> YardstickTable:
    """Measure how often a run tells true from false sentences, on the items whose pictures are available.

    Args:
        run: a Run or model; None scores the text-only controls alone.
        yardstick: the items.
        images: the pictures, as for `Yardstick.with_pictures`.
        text: the text-only controls, as `text_scores` takes them.
    """
    chosen = yardstick if run is None else yardstick.with_pictures(images)
    match = None if run is None else matching(run, chosen.pictures)
    return measure(chosen, match, text={f"text only ({name})": text_scores(chosen, name) for name in text})
