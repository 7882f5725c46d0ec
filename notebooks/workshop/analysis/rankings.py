"""Rankings of several models on one split, and how good they are by each measure.

Recall R counts what was annotated. Semantic recall SR counts how many of the m candidates with the largest φ are among
the first k. NCS is Σ φ of the first k over the largest such sum (METHODS 2.4). φ is CIDEr or SPICE between a caption
and the captions of a picture.

References:
    Biten et al. (2022), SAM, Sec. 3.
"""

import contextlib
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int8, Int64
from numpy import ndarray
from PIL import Image
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics import Cider, SemanticRanking, Spice, ncs_of_each, semantic_recall_of_each
from itmlab.metrics.statistics import Interval, bootstrap
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import looked_at
from itmlab.train.scores import Embeddings, compared, has_one_feature, side_of, similarity

from .scoring import model_of, require_truth

# What a model retrieves for one query, and how good that is by each measure: the ranked results of SAM's Figure 1.


@dataclass(frozen=True)
class Ranking:
    """The best `k` candidates of one query, best first.

    Args:
        index: the candidates.
        relevance: φ of each with the query.
        best: the largest φ of any candidate.
        annotated: which are ground truth; None for a typed query.
        truth_label: what the world says (1 true, 0 false, -1 undecided); None without a world.
        measures: in percent, by name.
    """

    index: Int[ndarray, "k"]
    relevance: Float[ndarray, "k"]
    best: float
    annotated: Bool[ndarray, "k"] | None
    truth_label: Int[ndarray, "k"] | None
    measures: dict[str, float]


Scores = Float[Tensor, "candidate"]
Truth = Int[Tensor, "candidate"] | None
Mask = Bool[Tensor, "candidate"] | None


def rank(
    scores: Scores, relevance: Scores, k: int, positives: Mask = None, truth: Truth = None, relevant: int | None = None
) -> Ranking:
    """Return the `k` best candidates of one query with R, SR and NCS at k. Ties go to the lowest index.

    Args:
        scores: of the candidates.
        relevance: φ of the candidates.
        k: the number of candidates to return.
        positives: which candidates are annotated.
        truth: what the world says of each.
        relevant: how many candidates of largest φ SR counts; by default as many as are annotated, or k.

    >>> ranking = rank(torch.tensor([0.1, 0.9, 0.5]), torch.tensor([2.0, 1.0, 4.0]), k=2)
    >>> ranking.index.tolist(), {name: round(value) for name, value in ranking.measures.items()}
    ([1, 2], {'SR@2': 50, 'NCS@2': 83})
    """
    index = scores.sort(descending=True, stable=True).indices[:k]
    row, phi, measures = scores[None], relevance[None], {}
    annotated = 0 if positives is None else int(positives.sum())
    if annotated:  # a sum of nothing has no share: then the measure is left out
        measures[f"R@{k}"] = float(semantic_recall_of_each(row, positives[None].float(), k, relevant=annotated))
    if relevance.gt(0).any():
        sought = min(relevant or annotated or k, len(scores))
        measures[f"SR@{k}"] = float(semantic_recall_of_each(row, phi, k, relevant=sought))
        measures[f"NCS@{k}"] = float(ncs_of_each(row, phi, k))
    known = [None if values is None else values[index].numpy() for values in (positives, truth)]
    return Ranking(index.numpy(), relevance[index].numpy(), float(relevance.max()), *known, measures)


Direction = Literal["t2i", "i2t"]


@dataclass(frozen=True, eq=False)
class Side:
    """One direction of a split: each model's similarity, each φ's relevance, annotation and truth.

    Args:
        similarity: by model.
        relevance: by φ.
        positives: what is annotated.
        truth: 1 true, 0 false, -1 undecided; None without a world.
        picture: the picture of each anchor.
    """

    similarity: Mapping[str, Float[Tensor, "anchor candidate"]]
    relevance: Mapping[str, Float[Tensor, "anchor candidate"]]
    positives: Bool[Tensor, "anchor candidate"]
    truth: Int8[Tensor, "anchor candidate"] | None
    picture: Int64[Tensor, "anchor"]

    def rank(self, model: str, anchor: int, *, k: int = 5, by: str = "CIDEr", relevant: int | None = None) -> Ranking:
        """Return the ranking of one query."""
        truth = None if self.truth is None else self.truth[anchor]
        scores, phi = self.similarity[model][anchor], self.relevance[by][anchor]
        return rank(scores, phi, k=k, positives=self.positives[anchor], truth=truth, relevant=relevant)


