"""How SCAN and SGRAF compare the parts of an image with the parts of a caption (METHODS 5).

SCAN (Lee, Chen, Hua, Hu, He: "Stacked Cross Attention for Image-Text Matching", ECCV 2018, Sec. 3.1), text-to-image,
of regions v_i and words e_j:

    s_ij = [cos(v_i, e_j)]₊ / sqrt(Σ_j [cos(v_i, e_j)]₊²)       α_ij = softmax_i(λ₁ s_ij)       a_j = Σ_i α_ij v_i
    R_j = cos(e_j, a_j)       S = log(Σ_j exp(λ₂ R_j)) / λ₂, or the mean of R_j

Image-to-text exchanges regions and words. SGRAF (Diao, Zhang, Ma, Lu: "Similarity Reasoning and Filtration for
Image-Text Matching", AAAI 2021) keeps likenesses as vectors, s(x, y; W) = W|x − y|² / ‖W|x − y|²‖: s_j of each word and
a_j, and s_0 of two global features. SGR reasons over them in a graph, SAF filters them by attention.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from .config import LateInteractionConfig
from .encoded import Encoded, Mask, Parts, masked_mean

TINY = 1e-8
BATCH_SIZE = 512  # items whose global features are made together
# Fresh weights of SGR's graph: kept in size through its rectifiers, and edges of unit vectors not all alike.
GAINS = {"update": 2**0.5, "inwards": 3.0, "outwards": 3.0}
Nodes = Float[Tensor, "pair node similarity"]
Pairs = Float[Tensor, "context part query query_part"]  # of each context with each query, part by part


class Scan(nn.Module):
    """S(I, T) of SCAN: how well each word (t2i) or region (i2t) is found in what it attends to on the other side.

    There is nothing to learn in it. `pairs_at_once` is enough for quick matrix products and fits into a CPU's cache.

    >>> same = Encoded(torch.ones(1, 2), torch.eye(2)[None], torch.ones(1, 2, dtype=torch.bool))
    >>> Scan(LateInteractionConfig(aggregation="mean"))(same, same)  # each word is found in its own region
    tensor([[1.]])
    """

    pairs_at_once = 2048

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        self.words_attend, self.aggregation = config.kind == "scan_t2i", config.aggregation
        self.lambda_softmax, self.lambda_lse = config.lambda_softmax, config.lambda_lse

    def forward(self, images: Encoded, captions: Encoded) -> Float[Tensor, "image caption"]:
        """Scores of a block of images with a block of captions."""
        contexts, queries = (images, captions) if self.words_attend else (captions, images)
        cosines, weights = cross_attention(contexts.local, contexts.mask, queries.local, self.lambda_softmax)
        # cos(e, a) for a = Σ_i α_i v_i and unit e is Σ_i α_i cos(e, v_i) / |a|
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


def cross_attention(contexts: Parts, context_mask: Mask, queries: Parts, sharpness: float) -> tuple[Pairs, Pairs]:
    """Cosines of all parts, and α, by which a query part attends to the parts of a context; `sharpness` is λ₁.

    Parts are unit vectors, zero where they are padding.

    >>> regions, word = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), torch.tensor([[[1.0, 0.0]]])
    >>> cross_attention(regions, torch.ones(1, 2, dtype=torch.bool), word, 9.0)[1].flatten()
    tensor([9.9988e-01, 1.2339e-04])
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


def attended_norms(contexts: Parts, weights: Pairs) -> Float[Tensor, "context query query_part"]:
    """Lengths of the attended vectors a = Σ_i α_i v_i without making them: |a|² = αᵀ(V Vᵀ)α.

    Parts are few and dimensions many, so this is what makes large similarities quick.
    """
    flat = weights.flatten(2)
    squares = (torch.bmm(contexts @ contexts.transpose(1, 2), flat) * flat).sum(dim=1)
    return squares.clamp_min(TINY).sqrt().view(len(weights), *weights.shape[2:])


