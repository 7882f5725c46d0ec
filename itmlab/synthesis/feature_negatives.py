"""Hard negatives made in feature space: each cluster of an anchor's negatives gives one, as near as it allows."""

import math
from contextlib import nullcontext
from typing import NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from ..errors import ItmlabError
from .clusters import ITERATIONS, kmeans, squared_distances
from .kernel_memory import REGULARISATION, Weights, associate, recall

SHORTEST = 1e-6  # a point this near to the origin has no direction


class FeatureNegatives(NamedTuple):
    """Synthetic negatives of each anchor, of unit length, and which of them there are (the rest is 0)."""

    features: Float[Tensor, "anchor cluster dimension"]
    allowed: Bool[Tensor, "anchor cluster"]

    def scores(self, anchors: Float[Tensor, "anchor dimension"]) -> Float[Tensor, "anchor cluster"]:
        """The cosine of each unit-length anchor with its own negatives: what a loss takes as extra scores."""
        return (self.features @ anchors[..., None]).squeeze(-1)


class SynHNC:
    """ITContrast's hard negatives "(Syn)thesised from (C)lusters", of any model that has one feature a side (Sec. 3.2).

    clusters: m; the paper does not give it. sigma: σ of the Gaussian kernel between unit-length features. weights: W
    by "least_squares" (Eq. 5) or "identity" (Nadaraya-Watson). regularisation: ε. iterations: of k-means, at most.
    detach: no gradient goes through the synthesis; without it, one goes through kernels and prototypes, but not through
    the choice of clusters. The mathematics is in `kernel_memory`. Work and memory grow with the square of the
    candidates: it is meant for a batch, not for a queue of thousands.
    """

    def __init__(
        self,
        clusters: int = 8,
        sigma: float = 0.1,
        weights: Weights = "least_squares",
        regularisation: float = REGULARISATION,
        iterations: int = ITERATIONS,
        detach: bool = True,
    ):
        if clusters < 1 or iterations < 1:
            raise ItmlabError(f"SynHNC needs at least one cluster and one iteration, not {clusters} and {iterations}")
        for name, value in (("sigma", sigma), ("regularisation", regularisation)):
            if not 0 < value < math.inf:
                raise ItmlabError(f"SynHNC's {name} must be above 0, not {value}")
        if weights not in get_args(Weights):
            raise ItmlabError(
                f"no weights {weights!r} of SynHNC", remedy=f"choose one of {', '.join(get_args(Weights))}"
            )
        self.clusters, self.iterations, self.detach = clusters, iterations, detach
        self.memory = {"sigma": sigma, "weights": weights, "regularisation": regularisation}

    def __call__(
        self,
        anchors: Float[Tensor, "anchor dimension"],
        candidates: Float[Tensor, "candidate dimension"],
        positives: Bool[Tensor, "anchor candidate"],
        *,
        generator: torch.Generator,
    ) -> FeatureNegatives:
        """One negative for each anchor and cluster of the candidates that are not its `positives`.

        Features of any length and precision are taken at unit length and at least in single precision. Fewer negatives
        than clusters leave the last ones without; nothing marked in `positives` is in any.
        """
        if anchors.ndim != 2 or candidates.ndim != 2 or anchors.shape[1] != candidates.shape[1]:
            raise ItmlabError(
                f"SynHNC needs anchors and candidates of one dimension, not {tuple(anchors.shape)} and "
                f"{tuple(candidates.shape)}"
            )
        if positives.shape != (len(anchors), len(candidates)):
            raise ItmlabError(
                f"{len(anchors)} anchors and {len(candidates)} candidates, but positives of {tuple(positives.shape)}"
            )
        # autocast would take the products in half precision
        with torch.no_grad() if self.detach else nullcontext(), torch.autocast(anchors.device.type, enabled=False):
            queries, prototypes = (normalize(_precise(features), dim=1) for features in (anchors, candidates))
            to_anchor, squared = (squared_distances(side, prototypes) for side in (queries, prototypes))
            membership = kmeans(
                squared.detach(), ~positives, self.clusters, generator=generator, iterations=self.iterations
            )
            found = associate(to_anchor, squared, membership, clusters=self.clusters, **self.memory)
            points = recall(prototypes, membership, found.coefficients, clusters=self.clusters)
            allowed = points.norm(dim=-1) > SHORTEST
            features = normalize(points, dim=-1).masked_fill(~allowed[..., None], 0)
            return FeatureNegatives(features.to(anchors.dtype), allowed)


def _precise(features: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    return features if features.dtype.itemsize >= 4 else features.float()
