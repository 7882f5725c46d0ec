"""What CIDEr-D is computed with: n-gram counts, and sums of minima as sparse products.

CIDEr-D (Vedantam et al. 2015) compares counts by Σ_g w_g² min(c_g, r_g) r_g. Because min(c, r) = Σ_t [c ≥ t][r ≥ t],
the sum is an inner product of two sparse vectors with an entry for each n-gram g and level t: w_g [c_g ≥ t] of the
caption, w_g r_g [r_g ≥ t] of the reference. `indicators` makes them, and a whole matrix is one product (`cider.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64, Int64
from scipy.sparse import coo_array, csr_array

ORDERS = 4  # CIDEr's n-grams have one to four words
SIGMA = 6.0  # words: the deviation of the length penalty
SCALE = 10.0  # CIDEr-D is ten times a mean cosine
CHUNK = 1024  # captions scored at once, which bounds the memory
Numbers = np.ndarray


def count_ngrams(sentences: Sequence[Sequence[str]]) -> tuple[csr_array, dict[str, int]]:
    """Return how often each n-gram occurs in each sentence (sentence, ngram), and the column of each n-gram.

    >>> counts, columns = count_ngrams([["a", "dog"], ["a", "a"]])
    >>> columns, counts.toarray().tolist()
    ({'a': 0, 'dog': 1, 'a dog': 2, 'a a': 3}, [[1.0, 1.0, 1.0, 0.0], [2.0, 0.0, 0.0, 1.0]])
    """
    columns: dict[str, int] = {}
    rows, found_columns = [], []
    for row, words in enumerate(sentences):
        for order in range(1, ORDERS + 1):
            for start in range(len(words) - order + 1):
                ngram = " ".join(words[start : start + order])
                found_columns.append(columns.setdefault(ngram, len(columns)))
                rows.append(row)
    counts = coo_array((np.ones(len(rows)), (rows, found_columns)), shape=(len(sentences), len(columns)))
    return counts.tocsr(), columns  # repetitions add up


def orders_of(columns: Mapping[str, int]) -> Int64[Numbers, "ngram"]:
    """Return the order of each n-gram, from 0 for a single word."""
    return np.fromiter((ngram.count(" ") for ngram in columns), np.int64, len(columns))


def document_counts(counts: csr_array, image: Int64[Numbers, "sentence"]) -> Int64[Numbers, "ngram"]:
    """Return in how many images each n-gram occurs: an image with all its captions is one document."""
    row = np.repeat(image, np.diff(counts.indptr))
    pairs = np.unique(row * counts.shape[1] + counts.indices.astype(np.int64))
    return np.bincount(pairs % counts.shape[1], minlength=counts.shape[1])


@dataclass(frozen=True, eq=False)
class SentenceVectors:
    """Weighted indicators of sentences. `vectors[rows]` selects sentences.

    Attributes:
        weights: of shape (sentence, (n-gram, level)).
        lengths: in words.
    """

    weights: csr_array
    lengths: Int64[Numbers, "sentence"]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, rows: Int64[Numbers, "chosen"]) -> "SentenceVectors":
        return SentenceVectors(self.weights[rows], self.lengths[rows])


def indicators(
    counts: csr_array,
    orders: Int64[Numbers, "ngram"],
    rarity: Float64[Numbers, "ngram"],
    place: Int64[Numbers, "ngram"],
    levels: Int64[Numbers, "place"],
    *,
    times_count: bool,
) -> csr_array:
    """Return rarity over norm at each level 1..count of each n-gram of each sentence.

    The norm is that of all n-grams of the same order in the sentence, known or not.

    Args:
        counts: as `count_ngrams` returns them.
        orders: of the n-grams.
        rarity: w of the n-grams.
        place: the column of each n-gram in the references, or -1.
        levels: the largest count of each n-gram in a reference. Higher levels meet nothing.
        times_count: multiply by the count, for references.
    """
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    group = row * ORDERS + orders[counts.indices]
    weight = rarity[counts.indices]
    norm = np.sqrt(np.bincount(group, weights=(counts.data * weight) ** 2, minlength=counts.shape[0] * ORDERS))
    target = place[counts.indices]
    known = (target >= 0) & (weight > 0)
    row, target, count = row[known], target[known], counts.data[known].astype(np.int64)
    value = weight[known] / norm[group[known]] * (count if times_count else 1)
    height = np.minimum(count, levels[target])
    column = runs((levels.cumsum() - levels)[target], height)
    ends = np.bincount(row, weights=height, minlength=counts.shape[0]).cumsum().astype(np.int64)
    shape = counts.shape[0], int(levels.sum())
    return csr_array((np.repeat(value, height), column, np.concatenate([[0], ends])), shape=shape)


def runs(first: Int64[Numbers, "run"], lengths: Int64[Numbers, "run"]) -> Int64[Numbers, "number"]:
    """Return the numbers first, first + 1, ... of each run, run after run."""
    return np.arange(lengths.sum()) + np.repeat(first - (lengths.cumsum() - lengths), lengths)


def image_scores(
    captions: SentenceVectors, references: SentenceVectors, image: Int64[Numbers, "reference"], images: int
) -> Float32[Numbers, "caption image"]:
    """Return CIDEr-D of captions with the references of images.

    For captions of one length the penalty is a number per reference, so that the references of an image add up to one
    vector beforehand: captions are multiplied with images, not with references.
    """
    scores = np.empty((len(captions), images), dtype=np.float32)
    transposed = references.weights.T.tocsr()
    reference_count = np.bincount(image, minlength=images)
    for length in np.unique(captions.lengths):
        share = length_penalty(length - references.lengths) * SCALE / ORDERS / reference_count[image]
        summed = transposed @ csr_array((share, image, np.arange(len(image) + 1)), shape=(len(image), images))
        of_this_length = np.flatnonzero(captions.lengths == length)
        for start in range(0, len(of_this_length), CHUNK):
            rows = of_this_length[start : start + CHUNK]
            scores[rows] = (captions.weights[rows] @ summed).toarray()
    return scores


Pair = Int64[Numbers, "pair"]  # a number for each pair of a caption and an image


def pair_scores(
    captions: SentenceVectors, references: SentenceVectors, first: Pair, count: Pair, *, without: Pair | None = None
) -> Float32[Numbers, "pair"]:
    """Return CIDEr-D of each caption with one image.

    Args:
        captions: one per pair.
        references: of all images.
        first: the number of the image's first reference.
        count: how many references follow each other from there.
        without: the number of a reference to leave out.
    """
    pair, reference = np.repeat(np.arange(len(count)), count), runs(first, count)
    if without is not None:
        others = reference != without[pair]
        pair, reference, count = pair[others], reference[others], count - 1
    left, right = captions[pair], references[reference]
    products = np.asarray((left.weights * right.weights).sum(axis=1)) * length_penalty(left.lengths - right.lengths)
    return (np.bincount(pair, weights=products, minlength=len(count)) * SCALE / ORDERS / count).astype(np.float32)


def length_penalty(difference: Int64[Numbers, "*shape"]) -> Float64[Numbers, "*shape"]:
    """Return exp(-(|c| - |r|)² / 2σ²) of a difference in words."""
    return np.exp(-(difference**2) / (2 * SIGMA**2))
