"""Negatives by rule (VSE-C): one noun, number or relation of a caption swapped for another that contradicts it.

After Shi et al. (2018), "Learning Visually-Grounded Semantics from Contrastive Adversarial Samples", the baseline of
TAGS' Tables 3 and 4 (METHODS 3.8). What words are swapped for comes of a lexicon; of photographs, `caption_swaps`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import torch

from ..data.faults import one_line
from ..errors import ItmlabError
from ..text import SceneGraph, Span
from ..text.alignment import token_characters
from .negative import (
    Captions,
    Change,
    Graphs,
    Implied,
    Negative,
    edited,
    own_generators,
    without_false_negatives,
)

MOST_CHARACTERS = 2**25  # of all negatives of a caption
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

    def __init__(
        self,
        nouns: Swaps,
        relations: Swaps = PLACES,
        numbers: Swaps = NUMBERS,
        *,
        number: int | None = None,
        filtered: bool = True,
        implied: Implied | None = None,
    ):
        if number is not None and number < 1:
            raise ItmlabError(f"{number} negatives a caption cannot be", remedy="give 1 or more, or None for all")
        self.nouns, self.relations, self.numbers = nouns, relations, numbers
        self.number, self.filtered, self.implied = number, filtered, implied
        self._longest = [max((key.count(" ") + 1 for key in swaps), default=0) for swaps in (nouns, relations)]

    def __call__(
        self, captions: Captions, graphs: Graphs, image_captions: Sequence[Captions], *, generator: torch.Generator
    ) -> list[list[Negative]]:
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
            remaining = set(without_false_negatives(put_in, [caption, *image_captions], self.implied))
            candidates = [change for change, negative in zip(candidates, put_in, strict=True) if negative in remaining]
        if self.number is None and len(candidates) * len(caption) > MOST_CHARACTERS:
            message = f"a caption of {len(graph.tokens)} words has {len(candidates)} negatives"
            raise ItmlabError(message, where=one_line(caption, 60), remedy="give number=, how many of each caption")
        if self.number is not None and len(candidates) > self.number:
            chosen = torch.randperm(len(candidates), generator=generator)[: self.number].tolist()
            candidates = [candidates[place] for place in sorted(chosen)]
        characters = token_characters(caption, graph.tokens)
        return [edited(caption, graph.tokens, characters, [change]) for change in candidates]

    def _changes(self, graph: SceneGraph) -> Iterator[Change]:
        """What to change in the caption of a graph, a sentence each."""
        words = [token.lower() for token in graph.tokens]
        of_parts = (("object", graph.objects, self.nouns), ("relation", graph.relations, self.relations))
        for (kind, parts, swaps), longest in zip(of_parts, self._longest, strict=True):
            spans = dict.fromkeys(_known(words, part.span, swaps, longest) for part in parts if part.span is not None)
            for span in filter(None, spans):
                for other in swaps[" ".join(words[span.start : span.end])]:
                    yield with_article(words, span, other, kind)
        for at, word in enumerate(words):
            for other in self.numbers.get(word, ()):
                yield Change(Span(at, at + 1), other, "number")


def _known(words: Sequence[str], span: Span, swaps: Swaps, longest: int) -> Span | None:
    """The longest part of a span that can be swapped, the last of equally long ones ("police dog": "dog")."""
    for length in range(min(span.end - span.start, longest), 0, -1):
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
