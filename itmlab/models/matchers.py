"""SCAN and SGRAF: comparison of the parts of an image with the parts of a caption (METHODS 5).

SCAN (Lee, Chen, Hua, Hu, He: "Stacked Cross Attention for Image-Text Matching", ECCV 2018, Sec. 3.1), text-to-image,
of regions v_i and words e_j:

    s_ij = [cos(v_i, e_j)]₊ / sqrt(Σ_j [cos(v_i, e_j)]₊²)       α_ij = softmax_i(λ₁ s_ij)       a_j = Σ_i α_ij v_i
    R_j = cos(e_j, a_j)       S = log(Σ_j exp(λ₂ R_j)) / λ₂, or the mean of R_j

Image-to-text exchanges regions and words. SGRAF (Diao, Zhang, Ma, Lu: "Similarity Reasoning and Filtration for
Image-Text Matching", AAAI 2021) keeps likenesses as vectors, s(x, y; W) = W|x − y|² / ‖W|x − y|²‖: s_j of each word and
a_j, and s_0 of two global features. SGR reasons over them in a graph, SAF filters them by attention.

Under `preset="released"` cosines below 0 are multiplied by 0.1 instead of cut, and SGRAF has the additions of its
public code: biases, batch normalisation, and SAF's answer from a vector of unit length.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from .base import Model
from .config import LateInteractionConfig
from .encoded import Encoded, Mask, Parts, is_full, masked_mean

TINY = 1e-8
RELEASED_SLOPE = 0.1  # of cosines below 0, in the public code of SCAN and SGRAF
# Fresh weights of SGR's graph: kept in size through its rectifiers, and edges of unit vectors not all alike.
GAINS = {"update": 2**0.5, "inwards": 3.0, "outwards": 3.0}
Nodes = Float[Tensor, "pair node similarity"]
Pairs = Float[Tensor, "context part query query_part"]  # of each context with each query, part by part


class ComparesParts(Model):
    """A model whose `matcher`, if it has one, scores pairs by their parts; without, by their pooled features."""

    matcher: "Scan | Sgraf | None"

    def similarity(self, images: Encoded | Tensor, captions: Encoded | Tensor) -> Float[Tensor, "image caption"]:
        """Return the score of every image with every caption, with gradients where the features have them.

        Args:
            images: encoded images; without a matcher their pooled features are enough.
            captions: encoded captions, or their pooled features.
        """
        if self.matcher is None:
            return super().similarity(images, captions)
        if torch.is_grad_enabled():
            return self._of_blocks(images, captions)
        # in scoring, captions of one length at a time, as padding would more than double the time
        lengths = captions.mask.sum(dim=1)
        rows = [(lengths == length).nonzero()[:, 0] for length in lengths.unique()]
        scores = [self._of_blocks(images, without_padding(captions.take(part))) for part in rows]
        return torch.cat(scores, dim=1)[:, torch.cat(rows).argsort()]

    def _of_blocks(self, images: Encoded, captions: Encoded) -> Float[Tensor, "image caption"]:
        """Score all pairs, in blocks of at most `pairs_at_once` (on a GPU 16 times as many)."""
        device, score = images.local.device.type, self.matcher
        chunk = score.pairs_at_once * (1 if device == "cpu" else 16)
        tall = max(min(int(chunk**0.5), len(images.mask)), 1)
        with torch.autocast(device, enabled=False):
            columns = parts_of(captions, chunk // tall)
            rows = [torch.cat([score(part, column) for column in columns], dim=1) for part in parts_of(images, tall)]
            return torch.cat(rows)

    def with_whole(self, items: Encoded, side: Literal["of_images", "of_captions"]) -> Encoded:
        """Return the items with SGRAF's global feature of each one."""
        attention = getattr(self.matcher, side, None)
        if attention is None:
            return items
        with torch.autocast(items.local.device.type, enabled=False):
            return items._replace(whole=attention(items.local, items.mask))


def parts_of(items: Encoded, size: int) -> list[Encoded]:
    """Return the items in parts of at most `size`."""
    numbers = torch.arange(len(items.mask), device=items.mask.device)
    return [items.take(rows) for rows in numbers.split(size)]


def without_padding(items: Encoded) -> Encoded:
    """Return items that all have as many parts, without their padding.

    >>> items = Encoded(torch.ones(1, 1), torch.tensor([[[7.0], [8.0], [9.0]]]), torch.tensor([[False, True, True]]))
    >>> without_padding(items).local
    tensor([[[8.],
             [9.]]])
    """
    shape = len(items.mask), int(items.mask[0].sum())
    return items._replace(local=items.local[items.mask].unflatten(0, shape), mask=items.mask.new_ones(shape))


