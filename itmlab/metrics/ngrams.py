"""Counting the runs of one to four words in sentences, as a sparse matrix."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int64

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ORDERS = 4  # CIDEr's runs have one to four words
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
        numbers = {word: number for number, word in enumerate(self.words)}
        word = np.array([numbers.get(text, -1) for text in other.words], dtype=np.int64)
        previous, found, first = word, [word], len(self.words)
        for mine, theirs in zip(self.keys, other.keys, strict=True):
            head, tail = previous[theirs // max(1, len(other.words))], word[theirs % max(1, len(other.words))]
            key = np.where((head < 0) | (tail < 0), -1, head * len(self.words) + tail)
            place = np.searchsorted(mine, key)
            known = place < len(mine)
            known[known] = mine[place[known]] == key[known]
            previous = np.where(known, place, -1)
            found.append(np.where(known, place + first, -1))
            first += len(mine)
        return np.concatenate(found)


def count_ngrams(sentences: Sequence[Sequence[str]]) -> tuple["csr_array", Vocabulary]:
    """How often each n-gram occurs in each sentence (sentence, ngram), and the vocabulary of the columns."""
    from scipy.sparse import coo_array

    numbers: dict[str, int] = {}
    flat = np.array([numbers.setdefault(word, len(numbers)) for words in sentences for word in words], dtype=np.int64)
    lengths = np.array([len(words) for words in sentences], dtype=np.int64)
    sentence = np.repeat(np.arange(len(sentences)), lengths)
    end = np.repeat(lengths.cumsum(), lengths)
    position, ngram, first = np.arange(len(flat)), flat, len(numbers)
    rows, columns, keys = [sentence], [flat], []
    for order in range(2, ORDERS + 1):
        fits = position + order - 1 < end[position]
        position = position[fits]
        key, ngram = np.unique(ngram[fits] * len(numbers) + flat[position + order - 1], return_inverse=True)
        rows.append(sentence[position])
        columns.append(ngram + first)
        keys.append(key)
        first += len(key)
    where = np.concatenate(rows), np.concatenate(columns)
    counts = coo_array((np.ones(len(where[0])), where), shape=(len(sentences), first)).tocsr()  # adds up repetitions
    return counts, Vocabulary(tuple(numbers), tuple(keys))
