"""SynHNC: hard negatives (Syn)thesised from (C)lusters in feature space, one of each cluster of an anchor's negatives.

Wu et al. (2023), ITContrast, Sec. 3.2. For each anchor q, k-means makes m clusters of its negatives in the batch; the
kernel associative memory of each cluster recalls one point q̄. With the Gaussian kernel k(q, x) = exp(-‖q - x‖² / 2σ²)
(Eqs. 2, 3) and the prototypes X of a cluster as columns, Eqs. 4 and 5 are read as (METHODS 4.1)

    K[m, n] = k(x_m, x_n) / Σ_m k(x_m, x_n)        each column adds up to 1
    W       = X (K + εI)⁻¹                         "least_squares": W K gives the prototypes back
    W       = X                                    "identity": the kernel's weighted mean (Nadaraya and Watson)
    q̄       = W softmax_n(-‖q - x_n‖² / 2σ²)

`synthetic_negative` is this for one anchor and one cluster. `SynHNC` does a batch at once: `kmeans` finds the clusters,
`associate` solves for (K + εI)⁻¹ softmax(..) by conjugate gradients, `recall` takes X times that.
"""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn.functional import normalize

from ..components import Component
from ..fields import ABOVE_0, FROM_1, check, check_ranges

Weights = Literal["least_squares", "identity"]
Anchors, Candidates = Float[Tensor, "anchor dimension"], Float[Tensor, "candidate dimension"]
Pairwise = Float[Tensor, "candidate candidate"]
Allowed = Bool[Tensor, "anchor candidate"]  # which candidates an anchor may take
Membership = Int64[Tensor, "anchor candidate"]  # the number of each candidate's cluster, -1: in none
PerCandidate = Float[Tensor, "anchor candidate"]
REGULARISATION = 1e-3  # ε: with it K has an inverse, and a condition of at most 1000
ITERATIONS = 20  # of Lloyd's, at most: those of a batch of 128 settle in about eight
MOST = 400  # steps of conjugate gradients; the condition asks for fewer
EQUAL = 1e-12  # squared distance of two unit vectors that differ by rounding only
# unit vectors are 2 apart at most, and nearer than 1e-6 they count as equal
SIGMAS = (lambda sigma: 1e-6 <= sigma <= 1e6), "1e-6 to 1e6"
SHORTEST = 1e-6  # a point this near to the origin has no direction


def synthetic_negative(
    query: Float[Tensor, "dimension"],
    prototypes: Float[Tensor, "prototype dimension"],
    *,
    sigma: float = 0.1,
    weights: Weights = "least_squares",
    regularisation: float = REGULARISATION,
) -> Float[Tensor, "dimension"]:
    """Return q̄ of one anchor and one cluster, by the equations above; `associate` and `recall` give the same.

    >>> x = torch.eye(3, dtype=torch.float64)  # shown a prototype, the memory gives it back, whatever σ
    >>> synthetic_negative(x[0], x, sigma=1.0, regularisation=1e-9).round(decimals=6).tolist()
    [1.0, 0.0, 0.0]
    """
    to_query, between = (squared_distances(points, prototypes) for points in (query[None], prototypes))
    kernels = torch.exp(-between / (2 * sigma**2))
    normalised = kernels / kernels.sum(dim=0)  # K
    w = prototypes.T
    if weights == "least_squares":
        w = w @ torch.linalg.inv(normalised + regularisation * torch.eye(len(normalised)).to(normalised))
    return w @ torch.softmax(-to_query[0] / (2 * sigma**2), dim=0)


class FeatureNegatives(NamedTuple):
    """Synthetic negatives of each anchor.

    Attributes:
        features: their features, of unit length; 0 where there is none.
        allowed: which of them exist.
    """

    features: Float[Tensor, "anchor cluster dimension"]
    allowed: Bool[Tensor, "anchor cluster"]

    def scores(self, anchors: Anchors) -> Float[Tensor, "anchor cluster"]:
        """Return the cosine of each unit-length anchor with its own negatives, as extra scores for a loss."""
        return (self.features @ anchors[..., None]).squeeze(-1)


