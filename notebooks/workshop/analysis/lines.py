"""Numbers as curves: distributions, receiver operating characteristics, calibration, sweeps of SynHNC."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float, Integer
from numpy import ndarray
from scipy.special import expit, logit

from itmlab.metrics.statistics import wilson

from ..plots.charts import Line
from .kernel_memory import MemorySweep


def densities(values: Mapping[str, Float[ndarray, "value"]], bins: int = 80) -> dict[str, Line]:
    """Return the distribution of each kind of values as a curve, each 1 at its highest bin.

    The mean stands beside the name. Kinds without values are flat.
    """
    edges = np.histogram_bin_edges(np.concatenate([*values.values()]), bins)
    middles = (edges[:-1] + edges[1:]) / 2
    curves = {}
    for name, kind in values.items():
        counts = np.histogram(kind, edges)[0]
        mean = f"mean {np.mean(kind):.2f}".replace("-", "−") if len(kind) else "none"
        curves[f"{name} ({len(kind):,}, {mean})"] = Line(counts / max(counts.max(), 1), middles, fill=True)
    return curves


# How well a score separates hidden positives from true negatives, and whether a posterior is calibrated.


def roc_curves(scores: Mapping[str, Float[ndarray, "pair"]], truth: Bool[ndarray, "pair"]) -> dict[str, Line]:
    """Return the receiver operating characteristic of each score, with its area beside the name.

    Args:
        scores: a score of every pair, by name.
        truth: whether the pair is true; both kinds of pairs are needed.
    """
    from sklearn.metrics import roc_auc_score, roc_curve

    curves, places = {}, np.linspace(0, 1, 100) ** 2  # closest where few true negatives are above the threshold
    for name, values in scores.items():
        false, true, _ = roc_curve(truth, values)
        curves[f"{name} (area {roc_auc_score(truth, values):.3f})"] = Line(np.interp(places, false, true), places)
    return curves


class Calibration:
    """Reliability of a posterior in 14 bins of equal width in log-odds, without the empty ones.

    Args:
        posterior: claimed probability of every pair.
        truth: whether the pair is true.

    Attributes:
        claimed: mean posterior of each bin.
        share: share of true pairs in it.
        lower, upper: Wilson's 95 % interval of that share.
        count: pairs in the bin.
    """

    EDGE = 1e-4  # the log-odds of 0 and 1 are infinite

    def __init__(self, posterior: Float[ndarray, "pair"], truth: Bool[ndarray, "pair"]):
        odds = logit(np.clip(posterior, self.EDGE, 1 - self.EDGE))
        edges = np.linspace(odds.min(), odds.max() + 1e-9, 15)
        bins = [np.digitize(odds, edges) == number for number in range(1, len(edges))]
        bins = [inside for inside in bins if inside.any()]
        self.count = np.array([inside.sum() for inside in bins])
        self.claimed = expit([odds[inside].mean() for inside in bins])
        self.share = np.array([truth[inside].mean() for inside in bins])
        self.lower, self.upper = wilson(self.share, self.count)

    def curves(self) -> dict[str, dict[str, Line]]:
        """Return two panels over the claimed probability: the share that is true, and the pairs of each bin."""
        share = Line(self.share, self.claimed, self.lower, self.upper)
        return {"share that is true": {"measured": share}, "pairs": {"measured": Line(self.count, self.claimed)}}


def true_images(true: Integer[ndarray, "caption"]) -> dict[str, float]:
    """Return the percentage of captions by the number of images that they are true of.

    Numbers are grouped in steps that double (1, 2, 3–4, 5–8, …). A caption that is true of one image has no false
    negative.
    """
    step = np.ceil(np.log2(np.maximum(true, 1))).astype(int)
    shares = {}
    for power, share in enumerate(100 * np.bincount(step) / len(step)):
        edge = 2**power
        name = f"{edge // 2 + 1}–{edge} images" if edge > 2 else f"{edge} images"
        shares["1: its own only" if edge == 1 else name] = float(share)
    return shares


def sweep_curves(sweep: MemorySweep) -> dict[str, dict[str, Line]]:
    """Return hardness, length and number of prototypes of synthetic negatives over σ or m, a curve per kind of weights.

    Hardness has its quartiles over the anchors; percentages of anchors have 95 % intervals.
    """
    batch, flat = sweep.batch, np.ones(len(sweep.values))
    hardness = {"match": Line(float(batch.positive_scores.mean()) * flat)}
    hardness["hardest real negative"] = Line(float(batch.hardest().mean()) * flat)
    harder, length, effective = {}, {}, {}
    for kind, curve in sweep.curves.items():
        name = kind.replace("_", " ")
        hardness[name] = Line(curve["hardness"], None, curve["lower"], curve["upper"])
        length[name] = Line(curve["length"])
        effective["prototypes"] = Line(curve["effective"])  # the same for all kinds of weights
        above = {name: curve["above hardest"], f"{name}: nearer than the match": curve["above match"]}
        for words, percent in above.items():
            lower, upper = wilson(percent / 100, len(batch.anchors))
            harder[words] = Line(percent, None, 100 * lower, 100 * upper)
    return {
        "cosine of the hardest synthetic negative": hardness,
        "harder than any real negative": harder,
        "length of what is recalled": length,
        "prototypes that share the kernel weights": effective,
    }
