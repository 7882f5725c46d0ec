"""Search in a data set: `Search` scores a query with everything there is, `Hits` are what it shows."""

import base64
import html
import io
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float, Int64
from PIL import Image
from torch import Tensor, nn

from ..data.captionset import CaptionSet
from ..data.faults import one_line
from ..errors import ItmlabError
from ..models.pairs import looked_at
from .scores import caption_side, compared, has_one_feature, image_side


def largest(scores: Float[Tensor, "query item"], k: int) -> tuple[Float[Tensor, "query k"], Int64[Tensor, "query k"]]:
    """The scores and places of the `k` largest of each row (at most all), in order; ties go to the lowest place.

    >>> largest(torch.tensor([[0.0, 2.0, 1.0, 2.0]]), 3)[1]
    tensor([[1, 3, 2]])
    """
    if k < 1:
        raise ItmlabError(f"k must be at least 1, got {k}")
    best = scores.topk(min(k + 1, scores.shape[1]), dim=1)  # one more, to see whether the last is tied with it
    tied = (best.values[:, 1:] == best.values[:, :-1]).any(dim=1)
    places = best.indices[:, :k].clone()
    places[tied] = scores[tied].sort(dim=1, descending=True, stable=True).indices[:, :k]
    return scores.gather(1, places), places


class Search:
    """Search in a data set with any model; its images and captions are encoded once, when they are first needed."""

    def __init__(self, model: nn.Module, data: CaptionSet):
        self.model, self.data, self._sides = model, data, {}

    @torch.no_grad()
    def search(
        self, query: str | Image.Image, k: int, of: Literal["images", "captions"]
    ) -> tuple[list[float], list[int]]:
        """Scores and places of the `k` best images or captions, ties in ascending order.

        Raises:
            ItmlabError: a query of the same kind as is searched, for a model that reads parts, or a picture for a model
                that reads a detector's regions.
        """
        model, is_sentence = self.model, isinstance(query, str)
        if is_sentence == (of == "captions") and not has_one_feature(model):
            message = f"a model that scores pairs cannot search {of} by {'sentences' if is_sentence else 'pictures'}"
            raise ItmlabError(message, remedy="search for the other kind")
        if not is_sentence and not model.takes_pictures:
            raise ItmlabError("this model reads regions, and a picture has none", remedy="search by a sentence")
        if of not in self._sides:
            images = of == "images"
            items = looked_at(model, self.data) if images else self.data.captions
            self._sides[of] = image_side(model, items) if images else caption_side(model, items)
        items, one = self._sides[of], caption_side(model, [query]) if is_sentence else image_side(model, [query])
        scores = compared(model, items, one).T if of == "images" else compared(model, one, items)
        best, places = largest(scores, k)
        return best[0].tolist(), places[0].tolist()


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
        """The pictures, decoded when they are needed."""
        return [self.data.images[index] for index in self.image_indices]

    def __repr__(self) -> str:
        rows = enumerate(zip(self.scores, self.ids, self.captions, strict=True), 1)
        lines = [f"{n:>3}. {score:+.3f}  {one_line(id_)}  {one_line(caption)}" for n, (score, id_, caption) in rows]
        query = f'"{one_line(self.query)}"' if isinstance(self.query, str) else "the picture"
        return "\n".join([f"{self.of} nearest to {query}:", *lines])

    def _repr_html_(self) -> str:
        # captions stand alone, a line each: a picture with each would read as if it had been found
        pictures = map(thumbnail, self.images) if self.of == "images" else [""] * len(self)
        width = f"{THUMBNAIL + 16}px" if self.of == "images" else "100%"
        figures = [
            f'<figure style="margin:0;width:{width}">{picture}<figcaption style="font-size:12px"><b>{score:+.3f}</b> '
            f'{html.escape(caption)}<br><span style="opacity:.6">{html.escape(id_)}</span></figcaption></figure>'
            for picture, score, caption, id_ in zip(pictures, self.scores, self.captions, self.ids, strict=True)
        ]
        query = html.escape(self.query) if isinstance(self.query, str) else thumbnail(self.query)
        shelf = '<div style="display:flex;flex-wrap:wrap;gap:12px">' + "".join(figures) + "</div>"
        return f'<p style="margin:4px 0">{html.escape(self.of)} nearest to <i>{query}</i></p>{shelf}'


def thumbnail(picture: Image.Image) -> str:
    """A small copy of a picture as an HTML element that needs no other file."""
    small = picture.convert("RGB")
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    buffer = io.BytesIO()
    small.save(buffer, format="JPEG", quality=85)
    content = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="" width="{small.width}" height="{small.height}" src="data:image/jpeg;base64,{content}">'