class Synthesiser(Component):
    """Base class of components that make hard negatives as features; derive a dataclass from it."""

    needs_truth: ClassVar[bool] = False

    def __call__(
        self, anchors: Anchors, candidates: Candidates, positives: Allowed, *, generator: torch.Generator
    ) -> FeatureNegatives:
        """Return negatives of each anchor, made from the candidates that are not its positives."""
        raise NotImplementedError


@dataclass
class SynHNC(Synthesiser):
    """ITContrast's synthetic hard negatives for any model with one feature per side.

    Work and memory grow with the square of the candidates: it is meant for a batch, not for a queue of thousands.

    Args:
        clusters: m, how many negatives each anchor receives; the paper does not give it.
        sigma: σ of the Gaussian kernel between unit-length features.
        weights: W by "least_squares" or "identity".
        detach: whether no gradient goes through the synthesis. Otherwise one goes through kernels and prototypes, but
            not through the choice of clusters.
        oracle: a control for data with a world: candidates that are not surely false are not used.
        regularisation: ε.

    Raises:
        ItmlabError: a parameter out of its range.

    References:
        Wu et al. (2023), ITContrast, Sec. 3.2, Eqs. 2 to 5.

    >>> features, own = normalize(torch.arange(12.0).reshape(4, 3).sin(), dim=1), torch.eye(4, dtype=torch.bool)
    >>> made = SynHNC(clusters=2, sigma=0.5)(features, features, own, generator=torch.Generator().manual_seed(0))
    >>> made.features.shape, bool(made.allowed.all())
    (torch.Size([4, 2, 3]), True)
    """

    clusters: int = 8
    sigma: float = 0.1
    weights: Weights = "least_squares"
    detach: bool = True
    oracle: bool = False
    regularisation: float = REGULARISATION

    def __post_init__(self) -> None:
        check_ranges(self, "synthesis", clusters=FROM_1, regularisation=ABOVE_0, sigma=SIGMAS)
        check(self.weights in get_args(Weights), "synthesis.weights", self.weights, f"one of {get_args(Weights)}")

    @property
    def needs_truth(self) -> bool:
        """Whether the world's truth decides which candidates are used."""
        return self.oracle

    def __call__(
        self, anchors: Anchors, candidates: Candidates, positives: Allowed, *, generator: torch.Generator
    ) -> FeatureNegatives:
        """Make one negative for each anchor and cluster of its candidates.

        Features are normalised and computed at least in single precision. With fewer different candidates than
        clusters the last clusters have no negative.

        Args:
            anchors: features of the anchors.
            candidates: features of the candidates.
            positives: which candidates are not used for an anchor.
            generator: the random numbers of k-means.
        """
        m = self.clusters
        memory = {"sigma": self.sigma, "weights": self.weights, "regularisation": self.regularisation}
        # autocast would take the products in half precision
        with torch.no_grad() if self.detach else nullcontext(), torch.autocast(anchors.device.type, enabled=False):
            queries, prototypes = (
                normalize(side if side.dtype.itemsize >= 4 else side.float(), dim=1) for side in (anchors, candidates)
            )
            to_anchor, squared = (squared_distances(side, prototypes) for side in (queries, prototypes))
            membership = kmeans(squared.detach(), ~positives, m, generator=generator)
            coefficients = associate(to_anchor, squared, membership, clusters=m, **memory).coefficients
            points = recall(prototypes, membership, coefficients, clusters=m)
            allowed = points.norm(dim=-1) > SHORTEST
            features = normalize(points, dim=-1).masked_fill(~allowed[..., None], 0)
            return FeatureNegatives(features.to(anchors.dtype), allowed)


def squared_distances(
    left: Float[Tensor, "left dimension"], right: Float[Tensor, "right dimension"]
) -> Float[Tensor, "left right"]:
    """Return ‖a - b‖² of vectors of about unit length, exactly 0 between equals.

    It is computed in double precision: for neighbours 2 - 2a·b in single precision is noise, and a kernel of width 0.01
    would magnify it.
    """
    a, b = left.double(), right.double()
    squared = a.square().sum(1)[:, None] + b.square().sum(1) - 2 * (a @ b.T)
    return squared.masked_fill(squared < EQUAL, 0).to(left.dtype)


