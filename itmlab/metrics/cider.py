"""CIDEr-D between captions and the captions of images (Vedantam et al. 2015), exactly, for whole test sets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.metrics.chosen import chosen
from itmlab.metrics.cider_file import load_words, save_words
from itmlab.metrics.document_frequencies import DocumentFrequencies
from itmlab.metrics.indicators import SentenceVectors, image_scores, indicators, packed, pair_scores
from itmlab.metrics.leave_one_out import leave_own_out, own_references
from itmlab.metrics.ngrams import Numbers, count_ngrams
from itmlab.metrics.words import Tokenise, caption_words, reference_words


def cider_matrix(
    captions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenise: Tokenise = "whitespace",
    document_frequencies: DocumentFrequencies | None = None,
    image_of_caption: Sequence[int] | None = None,
    leave_one_out: bool = False,
    chunk: int = 1024,
) -> Float[Tensor, "caption image"]:
    """CIDEr-D (0 to 10) of each caption against the references of each image: SAM's relevance N (Eq. 3), transposed.

    Document frequencies come from the references unless given. With `leave_one_out` a caption is not among the
    references of its own image, `image_of_caption` (-1: of none; not given: the captions are the references in their
    order). `chunk` captions are scored at once; the result does not depend on it. ItmlabError: a caption without
    words, an image without references, lengths that do not match, the document frequencies of a single image.
    """
    cider = Cider(references, tokenise=tokenise, document_frequencies=document_frequencies)
    return cider.matrix(captions, image_of_caption=image_of_caption, leave_one_out=leave_one_out, chunk=chunk)


class Cider:
    """CIDEr-D fitted once on the references of images, for whole matrices and for the pairs of a training batch.

    For a caption c and a reference r it is 10 exp(-(Δ words)² / 2σ²) · mean over n = 1..4 of
    Σ_g w_g² min(c_g, r_g) r_g / (‖c‖ ‖r‖) over the n-grams g, where c_g and r_g are counts and w_g is the log of images
    per image with g; then the mean over an image's references. min(c_g, r_g) = Σ_t [c_g ≥ t][r_g ≥ t] makes it an inner
    product of sparse indicators. `captions` are the references themselves, image by image, as captions.
    """

    def __init__(
        self,
        references: Sequence[Sequence[str]],
        *,
        tokenise: Tokenise = "whitespace",
        document_frequencies: DocumentFrequencies | None = None,
    ):
        sentences, held = reference_words(references, tokenise)
        self._fit(sentences, np.array(held), tokenise, document_frequencies)

    def _fit(
        self,
        sentences: list[list[str]],
        held: Int64[Numbers, "image"],
        tokenise: Tokenise,
        document_frequencies: DocumentFrequencies | None,
    ) -> None:
        self.sentences, self.held, self.tokenise = sentences, held, tokenise
        self._given_frequencies = document_frequencies
        self.first = held.cumsum() - held
        self.image = np.repeat(np.arange(len(held)), held)
        counts, self.vocabulary = count_ngrams(sentences)
        self.document_frequencies = document_frequencies or DocumentFrequencies.counted(
            counts, self.vocabulary, self.image
        )
        if self.document_frequencies.documents < 2:
            raise ItmlabError(
                "with the document frequencies of a single image every word has the weight 0",
                remedy="pass document_frequencies= of a larger split",
            )
        rarity = self.document_frequencies.rarity(self.vocabulary)
        self._levels = np.zeros(len(self.vocabulary), dtype=np.int64)
        np.maximum.at(self._levels, counts.indices, counts.data.astype(np.int64))
        lengths = np.array([len(words) for words in sentences])
        here = np.arange(len(self.vocabulary))
        self.captions, self.references = (
            SentenceVectors(
                indicators(counts, self.vocabulary.orders, rarity, here, self._levels, times_count=times_count), lengths
            )
            for times_count in (False, True)
        )

    def vectors(self, captions: Sequence[str]) -> SentenceVectors:
        """New captions prepared for `between` and `matrix`; ItmlabError naming a caption without words."""
        sentences = caption_words(captions, self.tokenise)
        counts, vocabulary = count_ngrams(sentences)
        rarity, place = self.document_frequencies.rarity(vocabulary), self.vocabulary.locate(vocabulary)
        weights = indicators(counts, vocabulary.orders, rarity, place, self._levels, times_count=False)
        return SentenceVectors(weights, np.array([len(words) for words in sentences]))

    def matrix(
        self,
        captions: Sequence[str] | SentenceVectors | None = None,
        *,
        image_of_caption: Sequence[int] | None = None,
        leave_one_out: bool = False,
        chunk: int = 1024,
    ) -> Float[Tensor, "caption image"]:
        """Captions (not given: the references themselves) against every image; see `cider_matrix`."""
        if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
            raise ItmlabError(f"captions cannot be scored chunk={chunk!r} at once", remedy="choose a whole number")
        if captions is None:
            vectors = self.captions
        else:
            vectors = captions if isinstance(captions, SentenceVectors) else self.vectors(captions)
        if not leave_one_out:
            return torch.from_numpy(image_scores(vectors, self.references, self.image, len(self.held), chunk))
        if isinstance(captions, SentenceVectors):
            raise ItmlabError("prepared vectors cannot be left out of their references", remedy="pass the captions")
        sentences = self.sentences if captions is None else caption_words(captions, self.tokenise)
        own = own_references(sentences, self.sentences, self.image, image_of_caption)
        scores = image_scores(vectors, self.references, self.image, len(self.held), chunk)
        leave_own_out(scores, vectors, self.references, self.image, own, chunk)
        return torch.from_numpy(scores)

    def between(
        self, captions: Int64[Tensor, "caption"] | SentenceVectors, images: Int64[Tensor, "image"]
    ) -> Float[Tensor, "caption image"]:
        """Some captions against some images: exactly that part of `matrix`, for the cost of the part.

        Captions are numbers of `Cider.captions` (the references image by image) or prepared `vectors`.
        """
        images = chosen(images, len(self.held), "image")
        if not isinstance(captions, SentenceVectors):
            captions = self.captions[chosen(captions, len(self.captions), "caption")]
        held = self.held[images]
        rows = np.arange(held.sum()) + np.repeat(self.first[images] - (held.cumsum() - held), held)
        image = np.repeat(np.arange(len(images)), held)
        captions, references = packed(captions, self.references[rows])
        return torch.from_numpy(image_scores(captions, references, image, len(images), max(1, len(captions))))

    def pairs(
        self, captions: Int64[Tensor, "pair"] | SentenceVectors, images: Int64[Tensor, "pair"]
    ) -> Float[Tensor, "pair"]:
        """The score of each caption with the image in the same place: `matrix[captions, images]` without the matrix."""
        images = chosen(images, len(self.held), "image")
        if not isinstance(captions, SentenceVectors):
            captions = self.captions[chosen(captions, len(self.captions), "caption")]
        if len(captions) != len(images):
            raise ItmlabError(f"{len(captions)} captions cannot be paired with {len(images)} images")
        return torch.from_numpy(pair_scores(captions, self.references, self.first[images], self.held[images]))

    def save(self, path: str | Path) -> None:
        """Write the words of the references, and given document frequencies, to one `.npz` file without pickle."""
        save_words(path, self.sentences, self.held, self.tokenise, self._given_frequencies)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Fit again on the words in a file of `save`; ItmlabError when it is missing or damaged."""
        cider = cls.__new__(cls)
        cider._fit(*load_words(path))
        return cider
