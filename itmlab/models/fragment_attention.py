"""Cross attention of SCAN: each query part sees a context's parts in the light of its own likenesses to them."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

TINY = 1e-8


def cross_attention(
    contexts: Float[Tensor, "context part dimension"],
    context_mask: Bool[Tensor, "context part"],
    queries: Float[Tensor, "query part dimension"],
    sharpness: float,
) -> tuple[Float[Tensor, "context part query query_part"], Float[Tensor, "context part query query_part"]]:
    """Cosines of all parts, and the weights by which a query part attends to the parts of a context.

    SCAN, Sec. 3.1: cosines below zero are cut, the rest divided by their norm over the query's parts, and the weights
    are the softmax over the context's of `sharpness` (λ₁) times these. Parts are unit vectors, zero where they are
    padding.
    """
    cosines = (contexts.flatten(0, 1) @ queries.flatten(0, 1).T).view(*contexts.shape[:2], *queries.shape[:2])
    logits = functional.normalize(cosines.relu(), dim=-1, eps=TINY) * sharpness
    if not bool(context_mask.all()):
        logits = logits.masked_fill(~context_mask[:, :, None, None], float("-inf"))
    return cosines, softmax(logits, dim=1)


def softmax(logits: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Softmax, on a CPU several times as fast as the library's over an axis of a dozen."""
    exponentials = (logits - logits.detach().amax(dim, keepdim=True)).exp_()
    return exponentials / exponentials.sum(dim, keepdim=True)


def attended_norms(
    contexts: Float[Tensor, "context part dimension"], weights: Float[Tensor, "context part query query_part"]
) -> Float[Tensor, "context query query_part"]:
    """Lengths of the attended vectors a = Σ_i w_i v_i without making them: |a|² = wᵀ(V Vᵀ)w.

    Parts are few and dimensions many, so this is what makes large similarities quick.
    """
    flat = weights.flatten(2)
    squares = (torch.bmm(contexts @ contexts.transpose(1, 2), flat) * flat).sum(dim=1)
    return squares.clamp_min(TINY).sqrt().view(len(weights), *weights.shape[2:])
