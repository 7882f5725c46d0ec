"""FNE's probabilities on a whole split: statistics, curves, one anchor's negatives, and what samplers choose.

The sampler itself is `itmlab/samplers/fne.py`; METHODS 1.1 to 1.3 say how the paper is read.

References:
    Li et al. (2023), FNE, Sec. 3.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int8
from numpy import ndarray
from scipy.stats import norm
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import share
from itmlab.samplers import FalseNegativeEliminating, Sampler, Statistics, posterior, sampling_weights
from itmlab.samplers.fne import trusted_pairs
from itmlab.train.scores import similarity

from .scoring import Direction, model_of, require_captions, require_truth


@dataclass(frozen=True)
class Study:
    """The scores of a split with its annotation and truth.

    Args:
        data: the split.
        scores: of every pair.
        positives: what is annotated.
        truth: what the world says: 1 true, 0 false, -1 undecided; None without a world.
        sampler: FNE's sampler with the statistics of the split.
        positive_scores: the positives' scores behind these statistics.
        negative_scores: the negatives' scores behind these statistics.
    """

    data: CaptionSet
    scores: Float[Tensor, "image caption"]
    positives: Bool[Tensor, "image caption"]
    truth: Int8[Tensor, "image caption"] | None
    sampler: FalseNegativeEliminating
    positive_scores: Float[ndarray, "pair"]
    negative_scores: Float[ndarray, "negative"]

    def posterior(self, *, prior: float = 1e-4) -> Float[Tensor, "image caption"]:
        """Return P(match | s) of every pair under the statistics of the study."""
        return posterior(self.scores, self.sampler.statistics, prior=prior)

    def unannotated(self) -> tuple[Int[Tensor, "pair 2"], Bool[Tensor, "pair"]]:
        """Return the pairs (image, caption) that the world decides but annotation leaves out, and which are true."""
        decided = ~self.positives & (self.truth >= 0)
        return decided.nonzero(), self.truth[decided] == 1


@dataclass(frozen=True)
class Curves:
    """Densities, posterior and weight as functions of similarity."""

    similarity: Float[ndarray, "point"]
    match: Float[ndarray, "point"]
    mismatch: Float[ndarray, "point"]
    raw: Float[ndarray, "point"]
    monotone: Float[ndarray, "point"]
    weight: Float[ndarray, "point"]
    threshold: float
    positive_score: float


@dataclass(frozen=True)
class Judgement:
    """One anchor's negatives, the best-scoring first.

    Args:
        index: the numbers of the negatives.
        score: their similarities.
        posterior: P(match | s).
        weight: the sampling weight.
        truth_label: what the world says (1, 0, -1); None without a world.
        drawn: how often the sampler chose each.
        positive_score: the score of the anchor's positive.
    """

    index: Int[ndarray, "negative"]
    score: Float[ndarray, "negative"]
    posterior: Float[ndarray, "negative"]
    weight: Float[ndarray, "negative"]
    truth_label: Int[ndarray, "negative"] | None
    drawn: Int[ndarray, "negative"]
    positive_score: float


def study(
    run: Any,
    data: CaptionSet,
    *,
    batch_size: int = 32,
    statistics: Literal["hardest", "all"] = "hardest",
    seed: int = 0,
) -> Study:
    """Score a split and gather FNE's statistics from it as an epoch of training would.

    Args:
        run: a Run or a model.
        data: the split; its world judges every pair.
        batch_size: of the shuffled batches, each image with one of its captions. The last may be smaller.
        statistics: whether the hardest negatives or all enter the statistics.
        seed: of the order and of the captions.

    Raises:
        ItmlabError: no pair is the best of its row and column.
    """
    require_captions(data)
    scores = similarity(model_of(run), data)
    generator = torch.Generator().manual_seed(seed)
    sampler = FalseNegativeEliminating(negatives=statistics, minimum_positives=1)
    order = torch.randperm(len(data), generator=generator)
    chosen = [numbers[torch.randint(len(numbers), (), generator=generator)] for numbers in data.captions_of_image]
    caption_of = torch.stack(chosen)
    matched, mismatched = [], []
    for images in order.split(batch_size):
        block, same = scores[images][:, caption_of[images]], torch.eye(len(images), dtype=torch.bool)
        sampler.observe(block, same)
        trusted, own, of_sides = trusted_pairs(block, same)  # of pairs that are the best of row and column
        matched.append(own[trusted])
        mismatched.append(of_sides[:, trusted].flatten() if statistics == "hardest" else block[~same])
    if not sampler.ready:
        message = "no pair is the best of its row and column, so nothing is known of how positives score"
        raise ItmlabError(message, where=data.name, remedy="take a trained model, more images, or smaller batches")
    truth = None if data.world is None else data.world.truth(None, None)
    samples = (torch.cat(values).numpy() for values in (matched, mismatched))
    return Study(data, scores, data.positives, truth, sampler, *samples)


POINTS = 480  # of a curve


def curves(
    statistics: Statistics,
    positive_score: float,
    *,
    prior: float = 1e-4,
    threshold: float = 0.01,
    span: tuple[float, float] = (-0.2, 1.0),
    **weighting: Any,
) -> Curves:
    """Return Eqs. 5, 9 and 13 over a span of similarities, for an anchor whose positive scores `positive_score`.

    Args:
        statistics: of positives and negatives.
        positive_score: s⁺ of the anchor.
        prior: p.
        threshold: λ.
        span: the similarities shown.
        weighting: sharpness, margin and preset, as in `samplers.sampling_weights`.

    >>> shown = curves(Statistics(0.7, 0.08, 0.4, 0.1), 0.72, span=(0.0, 1.0))
    >>> (shown.mismatch > shown.match)[[0, 240, 479]].tolist()
    [True, True, False]
    """
    grid = torch.linspace(*span, POINTS, dtype=torch.float64)
    raw, monotone = (posterior(grid, statistics, prior=prior, monotone=flag).numpy() for flag in (False, True))
    positive, settings = torch.tensor([positive_score]).double(), {"prior": prior, "threshold": threshold, **weighting}
    weight = sampling_weights(grid[None], positive, statistics, **settings)[0].numpy()
    match_mean, match_std, mismatch_mean, mismatch_std = statistics.tensors
    match = norm.pdf(grid, match_mean, match_std)
    mismatch = norm.pdf(grid, mismatch_mean, mismatch_std)
    return Curves(grid.numpy(), match, mismatch, raw, monotone, weight, threshold, positive_score)


def judge(
    study: Study,
    anchor: int,
    direction: Direction = "image",
    *,
    prior: float = 1e-4,
    threshold: float = 0.01,
    draws: int = 12,
    seed: int = 0,
    **weighting: Any,
) -> Judgement:
    """Return what FNE would do with one anchor over the whole split, and `draws` of its draws.

    s⁺ is the score of the anchor's first annotated partner.

    Args:
        study: what `study` returned.
        anchor: the number of the anchor.
        direction: whether the anchor is an image or a caption.
        prior: p.
        threshold: λ.
        draws: how many negatives to draw.
        seed: of the draws.
        weighting: sharpness, margin and preset, as in `samplers.sampling_weights`.
    """
    by_anchor = (lambda matrix: matrix[anchor]) if direction == "image" else (lambda matrix: matrix[:, anchor])
    scores, positives = by_anchor(study.scores), by_anchor(study.positives)
    positive_score, settings = scores[positives][:1], {"prior": prior, "threshold": threshold, **weighting}
    sampler = FalseNegativeEliminating(minimum_positives=1, **settings)
    sampler.load_state_dict(study.sampler.state_dict())
    generator, rows = torch.Generator().manual_seed(seed), (draws, len(scores))
    taken = sampler(scores.expand(rows), positives.expand(rows), positive_score.expand(draws), generator=generator)
    negatives = torch.nonzero(~positives).squeeze(1)
    order = negatives[torch.argsort(scores[negatives], descending=True, stable=True)]
    weights = sampling_weights(scores[None], positive_score, sampler.statistics, **settings)[0]
    return Judgement(
        index=order.numpy(),
        score=scores[order].numpy(),
        posterior=posterior(scores[order], sampler.statistics, prior=prior).numpy(),
        weight=weights[order].numpy(),
        truth_label=None if study.truth is None else by_anchor(study.truth)[order].numpy(),
        drawn=torch.bincount(taken[taken >= 0], minlength=len(scores))[order].numpy(),
        positive_score=float(positive_score),
    )


# How many of the negatives that a sampler takes are in truth matches: the question that recall does not answer.


def negatives_taken(study: Study, samplers: Mapping[str, Sampler]) -> dict[str, tuple[float, float, float]]:
    """Return the percentage of true pairs among the negatives of each sampler, with Wilson's 95 % interval.

    Every picture chooses one negative of all captions; its positive is its best-scoring annotated caption. Undecided
    pairs do not count. FNE's sampler gets the statistics of the study.

    Args:
        study: what `study` returned, with a world.
        samplers: by name.

    Raises:
        ItmlabError: the data have no world, or no chosen negative is decided.
    """
    require_truth(study.truth, study.data)
    matches, shares = study.scores.masked_fill(~study.positives, -torch.inf).max(dim=1).values, {}
    for name, sampler in samplers.items():
        if isinstance(sampler, FalseNegativeEliminating):
            sampler.load_state_dict(study.sampler.state_dict())
            sampler.minimum_positives = study.sampler.minimum_positives  # all there are
        chosen = sampler(study.scores, study.positives, matches, generator=torch.Generator().manual_seed(0))
        truth_labels = study.truth.gather(1, chosen.clamp(min=0)[:, None]).squeeze(1)
        decided = (chosen >= 0) & (truth_labels >= 0)
        if not decided.any():
            raise ItmlabError(f"no negative that {name} takes is decided", where=study.data.name)
        true = share(truth_labels[decided] == 1)
        shares[name] = true.percent, true.lower, true.upper
    return shares


# Does the posterior find false negatives, and do its numbers mean what they say?


def posterior_quality(study: Study, *, prior: float = 1e-4, bins: int = 15) -> dict[str, dict[str, float]]:
    """Measure how well posterior and similarity tell true from false among pairs that are not annotated.

    Args:
        study: what `study` returned, with a world.
        prior: p.
        bins: of the calibration error, with equally many pairs each.

    Returns:
        For "posterior" and "similarity": the area under the ROC curve ("auc"), the average precision ("precision"),
        and, as probabilities (similarities clipped to 0 to 1), the Brier score ("brier") and the expected calibration
        error ("calibration"). Undecided pairs do not count.

    Raises:
        ItmlabError: the data have no world, or all pairs are alike.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    require_truth(study.truth, study.data)
    pairs, truth = study.unannotated()
    true, scores = truth.numpy(), study.scores[tuple(pairs.T)].double()
    if not 0 < true.sum() < len(true):
        message = "all pairs that are not annotated are alike"
        raise ItmlabError(message, where=study.data.name, remedy="take more images")
    predictions = {"posterior": posterior(scores, study.sampler.statistics, prior=prior), "similarity": scores}
    quality = {}
    for name, values in predictions.items():
        ranked, probability = values.numpy(), values.clamp(0, 1).numpy()
        parts = np.array_split(np.argsort(probability, kind="stable"), bins)
        gaps = [len(part) * abs(probability[part].mean() - true[part].mean()) for part in parts]
        quality[name] = {
            "auc": float(roc_auc_score(true, ranked)),
            "precision": float(average_precision_score(true, ranked)),
            "brier": float(np.mean((probability - true) ** 2)),
            "calibration": float(sum(gaps) / len(true)),
        }
    return quality
