"""Search in a data set: `search` scores a query with everything there is, `Hits` are what it shows."""

import base64
import html
import io
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxtyping import Float, Int64
from PIL import Image
from torch import Tensor, nn

from ..data.captionset import CaptionSet
from ..data.faults import one_line
from ..data.pictures import read_image
from ..errors import ItmlabError
from ..models.pairs import looked_at
from ..text.tokens import unknown_words
from .scores import Side, compared, side_of


def largest(scores: Float[Tensor, "query item"], k: int) -> tuple[Float[Tensor, "query k"], Int64[Tensor, "query k"]]:
    """The scores and places of the `k` largest of each row (at most all), in order; ties go to the lowest place.

    >>> import torch
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


def search(
    model: nn.Module, data: CaptionSet, query: str | Image.Image | Path, k: int, sides: dict[Side, Any]
) -> "Hits":
    """Find the best images for a sentence, or captions for a picture, best first, ties in the order of the data.

    Args:
        model: a model of any kind.
        data: what is searched.
        query: a sentence, a picture, or the path of a picture.
        k: how many.
        sides: images and captions of `data` as the model compares them; what is missing is added.

    Raises:
        ItmlabError: an empty sentence, or a picture for a model that reads a detector's regions.
    """
    if isinstance(query, Path):
        query = read_image(query)
    is_sentence = isinstance(query, str)
    of, asks = ("images", "captions") if is_sentence else ("captions", "images")
    if is_sentence and not query.strip():
        raise ItmlabError("the sentence to search for is empty")
    if not is_sentence and not model.takes_pictures:
        raise ItmlabError("this model reads regions, and a picture has none", remedy="search by a sentence")
    if is_sentence and model.tokenizer is not None and (unknown := unknown_words(model.tokenizer, query)):
        words = one_line(", ".join(map(repr, unknown)), 200)
        warnings.warn(f"the model does not know these words of the query: {words}", stacklevel=4)
    if of not in sides:
        sides[of] = side_of(model, looked_at(model, data) if is_sentence else data.captions, of)
    items, asked = sides[of], side_of(model, [query], asks)
    scores = compared(model, items, asked).T if is_sentence else compared(model, asked, items)
    best, places = largest(scores, k)
    return Hits(query, of, best[0].tolist(), places[0].tolist(), data)


THUMBNAIL = 128  # pixels of the longer edge


@dataclass(frozen=True)
class Hits:
    """The best matches of one query, best first, readable in a terminal and in a notebook.

    Attributes:
        query: the sentence or picture.
        of: what was searched.
        scores: the similarities.
        places: the indices of the images or captions in `data`.
        data: the images and captions that were searched.
    """

    query: str | Image.Image
    of: Side
    scores: list[float]
    places: list[int]
    data: CaptionSet = field(repr=False)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def ids(self) -> list[str]:
        """The ids of the images or captions."""
        ids = self.data.image_ids if self.of == "images" else self.data.caption_ids
        return [ids[place] for place in self.places]

    @property
    def image_indices(self) -> list[int]:
        """The indices of the images, or of those that the captions were written for."""
        return self.places if self.of == "images" else self.data.image_of_caption[self.places].tolist()

    @property
    def captions(self) -> list[str]:
        """The captions, or the first caption of each image ("" where it has none)."""
        if self.of == "captions":
            return [self.data.captions[place] for place in self.places]
        return [next(iter(captions), "") for captions in self.data.captions_of(self.places)]

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
