"""A run directory at a glance: loss, recall, gradients and cosines while it was trained."""

from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from itmlab.train.run import Run

from ..plots.charts import Line, draw_curves
from ..plots.theme import BLUE, MATCH, MISMATCH

SMALLEST = -32  # the exponent of the first bin of gradients, as `training.loop` records them


def view(run: Run | str | Path) -> go.Figure:
    """Draw what a run recorded: loss, validation recall, magnitude of gradients, cosines of positives and negatives.

    Bands reach from the tenth to the ninetieth percentile. A panel stays away where the run recorded nothing for it.

    Args:
        run: a Run or its directory, finished or not.

    Raises:
        ItmlabError: the directory has no recipe.json.

    >>> import itmlab
    >>> len(view(itmlab.pretrained("fne")).data) > 6
    True
    """
    run = run if isinstance(run, Run) else Run(run)
    steps, epochs = ([record for record in run.history if record.get("kind") == kind] for kind in ("step", "epoch"))
    panels = {
        "loss": {
            "every tenth step": Line(_column(steps, "loss"), _column(steps, "step"), shade=BLUE, width=1),
            "mean of an epoch": Line(_column(epochs, "loss"), _column(epochs, "step"), markers=True),
        },
        "validation recall, %": _recalls([epoch for epoch in epochs if "i2t" in epoch]),
    }
    if with_gradients := [step for step in steps if "gradients" in step]:
        counts = np.array([step["gradients"] for step in with_gradients])
        band = _band(counts, (SMALLEST, SMALLEST + counts.shape[1]), _column(with_gradients, "step"))
        panels["gradients, as powers of two"] = {"gradients": band}
    if with_cosines := [step for step in steps if "cosines" in step]:
        cosines = panels["cosines of the batch"] = {}
        for kind, shade in (("positive", MATCH), ("negative", MISMATCH)):
            counts = np.array([step["cosines"][kind] for step in with_cosines])
            cosines[f"{kind}s"] = _band(counts, (-1, 1), _column(with_cosines, "step"), shade=shade)
    last = f"step {run.history[-1]['step']:,}" if run.history else "nothing trained yet"
    recipe, state = run.recipe, "finished" if run.finished else "not finished"
    many = "1 epoch" if len(epochs) == 1 else f"{len(epochs)} epochs"
    subtitle = f"{recipe.size}, seed {recipe.seed}; {last}, {many}, {state}"
    panels = {name: curves for name, curves in panels.items() if curves}
    figure = draw_curves(panels, title=recipe.name, subtitle=subtitle, axis="step", across=2)
    return figure.update_yaxes(rangemode="normal")


def _column(records: list[dict[str, Any]], name: str) -> Float[ndarray, "record"]:
    return np.array([record[name] for record in records], dtype=float)


def _recalls(epochs: list[dict[str, Any]]) -> dict[str, Line]:
    curves = {}
    for direction, dash in (("i2t", "solid"), ("t2i", "dot")):
        for k in epochs[0][direction] if epochs else ():
            values = np.array([epoch[direction][k] for epoch in epochs])
            curves[f"{direction} R@{k}"] = Line(values, _column(epochs, "step"), dash=dash, markers=True)
    return curves


def _band(counts: Int[ndarray, "step bin"], ends: tuple[float, float], at: ndarray, **look: Any) -> Line:
    """Return the median of each histogram, with the tenth and the ninetieth percentile."""
    edges = np.linspace(*ends, counts.shape[1] + 1)
    below = np.pad(counts.cumsum(axis=1), ((0, 0), (1, 0)))
    below = below / below[:, -1:].clip(min=1)
    low, middle, high = np.array([np.interp((0.1, 0.5, 0.9), row, edges) for row in below]).T
    return Line(middle, at, low, high, **look)
