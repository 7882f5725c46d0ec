"""k-means for every anchor at once, each over the candidates that it may take (ITContrast, Sec. 3.2).

It reads squared distances between the candidates and no features: how far a point x is from the centroid of the points
S is mean_S ‖x - s‖² less half of the mean of ‖s - s'‖² within S. All anchors share one such matrix.
"""

import math

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

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