# Clusters: k-means for every anchor at once, each over the candidates that it may take. It reads squared distances
# between the candidates and no features: how far a point x is from the centroid of the points S is mean_S ‖x - s‖² less
# half of the mean of ‖s - s'‖² within S. So all anchors share one matrix, and no centroid is ever made.


def kmeans(squared: Pairwise, allowed: Allowed, clusters: int, *, generator: torch.Generator) -> Membership:
    """Return the cluster of each candidate for each anchor, -1 where it is not allowed.

    An anchor's clusters depend on its own allowed candidates and random numbers only. With fewer different candidates
    than `clusters` the last ones stay empty.

    Args:
        squared: squared distances between candidates.
        allowed: which candidates belong to an anchor.
        clusters: how many clusters.
        generator: draws where they begin.

    >>> points = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    >>> allowed = torch.tensor([[True, True, True, False]])
    >>> kmeans(squared_distances(points, points), allowed, 2, generator=torch.Generator().manual_seed(0)).tolist()
    [[0, 0, 1, -1]]
    """
    return lloyd(squared, allowed, seeds(squared, allowed, clusters, generator=generator))


def seeds(
    squared: Pairwise, allowed: Allowed, clusters: int, *, generator: torch.Generator
) -> Int64[Tensor, "anchor cluster"]:
    """Draw where the clusters begin: k-means++ among each anchor's allowed candidates, -1 once all are taken.

    The first is drawn evenly, each further one in proportion to its squared distance from those before, so that no two
    are equal (Arthur and Vassilvitskii 2007).
    """
    if not len(squared):
        return torch.full((len(allowed), clusters), -1, device=squared.device)
    uniform = torch.rand(len(allowed), clusters, generator=generator, device=generator.device).to(squared)
    weights, chosen = allowed.to(squared), []
    nearest = torch.full_like(weights, math.inf)
    for index in range(clusters):
        cumulative = weights.cumsum(dim=1)
        total = cumulative[:, -1]
        # just below the total where rounding reached it: a candidate of weight 0 behind the last must not be drawn
        target = torch.minimum(uniform[:, index] * total, torch.nextafter(total, torch.zeros_like(total)))
        drawn = torch.searchsorted(cumulative, target[:, None], right=True).squeeze(1)
        chosen.append(torch.where(total > 0, drawn, -1))
        nearest = torch.minimum(nearest, squared[chosen[-1].clamp(min=0)])
        weights = nearest.masked_fill(~allowed, 0)
    return torch.stack(chosen, dim=1)


def lloyd(
    squared: Pairwise, allowed: Allowed, seeds: Int64[Tensor, "anchor cluster"], *, iterations: int = ITERATIONS
) -> Membership:
    """Run Lloyd's algorithm from the given candidates (-1: none); a cluster without members keeps its centre."""
    clusters = torch.arange(seeds.shape[1], device=seeds.device)[:, None]
    candidates = torch.arange(len(squared), device=seeds.device)
    shares = (seeds[..., None] == candidates).to(squared)  # a centroid is the mean of its members
    unused, membership = (seeds < 0)[..., None], torch.full_like(allowed, -1, dtype=torch.int64)
    for _ in range(iterations + 1):
        distances = shares @ squared
        costs = distances - (distances * shares).sum(-1, keepdim=True) / 2
        nearest = costs.masked_fill_(unused, math.inf).min(dim=1).indices.masked_fill_(~allowed, -1)
        if nearest.equal(membership):
            break
        membership, members = nearest, (nearest[:, None] == clusters).to(squared)
        sizes = members.sum(-1, keepdim=True)
        shares = torch.where(sizes > 0, members / sizes.clamp(min=1), shares)
    return membership


class Association(NamedTuple):
    """How an anchor's clusters recall: the softmax over each cluster's prototypes, and how much of each is in q̄.

    `kernel` sums to 1 in each cluster; `coefficients` are (K + εI)⁻¹ times it, or the same with identity weights:
    q̄ = Σ_n coefficient_n x_n. Both are 0 where a candidate is in no cluster.
    """

    kernel: PerCandidate
    coefficients: PerCandidate


