"""Several models' rankings of one split, beside how similar in meaning every pair is: any query's results, compared.

Biten et al. (2022), Sec. 3: recall R counts what was annotated; semantic recall SR what of the m candidates of largest
φ is among the first k; NCS, the normalised cumulative semantic score, is Σ φ of the first k over the largest such sum
(METHODS 2.4). φ is CIDEr or SPICE between a caption and the captions of a picture.
"""

import contextlib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int8, Int64
from numpy import ndarray
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics import Cider, SemanticRanking, Spice, ncs_of_each, semantic_recall_of_each
from itmlab.metrics.statistics import Interval, bootstrap
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import looked_at
from itmlab.train.scores import embed_captions, embed_images, similarity

from .scoring import model_of

# What a model retrieves for one query, and how good that is by each measure: the ranked results of SAM's Figure 1.


@dataclass(frozen=True)
class Ranking:
    """One query's best `k` candidates, best first.

    `relevance` is φ of each with the query and `best` the largest φ that any candidate has; `annotated` marks ground
    truth (None: the query was typed and has none); `truth_label` what a world says (1 true, 0 false, −1 undecided;
    None: no world). `measures` in percent, by name.
    """

    index: Int[ndarray, "k"]
    relevance: Float[ndarray, "k"]
    best: float
    annotated: Bool[ndarray, "k"] | None
    truth_label: Int[ndarray, "k"] | None
    measures: dict[str, float]


def rank(
    scores: Float[Tensor, "candidate"],
    relevance: Float[Tensor, "candidate"],
    *,
    k: int,
    positives: Bool[Tensor, "candidate"] | None = None,
    truth: Int[Tensor, "candidate"] | None = None,
    relevant: int | None = None,
) -> Ranking:
    """The `k` best of one query's candidates (equal scores: the lowest index first) with R, SR and NCS at k.

    SR counts the `relevant` candidates of largest φ (default: as many as are annotated, or k). Scores that are not
    numbers, lengths that differ and a k above the candidates are an ItmlabError.

    >>> found = rank(torch.tensor([0.1, 0.9, 0.5]), torch.tensor([2.0, 1.0, 4.0]), k=2)
    >>> found.index.tolist(), {name: round(value) for name, value in found.measures.items()}
    ([1, 2], {'SR@2': 50, 'NCS@2': 83})
    """
    if scores.ndim != 1 or relevance.shape != scores.shape:
        raise ItmlabError(
            f"a query's scores and relevance have shapes {tuple(scores.shape)}, {tuple(relevance.shape)}",
            remedy="one number a candidate, both in the same order",
        )
    if scores.isnan().any():
        raise ItmlabError("a score is not a number (NaN), so nothing can be ranked")
    index = scores.sort(descending=True, stable=True).indices[:k]
    one, phi, measures = scores[None], relevance[None], {}
    annotated = 0 if positives is None else int(positives.sum())
    if annotated:  # a sum of nothing has no share: then the measure is left out
        measures[f"R@{k}"] = float(semantic_recall_of_each(one, positives[None].float(), k, relevant=annotated))
    if relevance.gt(0).any():
        sought = min(relevant or annotated or k, len(scores))
        measures[f"SR@{k}"] = float(semantic_recall_of_each(one, phi, k, relevant=sought))
        measures[f"NCS@{k}"] = float(ncs_of_each(one, phi, k))
    known = [None if values is None else values[index].numpy() for values in (positives, truth)]
    return Ranking(index.numpy(), relevance[index].numpy(), float(relevance.max()), *known, measures)


Direction = Literal["t2i", "i2t"]


@dataclass(frozen=True, eq=False)
class Side:
    """One direction of a split: matrices (anchor, candidate), and the picture each anchor is or describes."""

    similarity: Mapping[str, Float[Tensor, "anchor candidate"]]
    relevance: Mapping[str, Float[Tensor, "anchor candidate"]]
    positives: Bool[Tensor, "anchor candidate"]
    truth: Int8[Tensor, "anchor candidate"] | None
    picture: Int64[Tensor, "anchor"]

    def rank(self, model: str, anchor: int, *, k: int = 5, by: str = "CIDEr", relevant: int | None = None) -> Ranking:
        """One query's ranking."""
        truth = None if self.truth is None else self.truth[anchor]
        scores, phi, positives = self.similarity[model][anchor], self.relevance[by][anchor], self.positives[anchor]
        return rank(scores, phi, k=k, positives=positives, truth=truth, relevant=relevant)


