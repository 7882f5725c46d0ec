"""Negatives by rule (VSE-C): one noun, number or relation of a caption swapped for another that contradicts it.

After Shi et al. (2018), "Learning Visually-Grounded Semantics from Contrastive Adversarial Samples", the baseline of
TAGS' Tables 3 and 4 (METHODS 3.8). A lexicon says what words are swapped for: that of a drawn world, or closed lists
for captions of photographs (`caption_swaps.toml`), where no world says what is true.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from ..data.captionset import CaptionSet
from ..fields import FROM_1, check_ranges
from ..text import SceneGraph, Span
from ..text.alignment import token_characters
from ..text.rules.lexicon import noun_lemma, word_set
from . import negative as base
from .negative import Captions, Change, Draws, Graphs, Negative, OfImage, Rows, edited, own_generators

Swaps = Mapping[str, Sequence[str]]  # a word as written in a sentence → words, in the same form, that may replace it


# numbers in words and in figures
SCRIPTS = (["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], list(map(str, range(2, 11))))
NUMBERS: Swaps = {word: [other for other in script if other != word] for script in SCRIPTS for word in script}
_UPON, _BELOW = ("on", "on top of", "atop"), ("under", "underneath", "beneath", "below")
PLACES: Swaps = {  # where each contradicts the other, whatever the captions are of
    **dict.fromkeys(_UPON, _BELOW),
    **dict.fromkeys(_BELOW, _UPON),
    "behind": ("in front of",),
    "in front of": ("behind",),
}


@dataclass
class RuleSwaps:
    """Makes negatives by swapping one noun, relation or number of a caption (VSE-C).

    Nouns are looked for in a graph's objects and relations in its relations, the longest known words first; numbers
    anywhere. "a" and "an" follow the new word.

    Args:
        nouns: for each noun, what it may be swapped for (in a drawn world: `world.swaps()`); an empty mapping swaps
            none.
        relations: the same for relations.
        numbers: the same for numbers.
        number: how many sentences are drawn for each caption; None makes all.
        filtered: leave out what the image's captions say.
        implied: what words imply, for the filter (see `without_false_negatives`).

    Raises:
        ItmlabError: `number` is below 1.

    References:
        Shi et al. (2018), Sec. 3; METHODS 3.8.

    >>> swaps, graph = RuleSwaps({}), SceneGraph(tokens=("two", "dogs"))
    >>> [one.sentence for one in swaps(["two dogs"], [graph], [["nine dogs"]], generator=torch.Generator())[0]][:2]
    ['three dogs', 'four dogs']
    """

    nouns: Swaps
    relations: Swaps = field(default_factory=lambda: PLACES)
    numbers: Swaps = field(default_factory=lambda: NUMBERS)
    number: int | None = None
    filtered: bool = True
    implied: base.Implied | None = None

    def __post_init__(self) -> None:
        check_ranges(self, "vse_c", number=FROM_1)

    def __call__(self, captions: Captions, graphs: Graphs, image_captions: OfImage, *, generator: Draws) -> Rows:
        """Return the negatives of each caption; `image_captions` are all captions of its image, for the filter."""
        generators = own_generators(len(captions), generator)
        return [self._of(*parts) for parts in zip(captions, graphs, image_captions, generators, strict=True)]

    def _of(
        self, caption: str, graph: SceneGraph, image_captions: Captions, generator: torch.Generator
    ) -> list[Negative]:
        """The negatives of one caption."""
        # all sentences of a caption of thousands of words take gigabytes: their changes are kept instead
        candidates = list(dict.fromkeys(self._changes(graph)))
        if self.filtered:
            put_in = [Negative(change.words, replacement=(change.words,)) for change in candidates]
            remaining = set(base.without_false_negatives(put_in, [caption, *image_captions], self.implied))
            candidates = [change for change, negative in zip(candidates, put_in, strict=True) if negative in remaining]
        if self.number is not None and len(candidates) > self.number:
            chosen = torch.randperm(len(candidates), generator=generator)[: self.number].tolist()
            candidates = [candidates[place] for place in sorted(chosen)]
        characters = token_characters(caption, graph.tokens)
        return [edited(caption, graph.tokens, characters, [change]) for change in candidates]

    def _changes(self, graph: SceneGraph) -> Iterator[Change]:
        """What to change in the caption of a graph, a sentence each."""
        words = [token.lower() for token in graph.tokens]
        of_parts = (("object", graph.objects, self.nouns), ("relation", graph.relations, self.relations))
        for kind, parts, swaps in of_parts:
            spans = dict.fromkeys(_known(words, part.span, swaps) for part in parts if part.span is not None)
            for span in filter(None, spans):
                for other in swaps[" ".join(words[span.start : span.end])]:
                    yield with_article(words, span, other, kind)
        for at, word in enumerate(words):
            for other in self.numbers.get(word, ()):
                yield Change(Span(at, at + 1), other, "number")


def _known(words: Sequence[str], span: Span, swaps: Swaps) -> Span | None:
    """The longest part of a span that can be swapped, the last of equally long ones ("police dog": "dog")."""
    for length in range(span.end - span.start, 0, -1):
        for start in range(span.end - length, span.start - 1, -1):
            if swaps.get(" ".join(words[start : start + length])):
                return Span(start, start + length)
    return None


_CONSONANT = re.compile(r"eu|ew|uni([^nm]|$)|us[aeiu]|ut[aei]|uk|one|once|u-")  # "a European", "a one-year-old"
_VOWEL = re.compile(r"[aeiou]|hour|hono|honest|heir|8|1[18]\b|x-|[fhlmnrsx]([^a-z]|$)")  # "an hour", "an X-ray"


def article(word: str) -> str:
    """Return "a" or "an", by the sound of the next word.

    >>> article("elephant"), article("european"), article("unicycle"), article("hour"), article("umbrella")
    ('an', 'a', 'a', 'an', 'an')
    """
    word = word.lower()
    return "an" if _VOWEL.match(word) and not _CONSONANT.match(word) else "a"


def with_article(words: Sequence[str], span: Span, other: str, kind: str) -> Change:
    """Return the change of a span, with the article before it if that must change ("an elephant": "a dog")."""
    wanted = article(other)
    if span.start and words[span.start - 1] in {"a", "an"} - {wanted}:
        return Change(Span(span.start - 1, span.end), f"{wanted} {other}", kind)
    return Change(span, other, kind)


# The lexicon of captions of photographs.

TABLES = tomllib.loads((Path(__file__).parent / "caption_swaps.toml").read_text("utf-8"))
PERSONS: Swaps = {person: (other,) for person, other in TABLES["persons"].items()}
PHOTO_PLACES: Swaps = {place: (other,) for place, other in TABLES["places"].items()}
# only greater numbers are put in, since where three are there are two
GREATER: Swaps = {word: script[at + 1 : at + 4] for script in SCRIPTS for at, word in enumerate(script[:-1])}
WORDS = {name: word_set(words) for name, words in TABLES["words"].items()}
FEMALE, MALE = (WORDS[sex] | {word for word in PERSONS if noun_lemma(word) in WORDS[sex]} for sex in ("female", "male"))
PHOTO_IMPLIED = {  # a word → words that are true wherever it is
    **dict.fromkeys(FEMALE, FEMALE),
    **dict.fromkeys(MALE, MALE),
    **dict.fromkeys(WORDS["tied"], FEMALE | MALE),
    **dict.fromkeys(WORDS["some"], frozenset(GREATER)),
}


def vse_c(data: CaptionSet, number: int | None = None, *, filtered: bool = True) -> RuleSwaps:
    """Return VSE-C's swaps for a data set.

    The lexicon is that of the data's world. Without one, persons change their sex, numbers grow, and places become
    their opposites, by closed lists.

    Args:
        data: the data set.
        number: how many negatives are drawn for each caption; None makes all.
        filtered: leave out what the image's captions say.
    """
    if data.world is not None:
        return RuleSwaps(*data.world.swaps(), number=number, filtered=filtered)
    return RuleSwaps(PERSONS, PHOTO_PLACES, GREATER, number, filtered, PHOTO_IMPLIED)
