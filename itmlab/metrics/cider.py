"""CIDEr-D between captions and the captions of images (Vedantam et al. 2015), exactly, for whole test sets.

For a caption c and a reference r (METHODS 2.1):

    CIDEr-D(c, r) = 10 exp(-(|c| - |r|)² / 2σ²) · 1/4 Σ_{n=1..4}  Σ_g w_g² min(c_g, r_g) r_g / (‖c‖ ‖r‖)

over the n-grams g, where c_g and r_g are counts, |c| words, w_g the log of images per image with g, and ‖c‖ the norm of
w_g c_g over the n-grams of one order; then the mean over an image's references. `ngrams.py` has the sparse product that
gives this for all pairs at once, with no approximation.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy.sparse import csr_array
from torch import Tensor

from ..errors import ItmlabError
from .ngrams import (
    DocumentFrequencies,
    Numbers,
    SentenceVectors,
    Vocabulary,
    count_ngrams,
    image_scores,
    indicators,
    pair_scores,
    runs,
)
from .ptb import Tokenise, caption_words, reference_words

Captions = Int64[Tensor, "caption"] | SentenceVectors  # numbers of `Cider.captions`, or new ones prepared by `vectors`


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
    order). `chunk` captions are scored at once; the result does not depend on it. A caption without words counts as
    empty, scores 0 and is warned of. ItmlabError: an image without references, references without any word, lengths
    that do not match, the document frequencies of a single image.

    >>> cider_matrix(["a dog runs", "one cat"], [["a dog runs", "dog"], ["one cat"]])
    tensor([[4.4327, 0.0000],
            [0.0000, 5.0000]])
    """
    cider = Cider(references, tokenise=tokenise, document_frequencies=document_frequencies)
    return cider.matrix(captions, image_of_caption=image_of_caption, leave_one_out=leave_one_out, chunk=chunk)


