"""CIDEr-D between captions and the captions of images (Vedantam et al. 2015), exactly, for whole test sets.

For a caption c and a reference r (METHODS 2.1):

    CIDEr-D(c, r) = 10 exp(-(|c| - |r|)² / 2σ²) · 1/4 Σ_{n=1..4}  Σ_g w_g² min(c_g, r_g) r_g / (‖c‖ ‖r‖)

over the n-grams g, where c_g and r_g are counts, |c| words, w_g the log of images per image with g, and ‖c‖ the norm of
w_g c_g over the n-grams of one order; then the mean over an image's references. Because min(c, r) = Σ_t [c ≥ t][r ≥ t],
the sum is an inner product of two sparse vectors with an entry for each n-gram g and level t: w_g [c_g ≥ t] of the
caption, w_g r_g [r_g ≥ t] of the reference. A whole matrix is one sparse product.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64, Int64
from scipy.sparse import coo_array, csr_array
from torch import Tensor

from ..errors import ItmlabError
from .words import caption_words, check_references

ORDERS = 4  # CIDEr's n-grams have one to four words
SIGMA = 6.0  # words: the deviation of the length penalty
SCALE = 10.0  # CIDEr-D is ten times a mean cosine
CHUNK = 1024  # captions scored at once, which bounds the memory
Numbers = np.ndarray
Pair = Int64[Numbers, "pair"]  # a number for each pair of a caption and an image


def cider_matrix(captions: Sequence[str], references: Sequence[Sequence[str]]) -> Float[Tensor, "caption image"]:
    """Return CIDEr-D (0 to 10) of each caption against the references of each image: SAM's N (Eq. 3), transposed.

    Words are lower-cased and cut at spaces, as by the public NCS code. Document frequencies come from the references. A
    caption without words scores 0, with a warning.

    Args:
        captions: the captions.
        references: the captions of each image.

    Raises:
        ItmlabError: an image without references, references without any word, or a single image.

    >>> cider_matrix(["a dog runs", "one cat"], [["a dog runs", "dog"], ["one cat"]])
    tensor([[4.4327, 0.0000],
            [0.0000, 5.0000]])
    """
    return Cider(references).matrix(captions)


@dataclass(frozen=True, eq=False)
class SentenceVectors:
    """Weighted indicators of sentences. `vectors[rows]` selects sentences.

    Attributes:
        weights: of shape (sentence, (n-gram, level)).
        lengths: in words.
    """

    weights: csr_array
    lengths: Int64[Numbers, "sentence"]

    def __getitem__(self, rows: Int64[Numbers, "chosen"]) -> "SentenceVectors":
        return SentenceVectors(self.weights[rows], self.lengths[rows])


class Cider:
    """CIDEr-D fitted once on the references of images. See `cider_matrix` for the arguments.

    Attributes:
        captions: the references, image by image, as captions.
        references: the references as references.
        columns: the column of each n-gram, which only captions that are not references need.
    """

    def __init__(self, references: Sequence[Sequence[str]]):
        self.references_per_image = check_references(references, str)
        sentences = caption_words([caption for captions in references for caption in captions])
        if not any(sentences):
            raise ItmlabError("no reference has a word in it", remedy="give at least one caption with words")
        if len(references) < 2:
            message = "with the document frequencies of a single image every word has the weight 0"
            raise ItmlabError(message, remedy="give the references of several images")
        self.first = self.references_per_image.cumsum() - self.references_per_image
        self.image = np.repeat(np.arange(len(references)), self.references_per_image)
        counts, self.columns = count_ngrams(sentences)
        # an image with all its captions is one document
        row = np.repeat(self.image, np.diff(counts.indptr))
        in_images = np.unique(row * counts.shape[1] + counts.indices.astype(np.int64)) % counts.shape[1]
        self._documents = np.bincount(in_images, minlength=counts.shape[1])
        self._levels = counts.max(axis=0).toarray().astype(np.int64)
        self.captions = self._vectors(sentences, counts, self.columns)
        self.references = self._vectors(sentences, counts, self.columns, times_count=True)

    def matrix(
        self, captions: Sequence[str] | None = None, *, leave_one_out: bool = False
    ) -> Float[Tensor, "caption image"]:
        """Return the scores of captions against every image.

        Args:
            captions: by default the references themselves, image by image.
            leave_one_out: compare each reference with the other references of its own image only.

        Raises:
            ItmlabError: `leave_one_out` with other captions, or with an image that has a single reference.
        """
        if captions is not None:
            sentences = caption_words(captions)
            scores = self._scores(self._vectors(sentences, *count_ngrams(sentences)))
        else:
            scores = self._scores(self.captions)
        if leave_one_out:
            check_left_out(captions, self.references_per_image)
            for rows in np.array_split(np.arange(len(self.image)), len(self.image) // CHUNK + 1):
                scores[rows, self.image[rows]] = self.pairs(rows, self.image[rows], left_out=True)
        return torch.from_numpy(scores)

    def pairs(self, captions: Pair, images: Pair, *, left_out: bool = False) -> Float32[Numbers, "pair"]:
        """Return CIDEr-D of references, numbered image by image, each with one image.

        Args:
            captions: the number of a reference, per pair.
            images: the number of an image, per pair.
            left_out: a caption is not compared with itself.
        """
        count = self.references_per_image[images]
        pair, reference = np.repeat(np.arange(len(count)), count), _runs(self.first[images], count)
        if left_out:
            others = reference != captions[pair]
            pair, reference, count = pair[others], reference[others], count - 1
        left, right = self.captions[captions[pair]], self.references[reference]
        products = np.asarray((left.weights * right.weights).sum(axis=1)) * length_penalty(left.lengths - right.lengths)
        return (np.bincount(pair, weights=products, minlength=len(count)) * SCALE / ORDERS / count).astype(np.float32)

    def _vectors(
        self, sentences: list[list[str]], counts: csr_array, columns: Mapping[str, int], *, times_count: bool = False
    ) -> SentenceVectors:
        """Return rarity over norm at each level 1..count of each n-gram of each sentence.

        The norm is that of all n-grams of the same order in the sentence, known or not.

        Args:
            sentences: as words.
            counts: as `count_ngrams` returns them.
            columns: as `count_ngrams` returns them.
            times_count: multiply by the count, for references.
        """
        place = np.fromiter((self.columns.get(ngram, -1) for ngram in columns), np.int64, len(columns))
        documents = np.where(place < 0, 1, self._documents[place])  # an n-gram that no image has counts as seen once
        rarity = np.log(len(self.references_per_image)) - np.log(documents)
        orders = np.fromiter((ngram.count(" ") for ngram in columns), np.int64, len(columns))

        row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        group = row * ORDERS + orders[counts.indices]
        weight = rarity[counts.indices]
        norm = np.sqrt(np.bincount(group, weights=(counts.data * weight) ** 2, minlength=counts.shape[0] * ORDERS))
        target = place[counts.indices]
        known = (target >= 0) & (weight > 0)
        row, target, count = row[known], target[known], counts.data[known].astype(np.int64)
        value = weight[known] / norm[group[known]] * (count if times_count else 1)
        height = np.minimum(count, self._levels[target])  # levels that no reference reaches meet nothing
        column = _runs((self._levels.cumsum() - self._levels)[target], height)
        ends = np.bincount(row, weights=height, minlength=counts.shape[0]).cumsum().astype(np.int64)
        shape = counts.shape[0], int(self._levels.sum())
        weights = csr_array((np.repeat(value, height), column, np.concatenate([[0], ends])), shape=shape)
        return SentenceVectors(weights, np.array([len(words) for words in sentences]))

    def _scores(self, captions: SentenceVectors) -> Float32[Numbers, "caption image"]:
        """Return CIDEr-D of captions with the references of all images.

        For captions of one length the penalty is a number per reference, so that the references of an image add up to
        one vector beforehand: captions are multiplied with images, not with references.
        """
        images = len(self.references_per_image)
        scores = np.empty((len(captions.lengths), images), dtype=np.float32)
        transposed = self.references.weights.T.tocsr()
        for length in np.unique(captions.lengths):
            penalty = length_penalty(length - self.references.lengths)
            share = penalty * SCALE / ORDERS / self.references_per_image[self.image]
            of_images = csr_array((share, self.image, np.arange(len(share) + 1)), shape=(len(share), images))
            summed = transposed @ of_images
            of_this_length = np.flatnonzero(captions.lengths == length)
            for start in range(0, len(of_this_length), CHUNK):
                rows = of_this_length[start : start + CHUNK]
                scores[rows] = (captions.weights[rows] @ summed).toarray()
        return scores


def count_ngrams(sentences: Sequence[Sequence[str]]) -> tuple[csr_array, dict[str, int]]:
    """Return how often each n-gram occurs in each sentence (sentence, ngram), and the column of each n-gram.

    >>> counts, columns = count_ngrams([["a", "dog"], ["a", "a"]])
    >>> columns, counts.toarray().tolist()
    ({'a': 0, 'dog': 1, 'a dog': 2, 'a a': 3}, [[1.0, 1.0, 1.0, 0.0], [2.0, 0.0, 0.0, 1.0]])
    """
    column_of: dict[str, int] = {}
    rows, columns = [], []
    for row, words in enumerate(sentences):
        for order in range(1, ORDERS + 1):
            for start in range(len(words) - order + 1):
                ngram = " ".join(words[start : start + order])
                columns.append(column_of.setdefault(ngram, len(column_of)))
                rows.append(row)
    counts = coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(sentences), len(column_of)))
    return counts.tocsr(), column_of  # repetitions add up


def length_penalty(difference: Int64[Numbers, "*shape"]) -> Float64[Numbers, "*shape"]:
    """Return exp(-(|c| - |r|)² / 2σ²) of a difference in words."""
    return np.exp(-(difference**2) / (2 * SIGMA**2))


def check_left_out(captions: Sequence[Any] | None, references_per_image: Int64[Numbers, "image"]) -> None:
    """Raise an ItmlabError unless the captions are the references, and none of them is its image's only one."""
    if captions is not None:
        raise ItmlabError("leave_one_out compares the references with one another", remedy="give no captions")
    if (references_per_image == 1).any():
        image = int(np.argmax(references_per_image == 1))
        message = f"the only reference of image {image} cannot be left out"
        raise ItmlabError(message, remedy="leave images with one caption out")


def _runs(first: Int64[Numbers, "run"], lengths: Int64[Numbers, "run"]) -> Int64[Numbers, "number"]:
    """Return the numbers first, first + 1, ... of each run, run after run."""
    return np.arange(lengths.sum()) + np.repeat(first - (lengths.cumsum() - lengths), lengths)
