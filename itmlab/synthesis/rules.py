"""Negatives by rule (VSE-C): one noun, number or relation of a caption swapped for another that contradicts it.

After Shi et al. (2018), "Learning Visually-Grounded Semantics from Contrastive Adversarial Samples", the baseline of
TAGS' Tables 3 and 4 (METHODS 3.8). What words are swapped for comes of a lexicon; of photographs, `caption_swaps`.
"""

import re
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product

import torch

from ..data.faults import one_line
from ..errors import ItmlabError
from ..text import SceneGraph, Span
from ..text.alignment import token_characters
from .negative import (
    Captions,
    Change,
    Graphs,
    Negative,
    edited,
    one_each,
    own_generators,
    put_in,
    without_false_negatives,
)

Fluency = Callable[[Sequence[str]], Iterable[float]]  # sentences → a perplexity each
MOST_CHARACTERS = 2**25  # of all negatives of a caption
Swaps = Mapping[str, Sequence[str]]  # a word as written in a sentence → words, in the same form, that may replace it


def of_categories(categories: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Swaps of each word for every other word of its categories (category → words).

    >>> of_categories({"animal": ["dog", "cat"], "pet": ["cat", "mouse"]})
    {'dog': ('cat',), 'cat': ('dog', 'mouse'), 'mouse': ('cat',)}
    """
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for word, other in (pair for words in categories.values() for pair in product(words, words)):
        if word != other:
            found[word][other] = None
    return {word: tuple(others) for word, others in found.items()}


_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_UPON, _BELOW = ("on", "on top of", "atop"), ("under", "underneath", "beneath", "below")
NUMBERS: dict[str, tuple[str, ...]] = of_categories({"words": _WORDS, "figures": list(map(str, range(2, 11)))})
PLACES: dict[str, tuple[str, ...]] = {  # where each contradicts the other, whatever the captions are of
    **dict.fromkeys(_UPON, _BELOW),
    **dict.fromkeys(_BELOW, _UPON),
    **of_categories({"depth": ("behind", "in front of")}),
}


class RuleSwaps:
    """Every sentence that one swap makes of a caption, or `number` of them: at random, or the likeliest by `fluency`.

    `nouns`, `relations` and `numbers` say what each word may be swapped for (of a drawn world: its `swaps()`; or
    `of_categories` of any lexicon); an empty mapping leaves a kind alone. Nouns are looked for in a graph's objects,
    relations in its relations, the longest known words first; numbers anywhere. "a" and "an" follow the new word.
    `filtered` drops what the image's captions say.

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
        fluency: Fluency | None = None,
    ):
        if number is not None and number < 1:
            raise ItmlabError(f"{number} negatives a caption cannot be", remedy="give 1 or more, or None for all")
        self.nouns, self.relations, self.numbers = nouns, relations, numbers
        self.number, self.filtered, self.fluency = number, filtered, fluency
        self._longest = [max((key.count(" ") + 1 for key in swaps), default=0) for swaps in (nouns, relations)]

    def __call__(
        self, captions: Captions, graphs: Graphs, image_captions: Sequence[Captions], *, generator: torch.Generator
    ) -> list[list[Negative]]:
        """The negatives of each caption; `image_captions` are those of its image, used by the filter."""
        one_each(captions, graphs, image_captions)
        own = own_generators(len(captions), generator)
        return [self._of(*one) for one in zip(captions, graphs, image_captions, own, strict=True)]

    def _of(self, caption: str, graph: SceneGraph, image_captions: Captions, own: torch.Generator) -> list[Negative]:
        places = token_characters(caption, graph.tokens)

        def made(changes: Sequence[Change]) -> Negative:
            return edited(caption, graph.tokens, places, changes)

        # Of a caption of thousands of words all sentences together take gigabytes: what changes is kept instead.
        read = _Readings(caption)
        found: dict[tuple[int, int], tuple[Sequence[Change], Negative]] = {read([]): ((), Negative(""))}
        for changes in self._changes(graph, image_captions):
            new = [put_in(caption, places, change) for change in changes]
            unsaid = Negative("", replacement=tuple(words for _, _, words in new))
            found.setdefault(read(new), (changes, unsaid))
        kept = list(found.values())[1:]
        if self.filtered:
            true = without_false_negatives([one for _, one in kept], [caption, *image_captions])
            passed = set(map(id, true))
            kept = [each for each in kept if id(each[1]) in passed]
        if self.number is None or len(kept) <= self.number:
            if len(kept) * len(caption) > MOST_CHARACTERS:
                what = f"a caption of {len(graph.tokens)} words has {len(kept)} negatives"
                raise ItmlabError(what, where=one_line(caption, 60), remedy="give number=, how many of each caption")
            return [made(changes) for changes, _ in kept]
        if self.fluency is not None:
            perplexity = list(map(float, self.fluency([made(changes).sentence for changes, _ in kept])))
            chosen = sorted(range(len(kept)), key=perplexity.__getitem__)[: self.number]
            return [made(kept[at][0]) for at in sorted(chosen)]
        chosen = torch.randperm(len(kept), generator=own)[: self.number]
        return [made(kept[at][0]) for at in chosen.sort().values.tolist()]

    def _changes(self, graph: SceneGraph, image_captions: Captions) -> Iterator[Sequence[Change]]:
        """What to change in the caption of a graph, each sentence's changes together."""
        words = [token.lower() for token in graph.tokens]
        of_parts = (("object", graph.objects, self.nouns), ("relation", graph.relations, self.relations))
        for (kind, parts, swaps), longest in zip(of_parts, self._longest, strict=True):
            spans = dict.fromkeys(_known(words, part.span, swaps, longest) for part in parts if part.span is not None)
            for span in filter(None, spans):
                for other in swaps[" ".join(words[span.start : span.end])]:
                    yield [with_article(words, span, other, kind)]
        for at, word in enumerate(words):
            for other in self.numbers.get(word, ()):
                yield [Change(Span(at, at + 1), other, "number")]