class Scan(nn.Module):
    """S(I, T) of SCAN: the similarity of each word (t2i) or region (i2t) with what it attends to on the other side.

    It has no weights. `pairs_at_once` is enough for quick matrix products and fits into a CPU's cache.

    >>> items = Encoded(torch.ones(1, 2), torch.eye(2)[None], torch.ones(1, 2, dtype=torch.bool))
    >>> Scan(LateInteractionConfig(aggregation="mean"))(items, items)  # each word attends to its own region
    tensor([[1.]])
    """

    pairs_at_once = 2048

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        self.words_attend, self.aggregation = config.kind == "scan_t2i", config.aggregation
        self.lambda_softmax, self.lambda_lse = config.lambdas
        self.slope = RELEASED_SLOPE if config.released else 0.0

    def forward(self, images: Encoded, captions: Encoded) -> Float[Tensor, "image caption"]:
        """Return the scores of a block of images with a block of captions."""
        contexts, queries = (images, captions) if self.words_attend else (captions, images)
        parts = contexts.local, contexts.mask, queries.local
        cosines, weights = cross_attention(*parts, self.lambda_softmax, slope=self.slope)
        # cos(e, a) for a = Σ_i α_i v_i and unit e is Σ_i α_i cos(e, v_i) / |a|
        relevance = (weights * cosines).sum(dim=1) / attended_norms(contexts.local, weights)
        if self.aggregation == "mean":
            scores = (relevance * queries.mask).sum(dim=-1) / queries.mask.sum(dim=-1)
        else:
            sharpened = (relevance * self.lambda_lse).masked_fill(~queries.mask, float("-inf"))
            scores = torch.logsumexp(sharpened, dim=-1) / self.lambda_lse
        return scores if self.words_attend else scores.T


def cross_attention(
    contexts: Parts, context_mask: Mask, queries: Parts, sharpness: float, *, slope: float = 0.0
) -> tuple[Pairs, Pairs]:
    """Return the cosines of all parts, and α, by which a query part attends to the parts of a context.

    Args:
        contexts: unit vectors, zero at padding.
        context_mask: false at padding.
        queries: unit vectors, zero at padding.
        sharpness: λ₁.
        slope: the factor of cosines below 0 (0 in the paper).

    >>> regions, word = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), torch.tensor([[[1.0, 0.0]]])
    >>> cross_attention(regions, torch.ones(1, 2, dtype=torch.bool), word, 9.0)[1].flatten()
    tensor([9.9988e-01, 1.2339e-04])
    """
    cosines = (contexts.flatten(0, 1) @ queries.flatten(0, 1).T).view(*contexts.shape[:2], *queries.shape[:2])
    positive = functional.leaky_relu(cosines, slope) if slope else cosines.relu()
    logits = functional.normalize(positive, dim=-1, eps=TINY) * sharpness
    if not is_full(context_mask):
        logits = logits.masked_fill(~context_mask[:, :, None, None], float("-inf"))
    return cosines, logits.softmax(dim=1)


def attended_norms(contexts: Parts, weights: Pairs) -> Float[Tensor, "context query query_part"]:
    """Return the lengths of the attended vectors a = Σ_i α_i v_i without computing these: |a|² = αᵀ(V Vᵀ)α.

    This is what makes large similarities quick, as parts are few and dimensions many.
    """
    flat = weights.flatten(2)
    squares = (torch.bmm(contexts @ contexts.transpose(1, 2), flat) * flat).sum(dim=1)
    return squares.clamp_min(TINY).sqrt().view(len(weights), *weights.shape[2:])


class Sgraf(nn.Module):
    """SGR, SAF or both, by `config.kind`.

    The score is the sigmoid of the last layer's answer, as in the released code, so that margins mean the same as for
    cosines. With both it is their mean over shared features; for the paper's ensemble of two models trained separately,
    take `itmlab.train.ensemble` of a run of each. Attended vectors have unit length. Only the released preset has
    batch statistics over regions, so that otherwise an image may have any number of them.
    """

    pairs_at_once = 512

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        self.sharpness, self.slope = config.lambdas[0], RELEASED_SLOPE if config.released else 0.0
        self.of_images = GlobalAttention(config, normalised=config.released)
        self.of_captions = GlobalAttention(config)
        sizes = config.dimension, config.similarity_dimension
        self.whole, self.part = (nn.Linear(*sizes, bias=config.released) for _ in range(2))  # W_g and W_l
        kinds = {"sgr": [Reasoning], "saf": [Filtration], "sgraf": [Reasoning, Filtration]}
        self.branches = nn.ModuleList(branch(config) for branch in kinds[config.kind])
        for name, layer in self.named_modules():
            if isinstance(layer, nn.Linear):
                gain = next((gain for part, gain in GAINS.items() if part in name and not config.released), 1.0)
                nn.init.xavier_uniform_(layer.weight, gain=gain)
                if config.released:
                    nn.init.zeros_(layer.bias)

    def forward(self, images: Encoded, captions: Encoded) -> Float[Tensor, "image caption"]:
        """Return the scores of a block of images with a block of captions."""
        # s_0 = s(v̄, t̄; W_g) of the global features.
        of_wholes = functional.normalize(self.whole((images.whole[:, None] - captions.whole).square()), dim=-1)
        nodes = torch.cat([of_wholes.unsqueeze(2), self._parts(images, captions)], dim=2)
        mask = functional.pad(captions.mask, (1, 0), value=True).repeat(len(images.mask), 1)
        answers = [branch(nodes.flatten(0, 1), mask).sigmoid() for branch in self.branches]
        return torch.stack(answers).mean(dim=0).view(nodes.shape[:2])

    def _parts(self, images: Encoded, captions: Encoded) -> Float[Tensor, "image caption word similarity"]:
        """Return s_j = s(a_j, t_j; W_l) of each word with its attended image vector."""
        _, weights = cross_attention(images.local, images.mask, captions.local, self.sharpness, slope=self.slope)
        weights = (weights / attended_norms(images.local, weights).unsqueeze(1)).flatten(2).transpose(1, 2)
        words = captions.local.flatten(0, 1)
        # a − t in one product, squared in place: the largest tensor is allocated once, not three times.
        differences = torch.baddbmm(words[None], weights, images.local, beta=-1).square_()
        likeness = functional.normalize(self.part(differences), dim=-1)
        return likeness.view(len(images.local), *captions.local.shape[:2], -1)


