"""A kernel associative memory of each cluster of prototypes: what it recalls when it is shown an anchor.

With the Gaussian kernel k(q, x) = exp(-‖q - x‖² / 2σ²) and the prototypes X of a cluster as columns (ITContrast, Eq. 2
to 5, as `methods.md` 4.1 reads them):

    K̂[m, n] = k(x_m, x_n) / Σ_m k(x_m, x_n)        each column sums to 1
    W = X (K̂ + εI)⁻¹                               "least_squares": W K̂ gives the prototypes back
    W = X                                          "identity": the kernel's weighted mean (Nadaraya and Watson)
    q̄ = W softmax_n(-‖q - x_n‖² / 2σ²)

Nothing is exponentiated before its largest exponent is taken away: at σ = 0.1 the kernels themselves would be 0.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor

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