@dataclass(frozen=True, eq=False)
class Retrievals:
    """A split's (image, caption) matrices: each model's similarity, each φ's relevance, annotation, truth.

    `truth` is 1 true, 0 false, −1 undecided, or None without a world. `fitted` holds what gives φ of a new sentence.
    """

    data: CaptionSet
    models: Mapping[str, Any]
    similarity: Mapping[str, Float[Tensor, "image caption"]]
    relevance: Mapping[str, Float[Tensor, "image caption"]]
    positives: Bool[Tensor, "image caption"]
    truth: Int8[Tensor, "image caption"] | None
    fitted: Mapping[str, Any]
    _pictures: dict[str, Tensor] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Retrievals({self.data.name}: {', '.join(self.similarity)}; by {', '.join(self.relevance)})"

    def side(self, direction: Direction) -> Side:
        """Everything with the queries of one direction in rows."""
        if direction == "i2t":
            return Side(self.similarity, self.relevance, self.positives, self.truth, torch.arange(len(self.data)))
        turned = ({name: matrix.T for name, matrix in of.items()} for of in (self.similarity, self.relevance))
        truth = None if self.truth is None else self.truth.T
        return Side(*turned, self.positives.T, truth, self.data.image_of_caption)

    def of_caption(self, model: str, caption: int, **options: Any) -> Ranking:
        """The pictures that a model ranks first for a caption of the split; options as for `of_sentence`."""
        return self.side("t2i").rank(model, caption, **options)

    def of_picture(self, model: str, image: int, **options: Any) -> Ranking:
        """The captions that a model ranks first for a picture of the split; options as for `of_sentence`."""
        return self.side("i2t").rank(model, image, **options)

    def won(self, model: str, other: str, direction: Direction, *, k: int = 5) -> Int64[Tensor, "query"]:
        """The queries whose first by `model` was annotated for them, while `other` has nothing that was in its `k`."""
        side = self.side(direction)
        annotated, most = side.positives.float(), int(side.positives.sum(1).max())
        first, among = (
            semantic_recall_of_each(side.similarity[name], annotated, depth, relevant=most, sense="any") > 0
            for name, depth in ((model, 1), (other, k))
        )
        return (first & ~among).nonzero().squeeze(1)

    def of_sentence(
        self, model: str, sentence: str, *, k: int = 5, by: str = "CIDEr", relevant: int | None = None
    ) -> Ranking:
        """The `k` pictures that a model ranks first for any sentence; φ = `by` compares it with each one's captions.

        SR counts the `relevant` candidates of largest φ; without it as many as are annotated, or k. A sentence without
        words is an ItmlabError.
        """
        if not sentence.strip():
            raise ItmlabError("the sentence to search for is empty")
        relevance = self.fitted[by].matrix([sentence])[0].float()
        truth = None
        if self.data.world is not None:
            with contextlib.suppress(ItmlabError):  # a sentence that the world cannot read has no truth label
                truth = self.data.world.truth(None, [sentence])[:, 0]
        return rank(self._scores(model, sentence), relevance, k=k, truth=truth, relevant=relevant)

    def _scores(self, name: str, sentence: str) -> Float[Tensor, "image"]:
        model, data = model_of(self.models[name]), self.data
        with evaluating(model):
            if not model.encodes_apart or model.compares_parts:  # it scores pairs only together
                pictures = {"images": data.images, "image_ids": data.image_ids, "regions": data.regions}
                query = {"captions": [sentence], "caption_ids": ["query"], "image_of_caption": torch.zeros(1)}
                return similarity(model, CaptionSet(name=data.name, splits={}, **pictures, **query))[:, 0]
            if name not in self._pictures:
                self._pictures[name] = embed_images(model, looked_at(model, data))
            return model.similarity(self._pictures[name], embed_captions(model, [sentence]))[:, 0]


def retrievals(
    runs: Mapping[str, Any], data: CaptionSet, *, by: Sequence[str] = ("CIDEr", "SPICE"), **options: Any
) -> Retrievals:
    """Score every pair of a split by the named Runs or models and by each φ in `by`; a world judges every pair.

    `options` are those of `metrics.Spice` (parser, synonyms). An unknown φ, and an image without captions, are an
    ItmlabError.
    """
    known = {"CIDEr": Cider, "SPICE": functools.partial(Spice, **options)}
    unknown = [name for name in by if name not in known]
    if unknown:
        raise ItmlabError(f"there is no relevance {unknown[0]!r}", remedy=f"choose from {', '.join(known)}")
    scores = {}
    for name, run in runs.items():
        model = model_of(run)
        with evaluating(model):
            scores[name] = similarity(model, data)
    references = data.captions_of()
    fitted = {name: known[name](references) for name in by}
    relevance = {name: phi.matrix(data.captions).T.float() for name, phi in fitted.items()}
    truth = None if data.world is None else data.world.truth()
    return Retrievals(data, dict(runs), scores, relevance, data.positives, truth, fitted)


# Several measures of the same rankings, query by query, so that models can be compared on each of them.

DRAWS = 1000  # of the bootstrap


