"""Several measures of the same rankings, query by query, so that models can be compared on each of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from ..errors import ItmlabError
from ..metrics import SemanticRanking, ncs_of_each, semantic_recall_of_each
from .retrievals import Direction, Retrievals

Interval = tuple[float, float, float]
DRAWS = 1000  # of the bootstrap


@dataclass(frozen=True, eq=False)
class Measured:
    """`values[model][measure]` in percent for each query; NaN where the query has nothing to find by that measure.

    `picture` is the picture that a query is, or was written for. Intervals are 95 % percentile bootstraps that draw
    pictures anew, with all their captions; differences draw the same pictures for both models.
    """

    values: Mapping[str, Mapping[str, Float[ndarray, "query"]]]
    picture: Int[ndarray, "query"]

    def table(self) -> dict[str, dict[str, Interval]]:
        """By model and measure: the mean over queries and the ends of its interval."""
        return {
            model: {name: self._interval(values) for name, values in by_measure.items()}
            for model, by_measure in self.values.items()
        }

    def difference(self, model: str, baseline: str) -> dict[str, Interval]:
        """Model minus baseline by measure, paired."""
        mine, base = self.values[model], self.values[baseline]
        return {name: self._interval(mine[name] - base[name]) for name in mine}

    def _interval(self, values: Float[ndarray, "query"]) -> Interval:
        counted = ~np.isnan(values)
        if not counted.any():
            return (float("nan"),) * 3
        _, picture = np.unique(self.picture, return_inverse=True)
        sums = np.bincount(picture, np.where(counted, values, 0.0))
        counts = np.bincount(picture, counted)
        drawn = np.random.default_rng(0).multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=DRAWS)
        lower, upper = np.percentile((drawn @ sums) / np.maximum(drawn @ counts, 1), [2.5, 97.5])
        return float(values[counted].mean()), float(lower), float(upper)


def measured(retrieved: Retrievals, direction: Direction = "t2i", *, k: int = 5, relevant: int = 10) -> Measured:
    """R, R^V, SR (of the `relevant` candidates of largest φ), NCS, and NCS without ground truth ("(N)"), all at k.

    NCS of "truth" takes 1 for φ where the world says true and 0 elsewhere: how much of the truth that k places can hold
    is found.
    """
    side = retrieved.side(direction)
    phis = dict(side.relevance)
    if side.truth is not None:
        phis["truth"] = (side.truth == 1).float()
    annotated, most = side.positives.float(), int(side.positives.sum(1).max())
    values = {}
    for model, scores in side.similarity.items():
        found = {f"R@{k}": semantic_recall_of_each(scores, annotated, k, relevant=most)}
        if direction == "i2t":
            found[f"Rⱽ@{k}"] = semantic_recall_of_each(scores, annotated, k, relevant=most, sense="any")
        for name, phi in side.relevance.items():
            found[f"SR@{k} {name}"] = semantic_recall_of_each(scores, phi, k, relevant=relevant)
        for name, phi in phis.items():
            found[f"NCS@{k} {name}"] = ncs_of_each(scores, phi, k)
        without = {"positives": side.positives, "keep_ground_truth": False}
        for name, phi in phis.items():
            found[f"NCS@{k} {name} (N)"] = ncs_of_each(scores, phi, k, **without)
        values[model] = {name: each.numpy() for name, each in found.items()}
    return Measured(values, side.picture.numpy())


def semantic_recalls(
    retrieved: Retrievals, relevant: Sequence[int], *, k: int = 5, by: str = "CIDEr"
) -> dict[str, dict[str, dict[str, Float[ndarray, "m"]]]]:
    """`[model][direction]["any" | "share"]`: percent of queries that find any, and mean share found, of the m
    unannotated candidates of largest φ (SAM, Figure 3).
    """
    depths = {"retrieved": k, "ideal": max(relevant), "keep_ground_truth": False}
    recalls: dict[str, dict[str, dict[str, ndarray]]] = {model: {} for model in retrieved.similarity}
    for direction in ("t2i", "i2t"):
        side = retrieved.side(direction)
        for model, scores in side.similarity.items():
            ranking = SemanticRanking.of(scores, side.relevance[by], positives=side.positives, **depths)
            recalls[model][direction] = {
                sense: np.array([float(ranking.recalls(k, m, any_of_them=any_).nanmean()) for m in relevant])
                for sense, any_ in (("any", True), ("share", False))
            }
    return recalls


def truth_among_relevant(
    retrieved: Retrievals, relevant: Sequence[int]
) -> tuple[dict[str, dict[str, Float[ndarray, "m"]]], dict[str, Float[ndarray, "m"]]]:
    """Percent that the world calls true of the first m unannotated candidates, `[φ or model][direction]`, and
    `[direction]` the most that any ranking could reach.
    """
    if retrieved.truth is None:
        raise ItmlabError(
            "no world knows what is true here", where=retrieved.data.name, remedy="use the data set scenes"
        )
    shares: dict[str, dict[str, ndarray]] = {}
    most = {}
    for direction in ("t2i", "i2t"):
        side = retrieved.side(direction)
        true = ((side.truth == 1) & ~side.positives).float()
        for name, ranking in {**side.relevance, **side.similarity}.items():
            others = ranking.masked_fill(side.positives, -torch.inf)
            shares.setdefault(name, {})[direction] = _share_true(others, true, relevant)
        most[direction] = _share_true(true, true, relevant)
    return shares, most


def _share_true(
    scores: Float[Tensor, "anchor candidate"], true: Float[Tensor, "anchor candidate"], relevant: Sequence[int]
) -> Float[ndarray, "m"]:
    """Percent of each anchor's first m that are true, mean over anchors."""
    ranked = true.gather(1, scores.topk(max(relevant), dim=1).indices)
    return np.array([100 * float(ranked[:, :m].mean()) for m in relevant])
