"""How well captions of the training split describe its images: φ of SAM's margins, and the truth of a drawn world."""

import hashlib
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int8, Int64
from scipy.sparse import csr_array, load_npz, save_npz, vstack
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError, named
from ..storage import cache_directory, keep
from .cider import Cider
from .spice import Spice

IMAGES_PER_BLOCK = 100  # judged together, which bounds the memory
FORMAT = 2  # of the cached file: raised when numbers or layout change
PairScores = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of captions and images, numbered image by image


class CaptionRelevance:
    """φ of pairs of a caption and an image of `data` (SAM, Eq. 7): CIDEr-D or SPICE.

    The whole φ matrix of COCO would take 250 GB. Therefore only the vectors of its captions are computed once, with the
    document frequencies of `data`. A pair is then a sparse inner product with each of the image's captions, or for
    SPICE with the tuples of all of them.

    Args:
        data: the training data.
        relevance: which φ.

    Raises:
        ItmlabError: captions that φ cannot distinguish.
    """

    def __init__(self, data: CaptionSet, relevance: Literal["cider", "spice"] = "cider"):
        described = [image for image, rows in enumerate(data.captions_of_image) if len(rows)]
        references = data.captions_of(described)
        # CIDEr-D and SPICE number captions image by image, and only images that have captions
        order = [row for image in described for row in data.captions_of_image[image].tolist()]
        self._caption, self._image = np.full(len(data.captions), -1), np.full(len(data), -1)
        self._caption[order], self._image[described] = np.arange(len(order)), np.arange(len(described))
        with named(f"{data.name}: no adaptive margin"):
            self._of = Spice(references).pairs if relevance == "spice" else _cider_of_pairs(references)

    def __call__(self, captions: Int64[Tensor, "pair"], images: Int64[Tensor, "pair"]) -> Float[Tensor, "pair"]:
        """φ of each pair of rows of `data`, on the device of `captions`; an image must have captions."""
        caption, image = self._caption[captions.cpu().numpy()], self._image[images.cpu().numpy()]
        if (image < 0).any():
            row = int(images.cpu()[int((image < 0).argmax())])
            raise ItmlabError(f"image {row} has no caption to be compared with", remedy="leave such images out")
        return torch.from_numpy(self._of(caption, image)).to(captions.device)


def _cider_of_pairs(references: list[list[str]]) -> PairScores:
    """CIDEr-D of pairs; captions that have the same words everywhere are refused."""
    cider = Cider(references)
    if not cider.captions.weights.nnz:
        message = "the captions of every image have the same words, so that none tells it apart"
        raise ItmlabError(message, remedy="train with a recipe without adaptive_margin")
    cider.columns.clear()  # gigabytes of a large set, which pairs of its own captions do not need
    return cider.pairs


class CaptionTruth:
    """The truth of captions of `data` for its images, by its world, for an oracle sampler.

    All pairs are judged once, at the first call (2.5 minutes for 5,000 images with 25,000 captions, on
    one core). The pairs that are not false, about one in seventy, are kept in the cache folder, in a file named by a
    digest of captions, images and the truth of some images.

    Args:
        data: the images and captions.

    Raises:
        ItmlabError: the data have no world.
    """

    def __init__(self, data: CaptionSet):
        self.data = data
        if data.world is None:
            remedy = "train on scenes, or with a sampler and margin that do not need it"
            raise ItmlabError("this dataset has no ground truth", where=data.name, remedy=remedy)

    @cached_property
    def _by_caption(self) -> csr_array:
        """The labels of all pairs, a row per caption: judged, or read from the cache."""
        data = self.data
        some = torch.arange(0, len(data), max(len(data) // 8, 1))
        digest = hashlib.sha256(f"{FORMAT} {data.fingerprint}".encode() + data.world.truth(some).numpy().tobytes())
        path = cache_directory() / "truth" / f"{digest.hexdigest()[:32]}.npz"
        with suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # none is there, or a damaged one
            return load_npz(path).T.tocsr()
        parts = torch.arange(len(data)).split(IMAGES_PER_BLOCK)
        labels = vstack([csr_array(data.world.truth(images).numpy()) for images in parts], format="csr")
        keep(path, lambda file: save_npz(file, labels))
        return labels.T.tocsr()

    def __call__(
        self, captions: Int64[Tensor, "caption"], images: Int64[Tensor, "image"]
    ) -> Int8[Tensor, "caption image"]:
        """1 true, 0 false, -1 undecided: each caption on each image, rows of `data`, on the device of `captions`."""
        labels = self._by_caption[captions.cpu().numpy()][:, images.cpu().numpy()]
        return torch.from_numpy(labels.toarray()).to(captions.device)
