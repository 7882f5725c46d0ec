"""Hard negatives made in feature space: each cluster of an anchor's negatives gives one, as near as it allows."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn.functional import normalize

from ..errors import ItmlabError

# A kernel associative memory of each cluster of prototypes: what it recalls when it is shown an anchor.
#
# With the Gaussian kernel k(q, x) = exp(-‖q - x‖² / 2σ²) and the prototypes X of a cluster as columns (ITContrast,
# Eq. 2 to 5, as `methods.md` 4.1 reads them):
#
#     K̂[m, n] = k(x_m, x_n) / Σ_m k(x_m, x_n)        each column sums to 1
#     W = X (K̂ + εI)⁻¹                               "least_squares": W K̂ gives the prototypes back
#     W = X                                          "identity": the kernel's weighted mean (Nadaraya and Watson)
#     q̄ = W softmax_n(-‖q - x_n‖² / 2σ²)
#
# Nothing is exponentiated before its largest exponent is taken away: at σ = 0.1 the kernels themselves would be 0.


Weights = Literal["least_squares", "identity"]
REGULARISATION = 1e-3  # ε: with it K̂ has an inverse, and a condition of at most 1000
MOST = 400  # steps of conjugate gradients; the condition asks for fewer


class Association(NamedTuple):
    """How an anchor's clusters recall: the softmax over each cluster's prototypes, and how much of each is in q̄.

    `kernel` sums to 1 in each cluster; `coefficients` are (K̂ + εI)⁻¹ times it, or the same with identity weights:
    q̄ = Σ_n coefficient_n x_n. Both are 0 where a candidate is in no cluster.
    """

    kernel: Float[Tensor, "anchor candidate"]
    coefficients: Float[Tensor, "anchor candidate"]


def associate(
    to_anchor: Float[Tensor, "anchor candidate"],
    squared: Float[Tensor, "candidate candidate"],
    membership: Int64[Tensor, "anchor candidate"],
    *,
    clusters: int,
    sigma: float = 0.1,
    weights: Weights = "least_squares",
    regularisation: float = REGULARISATION,
) -> Association:
    """The kernel weights and the coefficients of each anchor's candidates in the memories of their clusters.

    `to_anchor` and `squared` are squared distances; `membership` is the cluster of each candidate for each anchor, -1
    for none, as `kmeans` gives it.
    """
    kernel = _softmax_in_clusters(to_anchor / (-2 * sigma**2), membership, clusters)
    if weights == "identity":
        return Association(kernel, kernel)
    between = torch.exp(squared / (-2 * sigma**2))
    return Association(kernel, _solved(between, kernel, membership, clusters, regularisation))


def recall(
    candidates: Float[Tensor, "candidate dimension"],
    membership: Int64[Tensor, "anchor candidate"],
    coefficients: Float[Tensor, "anchor candidate"],
    *,
    clusters: int,
) -> Float[Tensor, "anchor cluster dimension"]:
    """q̄ of each anchor and cluster: the cluster's candidates, each times its coefficient, added up; 0 of an empty one.

    The points are as they come out, not of unit length.
    """
    return _by_cluster(coefficients, membership, clusters) @ candidates


def _by_cluster(
    values: Float[Tensor, "anchor candidate"], membership: Int64[Tensor, "anchor candidate"], clusters: int
) -> Float[Tensor, "anchor cluster candidate"]:
    """Each value in the row of its cluster, 0 elsewhere."""
    numbers = torch.arange(clusters, device=membership.device)[:, None]
    return values[:, None] * (membership[:, None] == numbers).to(values)


def _softmax_in_clusters(
    logits: Float[Tensor, "anchor candidate"], membership: Int64[Tensor, "anchor candidate"], clusters: int
) -> Float[Tensor, "anchor candidate"]:
    """exp(logit) over its sum in the same cluster, 0 where there is none; no sum can be 0 or infinite."""
    member, cluster = membership >= 0, membership.clamp(min=0)
    masked = logits.detach().masked_fill(~member, -torch.inf)
    largest = logits.new_full((len(logits), clusters), -torch.inf).scatter_reduce(1, cluster, masked, "amax")
    # where there is no cluster a logit stands for the largest, so that no difference of infinities is taken
    shifted = logits - torch.where(member, largest.gather(1, cluster), logits.detach())
    powers = torch.where(member, shifted.exp(), 0)
    sums = logits.new_zeros(len(logits), clusters).scatter_add(1, cluster, powers)
    return powers / torch.where(member, sums.gather(1, cluster), 1)


def _solved(
    between: Float[Tensor, "candidate candidate"],
    kernel: Float[Tensor, "anchor candidate"],
    membership: Int64[Tensor, "anchor candidate"],
    clusters: int,
    regularisation: float,
) -> Float[Tensor, "anchor candidate"]:
    """(K̂ + εI)⁻¹ times the kernel weights of every cluster, by conjugate gradients on all anchors at once.

    K̂ = K D⁻¹, D its column sums, is similar to D^-½ K D^-½, which is symmetric and not below 0. A product with it asks
    for one matrix product over all clusters, so that neither a system an anchor nor a pseudo-inverse is made.
    """
    cluster = membership.clamp(min=0)[:, None]

    def within(values: Float[Tensor, "anchor candidate"]) -> Float[Tensor, "anchor candidate"]:
        """K times the values, over each candidate's own cluster only."""
        return (_by_cluster(values, membership, clusters) @ between).gather(1, cluster).squeeze(1)

    member = (membership >= 0).to(kernel)
    roots = within(member).clamp(min=1).rsqrt() * member  # a prototype's kernel with itself is 1
    solution = _conjugate_gradients(lambda x: within(x * roots) * roots + regularisation * x, kernel * roots)
    return solution / torch.where(membership >= 0, roots, 1)


