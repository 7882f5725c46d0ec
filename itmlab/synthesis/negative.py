"""A sentence made to be wrong of a picture, with what was changed and what is known of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..errors import ItmlabError
from ..text import Span
from ..text.graph import tokenise

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


# New words in the places of old ones, the rest of the caption untouched to the letter.


@dataclass(frozen=True)
class Change:
    """Tokens of a caption and the words that take their place; `kind` of phrase."""

    span: Span
    words: str
    kind: str


def edited(
    caption: str, tokens: Sequence[str], characters: Sequence[tuple[int, int]], changes: Sequence[Change]
) -> Negative:
    """The caption with these changes, which stand in the order of the sentence and do not overlap.

    `tokens` are the caption's graph's, `characters` their places (`text.alignment.token_characters`). Of new words the
    tokens are counted by `text.tokenise`. A sentence that began with a capital letter still does.
    """
    parts, spans, source, replacement = [], [], [], []
    at, moved = 0, 0
    for change in changes:
        start, end = change.span.start, change.span.end
        first, last = characters[start][0], characters[end - 1][1]
        words = change.words
        if start == 0 and caption[first].isupper():
            words = words[:1].upper() + words[1:]
        parts += [caption[at:first], words]
        at, count = last, len(tokenise(words))
        spans.append(Span(start + moved, start + moved + count))
        moved += count - (end - start)
        source.append(caption[first:last])
        replacement.append(words)
    kinds = tuple(change.kind for change in changes)
    return Negative(
        "".join([*parts, caption[at:]]),
        spans=tuple(spans),
        source=tuple(source),
        replacement=tuple(replacement),
        kind=kinds,
    )


# What a generator is given, and which of its sentences are worth a score: no copy of the caption, none twice.


def distinct(caption: str, negatives: Iterable[Negative]) -> list[Negative]:
    """The negatives that differ from the caption and from each other, the first of equals, in their order.

    Sentences are equal if they read the same but for capital letters and blanks. Done before anything is scored
    (TAGS Eq. 6: candidates T⁻ ≠ T, as a set).
    """
    seen, kept = {_read(caption)}, []
    for negative in negatives:
        sentence = _read(negative.sentence)
        if sentence not in seen:
            seen.add(sentence)
            kept.append(negative)
    return kept


def _read(sentence: str) -> str:
    return " ".join(sentence.lower().split())


def one_each(captions: Sized, graphs: Sized, image_captions: Sized) -> None:
    """An ItmlabError unless there is a graph and the captions of an image for each caption."""
    if not len(captions) == len(graphs) == len(image_captions):
        raise ItmlabError(
            f"{len(captions)} captions with {len(graphs)} graphs and the captions of {len(image_captions)} images",
            remedy="give one graph and the image's captions for each caption",
        )


# The hardest negatives: those that a model takes for the best descriptions of the image (TAGS Eq. 6).


# (sentences, for each the number of its caption in the call) -> how well each matches that caption's image
Score = Callable[[list[str], Int[Tensor, "sentence"]], Float[Tensor, "sentence"]]


def scored(negatives: Sequence[Sequence[Negative]], score: Score) -> list[list[Negative]]:
    """The negatives of each caption with their scores, all asked for in one call; anything but numbers is an error."""
    sentences = [negative.sentence for row in negatives for negative in row]
    if not sentences:
        return [list(row) for row in negatives]
    captions = torch.arange(len(negatives)).repeat_interleave(torch.tensor([len(row) for row in negatives]))
    found = torch.as_tensor(score(sentences, captions))
    if found.shape != (len(sentences),) or not bool(found.isfinite().all()):
        raise ItmlabError(
            f"{len(sentences)} sentences were scored with a tensor of shape {tuple(found.shape)}"
            + ("" if found.shape != (len(sentences),) else ", not all of it finite"),
            remedy="give a score function that returns one number a sentence",
        )
    values = iter(found.tolist())
    return [[replace(negative, score=next(values)) for negative in row] for row in negatives]


def best(negatives: Sequence[Negative], number: int) -> list[Negative]:
    """The `number` negatives with the greatest scores, best first (argmax-m); of equal ones the earlier first."""
    unscored = [negative for negative in negatives if negative.score is None]
    if unscored:
        raise ItmlabError(f"{len(unscored)} of {len(negatives)} negatives have no score", remedy="give score=")
    return sorted(negatives, key=lambda negative: -negative.score)[:number]


# The filter of false negatives: what other captions of the image say too is likely true (TAGS Sec. 2.1.2).


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
