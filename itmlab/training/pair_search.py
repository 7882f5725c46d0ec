"""A search with a model that has no one feature to look up: it scores the query with everything there is."""

from typing import Any, Literal

import torch
from PIL import Image
from torch import Tensor, nn

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..models import OneTower
from .one_tower_scores import image_side, scores_of_captions, scores_of_images
from .parts_scores import encoded
from .reading import looked_at, reads
from .search import first_k


class PairSearch:
    """The best images or captions of a data set, which is embedded or encoded once."""

    def __init__(self, model: nn.Module, data: CaptionSet):
        self.model, self.data = model, data
        self._images: Any = None

    def search(
        self, query: str | Image.Image, k: int, of: Literal["images", "captions"]
    ) -> tuple[list[float], list[int]]:
        """Scores and places of the `k` best, ties in ascending order; what is not compared is an ItmlabError."""
        if k < 1:
            raise ItmlabError(f"k is {k}, wanted 1 or more")
        if isinstance(query, str) == (of == "captions"):
            kind = "sentences" if of == "captions" else "pictures"
            what = f"a model that scores pairs cannot compare {kind} with {kind}"
            raise ItmlabError(what, remedy="search for the other kind")
        if isinstance(query, str):
            scores = self._of_images(query)
        elif reads(self.model) == "regions":
            raise ItmlabError("this model looks at regions, of which a picture has none", remedy="search by a sentence")
        else:
            scores = scores_of_captions(self.model, query, self.data.captions)
        best, places = first_k(scores, torch.arange(len(scores)), min(k, len(scores)))
        return best.tolist(), places.tolist()

    @torch.no_grad()
    def _of_images(self, sentence: str) -> Tensor:
        one_tower = isinstance(self.model, OneTower)
        if self._images is None:
            images = looked_at(self.model, self.data)
            self._images = image_side(self.model, images) if one_tower else encoded(self.model, images, "images")
        if one_tower:
            return scores_of_images(self.model, sentence, self._images)
        return self.model.similarity(self._images, encoded(self.model, [sentence], "captions"))[:, 0].cpu()