Product = Callable[[Float[Tensor, "row column"]], Float[Tensor, "row column"]]


def _conjugate_gradients(product: Product, target: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """The rows x with product(x) = target, for a symmetric product above 0 (Hestenes and Stiefel 1952).

    A row that is solved stays as it is, so that none depends on how long another takes.
    """
    smallest, tolerance = torch.finfo(target.dtype).tiny, 4 * torch.finfo(target.dtype).eps
    solution, residual, direction = torch.zeros_like(target), target, target
    square = residual.square().sum(1, keepdim=True)
    enough = square.detach() * tolerance**2
    for _ in range(MOST):
        unsolved = square > enough
        if not bool(unsolved.any()):
            break
        image = product(direction)
        step = torch.where(unsolved, square / (direction * image).sum(1, keepdim=True).clamp(min=smallest), 0)
        solution, residual = solution + step * direction, residual - step * image
        before, square = square, residual.square().sum(1, keepdim=True)
        direction = residual + square / before.clamp(min=smallest) * direction
    return solution


# k-means for every anchor at once, each over the candidates that it may take (ITContrast, Sec. 3.2).
#
# It reads squared distances between the candidates and no features: how far a point x is from the centroid of the
# points S is mean_S ‖x - s‖² less half of the mean of ‖s - s'‖² within S. All anchors share one such matrix.


ITERATIONS = 20  # of Lloyd's, at most: those of a batch of 128 settle in about eight
EQUAL = 1e-12  # squared distance of two unit vectors that differ by rounding only


def kmeans(
    squared: Float[Tensor, "candidate candidate"],
    allowed: Bool[Tensor, "anchor candidate"],
    clusters: int,
    *,
    generator: torch.Generator,
    iterations: int = ITERATIONS,
) -> Int64[Tensor, "anchor candidate"]:
    """The cluster of each candidate for each anchor, -1 where the anchor may not take it.

    An anchor's clusters depend on its own allowed candidates and its own random numbers, on no other anchor. With fewer
    different candidates than `clusters` the last ones stay empty.
    """
    return lloyd(squared, allowed, seeds(squared, allowed, clusters, generator=generator), iterations=iterations)


def seeds(
    squared: Float[Tensor, "candidate candidate"],
    allowed: Bool[Tensor, "anchor candidate"],
    clusters: int,
    *,
    generator: torch.Generator,
) -> Int64[Tensor, "anchor cluster"]:
    """Where the clusters begin: k-means++ among each anchor's allowed candidates, -1 once all are taken.

    The first is drawn evenly, each further one in proportion to its squared distance from those before, so that no two
    are equal (Arthur and Vassilvitskii 2007).
    """
    if not len(squared):
        return torch.full((len(allowed), clusters), -1, device=squared.device)
    uniform = torch.rand(len(allowed), clusters, generator=generator, device=generator.device).to(squared)
    weights, chosen = allowed.to(squared), []
    nearest = torch.full_like(weights, math.inf)
    for index in range(clusters):
        chosen.append(_drawn(weights, uniform[:, index]))
        nearest = torch.minimum(nearest, squared[chosen[-1].clamp(min=0)])
        weights = nearest.masked_fill(~allowed, 0)
    return torch.stack(chosen, dim=1)


def lloyd(
    squared: Float[Tensor, "candidate candidate"],
    allowed: Bool[Tensor, "anchor candidate"],
    seeds: Int64[Tensor, "anchor cluster"],
    *,
    iterations: int = ITERATIONS,
) -> Int64[Tensor, "anchor candidate"]:
    """Lloyd's iterations from the given candidates (-1: no cluster) until nothing moves.

    A cluster that loses all its members stays where it was.
    """
    clusters = torch.arange(seeds.shape[1], device=seeds.device)[:, None]
    candidates = torch.arange(len(squared), device=seeds.device)
    shares = (seeds[..., None] == candidates).to(squared)  # a centroid is the mean of its members
    unused, membership = (seeds < 0)[..., None], torch.full_like(allowed, -1, dtype=torch.int64)
    rows = torch.arange(len(allowed), device=seeds.device)  # the anchors whose clusters still move
    for _ in range(iterations + 1):
        distances = shares @ squared
        costs = distances - (distances * shares).sum(-1, keepdim=True) / 2
        nearest = costs.masked_fill_(unused[rows], math.inf).min(dim=1).indices.masked_fill_(~allowed[rows], -1)
        moving = (nearest != membership[rows]).any(dim=1)
        membership[rows] = nearest
        rows, shares = rows[moving], shares[moving]
        if not len(rows):
            break
        members = (nearest[moving][:, None] == clusters).to(squared)
        sizes = members.sum(-1, keepdim=True)
        shares = torch.where(sizes > 0, members / sizes.clamp(min=1), shares)
    return membership


def squared_distances(
    left: Float[Tensor, "left dimension"], right: Float[Tensor, "right dimension"]
) -> Float[Tensor, "left right"]:
    """‖a - b‖² of vectors of about unit length, exactly 0 between equals.

    In double precision inside: what is left of 2 - 2a·b in single precision for neighbours is noise, and a kernel of
    width 0.01 would magnify it.
    """
    a, b = left.double(), right.double()
    squared = a.square().sum(1)[:, None] + b.square().sum(1) - 2 * (a @ b.T)
    return squared.masked_fill(squared < EQUAL, 0).to(left.dtype)


def _drawn(weights: Float[Tensor, "anchor candidate"], uniform: Float[Tensor, "anchor"]) -> Int64[Tensor, "anchor"]:
    """One candidate an anchor in proportion to its weight, -1 where all weights are 0."""
    cumulative = weights.cumsum(dim=1)
    total = cumulative[:, -1]
    target = torch.minimum(uniform * total, torch.nextafter(total, torch.zeros_like(total)))
    index = torch.searchsorted(cumulative, target[:, None], right=True).squeeze(1)
    return torch.where(total > 0, index, -1)


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
