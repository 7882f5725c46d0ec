"""What semantic measures refuse: matrices that do not fit, or that say nothing."""

import warnings

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from itmlab.errors import ItmlabError


def check_matrices(
    similarity: Float[Tensor, "anchor candidate"],
    relevance: Float[Tensor, "anchor candidate"],
    positives: Bool[Tensor, "anchor candidate"] | None,
    keep_ground_truth: bool,
) -> tuple[
    Float[Tensor, "anchor candidate"],
    Float[Tensor, "anchor candidate"],
    tuple[Int64[Tensor, "pair"], Int64[Tensor, "pair"]],
]:
    """The matrices as tensors, and the (anchor, candidate) pairs that are removed from both."""
    similarity, relevance = torch.as_tensor(similarity), torch.as_tensor(relevance)
    if similarity.ndim != 2 or relevance.shape != similarity.shape:
        raise ItmlabError(
            f"similarity and relevance must both be (anchor, candidate); "
            f"got {tuple(similarity.shape)} and {tuple(relevance.shape)}",
            remedy="a (caption, image) matrix is transposed for images as anchors",
        )
    if not similarity.numel():
        raise ItmlabError("there is nothing to rank: the similarity matrix is empty")
    similarity, relevance = (
        matrix if matrix.is_floating_point() else matrix.double() for matrix in (similarity, relevance)
    )
    if keep_ground_truth:
        nothing = torch.empty(0, dtype=torch.int64)
        return similarity, relevance, (nothing, nothing)
    if positives is None:
        raise ItmlabError("ground truth can only be left out when it is known", remedy="pass positives=")
    positives = torch.as_tensor(positives).bool()
    if positives.shape != similarity.shape:
        raise ItmlabError(
            f"similarity and positives must both be (anchor, candidate); "
            f"got {tuple(similarity.shape)} and {tuple(positives.shape)}"
        )
    if positives.stride(0) < positives.stride(1):  # a transposed view, of which `nonzero` would make a copy
        candidate, anchor = positives.T.nonzero(as_tuple=True)
    else:
        anchor, candidate = positives.nonzero(as_tuple=True)
    return similarity, relevance, (anchor, candidate)


def check_depth(name: str, depth: int, candidates: int, removed: int) -> None:
    """ItmlabError unless a depth is a whole number from 1 to the candidates that every query has."""
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= candidates - removed:
        left = f" (after up to {removed} of ground truth are left out)" if removed else ""
        raise ItmlabError(
            f"{name}={depth} of {candidates - removed} candidates{left}",
            remedy=f"choose {name} from 1 to {candidates - removed}" if candidates > removed else "use a larger pool",
        )


def check_finite(
    similarity: Float[Tensor, "anchor candidate"], relevance: Float[Tensor, "anchor candidate"], first: int
) -> None:
    """ItmlabError naming the pair: a NaN, or relevance that is negative or infinite (rows count from `first`)."""
    for name, matrix in (("similarity", similarity), ("relevance", relevance)):
        if bool(matrix.sum().isnan()) and bool(matrix.isnan().any()):
            row, column = matrix.isnan().nonzero()[0].tolist()
            raise ItmlabError(f"{name} is NaN between query {row + first} and candidate {column}")
    least, most = relevance.aminmax()
    if least < 0 or most == torch.inf:
        row, column = ((relevance < 0) | (relevance == torch.inf)).nonzero()[0].tolist()
        raise ItmlabError(
            f"relevance is {relevance[row, column].item():g} between query {row + first} and candidate {column}",
            remedy="it must be finite and not negative",
        )


def mean_of_answered(values: Float64[Tensor, "anchor"], what: str) -> float:
    """The mean over the queries that have a value; a warning counts the others, and none at all is an ItmlabError."""
    without = int(values.isnan().sum())
    if without == len(values):
        raise ItmlabError(f"{what}: nothing is relevant to any query", remedy="look at the relevance matrix: all is 0")
    if without:
        warnings.warn(
            f"{what}: nothing is relevant to {without} of {len(values)} queries, which are left out", stacklevel=3
        )
    return values.nanmean().item()
