"""A control that chooses a picture: a search box over thumbnails."""

from pathlib import Path
from typing import Any

import traitlets
from anywidget import AnyWidget

from itmlab.data.captionset import CaptionSet

from ..analysis.scoring import require_captions
from ..plots.canvas import data_uri

PER_PAGE = 14  # thumbnails in one row


def captions_in(data: CaptionSet, picture: int) -> list[tuple[str, int]]:
    """Return a picture's captions with their numbers, as the options of a dropdown."""
    return [(data.captions[number], number) for number in data.captions_of_image[picture].tolist()]


class PicturePicker(AnyWidget):
    """Thumbnails of a set's pictures with a search box; `value` is the number of the chosen picture.

    A query lists the pictures whose captions contain all of its words, or the picture of that number.

    Args:
        data: the set.
        value: the picture that is chosen first.

    Raises:
        ItmlabError: an image has no caption.
    """

    _esm = Path(__file__).parent / "gallery.js"
    value = traitlets.Int().tag(sync=True)
    query = traitlets.Unicode().tag(sync=True)
    page = traitlets.Int().tag(sync=True)
    shown = traitlets.List().tag(sync=True)
    note = traitlets.Unicode().tag(sync=True)
    is_last = traitlets.Bool().tag(sync=True)
    description = "picture"

    def __init__(self, data: CaptionSet, value: int = 0):
        require_captions(data)
        super().__init__(value=value, page=value // PER_PAGE, layout={"width": "100%"})
        self._data = data
        self._text = [" ".join(captions).casefold() for captions in data.captions_of()]
        self.observe(self._searched, names="query")
        self.observe(self._list, names="page")
        self.observe(self._chosen, names="value")
        self._list()

    def matching(self) -> list[int]:
        """Return the numbers of the pictures that the query finds; all of them for an empty query."""
        words = self.query.casefold().split()
        if len(words) == 1 and words[0].isdecimal() and int(words[0]) < len(self._data):
            return [int(words[0])]
        return [number for number, text in enumerate(self._text) if all(word in text for word in words)]

    def _searched(self, _: Any) -> None:
        if self.page:
            self.page = 0  # lists them
        else:
            self._list()

    def _chosen(self, _: Any) -> None:
        """Turn to the page of a picture that was chosen elsewhere, as by a click into a map."""
        if not self.query and self.value not in [picture["number"] for picture in self.shown]:
            self.page = self.value // PER_PAGE

    def _list(self, _: Any = None) -> None:
        numbers = self.matching()
        first = max(0, min(self.page, (len(numbers) - 1) // PER_PAGE)) * PER_PAGE
        listed = numbers[first : first + PER_PAGE]
        captions = self._data.captions_of(listed)
        with self.hold_sync():
            self.is_last = first + PER_PAGE >= len(numbers)
            self.note = f"{len(numbers):,} of {len(self._data):,} pictures"
            self.shown = [
                {
                    "number": number,
                    "source": data_uri(self._data.images[number], largest=64, photographic=True),
                    "caption": texts[0],
                }
                for number, texts in zip(listed, captions, strict=True)
            ]
