"""A search with a one-tower model: it scores the query with everything there is."""

from typing import Literal

import torch
from PIL import Image

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..models import OneTower
from .one_tower_scores import image_side, scores_of_captions, scores_of_images
from .reading import looked_at
from .search import first_k


class OneTowerSearch:
    """The best images or captions of a data set, whose images are embedded once."""

    def __init__(self, model: OneTower, data: CaptionSet):
        self.model, self.data = model, data
        self._regions = None

    def search(
        self, query: str | Image.Image, k: int, of: Literal["images", "captions"]
    ) -> tuple[list[float], list[int]]:
        """Scores and places of the `k` best, ties in ascending order; what no tower can compare is an ItmlabError."""
        if k < 1:
            raise ItmlabError(f"k is {k}, wanted 1 or more")
        if isinstance(query, str) == (of == "captions"):
            kind = "sentences" if of == "captions" else "pictures"
            raise ItmlabError(
                f"a one-tower model cannot compare {kind} with {kind}", remedy="search for the other kind"
            )
        if isinstance(query, str):
            if self._regions is None:
                self._regions = image_side(self.model, looked_at(self.model, self.data))
            scores = scores_of_images(self.model, query, self._regions)
        elif self.model.stem is None:
            raise ItmlabError("this model looks at regions, of which a picture has none", remedy="search by a sentence")
        else:
            scores = scores_of_captions(self.model, query, self.data.captions)
        best, places = first_k(scores, torch.arange(len(scores)), min(k, len(scores)))
        return best.tolist(), places.tolist()
