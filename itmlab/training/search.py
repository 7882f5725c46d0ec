"""The k nearest of many unit vectors: exactly, or by faiss with the very same answer."""

from importlib.util import find_spec
from typing import Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from ..errors import ItmlabError, MissingPart

CHUNK = 16384  # vectors scored at a time
WORTH_FAISS = 10_000  # vectors; below, one exact product is quicker than any index
ROUNDING = 1e-4  # more than faiss's single-precision scores of unit vectors can be off


class Index:
    """Nearest neighbours by dot product over `features`; ties go to the lowest index.

    `backend="faiss"` asks faiss for candidates, scores those again in double precision and asks for more until no
    other vector can belong to the answer, so both backends give the same. "auto" takes faiss when it is installed and
    there are at least 10,000 vectors.
    """

    def __init__(self, features: Float[Tensor, "n dimension"], *, backend: Literal["auto", "exact", "faiss"] = "auto"):
        if features.ndim != 2 or not len(features):
            raise ItmlabError(f"an index needs vectors (n, dimension), not {tuple(features.shape)}")
        if not features.isfinite().all():
            raise ItmlabError("an index needs finite vectors")
        installed = find_spec("faiss") is not None
        if backend == "auto":
            backend = "faiss" if installed and len(features) >= WORTH_FAISS else "exact"
        elif backend == "faiss" and not installed:
            raise MissingPart("faiss", "pip install 'itmlab[faiss]'", needed_for="this index")
        self.backend = backend
        self.features = features.detach().float().cpu().contiguous()
        if backend == "faiss":
            import faiss

            self._faiss = faiss.IndexFlatIP(features.shape[1])
            self._faiss.add(self.features.numpy())

    def __len__(self) -> int:
        return len(self.features)

    def search(
        self, queries: Float[Tensor, "query dimension"], k: int
    ) -> tuple[Float[Tensor, "query k"], Int64[Tensor, "query k"]]:
        """Scores and indices of the best `k` (at most all) of each query, best first."""
        if k < 1:
            raise ItmlabError(f"k is {k}, wanted 1 or more")
        if queries.ndim != 2 or queries.shape[1] != self.features.shape[1]:
            raise ItmlabError(f"queries of shape {tuple(queries.shape)} for vectors of {self.features.shape[1]}")
        k, queries = min(k, len(self)), queries.detach().float().cpu().contiguous()
        find = self._with_faiss if self.backend == "faiss" else self._exactly
        found = [find(query, k) for query in queries]
        if not found:
            return torch.empty(0, k), torch.empty(0, k, dtype=torch.int64)
        return torch.stack([scores for scores, _ in found]), torch.stack([indices for _, indices in found])

    def _exactly(self, query: Tensor, k: int) -> tuple[Tensor, Tensor]:
        best_scores, best_indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
        for start in range(0, len(self), CHUNK):
            indices = torch.arange(start, min(start + CHUNK, len(self)))
            scores = torch.cat([best_scores, self._scores(query, indices)])
            best_scores, best_indices = first_k(scores, torch.cat([best_indices, indices]), k)
        return best_scores, best_indices

    def _with_faiss(self, query: Tensor, k: int) -> tuple[Tensor, Tensor]:
        asked = min(2 * k + 16, len(self))
        while True:
            rough, candidates = self._faiss.search(query[None].numpy(), asked)
            indices = torch.from_numpy(candidates[0]).sort().values
            scores, indices = first_k(self._scores(query, indices), indices, k)
            if asked == len(self) or scores[-1] > rough[0, -1] + ROUNDING:
                return scores, indices
            asked = min(4 * asked, len(self))

    def _scores(self, query: Tensor, indices: Int64[Tensor, "n"]) -> Float[Tensor, "n"]:
        """Summed in double precision and then rounded, so that a score does not depend on which others it is among."""
        return (self.features[indices].double() * query.double()).sum(-1).float()


def first_k(scores: Tensor, indices: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best with ascending indices among equals; `indices` of equal scores come in ascending order."""
    order = scores.sort(descending=True, stable=True).indices[:k]
    return scores[order], indices[order]
