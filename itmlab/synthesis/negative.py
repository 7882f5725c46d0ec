"""A sentence made to be wrong of a picture, with what was changed and what is known of it."""

from dataclasses import dataclass, replace

from ..text import Span

UNNUMBERED = -1  # the image and caption of a negative whose caller has not numbered them yet


@dataclass(frozen=True)
class Negative:
    """A synthetic negative sentence of one caption of one image.

    `spans` are the changed places in the order of the sentence, as tokens of the new sentence; place p said `source[p]`
    and says `replacement[p]` now, and is a phrase of `kind[p]` (object, attribute, relation, word, or number).
    `score` is a model's match with the image, `fluency` a perplexity, `truth` the world's verdict on the new sentence
    (false: truly negative): each None where it was not asked or is not known.
    """

    sentence: str
    image: int = UNNUMBERED
    caption: int = UNNUMBERED
    spans: tuple[Span, ...] = ()
    source: tuple[str, ...] = ()
    replacement: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    score: float | None = None
    fluency: float | None = None
    truth: bool | None = None

    def of(self, image: int, caption: int) -> "Negative":
        """The same for this image and caption."""
        return replace(self, image=image, caption=caption)