@dataclass(frozen=True, eq=False, repr=False)
class Retrievals(Side):
    """The matrices of a split with pictures in rows.

    Args:
        data: the split.
        models: Runs or models by name.
        fitted: computes φ of a new sentence, by φ.
    """

    data: CaptionSet
    models: Mapping[str, Any]
    fitted: Mapping[str, Any]
    _pictures: dict[str, Any] = field(default_factory=dict)

    def side(self, direction: Direction) -> Side:
        """Return everything with the queries of one direction in rows."""
        if direction == "i2t":
            return self
        turned = ({name: matrix.T for name, matrix in of.items()} for of in (self.similarity, self.relevance))
        truth = None if self.truth is None else self.truth.T
        return Side(*turned, self.positives.T, truth, self.data.image_of_caption)

    def of_caption(self, model: str, caption: int, **options: Any) -> Ranking:
        """Return the pictures that a model ranks first for a caption. Options are those of `of_sentence`."""
        return self.side("t2i").rank(model, caption, **options)

    def of_sentence(
        self, model: str, sentence: str, *, k: int = 5, by: str = "CIDEr", relevant: int | None = None
    ) -> Ranking:
        """Return the `k` pictures that a model ranks first for any sentence.

        Args:
            model: its name.
            sentence: the query.
            k: the number of pictures.
            by: the φ that compares the sentence with each picture's captions.
            relevant: how many candidates of largest φ SR counts.
        """
        relevance = self.fitted[by].matrix([sentence])[0].float()
        truth = None
        if self.data.world is not None:
            with contextlib.suppress(ItmlabError):  # a sentence that the world cannot read has no truth label
                truth = self.data.world.truth(None, [sentence])[:, 0]
        return rank(self._scores(model, sentence), relevance, k=k, truth=truth, relevant=relevant)

    def of_own_picture(self, model: str, picture: Image.Image, *, k: int = 5) -> Ranking:
        """Return the captions that a model ranks first for a picture of your own; φ is their score, if positive.

        Raises:
            ItmlabError: the model looks at regions, which a picture of your own does not have.
        """
        one = copy.copy(self.data)
        one.name, one.images, one.regions = "your picture", [picture], None
        encoder = model_of(self.models[model])
        with evaluating(encoder):
            image = side_of(encoder, looked_at(encoder, one), "images")
            scores = compared(encoder, image, side_of(encoder, self.data.captions, "captions"))[0]
        return replace(rank(scores, scores.clamp(min=0), k=k), measures={})

    def _scores(self, name: str, sentence: str) -> Float[Tensor, "image"]:
        model = model_of(self.models[name])
        with evaluating(model):
            if name not in self._pictures:
                self._pictures[name] = side_of(model, looked_at(model, self.data), "images")
            return compared(model, self._pictures[name], side_of(model, [sentence], "captions"))[:, 0]


Features = Mapping[str, Embeddings] | None


def retrievals(
    runs: Mapping[str, Any], data: CaptionSet, *, by: Sequence[str] = ("CIDEr", "SPICE"), features: Features = None
) -> Retrievals:
    """Score every pair of a split by several models and by each φ; a world judges every pair.

    Args:
        runs: Runs or models by name.
        data: the split.
        by: "CIDEr", "SPICE" or both.
        features: what `embed` returned for each run, if it is known; saves encoding everything again.

    Raises:
        ItmlabError: an image without captions.
    """
    scores, pictures = {}, {}
    for name, run in runs.items():
        model = model_of(run)
        if features and has_one_feature(model):
            scores[name], pictures[name] = model.similarity(*features[name]), features[name].images
        else:
            scores[name] = similarity(model, data)
    references = data.captions_of()
    fitted = {name: {"CIDEr": Cider, "SPICE": Spice}[name](references) for name in by}
    relevance = {name: phi.matrix(data.captions).T.float() for name, phi in fitted.items()}
    truth = None if data.world is None else data.world.truth()
    numbers = torch.arange(len(data))
    return Retrievals(scores, relevance, data.positives, truth, numbers, data, dict(runs), fitted, pictures)


# Several measures of the same rankings, query by query, so that models can be compared on each of them.


