"""What CIDEr-D is computed with: n-gram counts, document frequencies, and sums of minima as sparse products.

CIDEr-D (Vedantam et al. 2015) compares counts by Σ_g w_g² min(c_g, r_g) r_g. Because min(c, r) = Σ_t [c ≥ t][r ≥ t],
the sum is an inner product of two sparse vectors with an entry for each n-gram g and level t: w_g [c_g ≥ t] of the
caption, w_g r_g [r_g ≥ t] of the reference. `indicators` makes them, and a whole matrix is one product (`cider.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float32, Float64, Int64
from scipy.sparse import coo_array, csr_array

from .ptb import Tokenise, reference_words

ORDERS = 4  # CIDEr's n-grams have one to four words
SIGMA = 6.0  # words: the deviation of the length penalty
SCALE = 10.0  # CIDEr-D is ten times a mean cosine
Numbers = np.ndarray


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The n-grams of some sentences, numbered in one row: all single words first, then all pairs, and so on.

    An n-gram of two or more words is the number of its first n - 1 words (within their order) times the number of
    distinct words, plus the number of its last word: `keys[n - 2]` holds these, sorted.
    """

    words: tuple[str, ...]
    keys: tuple[Int64[Numbers, "ngram"], ...]

    @property
    def sizes(self) -> list[int]:
        """How many n-grams of each order there are."""
        return [len(self.words), *(len(keys) for keys in self.keys)]

    def __len__(self) -> int:
        return sum(self.sizes)

    @property
    def orders(self) -> Int64[Numbers, "ngram"]:
        """The order of each n-gram, from 0 for a single word."""
        return np.repeat(np.arange(ORDERS), self.sizes)

    def locate(self, other: "Vocabulary") -> Int64[Numbers, "other"]:
        """The number that each n-gram of another vocabulary has in this one, -1 where it has none."""
        if other is self:
            return np.arange(len(self))
        numbers = {word: number for number, word in enumerate(self.words)}
        word = np.array([numbers.get(text, -1) for text in other.words], dtype=np.int64)
        previous, found, first = word, [word], len(self.words)
        for mine, theirs in zip(self.keys, other.keys, strict=True):
            # an n-gram is here when its first n - 1 words are, its last word is, and the two stand together
            head, tail = previous[theirs // max(1, len(other.words))], word[theirs % max(1, len(other.words))]
            key = np.where((head < 0) | (tail < 0), -1, head * len(self.words) + tail)
            place = np.searchsorted(mine, key)
            known = place < len(mine)
            known[known] = mine[place[known]] == key[known]
            previous = np.where(known, place, -1)
            found.append(np.where(known, place + first, -1))
            first += len(mine)
        return np.concatenate(found)


def count_ngrams(sentences: Sequence[Sequence[str]]) -> tuple[csr_array, Vocabulary]:
    """How often each n-gram occurs in each sentence (sentence, ngram), and the vocabulary of the columns.

    >>> counts, vocabulary = count_ngrams([["a", "dog"], ["a", "a"]])
    >>> vocabulary.sizes, counts.toarray().tolist()
    ([2, 2, 0, 0], [[1.0, 1.0, 0.0, 1.0], [2.0, 0.0, 1.0, 0.0]])
    """
    flat, lengths, words = _numbered(sentences)
    sentence = np.repeat(np.arange(len(sentences)), lengths)
    end = np.repeat(lengths.cumsum(), lengths)
    position, ngram, first = np.arange(len(flat)), flat, len(words)
    rows, columns, keys = [sentence], [flat], []
    for order in range(2, ORDERS + 1):
        fits = position + order - 1 < end[position]
        position = position[fits]
        key, ngram = np.unique(ngram[fits] * len(words) + flat[position + order - 1], return_inverse=True)
        rows.append(sentence[position])
        columns.append(ngram + first)
        keys.append(key)
        first += len(key)
    where = np.concatenate(rows), np.concatenate(columns)
    counts = coo_array((np.ones(len(where[0])), where), shape=(len(sentences), first)).tocsr()  # adds up repetitions
    return counts, Vocabulary(words, tuple(keys))


def _numbered(
    sentences: Sequence[Sequence[str]],
) -> tuple[Int64[Numbers, "word"], Int64[Numbers, "sentence"], tuple[str, ...]]:
    """All words in a row as numbers, the sentences' lengths, and what the numbers stand for."""
    numbers: dict[str, int] = {}
    flat = np.array([numbers.setdefault(word, len(numbers)) for words in sentences for word in words], dtype=np.int64)
    return flat, np.array([len(words) for words in sentences], dtype=np.int64), tuple(numbers)


@dataclass(frozen=True, eq=False)
class DocumentFrequencies:
    """In how many of `documents` images each n-gram occurs (one image with all its captions is one document)."""

    vocabulary: Vocabulary
    counts: Int64[Numbers, "ngram"]
    documents: int

    @classmethod
    def of(cls, references: Sequence[Sequence[str]], *, tokenise: Tokenise = "whitespace") -> Self:
        """The document frequencies of a split, from the captions of each of its images.

        >>> frequencies = DocumentFrequencies.of([["a dog", "one dog"], ["a cat"]])
        >>> frequencies.documents, dict(zip(frequencies.vocabulary.words, frequencies.counts.tolist()))
        (2, {'a': 2, 'dog': 1, 'one': 1, 'cat': 1})
        """
        sentences, held = reference_words(references, tokenise)
        return cls.counted(*count_ngrams(sentences), np.repeat(np.arange(len(held)), held))

    @classmethod
    def counted(cls, counts: csr_array, vocabulary: Vocabulary, image: Int64[Numbers, "sentence"]) -> Self:
        """The same from n-gram counts and the image of each sentence (sorted)."""
        row = np.repeat(image, np.diff(counts.indptr))
        pairs = np.unique(row * counts.shape[1] + counts.indices.astype(np.int64))
        return cls(vocabulary, np.bincount(pairs % counts.shape[1], minlength=counts.shape[1]), int(image[-1]) + 1)

    def rarity(self, vocabulary: Vocabulary) -> Float64[Numbers, "ngram"]:
        """w_g = log(documents / document frequency) of a vocabulary's n-grams; one never seen counts as seen once."""
        where = self.vocabulary.locate(vocabulary)
        seen = np.where(where < 0, 0, self.counts[where])
        return np.log(self.documents) - np.log(np.maximum(1, seen))


@dataclass(frozen=True, eq=False)
class SentenceVectors:
    """Weighted indicators (sentence, (n-gram, level)) and the lengths in words; `vectors[rows]` picks sentences."""

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
    """Rarity over norm (times the count, for a reference) at each level 1..count of each n-gram of each sentence.

    `place` is an n-gram's number in the fitted vocabulary (-1: not there), `levels` the largest count that is seen
    there. The norm is that of all n-grams of the same order in the sentence, known or not.
    """
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    group = row * ORDERS + orders[counts.indices]
    weight = rarity[counts.indices]
    norm = np.sqrt(np.bincount(group, weights=(counts.data * weight) ** 2, minlength=counts.shape[0] * ORDERS))
    target = place[counts.indices]
    known = (target >= 0) & (weight > 0)
    row, target, count = row[known], target[known], counts.data[known].astype(np.int64)
    value = weight[known] / norm[group[known]] * (count if times_count else 1)
    height = np.minimum(count, levels[target])  # what no reference says so often needs no level: it meets nothing there
    column = runs((levels.cumsum() - levels)[target], height)
    ends = np.bincount(row, weights=height, minlength=counts.shape[0]).cumsum().astype(np.int64)
    shape = counts.shape[0], int(levels.sum())
    return csr_array((np.repeat(value, height), column, np.concatenate([[0], ends])), shape=shape)


def runs(first: Int64[Numbers, "run"], lengths: Int64[Numbers, "run"]) -> Int64[Numbers, "number"]:
    """The numbers first, first + 1, ... of each run, as many as it is long, run after run."""
    return np.arange(lengths.sum()) + np.repeat(first - (lengths.cumsum() - lengths), lengths)


def image_scores(
    captions: SentenceVectors, references: SentenceVectors, image: Int64[Numbers, "reference"], images: int, chunk: int
) -> Float32[Numbers, "caption image"]:
    """CIDEr-D of captions with the references of images, length by length and at most `chunk` captions at once.

    For captions of one length the penalty is a number a reference, so that the references of an image add up to one
    vector beforehand: captions are multiplied with images, not with references.
    """
    scores = np.empty((len(captions), images), dtype=np.float32)
    transposed = references.weights.T.tocsr()
    held = np.bincount(image, minlength=images)
    for length in np.unique(captions.lengths):
        share = length_penalty(length - references.lengths) * SCALE / ORDERS / held[image]
        summed = transposed @ csr_array((share, image, np.arange(len(image) + 1)), shape=(len(image), images))
        mine = np.flatnonzero(captions.lengths == length)
        for first in range(0, len(mine), chunk):
            rows = mine[first : first + chunk]
            scores[rows] = (captions.weights[rows] @ summed).toarray()
    return scores


Pair = Int64[Numbers, "pair"]  # a number for each pair of a caption and an image


def pair_scores(
    captions: SentenceVectors, references: SentenceVectors, first: Pair, held: Pair, *, without: Pair | None = None
) -> Float32[Numbers, "pair"]:
    """CIDEr-D of each caption with one image: `held` references from number `first` on, `without` one of them."""
    pair, reference = np.repeat(np.arange(len(held)), held), runs(first, held)
    if without is not None:
        other = reference != without[pair]
        pair, reference, held = pair[other], reference[other], held - 1
    left, right = captions[pair], references[reference]
    products = np.asarray((left.weights * right.weights).sum(axis=1)) * length_penalty(left.lengths - right.lengths)
    return (np.bincount(pair, weights=products, minlength=len(held)) * SCALE / ORDERS / held).astype(np.float32)


def length_penalty(difference: Int64[Numbers, "*shape"]) -> Float64[Numbers, "*shape"]:
    """exp(-(|c| - |r|)² / 2σ²), the difference in words."""
    return np.exp(-(difference**2) / (2 * SIGMA**2))
