"""SGRAF: likenesses as vectors, reasoned over in a graph (SGR) or filtered by attention (SAF)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from .config import FragmentConfig
from .encoded import Encoded, masked_mean

# Cross attention of SCAN: each query part sees a context's parts in the light of its own likenesses to them.


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


AT_ONCE = 512  # items whose global features are made together
# Fresh weights of the graph: kept in size through its rectifiers, and edges of unit vectors not all alike.
GAINS = (("update", 2**0.5), ("inwards", 3.0), ("outwards", 3.0))
Nodes = Float[Tensor, "pair node similarity"]


class Sgraf(nn.Module):
    """SGR, SAF or both (Diao, Zhang, Ma, Lu: "Similarity Reasoning and Filtration for Image-Text Matching", AAAI 2021).

    The score is the sigmoid of the last layer's answer, as in the released code, so that margins mean the same as for
    cosines; of both, the mean. Attended vectors have unit length. No batch statistics over regions, so that an image
    may have any number of them. Features are shared by both; for the paper's ensemble of two models trained apart,
    take `itmlab.training.ensemble` of a run of each.
    """

    pairs_at_once = 512  # enough for quick matrix products, few enough for a CPU's cache

    def __init__(self, config: FragmentConfig):
        super().__init__()
        self.sharpness = config.lambda_softmax
        self.of_images, self.of_captions = GlobalAttention(config), GlobalAttention(config)
        sizes = config.dimension, config.similarity_dimension
        self.whole, self.part = (nn.Linear(*sizes, bias=False) for _ in range(2))  # W_g and W_l
        self.branches = nn.ModuleList()
        if config.kind in ("sgr", "sgraf"):
            self.branches.append(Reasoning(config))
        if config.kind in ("saf", "sgraf"):
            self.branches.append(Filtration(config))
        for name, layer in ((name, one) for name, one in self.named_modules() if isinstance(one, nn.Linear)):
            nn.init.xavier_uniform_(layer.weight, gain=next((gain for part, gain in GAINS if part in name), 1.0))

    def with_globals(self, images: Encoded, captions: Encoded) -> tuple[Encoded, Encoded]:
        """Both sides with their self-attended global features as `pooled`, which `forward` wants."""
        return of_all(self.of_images, images), of_all(self.of_captions, captions)

    def forward(self, images: Encoded, captions: Encoded) -> Float[Tensor, "image caption"]:
        """Scores of a block of images with a block of captions."""
        nodes = torch.cat([self._whole(images.pooled, captions.pooled), self._parts(images, captions)], dim=2)
        mask = functional.pad(captions.mask, (1, 0), value=True).repeat(len(images.mask), 1)
        answers = [branch(nodes.flatten(0, 1), mask).sigmoid() for branch in self.branches]
        return torch.stack(answers).mean(dim=0).view(nodes.shape[:2])

    def _whole(
        self, images: Float[Tensor, "image dimension"], captions: Float[Tensor, "caption dimension"]
    ) -> Float[Tensor, "image caption 1 similarity"]:
        """s(v̄, t̄; W_g) of the global features, with s(x, y; W) = W|x − y|² / ‖W|x − y|²‖."""
        return functional.normalize(self.whole((images[:, None] - captions).square()), dim=-1).unsqueeze(2)

    def _parts(self, images: Encoded, captions: Encoded) -> Float[Tensor, "image caption word similarity"]:
        """s(a_j, t_j; W_l) of each word with what it attends to of the image."""
        _, weights = cross_attention(images.local, images.mask, captions.local, self.sharpness)
        weights = (weights / attended_norms(images.local, weights).unsqueeze(1)).flatten(2).transpose(1, 2)
        words = captions.local.flatten(0, 1)
        differences = torch.baddbmm(words[None], weights, images.local, beta=-1).square_()
        likeness = functional.normalize(self.part(differences), dim=-1)
        return likeness.view(len(images.local), *captions.local.shape[:2], -1)


class GlobalAttention(nn.Module):
    """One vector for all parts: their sum weighted by attention whose query is their mean."""

    def __init__(self, config: FragmentConfig):
        super().__init__()
        self.part, self.mean = (nn.Linear(config.dimension, config.dimension) for _ in range(2))
        self.weigh, self.dropout = nn.Linear(config.dimension, 1), nn.Dropout(config.dropout)

    def forward(
        self, local: Float[Tensor, "n part dimension"], mask: Bool[Tensor, "n part"]
    ) -> Float[Tensor, "n dimension"]:
        query = self.dropout(torch.tanh(self.mean(masked_mean(local, mask, mask))))
        logits = self.weigh(self.dropout(torch.tanh(self.part(local))) * query[:, None]).squeeze(-1)
        weights = logits.masked_fill(~mask, float("-inf")).softmax(dim=1)
        return functional.normalize((weights.unsqueeze(1) @ local).squeeze(1), dim=-1)


def of_all(attention: GlobalAttention, items: Encoded) -> Encoded:
    """`items` with the attention's answer as `pooled`, a few items at a time."""
    parts = zip(items.local.split(AT_ONCE), items.mask.split(AT_ONCE), strict=True)
    return items._replace(pooled=torch.cat([attention(local, mask) for local, mask in parts]))