def _known(words: Sequence[str], span: Span, swaps: Swaps, longest: int) -> Span | None:
    """The longest part of a span that can be swapped, the last of equally long ones ("police dog": "dog")."""
    for length in range(min(span.end - span.start, longest), 0, -1):
        for start in range(span.end - length, span.start - 1, -1):
            if swaps.get(" ".join(words[start : start + length])):
                return Span(start, start + length)
    return None


_PRIME, _BASE = 2**127 - 1, secrets.randbelow(2**126) + 2**32  # the base is nobody's to know


class _Readings:
    """Names the sentences made of a caption, equal where `negative.reads_as` is, in time of what was put in alone.

    The signs read are the digits of a number modulo a prime (Karp and Rabin, 1987), and those that stay are taken over
    from the caption's: all sentences of n words cost n, not n².
    """

    def __init__(self, caption: str):
        self.blank = [False, *map(str.isspace, caption)]  # whether a blank stands before each character
        self.digits: list[int] = []
        self.before = [0]  # of the digits, those before each character
        for character, blank in zip(caption, self.blank, strict=False):
            self.digits += _digits(character, blank)
            self.before.append(len(self.digits))
        self.value = list(accumulate(self.digits, lambda value, digit: (value * _BASE + digit) % _PRIME, initial=0))
        self.power = list(accumulate(self.digits, lambda power, _: power * _BASE % _PRIME, initial=1))

    def __call__(self, put_in: Sequence[tuple[int, int, str]]) -> tuple[int, int]:
        """The name of the caption with words in the place of characters, as `negative.put_in` gives both."""
        value = count = at = 0
        blank = False
        for first, last, words in (*put_in, (len(self.blank) - 1, 0, "")):
            start, end = self.before[at], self.before[first]
            if start < end:  # the first of what stays may stand behind other words now
                blank = count > 0 and (blank or self.blank[at + 1])
                value = (value * _BASE + (self.digits[start] & ~1) + blank) % _PRIME
                power = self.power[end - start - 1]
                value = (value * power + self.value[end] - self.value[start + 1] * power) % _PRIME
            blank = self.blank[first] if start < end else blank or at < first
            count, at = count + end - start, last
            for character in words:
                for digit in _digits(character, blank and count > 0):
                    value, count, blank = (value * _BASE + digit) % _PRIME, count + 1, False
                blank = blank or character.isspace()
        return count, value


def _digits(character: str, blank: bool) -> Sequence[int]:
    """What is read of a character: a number for each sign, and whether a blank stands before it; of blanks nothing."""
    if character.isspace():
        return ()
    first, *others = character.casefold()
    return (2 * ord(first) + blank, *(2 * ord(sign) for sign in others))


_CONSONANT = re.compile(r"eu|ew|uni([^nm]|$)|us[aeiu]|ut[aei]|uk|one|once|u-")  # "a European", "a one-year-old"
_VOWEL = re.compile(r"[aeiou]|hour|hono|honest|heir|8|1[18]\b|x-|[fhlmnrsx]([^a-z]|$)")  # "an hour", "an X-ray"


def article(word: str) -> str:
    """ "a" or "an", by how the next word sounds.

    >>> article("elephant"), article("european"), article("unicycle"), article("hour"), article("umbrella")
    ('an', 'a', 'a', 'an', 'an')
    """
    word = word.lower()
    return "an" if _VOWEL.match(word) and not _CONSONANT.match(word) else "a"


def with_article(words: Sequence[str], span: Span, other: str, kind: str) -> Change:
    """The swap, and of the article before it if that must change ("an elephant": "a dog")."""
    wanted = article(other)
    if span.start and words[span.start - 1] in {"a", "an"} - {wanted}:
        return Change(Span(span.start - 1, span.end), f"{wanted} {other}", kind)
    return Change(span, other, kind)