@dataclass(frozen=True, eq=False)
class Measured:
    """`values[model][measure]` in percent for each query; NaN where the query has nothing to find by that measure.

    `picture` is the picture that a query is, or was written for. Intervals are 95 % percentile bootstraps that draw
    pictures anew, with all their captions; differences draw the same pictures for both models.
    """

    values: Mapping[str, Mapping[str, Float[ndarray, "query"]]]
    picture: Int[ndarray, "query"]

    def table(self) -> dict[str, dict[str, Interval]]:
        """By model and measure: the mean over queries and the ends of its interval."""
        return {
            model: {name: self._interval(values) for name, values in by_measure.items()}
            for model, by_measure in self.values.items()
        }

    def difference(self, model: str, baseline: str) -> dict[str, Interval]:
        """Model minus baseline by measure, paired."""
        mine, base = self.values[model], self.values[baseline]
        return {name: self._interval(mine[name] - base[name]) for name in mine}

    def _interval(self, values: Float[ndarray, "query"]) -> Interval:
        counted = ~np.isnan(values)
        if not counted.any():
            return Interval(np.nan, np.nan, np.nan)
        _, picture = np.unique(self.picture, return_inverse=True)
        sums, counts = np.bincount(picture, np.where(counted, values, 0.0)), np.bincount(picture, counted)
        mean = values[counted].mean()
        return bootstrap(
            mean, lambda drawn: (drawn @ sums) / np.maximum(drawn @ counts, 1), len(sums), draws=DRAWS, counts=True
        )


def measured(retrieved: Retrievals, direction: Direction = "t2i", *, k: int = 5, relevant: int = 10) -> Measured:
    """R, R^V, SR (of the `relevant` candidates of largest φ), NCS, and NCS without ground truth ("(N)"), all at k.

    NCS of "truth" takes 1 for φ where the world says true and 0 elsewhere: how much of the truth that k places can hold
    is found.
    """
    side = retrieved.side(direction)
    phis = dict(side.relevance) if side.truth is None else {**side.relevance, "truth": (side.truth == 1).float()}
    without = {"positives": side.positives, "keep_ground_truth": False}
    annotated, most = side.positives.float(), int(side.positives.sum(1).max())
    values = {}
    for model, scores in side.similarity.items():
        found = {f"R@{k}": semantic_recall_of_each(scores, annotated, k, relevant=most)}
        if direction == "i2t":
            found[f"Rⱽ@{k}"] = semantic_recall_of_each(scores, annotated, k, relevant=most, sense="any")
        for name, phi in side.relevance.items():
            found[f"SR@{k} {name}"] = semantic_recall_of_each(scores, phi, k, relevant=relevant)
        found |= {f"NCS@{k} {name}": ncs_of_each(scores, phi, k) for name, phi in phis.items()}
        found |= {f"NCS@{k} {name} (N)": ncs_of_each(scores, phi, k, **without) for name, phi in phis.items()}
        values[model] = {name: each.numpy() for name, each in found.items()}
    return Measured(values, side.picture.numpy())


def semantic_recalls(
    retrieved: Retrievals, relevant: Sequence[int], *, k: int = 5, by: str = "CIDEr"
) -> dict[str, dict[str, dict[str, Float[ndarray, "m"]]]]:
    """`[model][direction]["any" | "share"]`: percent of queries that find any, and mean share found, of the m
    unannotated candidates of largest φ (SAM, Figure 3).
    """
    depths = {"retrieved": k, "ideal": max(relevant), "keep_ground_truth": False}
    recalls: dict[str, dict[str, dict[str, ndarray]]] = {model: {} for model in retrieved.similarity}
    for direction in ("t2i", "i2t"):
        side = retrieved.side(direction)
        for model, scores in side.similarity.items():
            ranking = SemanticRanking.of(scores, side.relevance[by], positives=side.positives, **depths)
            recalls[model][direction] = {
                sense: np.array([float(ranking.recalls(k, m, sense=sense).nanmean()) for m in relevant])
                for sense in ("any", "share")
            }
    return recalls


def truth_among_relevant(
    retrieved: Retrievals, relevant: Sequence[int]
) -> tuple[dict[str, dict[str, Float[ndarray, "m"]]], dict[str, Float[ndarray, "m"]]]:
    """Percent that the world calls true of the first m unannotated candidates, `[φ or model][direction]`, and
    `[direction]` the most that any ranking could reach.
    """
    if retrieved.truth is None:
        where = retrieved.data.name
        raise ItmlabError("no world knows what is true here", where=where, remedy="use the data set scenes")
    shares: dict[str, dict[str, ndarray]] = {}
    most: dict[str, ndarray] = {}
    for direction in ("t2i", "i2t"):
        side = retrieved.side(direction)
        true = ((side.truth == 1) & ~side.positives).float()
        for name, ranking in {**side.relevance, **side.similarity}.items():
            others = ranking.masked_fill(side.positives, -torch.inf)
            shares.setdefault(name, {})[direction] = _share_true(others, true, relevant)
        most[direction] = _share_true(true, true, relevant)
    return shares, most


def _share_true(
    scores: Float[Tensor, "anchor candidate"], true: Float[Tensor, "anchor candidate"], relevant: Sequence[int]
) -> Float[ndarray, "m"]:
    """Percent of each anchor's first m that are true, mean over anchors."""
    ranked = true.gather(1, scores.topk(max(relevant), dim=1).indices)
    return np.array([100 * float(ranked[:, :m].mean()) for m in relevant])