class Cider:
    """CIDEr-D fitted once on the references of images, for whole matrices and for the pairs of a training batch.

    `captions` are the references themselves, image by image, as captions.
    """

    def __init__(
        self,
        references: Sequence[Sequence[str]],
        *,
        tokenise: Tokenise = "whitespace",
        document_frequencies: DocumentFrequencies | None = None,
    ):
        sentences, counts_of_image = reference_words(references, tokenise)
        held = np.array(counts_of_image)
        self.sentences, self.held, self.tokenise = sentences, held, tokenise
        self.first = held.cumsum() - held
        self.image = np.repeat(np.arange(len(held)), held)
        counts, self.vocabulary = count_ngrams(sentences)
        counted = DocumentFrequencies.counted(counts, self.vocabulary, self.image)
        self.document_frequencies = document_frequencies or counted
        if self.document_frequencies.documents < 2:
            raise ItmlabError(
                "with the document frequencies of a single image every word has the weight 0",
                remedy="pass document_frequencies= of a larger split",
            )
        self._levels = counts.max(axis=0).toarray().astype(np.int64)
        self.captions = self._vectors(sentences, counts, self.vocabulary)
        self.references = self._vectors(sentences, counts, self.vocabulary, times_count=True)

    def _vectors(
        self, sentences: list[list[str]], counts: csr_array, vocabulary: Vocabulary, *, times_count: bool = False
    ) -> SentenceVectors:
        place, rarity = self.vocabulary.locate(vocabulary), self.document_frequencies.rarity(vocabulary)
        weights = indicators(counts, vocabulary.orders, rarity, place, self._levels, times_count=times_count)
        return SentenceVectors(weights, np.array([len(words) for words in sentences]))

    def vectors(self, captions: Sequence[str]) -> SentenceVectors:
        """New captions prepared for `between` and `matrix`; one without words is warned of, and scores 0."""
        sentences = caption_words(captions, self.tokenise)
        return self._vectors(sentences, *count_ngrams(sentences))

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
        vectors = self.captions if captions is None else captions
        if not isinstance(vectors, SentenceVectors):
            vectors = self.vectors(captions)
        own = np.zeros(0, dtype=np.int64)
        if leave_one_out:
            if isinstance(captions, SentenceVectors):
                raise ItmlabError("prepared vectors cannot be left out of their references", remedy="pass the captions")
            sentences = self.sentences if captions is None else caption_words(captions, self.tokenise)
            own = self._own_references(sentences, image_of_caption)
        scores = image_scores(vectors, self.references, self.image, len(self.held), chunk)
        mine = np.flatnonzero(own >= 0)
        for start in range(0, len(mine), chunk):  # each caption with its own image once more, without itself
            rows = mine[start : start + chunk]
            images = self.image[own[rows]]
            reach = self.first[images], self.held[images]
            scores[rows, images] = pair_scores(vectors[rows], self.references, *reach, without=own[rows])
        return torch.from_numpy(scores)

    def _own_references(
        self, captions: Sequence[Sequence[str]], image_of_caption: Sequence[int] | None
    ) -> Int64[Numbers, "caption"]:
        """Which reference each caption is: the first of its image with the same words; -1 for one of no image (-1).

        Without images the captions are the references in their order. ItmlabError: a caption that is not among the
        references of its image, or is the only one of it; numbers that do not match.
        """
        if image_of_caption is not None:
            image_of_caption = _chosen(image_of_caption, len(self.held), "image", least=-1)
            if len(image_of_caption) != len(captions):
                raise ItmlabError(f"image_of_caption has {len(image_of_caption)} entries for {len(captions)} captions")
        elif len(captions) == len(self.sentences):
            image_of_caption = self.image
        else:
            raise ItmlabError(
                f"{len(captions)} captions are not the {len(self.sentences)} references in their order",
                remedy="pass image_of_caption=",
            )
        numbers: dict[tuple[int, tuple[str, ...]], int] = {}
        for number, (image, words) in enumerate(zip(self.image.tolist(), self.sentences, strict=True)):
            numbers.setdefault((image, tuple(words)), number)
        pairs = zip(image_of_caption.tolist(), captions, strict=True)
        own = [-1 if image < 0 else numbers.get((image, tuple(words))) for image, words in pairs]
        if None in own:
            index = own.index(None)
            raise ItmlabError(
                f"caption {index} is not among the references of image {image_of_caption[index]}: "
                "it cannot be left out",
                remedy="correct image_of_caption, or put -1 for a caption of no image",
            )
        own = np.array(own, dtype=np.int64)
        image = self.image[own[own >= 0]]
        if len(alone := image[self.held[image] == 1]):
            raise ItmlabError(f"image {alone[0]} has no reference left when its own caption is left out")
        return own

    def between(self, captions: Captions, images: Int64[Tensor, "image"]) -> Float[Tensor, "caption image"]:
        """Some captions against some images: exactly that part of `matrix`, for the cost of the part."""
        captions, images = self._part(captions, images)
        held = self.held[images]
        references = self.references[runs(self.first[images], held)]
        columns = np.unique(references.weights.indices)  # without the others a small product costs what is in it
        captions, references = (SentenceVectors(s.weights[:, columns], s.lengths) for s in (captions, references))
        image = np.repeat(np.arange(len(images)), held)
        return torch.from_numpy(image_scores(captions, references, image, len(images), max(1, len(captions))))

    def pairs(self, captions: Captions, images: Int64[Tensor, "caption"]) -> Float[Tensor, "caption"]:
        """The score of each caption with the image in the same place: `matrix[captions, images]` without the matrix."""
        captions, images = self._part(captions, images)
        if len(captions) != len(images):
            raise ItmlabError(f"{len(captions)} captions cannot be paired with {len(images)} images")
        return torch.from_numpy(pair_scores(captions, self.references, self.first[images], self.held[images]))

    def _part(self, captions: Captions, images: Int64[Tensor, "image"]) -> tuple[SentenceVectors, Numbers]:
        images = _chosen(images, len(self.held), "image")
        if not isinstance(captions, SentenceVectors):
            captions = self.captions[_chosen(captions, len(self.captions), "caption")]
        return captions, images


def _chosen(
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
