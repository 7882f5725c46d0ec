"""A search in a data set: the k nearest unit vectors, exactly; what a search shows.

`Index` looks features up, `PairSearch` scores the query with everything there is, `Hits` are what either found.
"""

import base64
import html
import io
import math
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from jaxtyping import Float, Int64
from PIL import Image
from torch import Tensor, nn

from ..data.captionset import CaptionSet
from ..data.faults import one_line
from ..errors import ItmlabError
from ..models.pairs import looked_at, on_device
from .scores import encoded, prepared_images

CHUNK = 16384  # vectors scored at a time
ROUNDING = 1e-4  # more than a score of unit vectors in single precision can be off


class Index:
    """Nearest neighbours by dot product over `features`; ties go to the lowest index.

    Products in single precision propose candidates; those are scored again in double precision, and more are asked for
    until no other vector can belong to the answer.

    >>> Index(torch.eye(3)).search(torch.tensor([[0.0, 1.0, 0.0]]), 2)[1]
    tensor([[1, 0]])
    """

    def __init__(self, features: Float[Tensor, "n dimension"]):
        if features.ndim != 2 or not len(features):
            raise ItmlabError(f"an index needs vectors (n, dimension), not {tuple(features.shape)}")
        if not features.isfinite().all():
            raise ItmlabError("an index needs finite vectors")
        self.features = features.detach().float().cpu().contiguous()
        self._longest = float(self.features.norm(dim=1).max())

    def __len__(self) -> int:
        return len(self.features)

    def search(
        self, queries: Float[Tensor, "query dimension"], k: int
    ) -> tuple[Float[Tensor, "query k"], Int64[Tensor, "query k"]]:
        """Scores and indices of the best `k` (at most all) of each query, best first."""
        if k < 1:
            raise ItmlabError(f"k is {k}, wanted 1 or more")
        if queries.ndim != 2 or queries.shape[1] != self.features.shape[1]:
            raise ItmlabError(f"queries of shape {tuple(queries.shape)} for vectors of {self.features.shape[1]}")
        k, queries = min(k, len(self)), queries.detach().float().cpu().contiguous()
        scores, indices = torch.empty(len(queries), k), torch.empty(len(queries), k, dtype=torch.int64)
        rows, asked = torch.arange(len(queries)), min(2 * k + 16, len(self))
        while len(rows):
            unsure = []
            for part in rows.split(max(1, CHUNK // asked)):
                lowest, candidates = self._proposed(queries[part], asked)
                found = torch.cat([self._scores(queries[part], some) for some in candidates.split(CHUNK, dim=1)], dim=1)
                found, order = found.sort(dim=1, descending=True, stable=True)
                scores[part], indices[part] = found[:, :k], candidates.gather(1, order[:, :k])
                error = ROUNDING * self._longest * queries[part].norm(dim=1)
                unsure.append(part[found[:, k - 1] <= lowest + error])
            rows = torch.cat(unsure) if asked < len(self) else rows[:0]
            asked = min(4 * asked, len(self))
        return scores, indices

    def _proposed(self, queries: Tensor, asked: int) -> tuple[Float[Tensor, "query"], Int64[Tensor, "query asked"]]:
        """The lowest score, in single precision, among so many of the best of each query, and where they are."""
        if asked == len(self):
            return torch.full((len(queries),), -math.inf), torch.arange(asked).expand(len(queries), -1)
        best, places = torch.empty(len(queries), 0), torch.empty(len(queries), 0, dtype=torch.int64)
        for start, some in zip(range(0, len(self), CHUNK), self.features.split(CHUNK), strict=True):
            best = torch.cat([best, queries @ some.T], dim=1)
            places = torch.cat([places, torch.arange(start, start + len(some)).expand(len(queries), -1)], dim=1)
            best, kept = best.topk(min(asked, best.shape[1]), dim=1)
            places = places.gather(1, kept)
        return best[:, -1], places.sort(dim=1).values

    def _scores(self, queries: Tensor, indices: Int64[Tensor, "query n"]) -> Float[Tensor, "query n"]:
        """Summed in double precision and then rounded, so that a score does not depend on which others it is among."""
        return (self.features[indices].double() * queries[:, None].double()).sum(-1).float()


def first_k(scores: Tensor, indices: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best with ascending indices among equals; `indices` of equal scores come in ascending order."""
    order = scores.sort(descending=True, stable=True).indices[:k]
    return scores[order], indices[order]


class PairSearch:
    """The best images or captions by a model that has no one feature to look up; the data are embedded once."""

    def __init__(self, model: nn.Module, data: CaptionSet):
        self.model, self.data = model, data
        self._images: Any = None

    @torch.no_grad()
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
        elif not self.model.takes_pictures:
            raise ItmlabError("this model looks at regions, of which a picture has none", remedy="search by a sentence")
        else:
            picture = on_device(self.model, self.model.prepare_images([query]))
            scores = self.model.similarity(picture, self.model.prepare_captions(list(self.data.captions)))[0]
        best, places = first_k(scores, torch.arange(len(scores)), min(k, len(scores)))
        return best.tolist(), places.tolist()

    def _of_images(self, sentence: str) -> Tensor:
        model, images = self.model, looked_at(self.model, self.data)
        if not model.encodes_apart:
            self._images = self._images or list(prepared_images(model, images))
            tokens = on_device(model, model.prepare_captions([sentence]))
            return torch.cat([model.similarity(part, tokens)[:, 0].cpu() for part in self._images])
        if self._images is None:
            self._images = encoded(model, images, "images")
        return model.similarity(self._images, encoded(model, [sentence], "captions"))[:, 0].cpu()


THUMBNAIL = 128  # pixels of the longer edge


@dataclass(frozen=True)
class Hits:
    """The best matches of one query, best first, readable in a terminal and in a notebook.

    `ids` are image ids (`of="images"`) or caption ids (`of="captions"`); `captions` holds the caption found, or the
    first one of the image found; `images` the picture found, or the one that the caption was written for.
    """

    query: str | Image.Image
    of: Literal["images", "captions"]
    ids: list[str]
    scores: list[float]
    captions: list[str]
    image_indices: list[int]
    data: CaptionSet = field(repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def images(self) -> list[Image.Image]:
        """The pictures, decoded when asked for."""
        return [self.data.images[index] for index in self.image_indices]

    def __repr__(self) -> str:
        rows = zip(self.scores, self.ids, self.captions, strict=True)
        lines = [
            f"{place:>3}. {score:+.3f}  {one_line(id_)}  {one_line(caption)}"
            for place, (score, id_, caption) in enumerate(rows, 1)
        ]
        query = f'"{one_line(self.query)}"' if isinstance(self.query, str) else "the picture"
        return "\n".join([f"{self.of} nearest to {query}:", *lines])

    def _repr_html_(self) -> str:
        found = [
            f'<figcaption style="font-size:12px"><b>{score:+.3f}</b> {html.escape(caption)}'
            f'<br><span style="opacity:.6">{html.escape(id_)}</span></figcaption>'
            for score, caption, id_ in zip(self.scores, self.captions, self.ids, strict=True)
        ]
        # Sentences alone, a line each: a picture with each would read as if it had been found.
        pictures = map(thumbnail, self.images) if self.of == "images" else [""] * len(self)
        style = f"margin:0;width:{f'{THUMBNAIL + 16}px' if self.of == 'images' else '100%'}"
        cells = [f'<figure style="{style}">{one}{words}</figure>' for one, words in zip(pictures, found, strict=True)]
        query = html.escape(self.query) if isinstance(self.query, str) else thumbnail(self.query)
        shelf = '<div style="display:flex;flex-wrap:wrap;gap:12px">' + "".join(cells) + "</div>"
        return f'<p style="margin:4px 0">{html.escape(self.of)} nearest to <i>{query}</i></p>{shelf}'


def thumbnail(picture: Image.Image) -> str:
    """A small copy of a picture as an HTML element that needs no other file."""
    small = picture.convert("RGB")
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    buffer = io.BytesIO()
    small.save(buffer, format="JPEG", quality=85)
    encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="" width="{small.width}" height="{small.height}" src="data:image/jpeg;base64,{encoded}">'
