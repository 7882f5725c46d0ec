"""In how many images each n-gram occurs, and how much it therefore says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from jaxtyping import Float64, Int64

from itmlab.metrics.ngrams import Numbers, Vocabulary, count_ngrams
from itmlab.metrics.words import Tokenise, reference_words

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class DocumentFrequencies:
    """In how many of `documents` images each n-gram occurs (one image with all its captions is one document)."""

    vocabulary: Vocabulary
    counts: Int64[Numbers, "ngram"]
    documents: int

    @classmethod
    def of(cls, references: Sequence[Sequence[str]], *, tokenise: Tokenise = "whitespace") -> Self:
        """The document frequencies of a split, from the captions of each of its images."""
        sentences, held = reference_words(references, tokenise)
        return cls.counted(*count_ngrams(sentences), np.repeat(np.arange(len(held)), held))

    @classmethod
    def counted(cls, counts: "csr_array", vocabulary: Vocabulary, image: Int64[Numbers, "sentence"]) -> Self:
        """The same from n-gram counts and the image of each sentence (sorted)."""
        row = np.repeat(image, np.diff(counts.indptr))
        pairs = np.unique(row * counts.shape[1] + counts.indices.astype(np.int64))
        return cls(vocabulary, np.bincount(pairs % counts.shape[1], minlength=counts.shape[1]), int(image[-1]) + 1)

    def rarity(self, vocabulary: Vocabulary) -> Float64[Numbers, "ngram"]:
        """log(documents / document frequency) of each n-gram of a vocabulary; one never seen counts as seen once."""
        if vocabulary is self.vocabulary:
            seen = self.counts
        else:
            where = self.vocabulary.locate(vocabulary)
            seen = np.where(where < 0, 0, self.counts[where])
        return np.log(self.documents) - np.log(np.maximum(1, seen))
