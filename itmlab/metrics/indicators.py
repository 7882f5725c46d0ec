"""Clipped n-gram counts as indicators of levels, whose inner products are CIDEr-D's sums of minima."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32, Float64, Int64

from itmlab.metrics.ngrams import ORDERS, Numbers

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SIGMA = 6.0  # words: the deviation of the length penalty
SCALE = 10.0  # CIDEr-D is ten times a mean cosine


@dataclass(frozen=True, eq=False)
class SentenceVectors:
    """Weighted indicators (sentence, (n-gram, level)) and the lengths in words; `vectors[rows]` picks sentences."""

    weights: "csr_array"
    lengths: Int64[Numbers, "sentence"]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, rows: Int64[Numbers, "chosen"]) -> "SentenceVectors":
        return SentenceVectors(self.weights[rows], self.lengths[rows])


def indicators(
    counts: "csr_array",
    orders: Int64[Numbers, "ngram"],
    rarity: Float64[Numbers, "ngram"],
    place: Int64[Numbers, "ngram"],
    levels: Int64[Numbers, "place"],
    *,
    times_count: bool,
) -> "csr_array":
    """Rarity over norm (times the count, for a reference) at each level 1..count of each n-gram of each sentence.

    `place` is an n-gram's number in the fitted vocabulary (-1: not there), `levels` the largest count that is seen
    there. The norm is that of all n-grams of the same order in the sentence, known or not.
    """
    from scipy.sparse import csr_array

    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    group = row * ORDERS + orders[counts.indices]
    weight = rarity[counts.indices]
    norm = np.sqrt(np.bincount(group, weights=(counts.data * weight) ** 2, minlength=counts.shape[0] * ORDERS))
    target = place[counts.indices]
    known = (target >= 0) & (weight > 0)
    row, target, count = row[known], target[known], counts.data[known].astype(np.int64)
    value = weight[known] / norm[group[known]] * (count if times_count else 1)
    height = np.minimum(count, levels[target])
    level = np.arange(height.sum()) - np.repeat(height.cumsum() - height, height)
    start = levels.cumsum() - levels
    ends = np.bincount(row, weights=height, minlength=counts.shape[0]).cumsum().astype(np.int64)
    return csr_array(
        (np.repeat(value, height), np.repeat(start[target], height) + level, np.concatenate([[0], ends])),
        shape=(counts.shape[0], int(levels.sum())),
    )


def image_scores(
    captions: SentenceVectors,
    references: SentenceVectors,
    image: Int64[Numbers, "reference"],
    images: int,
    chunk: int,
) -> Float32[Numbers, "caption image"]:
    """CIDEr-D of captions with the references of images, length by length and at most `chunk` captions at once.

    For captions of one length the penalty is a number a reference, so that the references of an image add up to one
    vector beforehand: captions are multiplied with images, not with references.
    """
    from scipy.sparse import csr_array

    scores = np.empty((len(captions), images), dtype=np.float32)
    transposed = references.weights.T.tocsr()
    held = np.bincount(image, minlength=images)
    for length in np.unique(captions.lengths):
        share = length_penalty(length, references.lengths) * SCALE / ORDERS / held[image]
        gather = csr_array((share, image, np.arange(len(image) + 1)), shape=(len(image), images))
        summed = transposed @ gather
        mine = np.flatnonzero(captions.lengths == length)
        for first in range(0, len(mine), chunk):
            rows = mine[first : first + chunk]
            scores[rows] = (captions.weights[rows] @ summed).toarray()
    return scores


def pair_scores(
    captions: SentenceVectors,
    references: SentenceVectors,
    first: Int64[Numbers, "pair"],
    held: Int64[Numbers, "pair"],
    *,
    without: Int64[Numbers, "pair"] | None = None,
) -> Float32[Numbers, "pair"]:
    """CIDEr-D of each caption with one image: `held` references from number `first` on, `without` one of them."""
    pair = np.repeat(np.arange(len(held)), held)
    reference = np.arange(held.sum()) + np.repeat(first - (held.cumsum() - held), held)
    if without is not None:
        other = reference != without[pair]
        pair, reference, held = pair[other], reference[other], held - 1
    left, right = captions[pair], references[reference]
    products = np.asarray((left.weights * right.weights).sum(axis=1)) * length_penalty(left.lengths, right.lengths)
    return (np.bincount(pair, weights=products, minlength=len(held)) * SCALE / ORDERS / held).astype(np.float32)


def packed(captions: SentenceVectors, references: SentenceVectors) -> tuple[SentenceVectors, SentenceVectors]:
    """Both without the columns in which no reference has anything: a small product then costs what is in it."""
    from scipy.sparse import csr_array

    columns, renumbered = np.unique(references.weights.indices, return_inverse=True)
    place = np.searchsorted(columns, captions.weights.indices)
    shared = place < len(columns)
    shared[shared] = columns[place[shared]] == captions.weights.indices[shared]
    kept = np.concatenate([[0], shared.cumsum()])[captions.weights.indptr]
    left = csr_array((captions.weights.data[shared], place[shared], kept), shape=(len(captions), len(columns)))
    right = csr_array(
        (references.weights.data, renumbered, references.weights.indptr), shape=(len(references), len(columns))
    )
    return SentenceVectors(left, captions.lengths), SentenceVectors(right, references.lengths)


def length_penalty(
    length: Int64[Numbers, "*shape"] | int, other: Int64[Numbers, "*shape"]
) -> Float64[Numbers, "*shape"]:
    """exp(-(difference in words)² / 2σ²)."""
    return np.exp(-((length - other) ** 2) / (2 * SIGMA**2))
