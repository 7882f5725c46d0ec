"""What each choice of masking and refilling does to its negatives: how hard, how fluent, how surely false they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.captionset import CaptionSet
from ..metrics import CausalModel, TrueNegatives
from .made import Made
from .resampling import Interval, interval
from .synthetic import synthetic_negatives

PAPER = {"maskings": 20, "samples": 20, "temperature": 1.5, "masking": "phrase"}  # appendix A.1


@dataclass(frozen=True)
class Setting:
    """The negatives at one value of a knob: mean difficulty s(I, T⁻) − s(I, T), median perplexity, truth."""

    value: float | str
    difficulty: Interval
    fluency: Interval
    truth: TrueNegatives
    negatives: int


def synthesis_sweep(
    run: Any,
    data: CaptionSet,
    captions: Sequence[int],
    *,
    maskings: Sequence[int] = (2, 5, 10, 20),
    samples: Sequence[int] = (2, 5, 10, 20),
    temperature: Sequence[float] = (0.5, 1.0, 1.5, 2.0),
    masking: Sequence[str] = ("phrase", "word"),
    keep: int = 5,
    fluent: str | CausalModel = "scenes",
    **options: Any,
) -> dict[str, list[Setting]]:
    """`[knob]` in "maskings" (K), "samples" (L), "temperature" (τ), "masking": a Setting for each of its values.

    One knob is moved at a time, the others stay as in the paper (20, 20, 1.5, phrase). Measured are the `keep` best of
    each caption; `options` are `synthetic_negatives`'. The settings that several knobs share are made once.
    """
    values = {"maskings": maskings, "samples": samples, "temperature": temperature, "masking": masking}
    known: dict[tuple[Any, ...], Made] = {}

    def made(**changed: Any) -> Made:
        drawing = PAPER | changed
        key = tuple(drawing.values())
        if key not in known:
            generator = {"phrase": "tags", "word": "wm"}[drawing.pop("masking")]
            settings = options | drawing | {"run": run, "keep": keep, "fluent": fluent}
            known[key] = synthetic_negatives(data, captions, generator, **settings)
        return known[key]

    return {knob: [_measured(value, made(**{knob: value})) for value in some] for knob, some in values.items()}


def _measured(value: float | str, made: Made) -> Setting:
    images = made.images.numpy()
    perplexities = np.array([one.fluency for one in made.all()])
    known = ~np.isnan(perplexities)
    return Setting(
        value,
        interval(made.difficulty.numpy(), images),
        interval(perplexities[known], images[known], np.median),
        made.truth,
        len(made),
    )