class Sgraf(nn.Module):
    """SGR, SAF or both, by `config.kind`.

    The score is the sigmoid of the last layer's answer, as in the released code, so that margins mean the same as for
    cosines; of both, the mean. Attended vectors have unit length. No batch statistics over regions, so that an image
    may have any number of them. Features are shared by both; for the paper's ensemble of two models trained apart,
    take `itmlab.runs.ensemble` of a run of each.
    """

    pairs_at_once = 512

    def __init__(self, config: LateInteractionConfig):
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
        for name, layer in self.named_modules():
            if isinstance(layer, nn.Linear):
                gain = next((gain for part, gain in GAINS.items() if part in name), 1.0)
                nn.init.xavier_uniform_(layer.weight, gain=gain)

    def with_globals(self, images: Encoded, captions: Encoded) -> tuple[Encoded, Encoded]:
        """Both sides with their self-attended global features as `pooled`, which `forward` wants."""
        return _of_all(self.of_images, images), _of_all(self.of_captions, captions)

    def forward(self, images: Encoded, captions: Encoded) -> Float[Tensor, "image caption"]:
        """Scores of a block of images with a block of captions."""
        nodes = torch.cat([self._whole(images.pooled, captions.pooled), self._parts(images, captions)], dim=2)
        mask = functional.pad(captions.mask, (1, 0), value=True).repeat(len(images.mask), 1)
        answers = [branch(nodes.flatten(0, 1), mask).sigmoid() for branch in self.branches]
        return torch.stack(answers).mean(dim=0).view(nodes.shape[:2])

    def _whole(
        self, images: Float[Tensor, "image dimension"], captions: Float[Tensor, "caption dimension"]
    ) -> Float[Tensor, "image caption 1 similarity"]:
        """s_0 = s(v̄, t̄; W_g) of the global features."""
        return functional.normalize(self.whole((images[:, None] - captions).square()), dim=-1).unsqueeze(2)

    def _parts(self, images: Encoded, captions: Encoded) -> Float[Tensor, "image caption word similarity"]:
        """s_j = s(a_j, t_j; W_l) of each word with what it attends to of the image."""
        _, weights = cross_attention(images.local, images.mask, captions.local, self.sharpness)
        weights = (weights / attended_norms(images.local, weights).unsqueeze(1)).flatten(2).transpose(1, 2)
        words = captions.local.flatten(0, 1)
        # a − t in one product and squared in place: the largest tensor here is made once, not three times.
        differences = torch.baddbmm(words[None], weights, images.local, beta=-1).square_()
        likeness = functional.normalize(self.part(differences), dim=-1)
        return likeness.view(len(images.local), *captions.local.shape[:2], -1)


class GlobalAttention(nn.Module):
    """One vector for all parts: their sum weighted by attention whose query is their mean."""

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        self.part, self.mean = (nn.Linear(config.dimension, config.dimension) for _ in range(2))
        self.weigh, self.dropout = nn.Linear(config.dimension, 1), nn.Dropout(config.dropout)

    def forward(self, local: Parts, mask: Mask) -> Float[Tensor, "n dimension"]:
        query = self.dropout(torch.tanh(self.mean(masked_mean(local, mask, mask))))
        logits = self.weigh(self.dropout(torch.tanh(self.part(local))) * query[:, None]).squeeze(-1)
        weights = logits.masked_fill(~mask, float("-inf")).softmax(dim=1)
        return functional.normalize((weights.unsqueeze(1) @ local).squeeze(1), dim=-1)


def _of_all(attention: GlobalAttention, items: Encoded) -> Encoded:
    """`items` with the attention's answer as `pooled`, a few items at a time."""
    parts = zip(items.local.split(BATCH_SIZE), items.mask.split(BATCH_SIZE), strict=True)
    return items._replace(pooled=torch.cat([attention(local, mask) for local, mask in parts]))


class Reasoning(nn.Module):
    """SGR: s_p ← ReLU(W_r Σ_q e_pq s_q) with e_pq = softmax_q (W_in s_p)ᵀ(W_out s_q), answered at the global node."""

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        size, steps = config.similarity_dimension, config.reasoning_steps
        layers = [[nn.Linear(size, size, bias=False) for _ in range(steps)] for _ in range(3)]
        self.inwards, self.outwards, self.update = (nn.ModuleList(one) for one in layers)
        self.answer = nn.Linear(size, 1)

    def forward(self, nodes: Nodes, mask: Bool[Tensor, "pair node"]) -> Float[Tensor, "pair"]:
        padding = None if bool(mask.all()) else ~mask[:, None, :]
        for step, update in enumerate(self.update, start=1):
            asking = nodes[:, :1] if step == len(self.update) else nodes  # the last: only the global node's edges
            # s_pᵀ(W_inᵀ W_out)s_q needs one product a node instead of two.
            product = self.inwards[step - 1].weight.T @ self.outwards[step - 1].weight
            edges = asking @ product @ nodes.transpose(1, 2)
            edges = softmax(edges if padding is None else edges.masked_fill(padding, float("-inf")), dim=-1)
            nodes = update(edges @ nodes).relu()
        return self.answer(nodes[:, 0]).squeeze(-1)


class Filtration(nn.Module):
    """SAF: the sum of a pair's likenesses by their own significance, β_p = σ(BN(w·s_p)) / Σ_q σ(BN(w·s_q)).

    Without `batch_norm` a learnt scale and shift stand for BN, which in evaluation it is.
    """

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        self.significance = nn.Linear(config.similarity_dimension, 1)
        self.norm = nn.BatchNorm1d(1) if config.batch_norm else None
        self.answer = nn.Linear(config.similarity_dimension, 1)

    def forward(self, nodes: Nodes, mask: Bool[Tensor, "pair node"]) -> Float[Tensor, "pair"]:
        logits = self.significance(nodes).squeeze(-1)
        if self.norm is not None:  # statistics of real nodes only
            logits = logits.masked_scatter(mask, self.norm(logits[mask].unsqueeze(-1)))
        shares = logits.sigmoid() * mask
        shares = shares / shares.sum(dim=-1, keepdim=True)
        return self.answer((shares.unsqueeze(1) @ nodes).squeeze(1)).squeeze(-1)