@dataclass(frozen=True, eq=False)
class Measured:
    """Measures of each query, so that models can be compared.

    Intervals are 95 % percentile bootstraps over pictures with all their captions. Differences are paired.

    Args:
        values: `[model][measure]` in percent per query; NaN where the measure is not defined.
        picture: the picture of each query.
    """

    values: Mapping[str, Mapping[str, Float[ndarray, "query"]]]
    picture: Int[ndarray, "query"]

    def table(self) -> dict[str, dict[str, Interval]]:
        """Return the mean over queries with its interval, by model and measure."""
        return {
            model: {name: self._interval(values) for name, values in by_measure.items()}
            for model, by_measure in self.values.items()
        }

    def difference(self, model: str, baseline: str) -> dict[str, Interval]:
        """Return model minus baseline by measure, paired."""
        mine, base = self.values[model], self.values[baseline]
        return {name: self._interval(mine[name] - base[name]) for name in mine}

    def _interval(self, values: Float[ndarray, "query"]) -> Interval:
        counted = ~np.isnan(values)
        if not counted.any():
            return Interval(np.nan, np.nan, np.nan)
        _, picture = np.unique(self.picture, return_inverse=True)
        sums, counts = np.bincount(picture, np.where(counted, values, 0.0)), np.bincount(picture, counted)

        def means(drawn: Int[ndarray, "draw picture"]) -> Float[ndarray, "draw"]:
            return (drawn @ sums) / np.maximum(drawn @ counts, 1)

        return bootstrap(values[counted].mean(), means, len(sums), draws=1000, counts=True)


def measured(retrieved: Retrievals, direction: Direction = "t2i", *, k: int = 5, relevant: int = 10) -> Measured:
    """Return R, Rⱽ, SR, NCS, and NCS without ground truth ("(N)") of each query, all at k.

    NCS of "truth" takes φ = 1 where the world says true and 0 elsewhere.

    Args:
        retrieved: what `retrievals` returned.
        direction: "t2i" or "i2t".
        k: the number of results that count.
        relevant: how many candidates of largest φ SR counts.
    """
    side = retrieved.side(direction)
    phis = dict(side.relevance) if side.truth is None else {**side.relevance, "truth": (side.truth == 1).float()}
    without = side.positives
    annotated, most = side.positives.float(), int(side.positives.sum(1).max())
    values = {}
    for model, scores in side.similarity.items():
        measures = {f"R@{k}": semantic_recall_of_each(scores, annotated, k, relevant=most)}
        if direction == "i2t":
            measures[f"Rⱽ@{k}"] = 100 * (measures[f"R@{k}"] > 0).double()
        for name, phi in side.relevance.items():
            measures[f"SR@{k} {name}"] = semantic_recall_of_each(scores, phi, k, relevant=relevant)
        measures |= {f"NCS@{k} {name}": ncs_of_each(scores, phi, k) for name, phi in phis.items()}
        measures |= {f"NCS@{k} {name} (N)": ncs_of_each(scores, phi, k, without=without) for name, phi in phis.items()}
        values[model] = {name: percent.numpy() for name, percent in measures.items()}
    return Measured(values, side.picture.numpy())


def semantic_recalls(
    retrieved: Retrievals, relevant: Sequence[int], *, k: int = 5
) -> dict[str, dict[str, dict[str, Float[ndarray, "m"]]]]:
    """Return semantic recall over m, for the m unannotated candidates of largest CIDEr.

    Returns:
        `[model][direction]`: "any" is the percentage of queries with any of them among the first k, "share" the mean
        share.

    References:
        Biten et al. (2022), Figure 3.
    """
    depths = {"retrieved": k, "ideal": max(relevant)}
    recalls = {model: {} for model in retrieved.similarity}
    for direction in ("t2i", "i2t"):
        side = retrieved.side(direction)
        for model, scores in side.similarity.items():
            ranking = SemanticRanking.of(scores, side.relevance["CIDEr"], without=side.positives, **depths)
            shares = [values[~values.isnan()] for values in (ranking.recalls(k, m) for m in relevant)]
            recalls[model][direction] = {
                "any": np.array([100 * float((values > 0).double().mean()) for values in shares]),
                "share": np.array([float(values.mean()) for values in shares]),
            }
    return recalls


def truth_among_relevant(
    retrieved: Retrievals, relevant: Sequence[int]
) -> tuple[dict[str, dict[str, Float[ndarray, "m"]]], dict[str, Float[ndarray, "m"]]]:
    """Return how many of the first m unannotated candidates are true, in percent.

    Returns:
        `[φ or model][direction]`, and `[direction]` with the most that any ranking could reach.

    Raises:
        ItmlabError: the data have no world.
    """
    require_truth(retrieved.truth, retrieved.data)
    shares: dict[str, dict[str, Float[ndarray, "m"]]] = {}
    for direction in ("t2i", "i2t"):
        side = retrieved.side(direction)
        true = ((side.truth == 1) & ~side.positives).float()
        for name, scores in {**side.relevance, **side.similarity, "truth": true}.items():
            first = scores.masked_fill(side.positives, -torch.inf).topk(max(relevant), dim=1).indices
            found = true.gather(1, first).cumsum(dim=1).mean(dim=0)
            shares.setdefault(name, {})[direction] = np.array([100 * float(found[m - 1]) / m for m in relevant])
    most = shares.pop("truth")
    return shares, most
