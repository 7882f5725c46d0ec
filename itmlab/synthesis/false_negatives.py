"""The filter of false negatives: what other captions of the image say too is likely true (TAGS Sec. 2.1.2)."""

from collections.abc import Iterable, Mapping, Sequence

from ..text.graph import tokenise
from .negative import Negative

Implied = Mapping[str, Iterable[str]]  # a token as written → tokens that are true wherever it is

_ARTICLES = frozenset(("a", "an"))  # they follow the word behind them and say nothing themselves


def said_of(image_captions: Iterable[str], implied: Implied | None = None) -> frozenset[str]:
    """Every token of an image's captions, lower-cased: their union; with what each implies, if that is given."""
    said = frozenset(token for caption in image_captions for token in tokenise(caption.lower()))
    return said.union(*(implied.get(token, ()) for token in said)) if implied else said


def replaced_in(negative: Negative) -> list[str]:
    """The tokens that a negative puts in, lower-cased, "a" and "an" left out."""
    return [token for words in negative.replacement for token in tokenise(words.lower()) if token not in _ARTICLES]


def is_said(negative: Negative, said: frozenset[str]) -> bool:
    """Whether something was put in, and every token of it occurs in the union of the image's captions."""
    return bool(negative.replacement) and said.issuperset(replaced_in(negative))


def without_false_negatives(
    negatives: Sequence[Negative], image_captions: Iterable[str], implied: Implied | None = None
) -> list[Negative]:
    """The negatives of which at least one replaced-in token occurs in no caption of the image; the others are dropped.

    A heuristic: a synonym that no caption uses passes, and so does a true word that nobody wrote. Where a lexicon says
    what words imply ("boy": "child", "person"), `implied` counts those as said too, which the paper does not.
    """
    said = said_of(image_captions, implied)
    return [negative for negative in negatives if not is_said(negative, said)]
