"""What a search found, readable in a terminal and in a notebook."""

import base64
import html
import io
from dataclasses import dataclass, field
from typing import Literal

from PIL import Image

from ..data.captionset import CaptionSet
from ..data.faults import one_line

THUMBNAIL = 128  # pixels of the longer edge


@dataclass(frozen=True)
class Hits:
    """The best matches of one query, best first.

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
        return "\n".join([f"{self.of} nearest to {self._query_in_words()}:", *lines])

    def _query_in_words(self) -> str:
        return f'"{one_line(self.query)}"' if isinstance(self.query, str) else "the picture"

    def _repr_html_(self) -> str:
        cells = [
            f'<figure style="margin:0;width:{THUMBNAIL + 16}px">{thumbnail(picture)}'
            f'<figcaption style="font-size:12px"><b>{score:+.3f}</b> {html.escape(caption)}'
            f'<br><span style="opacity:.6">{html.escape(id_)}</span></figcaption></figure>'
            for picture, score, caption, id_ in zip(self.images, self.scores, self.captions, self.ids, strict=True)
        ]
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
