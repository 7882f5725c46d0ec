"""Runs on benchmarks of true and false sentences."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from itmlab.data.captionset import CaptionSet
from itmlab.metrics.yardsticks import Yardstick, YardstickTable, measure, text_scores

from .scoring import matching


def run_on_yardstick(
    run: Any,
    yardstick: Yardstick,
    images: str | Path | CaptionSet | None = None,
    *,
    text: Sequence[str] = (),
    seed: int = 0,
) -> YardstickTable:
    """Measure how often a run tells true from false sentences, on the items whose pictures are available.

    Args:
        run: a Run or model; None scores the text-only controls alone.
        yardstick: the items.
        images: the pictures, as for `Yardstick.with_pictures`.
        text: the text-only controls, as `text_scores` takes them.
        seed: of the wrong pictures.
    """
    chosen = yardstick if run is None else yardstick.with_pictures(images)
    match = None if run is None else matching(run, chosen.pictures)
    scores = {f"text only ({Path(by).name.split('.')[0]})": text_scores(chosen, by) for by in text}
    return measure(chosen, match, text=scores, seed=seed)
