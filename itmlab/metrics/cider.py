"""CIDEr-D between captions and the captions of images (Vedantam et al. 2015), exactly, for whole test sets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor

from ..errors import ItmlabError
from .ngrams import (
    DocumentFrequencies,
    Numbers,
    SentenceVectors,
    count_ngrams,
    image_scores,
    indicators,
    load_words,
    packed,
    pair_scores,
    save_words,
)
from .ptb import Tokenise, caption_words, reference_words

# Indices that a caller chose.


def chosen(
    numbers: Sequence[int] | Int64[Tensor, "number"], count: int, what: str, *, least: int = 0
) -> Int64[Numbers, "number"]:
    """Indices as an array; ItmlabError unless they are whole numbers from `least` below `count`."""
    found = np.asarray(numbers)
    if found.ndim != 1 or (found.size and not np.issubdtype(found.dtype, np.integer)):
        raise ItmlabError(f"{what} numbers must be a row of whole numbers, not {found.dtype} {found.shape}")
    wrong = found[(found < least) | (found >= count)]
    if wrong.size:
        raise ItmlabError(f"there is no {what} {wrong[0]} among {count}")
    return found.astype(np.int64)


# Scoring a caption against its own image without itself among the references.


def own_references(
    captions: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    image_of_reference: Int64[Numbers, "reference"],
    image_of_caption: Sequence[int] | None,
) -> Int64[Numbers, "caption"]:
    """Which reference each caption is: the first of its image with the same words; -1 for a caption of no image (-1).

    Without images the captions are the references in their order. ItmlabError: a caption that is not among the
    references of its image, numbers that do not match.
    """
    if image_of_caption is not None:
        image_of_caption = chosen(image_of_caption, int(image_of_reference[-1]) + 1, "image", least=-1)
        if len(image_of_caption) != len(captions):
            raise ItmlabError(f"image_of_caption has {len(image_of_caption)} entries for {len(captions)} captions")
    elif len(captions) == len(references):
        image_of_caption = image_of_reference
    else:
        raise ItmlabError(
            f"{len(captions)} captions are not the {len(references)} references in their order",
            remedy="pass image_of_caption=",
        )
    numbers: dict[tuple[int, tuple[str, ...]], int] = {}
    for number, (image, words) in enumerate(zip(image_of_reference.tolist(), references, strict=True)):
        numbers.setdefault((image, tuple(words)), number)
    own = [
        -1 if image < 0 else numbers.get((image, tuple(words)))
        for image, words in zip(image_of_caption.tolist(), captions, strict=True)
    ]
    if None in own:
        index = own.index(None)
        raise ItmlabError(
            f"caption {index} is not among the references of image {image_of_caption[index]}: it cannot be left out",
            remedy="correct image_of_caption, or put -1 for a caption of no image",
        )
    return np.array(own, dtype=np.int64)


def leave_own_out(
    scores: Float32[Numbers, "caption image"],
    captions: SentenceVectors,
    references: SentenceVectors,
    image_of_reference: Int64[Numbers, "reference"],
    own: Int64[Numbers, "caption"],
    chunk: int,
) -> None:
    """Write the mean over the other references into each caption's score with its own image (in place).

    ItmlabError: an image whose only reference is the caption.
    """
    held = np.bincount(image_of_reference)
    first = held.cumsum() - held
    mine = np.flatnonzero(own >= 0)
    image = image_of_reference[own[mine]]
    if (held[image] == 1).any():
        raise ItmlabError(f"image {image[held[image] == 1][0]} has no reference left when its own caption is left out")
    for start in range(0, len(mine), chunk):
        rows, images = mine[start : start + chunk], image[start : start + chunk]
        scores[rows, images] = pair_scores(captions[rows], references, first[images], held[images], without=own[rows])


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
