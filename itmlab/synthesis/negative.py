"""A negative sentence, and what TAGS asks of candidates: to differ from the caption, to be false, to be hard.

Fan et al. (2022), Sec. 2.1.2, Eq. 6 and criterion C1 of Algorithm 1, put together in `tags.FilteredTopM` (METHODS 3.3).
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..components import Component
from ..errors import ItmlabError
from ..text import SceneGraph, Span
from ..text.graph import tokenise
from ..text.rules.lexicon import word_set


@dataclass(frozen=True)
class Negative:
    """A synthetic negative sentence of one caption of one image.

    Args:
        sentence: the new sentence.
        image: the number of the image; -1 if it is not known yet.
        caption: the number of the caption; -1 if it is not known yet.
        spans: the changed places in the order of the sentence, as tokens of the new sentence.
        source: the caption's words at each changed place.
        replacement: the new words at each changed place.
        kind: the kind of phrase at each changed place: object, attribute, relation, word or number.
        score: a model's match with the image.
        fluency: a perplexity.
        truth: the world's label of the new sentence (False: truly negative).
        masked: the caption's word pieces that a model was asked to refill, changed or not.
    """

    sentence: str
    image: int = -1
    caption: int = -1
    spans: tuple[Span, ...] = ()
    source: tuple[str, ...] = ()
    replacement: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    score: float | None = None
    fluency: float | None = None
    truth: bool | None = None
    masked: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def of(self, image: int, caption: int) -> "Negative":
        """Return the same negative for this image and caption."""
        return replace(self, image=image, caption=caption)


# How every generator is called: generate(captions, graphs, image_captions, *, generator). graphs[i] is the scene graph
# of caption i, image_captions[i] are all captions of its image; the answer holds the negatives of each caption.
Captions, Graphs = Sequence[str], Sequence[SceneGraph]
OfImage = Sequence[Captions]
Draws = torch.Generator | Sequence[torch.Generator]  # random numbers of a call, or of each caption
Rows = list[list[Negative]]
Generate = Callable[..., Rows]


class SentenceGenerator(Component):
    """Base class of components that make negative sentences; derive a dataclass from it.

    It is called as `Generate` is, with one caption at a time and random numbers for this caption only.
    """

    def __call__(self, captions: Captions, graphs: Graphs, image_captions: OfImage, *, generator: Draws) -> Rows:
        """The negatives of each caption.

        Args:
            captions: the captions.
            graphs: their scene graphs.
            image_captions: per caption, all captions of its image.
            generator: random numbers, or one generator per caption.
        """
        raise NotImplementedError


def own_generators(number: int, generator: Draws) -> list[torch.Generator]:
    """Return a generator for each of `number` captions, so that the numbers of one depend on no other caption.

    Args:
        number: the number of captions.
        generator: seeds them by one draw; a list with one generator per caption is returned unchanged.
    """
    if not isinstance(generator, torch.Generator):
        return list(generator)
    seeds = torch.randint(2**62, (number,), generator=generator, device=generator.device).tolist()
    return [torch.Generator().manual_seed(seed) for seed in seeds]


class OneByOne:
    """A custom generator of sentences, called with one caption at a time and random numbers for this caption only."""

    def __init__(self, generate: SentenceGenerator):
        self.generate = copy.deepcopy(generate)

    def __call__(self, captions: Captions, graphs: Graphs, image_captions: OfImage, *, generator: Draws) -> Rows:
        """The negatives of each caption."""
        rows = []
        generators = own_generators(len(captions), generator)
        for caption, graph, others, draws in zip(captions, graphs, image_captions, generators, strict=True):
            rows += self.generate([caption], [graph], [others], generator=draws)
        return rows


@dataclass(frozen=True)
class Change:
    """Tokens of a caption, the words that replace them, and the kind of phrase."""

    span: Span
    words: str
    kind: str


def edited(
    caption: str, tokens: Sequence[str], characters: Sequence[tuple[int, int]], changes: Sequence[Change]
) -> Negative:
    """Apply changes to a caption; all other characters stay, and so does a capital letter at the beginning.

    Args:
        caption: the caption.
        tokens: the tokens of its graph.
        characters: their places in the caption (`text.alignment.token_characters`).
        changes: in the order of the sentence, without overlap.

    >>> made = edited("A dog", ["A", "dog"], [(0, 1), (2, 5)], [Change(Span(1, 2), "young cat", "object")])
    >>> made.sentence, made.spans
    ('A young cat', (Span(start=1, end=3),))
    """
    sentence, at, moved = "", 0, 0
    places = []  # (span, source, replacement, kind) of each change
    for change in changes:
        first, last, words = characters[change.span.start][0], characters[change.span.end - 1][1], change.words
        if change.span.start == 0 and caption[first].isupper():
            words = words[:1].upper() + words[1:]
        start, count = change.span.start + moved, len(tokenise(words))
        moved += count - (change.span.end - change.span.start)  # tokens by which all that follows has shifted
        places.append((Span(start, start + count), caption[first:last], words, change.kind))
        sentence += caption[at:first] + words
        at = last
    spans, source, replacement, kind = zip(*places, strict=True)
    return Negative(sentence + caption[at:], -1, -1, spans, source, replacement, kind)


def distinct(caption: str, negatives: Iterable[Negative]) -> list[Negative]:
    """Leave out copies of the caption and duplicates (Eq. 6: T⁻ ≠ T, as a set); the first of equals stays.

    Sentences are equal if they differ only in capital letters and blanks.

    >>> made = distinct("A dog", [Negative("a  Dog"), Negative("a cat"), Negative("A cat")])
    >>> [negative.sentence for negative in made]
    ['a cat']
    """
    first: dict[str, Negative] = {}
    for negative in chain([Negative(caption)], negatives):
        first.setdefault(" ".join(negative.sentence.casefold().split()), negative)
    return list(first.values())[1:]


Implied = Mapping[str, Iterable[str]]  # a token as written → tokens that are true wherever it is


def without_false_negatives(
    negatives: Sequence[Negative], image_captions: Iterable[str], implied: Implied | None = None
) -> list[Negative]:
    """Keep the negatives with at least one new token that occurs in no caption of the image (TAGS, Sec. 2.1.2).

    This is a heuristic: a synonym or a true word that no caption uses passes. Words that name nothing (articles, "is",
    "and") and signs (".", an emoji) do not count as new, which is not in the paper. A sentence in which nothing was
    replaced passes.

    Args:
        negatives: negatives of one caption.
        image_captions: all captions of its image.
        implied: for a word, the words that are true wherever it is ("boy": "person"); they count as said. The paper
            has no such lexicon.

    >>> made = [Negative("a cat runs", replacement=("cat",)), Negative("a cow runs", replacement=("cow",))]
    >>> [negative.sentence for negative in without_false_negatives(made, ["a dog runs", "a dog chases a cat"])]
    ['a cow runs']
    """
    occurring = {token for caption in image_captions for token in tokenise(caption.lower())}
    if implied:
        occurring = occurring.union(*(implied.get(token, ()) for token in occurring))
    replaced = [(negative, " ".join(negative.replacement)) for negative in negatives]
    return [negative for negative, words in replaced if not negative.replacement or naming(words) - occurring]


NAMING_NOTHING = word_set("a an the this that these those some any and or of as is are was were be been being am")


def naming(words: str) -> set[str]:
    """Return the words, in lower case, that name something: no small words, and no signs without a letter or figure.

    >>> sorted(naming("The 🐎 is brown."))
    ['brown']
    """
    return {token for token in tokenise(words.lower()) if any(map(str.isalnum, token))} - NAMING_NOTHING


# (sentences, for each the number of its caption in the call) -> how well each matches that caption's image
Score = Callable[[list[str], Int[Tensor, "sentence"]], Float[Tensor, "sentence"]]


def scored(negatives: Rows, score: Score) -> Rows:
    """Score the negatives of all captions in one call.

    Raises:
        ItmlabError: the scores are not one finite number per sentence.
    """
    sentences = [negative.sentence for row in negatives for negative in row]
    if not sentences:
        return negatives
    captions = torch.arange(len(negatives)).repeat_interleave(torch.tensor([len(row) for row in negatives]))
    scores = torch.as_tensor(score(sentences, captions))
    if scores.shape != (len(sentences),) or not bool(scores.isfinite().all()):
        message = f"{len(sentences)} sentences were scored with {tuple(scores.shape)} numbers, or some are not finite"
        raise ItmlabError(message, remedy="give a score function that returns one number a sentence")
    values = iter(scores.tolist())
    return [[replace(negative, score=next(values)) for negative in row] for row in negatives]


def best(negatives: Sequence[Negative], number: int) -> list[Negative]:
    """Return the `number` negatives with the greatest scores, best first; of equals the earlier (Eq. 6, argmax-m).

    >>> best([Negative("a dog", score=1.0), Negative("a cow", score=3.0)], 1)[0].sentence
    'a cow'
    """
    return sorted(negatives, key=lambda negative: -negative.score)[:number]