class GlobalAttention(nn.Module):
    """One vector for all parts: their sum weighted by attention with their mean as the query.

    With `normalised`, the released code's for images, means and places (first region, second, …) are normalised over
    the batch, so every image must have as many regions as there are places.
    """

    def __init__(self, config: LateInteractionConfig, normalised: bool = False):
        super().__init__()
        self.part, self.mean = (nn.Linear(config.dimension, config.dimension) for _ in range(2))
        self.weigh, self.dropout = nn.Linear(config.dimension, 1), nn.Dropout(config.dropout)
        self.mean_norm = nn.BatchNorm1d(config.dimension) if normalised else nn.Identity()
        self.place_norm = nn.BatchNorm1d(config.region_count) if normalised else nn.Identity()

    def forward(self, local: Parts, mask: Mask) -> Float[Tensor, "n dimension"]:
        """Return one unit vector per item."""
        mean = self.mean_norm(self.mean(masked_mean(local, mask, mask)))
        query = self.dropout(torch.tanh(mean))
        parts = torch.tanh(self.place_norm(self.part(local)))
        logits = self.weigh(self.dropout(parts) * query[:, None]).squeeze(-1)
        weights = logits.masked_fill(~mask, float("-inf")).softmax(dim=1)
        return functional.normalize((weights.unsqueeze(1) @ local).squeeze(1), dim=-1)


class Reasoning(nn.Module):
    """SGR: s_p ← ReLU(W_r Σ_q e_pq s_q) with e_pq = softmax_q (W_in s_p)ᵀ(W_out s_q), answered at the global node."""

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        size, steps = config.similarity_dimension, config.reasoning_steps
        layers = [[nn.Linear(size, size, bias=config.released) for _ in range(steps)] for _ in range(3)]
        self.inwards, self.outwards, self.update = map(nn.ModuleList, layers)
        self.answer = nn.Linear(size, 1)

    def forward(self, nodes: Nodes, mask: Bool[Tensor, "pair node"]) -> Float[Tensor, "pair"]:
        """Return the logit of every pair."""
        padding = None if is_full(mask) else ~mask[:, None, :]
        for inwards, outwards, update in zip(self.inwards, self.outwards, self.update, strict=True):
            asking = nodes[:, :1] if update is self.update[-1] else nodes  # at last only the global node's edges
            edges = inwards(asking) @ outwards(nodes).transpose(1, 2)
            edges = edges if padding is None else edges.masked_fill(padding, float("-inf"))
            nodes = update(edges.softmax(dim=-1) @ nodes).relu()
        return self.answer(nodes[:, 0]).squeeze(-1)


class Filtration(nn.Module):
    """SAF: the sum of a pair's likenesses weighted by their significance, β_p = σ(BN(w·s_p)) / Σ_q σ(BN(w·s_q)).

    Without `batch_norm` a learnt scale and shift take the place of BN, as in evaluation. The released code has BN, and
    scales the sum to unit length.
    """

    def __init__(self, config: LateInteractionConfig):
        super().__init__()
        self.significance = nn.Linear(config.similarity_dimension, 1)
        self.norm = nn.BatchNorm1d(1) if config.batch_norm or config.released else None
        self.unit = config.released
        self.answer = nn.Linear(config.similarity_dimension, 1)

    def forward(self, nodes: Nodes, mask: Bool[Tensor, "pair node"]) -> Float[Tensor, "pair"]:
        """Return the logit of every pair."""
        logits = self.significance(nodes).squeeze(-1)
        if self.norm is not None:  # statistics of real nodes only
            logits = logits.masked_scatter(mask, self.norm(logits[mask].unsqueeze(-1)))
        shares = logits.sigmoid() * mask
        shares = shares / shares.sum(dim=-1, keepdim=True)
        filtered = (shares.unsqueeze(1) @ nodes).squeeze(1)
        return self.answer(functional.normalize(filtered, dim=-1) if self.unit else filtered).squeeze(-1)