def associate(
    to_anchor: PerCandidate,
    squared: Pairwise,
    membership: Membership,
    *,
    clusters: int,
    sigma: float = 0.1,
    weights: Weights = "least_squares",
    regularisation: float = REGULARISATION,
) -> Association:
    """Compute kernel weights and coefficients of each anchor's candidates in the memories of their clusters.

    With the kernels k and their column sums D, K = k D⁻¹ is similar to D^-½ k D^-½, which is symmetric and positive
    semidefinite. So conjugate gradients solve for all anchors at once, with one matrix product per step.

    Args:
        to_anchor: squared distances of anchors and candidates.
        squared: squared distances between candidates.
        membership: the clusters, as `kmeans` returns them.
        clusters: how many clusters.
        sigma: σ of the Gaussian kernel.
        weights: W by "least_squares" or "identity".
        regularisation: ε.
    """
    kernel = _softmax_in_clusters(to_anchor / (-2 * sigma**2), membership, clusters)
    if weights == "identity":
        return Association(kernel, kernel)
    between = torch.exp(squared / (-2 * sigma**2))
    member, cluster = (membership >= 0).to(kernel), membership.clamp(min=0)[:, None]

    def within(values: PerCandidate) -> PerCandidate:
        """k times the values, over each candidate's own cluster only."""
        return (_by_cluster(values, membership, clusters) @ between).gather(1, cluster).squeeze(1)

    roots = within(member).clamp(min=1).rsqrt() * member  # D^-½; a prototype's kernel with itself is 1
    solution = _conjugate_gradients(lambda x: within(x * roots) * roots + regularisation * x, kernel * roots)
    return Association(kernel, solution / torch.where(membership >= 0, roots, 1))


def _softmax_in_clusters(logits: PerCandidate, membership: Membership, clusters: int) -> PerCandidate:
    """exp(logit) over its sum in the same cluster, 0 where there is none."""
    others = ~_in_cluster(membership, clusters)
    shares = logits[:, None].masked_fill(others, -torch.inf).softmax(dim=-1)
    return shares.masked_fill(others, 0).sum(dim=1)


def _conjugate_gradients(
    product: Callable[[Float[Tensor, "row column"]], Float[Tensor, "row column"]], target: Float[Tensor, "row column"]
) -> Float[Tensor, "row column"]:
    """The rows x with product(x) = target, for a symmetric product above 0 (Hestenes and Stiefel 1952)."""
    smallest, tolerance = torch.finfo(target.dtype).tiny, 4 * torch.finfo(target.dtype).eps
    solution, residual, direction = torch.zeros_like(target), target, target
    square = residual.square().sum(1, keepdim=True)
    enough = square.detach() * tolerance**2
    for _ in range(MOST):
        unsolved = square > enough  # a solved row is not changed: no row depends on how long another takes
        if not bool(unsolved.any()):
            break
        image = product(direction)
        step = torch.where(unsolved, square / (direction * image).sum(1, keepdim=True).clamp(min=smallest), 0)
        solution, residual = solution + step * direction, residual - step * image
        before, square = square, residual.square().sum(1, keepdim=True)
        direction = residual + square / before.clamp(min=smallest) * direction
    return solution


def recall(
    candidates: Candidates, membership: Membership, coefficients: PerCandidate, *, clusters: int
) -> Float[Tensor, "anchor cluster dimension"]:
    """Return q̄ of each anchor and cluster, not normalised: the sum of coefficients times candidates."""
    return _by_cluster(coefficients, membership, clusters) @ candidates


def _by_cluster(
    values: PerCandidate, membership: Membership, clusters: int
) -> Float[Tensor, "anchor cluster candidate"]:
    """Each value in the row of its cluster, 0 elsewhere."""
    return values[:, None] * _in_cluster(membership, clusters).to(values)


def _in_cluster(membership: Membership, clusters: int) -> Bool[Tensor, "anchor cluster candidate"]:
    """Which candidates belong to each cluster."""
    return membership[:, None] == torch.arange(clusters, device=membership.device)[:, None]