class Reasoning(nn.Module):
    """SGR: s_p ← ReLU(W_r Σ_q e_pq s_q) with e_pq = softmax_q (W_in s_p)ᵀ(W_out s_q), answered at the global node.

    s_pᵀ(W_inᵀ W_out)s_q needs one product a node instead of two, and the last step only the global node's edges.
    """

    def __init__(self, config: FragmentConfig):
        super().__init__()
        size, steps = config.similarity_dimension, config.reasoning_steps
        layers = [[nn.Linear(size, size, bias=False) for _ in range(steps)] for _ in range(3)]
        self.inwards, self.outwards, self.update = (nn.ModuleList(one) for one in layers)
        self.answer = nn.Linear(size, 1)

    def forward(self, nodes: Nodes, mask: Bool[Tensor, "pair node"]) -> Float[Tensor, "pair"]:
        steps = len(self.update)
        padding = None if bool(mask.all()) else ~mask[:, None, :]
        for step in range(steps):
            asking = nodes[:, :1] if step == steps - 1 else nodes
            edges = asking @ (self.inwards[step].weight.T @ self.outwards[step].weight) @ nodes.transpose(1, 2)
            edges = softmax(edges if padding is None else edges.masked_fill(padding, float("-inf")), dim=-1)
            nodes = self.update[step](edges @ nodes).relu()
        return self.answer(nodes[:, 0]).squeeze(-1)


class Filtration(nn.Module):
    """SAF: the sum of a pair's likenesses by their own significance.

    β_p = σ(BN(w·s_p)) / Σ_q σ(BN(w·s_q)); without `batch_norm` a learnt scale and shift stand for BN, which in
    evaluation it is.
    """

    def __init__(self, config: FragmentConfig):
        super().__init__()
        self.significance = nn.Linear(config.similarity_dimension, 1)
        self.norm = nn.BatchNorm1d(1) if config.batch_norm else None
        self.answer = nn.Linear(config.similarity_dimension, 1)

    def forward(self, nodes: Nodes, mask: Bool[Tensor, "pair node"]) -> Float[Tensor, "pair"]:
        logits = self.significance(nodes).squeeze(-1)
        if self.norm is not None:
            logits = logits.masked_scatter(mask, self.norm(logits[mask].unsqueeze(-1)))
        shares = logits.sigmoid() * mask
        shares = shares / shares.sum(dim=-1, keepdim=True)
        return self.answer((shares.unsqueeze(1) @ nodes).squeeze(1)).squeeze(-1)


# SCAN's stacked cross attention: how well each word (or region) is found in what it attends to on the other side.


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
