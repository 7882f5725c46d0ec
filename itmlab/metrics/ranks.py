"""Where the positives of each query stand in its ranking, by counting instead of sorting."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.errors import ItmlabError

BLOCK = 1 << 20  # scores compared at once: a few megabytes, which stay in the processor's cache


def positive_pairs(
    similarity: Float[Tensor, "anchor candidate"], positives: Bool[Tensor, "anchor candidate"]
) -> tuple[Int64[Tensor, "pair"], Int64[Tensor, "pair"]]:
    """The (anchor, candidate) indices of a truth mask; ItmlabError when shapes differ or an anchor has no positive."""
    if similarity.ndim != 2 or positives.shape != similarity.shape:
        raise ItmlabError(
            f"similarity and positives must both be (anchor, candidate); "
            f"got {tuple(similarity.shape)} and {tuple(positives.shape)}"
        )
    if positives.stride(0) < positives.stride(1):  # a transposed view, of which `nonzero` would make a copy
        candidate, anchor = positives.T.nonzero(as_tuple=True)
    else:
        anchor, candidate = positives.nonzero(as_tuple=True)
    require_positives(anchor, len(similarity), "query")
    return anchor, candidate


def require_positives(anchor: Int64[Tensor, "pair"], anchors: int, what: str) -> None:
    """ItmlabError unless there is an anchor, and each occurs among the pairs."""
    if anchors == 0:
        raise ItmlabError("there is nothing to rank: the similarity matrix is empty")
    without = (torch.bincount(anchor, minlength=anchors) == 0).nonzero().squeeze(1).tolist()
    if without:
        raise ItmlabError(
            f"{len(without)} of {anchors} have no positive, the first is {what} {without[0]}",
            remedy="leave out what nothing can be found for",
        )


def ranks(
    similarity: Float[Tensor, "anchor candidate"],
    anchor: Int64[Tensor, "pair"],
    candidate: Int64[Tensor, "pair"],
    *,
    best_only: bool,
) -> tuple[Int64[Tensor, "kept"], Int64[Tensor, "kept"]]:
    """The anchor and the rank (0 is first) of every positive pair, or of each anchor's best one alone.

    Ties are counted against the model: a negative that scores the same as a positive stands before it, so that a model
    which scores everything alike finds nothing. With distinct scores this is the rank of a sort. NaN is an ItmlabError.
    """
    scores = similarity[anchor, candidate]
    order = scores.sort(descending=True, stable=True).indices
    order = order[anchor[order].sort(stable=True).indices]  # by anchor, and within one from its best positive on
    anchor, scores = anchor[order], scores[order]
    held = torch.bincount(anchor, minlength=len(similarity))
    place = torch.arange(len(anchor), device=anchor.device) - (held.cumsum(0) - held)[anchor]
    found = []
    for turn in range(1 if best_only else int(held.max())):
        mine = place == turn
        thresholds = scores.new_zeros(len(similarity))
        thresholds[anchor[mine]] = scores[mine]
        at_least = _count_at_least(similarity, thresholds, check=turn == 0)
        # the positives among them stand where they stand, whatever their ties
        equals = torch.bincount(anchor[scores >= thresholds[anchor]], minlength=len(similarity))
        found.append((anchor[mine], (at_least - equals + turn)[anchor[mine]]))
    return torch.cat([pair[0] for pair in found]), torch.cat([pair[1] for pair in found])


def _count_at_least(
    similarity: Float[Tensor, "anchor candidate"], thresholds: Float[Tensor, "anchor"], *, check: bool
) -> Int64[Tensor, "anchor"]:
    """How many candidates score at least each anchor's threshold, walking the matrix as it lies in memory."""
    counts = torch.zeros(len(similarity), dtype=torch.int64, device=similarity.device)
    transposed = similarity.stride(0) < similarity.stride(1)
    rows = max(1, BLOCK // similarity.shape[0 if transposed else 1])
    if transposed:
        rows = min(rows, 255)  # so many candidates at once can be counted in a byte, which is twice as fast
    for start in range(0, similarity.shape[1 if transposed else 0], rows):
        if transposed:
            block, mine, counter = similarity[:, start : start + rows], slice(None), torch.uint8
        else:
            block, mine, counter = similarity[start : start + rows], slice(start, start + rows), torch.int64
        # a sum is the cheapest pass that a NaN cannot hide from; infinities of both signs make one too
        if check and bool(block.sum().isnan()) and bool(block.isnan().any()):
            row, column = block.isnan().nonzero()[0].tolist()
            row, column = (row, column + start) if transposed else (row + start, column)
            raise ItmlabError(f"similarity is NaN between query {row} and candidate {column}")
        counts[mine] += (block >= thresholds[mine, None]).view(torch.uint8).sum(dim=1, dtype=counter)
    return counts
