"""CIDEr-D between captions and the captions of images (Vedantam et al. 2015), exactly, for whole test sets.

For a caption c and a reference r (METHODS 2.1):

    CIDEr-D(c, r) = 10 exp(-(|c| - |r|)² / 2σ²) · 1/4 Σ_{n=1..4}  Σ_g w_g² min(c_g, r_g) r_g / (‖c‖ ‖r‖)

over the n-grams g, where c_g and r_g are counts, |c| words, w_g the log of images per image with g, and ‖c‖ the norm of
w_g c_g over the n-grams of one order; then the mean over an image's references. `ngrams.py` has the sparse product that
gives this for all pairs at once, with no approximation.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy.sparse import csr_array
from torch import Tensor

from ..errors import ItmlabError
from .ngrams import (
    CHUNK,
    Numbers,
    SentenceVectors,
    count_ngrams,
    document_counts,
    image_scores,
    indicators,
    orders_of,
    pair_scores,
)
from .ptb import Tokenise, caption_words, reference_words


def cider_matrix(
    captions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenise: Tokenise = "whitespace",
    image_of_caption: Sequence[int] | None = None,
    leave_one_out: bool = False,
) -> Float[Tensor, "caption image"]:
    """Return CIDEr-D (0 to 10) of each caption against the references of each image: SAM's N (Eq. 3), transposed.

    Document frequencies come from the references. A caption without words scores 0, with a warning.

    Args:
        captions: the captions.
        references: the captions of each image.
        tokenise: "whitespace" as the public NCS code, or "penn" as the captioning toolkit.
        image_of_caption: the image that each caption belongs to, -1 for none; by default the captions are the
            references in their order.
        leave_one_out: compare a caption with the other captions of its own image only.

    Raises:
        ItmlabError: an image without references, references without any word, a single image, or lengths that differ.

    >>> cider_matrix(["a dog runs", "one cat"], [["a dog runs", "dog"], ["one cat"]])
    tensor([[4.4327, 0.0000],
            [0.0000, 5.0000]])
    """
    cider = Cider(references, tokenise=tokenise)
    return cider.matrix(captions, image_of_caption=image_of_caption, leave_one_out=leave_one_out)


class Cider:
    """CIDEr-D fitted once on the references of images. See `cider_matrix` for the arguments.

    Attributes:
        captions: the references, image by image, as captions.
        references: the references as references.
    """

    def __init__(self, references: Sequence[Sequence[str]], *, tokenise: Tokenise = "whitespace"):
        self.sentences, counts_of_image = reference_words(references, tokenise)
        if len(counts_of_image) < 2:
            message = "with the document frequencies of a single image every word has the weight 0"
            raise ItmlabError(message, remedy="give the references of several images")
        self.held, self.tokenise = np.array(counts_of_image), tokenise
        self.first = self.held.cumsum() - self.held
        self.image = np.repeat(np.arange(len(self.held)), self.held)
        counts, self._columns = count_ngrams(self.sentences)
        self._documents = document_counts(counts, self.image)
        self._levels = counts.max(axis=0).toarray().astype(np.int64)
        self.captions = self._vectors(self.sentences, counts, self._columns)
        self.references = self._vectors(self.sentences, counts, self._columns, times_count=True)

    def _vectors(
        self, sentences: list[list[str]], counts: csr_array, columns: Mapping[str, int], *, times_count: bool = False
    ) -> SentenceVectors:
        place = np.fromiter((self._columns.get(ngram, -1) for ngram in columns), np.int64, len(columns))
        documents = np.where(place < 0, 1, self._documents[place])  # an n-gram that no image has counts as seen once
        rarity = np.log(len(self.held)) - np.log(documents)
        weights = indicators(counts, orders_of(columns), rarity, place, self._levels, times_count=times_count)
        return SentenceVectors(weights, np.array([len(words) for words in sentences]))

    def matrix(
        self,
        captions: Sequence[str] | None = None,
        *,
        image_of_caption: Sequence[int] | None = None,
        leave_one_out: bool = False,
    ) -> Float[Tensor, "caption image"]:
        """Return the scores of captions, by default of the references themselves, against every image."""
        sentences = self.sentences if captions is None else caption_words(captions, self.tokenise)
        vectors = self.captions if captions is None else self._vectors(sentences, *count_ngrams(sentences))
        scores = image_scores(vectors, self.references, self.image, len(self.held))
        if leave_one_out:
            reference = self._reference_of(sentences, image_of_caption)
            belonging = np.flatnonzero(reference >= 0)
            for start in range(0, len(belonging), CHUNK):  # each caption with its own image once more, without itself
                rows = belonging[start : start + CHUNK]
                images = self.image[reference[rows]]
                span = self.first[images], self.held[images]
                scores[rows, images] = pair_scores(vectors[rows], self.references, *span, without=reference[rows])
        return torch.from_numpy(scores)

    def _reference_of(
        self, captions: Sequence[Sequence[str]], image_of_caption: Sequence[int] | None
    ) -> Int64[Numbers, "caption"]:
        """Return which reference each caption is: the first of its image with the same words, or -1."""
        images = images_of_captions(image_of_caption, len(captions), self.held)
        numbers: dict[tuple[int, tuple[str, ...]], int] = {}
        for number, (image, words) in enumerate(zip(self.image.tolist(), self.sentences, strict=True)):
            numbers.setdefault((image, tuple(words)), number)
        references = np.full(len(captions), -1)
        for caption, (image, words) in enumerate(zip(images.tolist(), captions, strict=True)):
            if image >= 0:
                references[caption] = numbers.get((image, tuple(words)), -1)
                check_left_out(caption, image, references[caption] >= 0, self.held[image])
        return references


def images_of_captions(
    image_of_caption: Sequence[int] | None, captions: int, held: Int64[Numbers, "image"]
) -> Int64[Numbers, "caption"]:
    """Return the image that each caption belongs to, by default of references in their order.

    Args:
        image_of_caption: the images, -1 for none.
        captions: the number of captions.
        held: the number of references of each image.

    Raises:
        ItmlabError: not one image or -1 for each caption.
    """
    default = np.repeat(np.arange(len(held)), held)
    images = default if image_of_caption is None else np.asarray(image_of_caption)
    is_whole = not images.size or np.issubdtype(images.dtype, np.integer)
    if images.shape != (captions,) or not is_whole or ((images < -1) | (images >= len(held))).any():
        message = f"leave_one_out needs image_of_caption: one of {len(held)} images, or -1, for each of {captions}"
        raise ItmlabError(f"{message} captions")
    return images.astype(np.int64)


def check_left_out(caption: int, image: int, is_reference: bool, held: int) -> None:
    """Raise an ItmlabError unless a caption can be left out of the references of its image."""
    if not is_reference or held == 1:
        reason = "the only reference" if is_reference else "not among the references"
        message = f"caption {caption} is {reason} of image {image}: it cannot be left out"
        raise ItmlabError(message, remedy="correct image_of_caption, or put -1 for a caption of no image")
