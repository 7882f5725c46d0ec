"""What a search finds, as text and as HTML; `Run.search` searches."""

import base64
import html
import io
from dataclasses import dataclass, field

from PIL import Image

from ..data.captionset import CaptionSet
from ..data.faults import one_line
from .scores import Side

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
