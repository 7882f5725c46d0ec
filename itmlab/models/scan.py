"""SCAN's stacked cross attention: how well each word (or region) is found in what it attends to on the other side."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from .encoded import Encoded
from .fragment_attention import attended_norms, cross_attention
from .fragment_config import FragmentConfig


class Scan(nn.Module):
    """S(I, T) of SCAN (Lee, Chen, Hua, Hu, He: "Stacked Cross Attention for Image-Text Matching", ECCV 2018).

    Text-to-image, every word attends to the regions; image-to-text, every region to the words. There is nothing to
    learn in it.
    """

    pairs_at_once = 2048  # enough for quick matrix products, few enough for a CPU's cache

    def __init__(self, config: FragmentConfig):
        super().__init__()
        self.words_attend, self.aggregation = config.kind == "scan_t2i", config.aggregation
        self.lambda_softmax, self.lambda_lse = config.lambda_softmax, config.lambda_lse

    def forward(self, images: Encoded, captions: Encoded) -> Float[Tensor, "image caption"]:
        """Scores of a block of images with a block of captions."""
        contexts, queries = (images, captions) if self.words_attend else (captions, images)
        cosines, weights = cross_attention(contexts.local, contexts.mask, queries.local, self.lambda_softmax)
        # cos(e, a) for a = Σ_i w_i v_i and unit e is Σ_i w_i cos(e, v_i) / |a|
        relevance = (weights * cosines).sum(dim=1) / attended_norms(contexts.local, weights)
        scores = self.pooled(relevance, queries.mask)
        return scores if self.words_attend else scores.T

    def pooled(
        self, relevance: Float[Tensor, "context query part"], mask: Bool[Tensor, "query part"]
    ) -> Float[Tensor, "context query"]:
        """Log-sum-exp with λ₂, or the mean, over the parts of a query."""
        if self.aggregation == "mean":
            return (relevance * mask).sum(dim=-1) / mask.sum(dim=-1)
        return torch.logsumexp((relevance * self.lambda_lse).masked_fill(~mask, float("-inf")), -1) / self.lambda_lse
