"""Negatives by rule (VSE-C): one noun, number or relation of a caption swapped for another that contradicts it.

After Shi et al. (2018), "Learning Visually-Grounded Semantics from Contrastive Adversarial Samples", the baseline of
TAGS' Tables 3 and 4 (METHODS 3.8). What nouns are swapped for comes of a lexicon, or of WordNet (Miller 1995).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations, product
from pathlib import Path
from typing import BinaryIO, NamedTuple

import torch

from ..errors import ItmlabError, MissingPart
from ..metrics.wordnet import COMMAND, wordnet_places
from ..text import SceneGraph, Span
from ..text.alignment import token_characters
from ..text.rules.lexicon import noun_lemma
from .negative import (
    Captions,
    Change,
    Graphs,
    Negative,
    distinct,
    edited,
    one_each,
    own_generators,
    without_false_negatives,
)

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
    """Every sentence that one swap makes of a caption, or `number` of them drawn at random.

    `nouns`, `relations` and `numbers` say what each word may be swapped for (of a drawn world: its `swaps()`; of real
    captions: `wordnet_swaps`; or `of_categories` of any lexicon); an empty mapping leaves a kind alone. Nouns are
    looked for in a graph's objects, relations in its relations, the longest known words first; numbers anywhere. "a"
    and "an" follow the new word. `filtered` drops what the image's captions say.

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
    ):
        if number is not None and number < 1:
            raise ItmlabError(f"{number} negatives a caption cannot be", remedy="give 1 or more, or None for all")
        self.nouns, self.relations, self.numbers = nouns, relations, numbers
        self.number, self.filtered = number, filtered

    def __call__(
        self, captions: Captions, graphs: Graphs, image_captions: Sequence[Captions], *, generator: torch.Generator
    ) -> list[list[Negative]]:
        """The negatives of each caption; `image_captions` are those of its image, used by the filter."""
        one_each(captions, graphs, image_captions)
        own = own_generators(len(captions), generator)
        return [self._of(*one) for one in zip(captions, graphs, image_captions, own, strict=True)]

    def _of(self, caption: str, graph: SceneGraph, image_captions: Captions, own: torch.Generator) -> list[Negative]:
        places = token_characters(caption, graph.tokens)
        found = distinct(caption, (edited(caption, graph.tokens, places, [each]) for each in self._changes(graph)))
        if self.filtered:
            found = without_false_negatives(found, [caption, *image_captions])
        if self.number is None or len(found) <= self.number:
            return found
        chosen = torch.randperm(len(found), generator=own)[: self.number]
        return [found[at] for at in chosen.sort().values.tolist()]

    def _changes(self, graph: SceneGraph) -> Iterator[Change]:
        words = [token.lower() for token in graph.tokens]
        of_parts = (("object", graph.objects, self.nouns), ("relation", graph.relations, self.relations))
        for kind, parts, swaps in of_parts:
            spans = dict.fromkeys(_known(words, part.span, swaps) for part in parts if part.span is not None)
            for span in filter(None, spans):
                for other in swaps[" ".join(words[span.start : span.end])]:
                    yield _with_article(words, span, other, kind)
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


def _with_article(words: Sequence[str], span: Span, other: str, kind: str) -> Change:
    """The swap, and of the article before it if that must change ("an elephant": "a dog")."""
    wanted = "an" if other[:1] in "aeiou" else "a"
    if span.start and words[span.start - 1] in {"a", "an"} - {wanted}:
        return Change(Span(span.start - 1, span.end), f"{wanted} {other}", kind)
    return Change(span, other, kind)


LEVELS = 2  # how far up two words may meet: "dog" and "cat" are carnivores by way of "canine" and "feline"


def wordnet_swaps(words: Iterable[str], directory: str | Path | None = None) -> dict[str, tuple[str, ...]]:
    """Each noun of a vocabulary with the others that may stand for it: another kind of the same, in the same number.

    Two nouns are swapped if their first senses have a synset at most `LEVELS` above them in common, neither is above
    the other ("animal", "dog") and no word is in both (synonyms). All come from `words`, the vocabulary of the
    captions, so no form has to be made up. `directory` holds WordNet's `index.noun` and `data.noun` (format
    wndb(5WN)); by default the installed one. MissingPart: no WordNet there; ItmlabError: files of another format.
    """
    files = ("index.noun", "data.noun")
    places = [Path(directory)] if directory else wordnet_places()
    place = next((each for each in places if all((each / name).is_file() for name in files)), None)
    if place is None:
        raise MissingPart("WordNet", COMMAND, needed_for="swapping nouns by WordNet")
    lemmas = {word: noun_lemma(word) for word in sorted({word.lower() for word in words if word.isalpha()})}
    first = _first_senses(set(lemmas.values()), place / "index.noun")
    with (place / "data.noun").open("rb") as data:
        read = cache(lambda offset: _synset(data, offset))
        senses = {word: read(first[lemma]) for word, lemma in lemmas.items() if lemma in first}
        higher = {word: list(_higher(sense, read)) for word, sense in senses.items()}
    groups: dict[tuple[int, bool], list[str]] = defaultdict(list)  # by a synset above them, and whether plural
    for word, levels in higher.items():
        for above in sorted(set().union(*levels[:LEVELS])):
            groups[above, lemmas[word] != word].append(word)
    every = {word: {senses[word].offset}.union(*levels) for word, levels in higher.items()}
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for word, other in (pair for members in groups.values() for pair in permutations(members, 2)):
        related = senses[word].offset in every[other] or senses[other].offset in every[word]
        if not related and not senses[word].words & senses[other].words:
            found[word][other] = None
    return {word: tuple(others) for word, others in sorted(found.items())}


def _first_senses(wanted: set[str], index: Path) -> dict[str, int]:
    """The offset of the most frequent sense of each wanted noun that WordNet knows."""
    found = {}
    for number, line in enumerate(index.read_text("utf-8", errors="replace").splitlines(), start=1):
        lemma, _, rest = line.partition(" ")
        if lemma in wanted:
            cells = rest.split()
            try:  # the offsets stand last, as many as the second of these says
                found[lemma] = int(cells[-int(cells[1])])
            except (IndexError, ValueError):
                raise ItmlabError("not a line of a WordNet index", where=f"{index}:{number}") from None
    return found


class _Synset(NamedTuple):
    offset: int
    words: frozenset[str]
    above: tuple[int, ...]  # the offsets of those right above it


def _synset(data: BinaryIO, offset: int) -> _Synset:
    """A line of data.noun: its offset, file, type, words with numbers (in hexadecimal), pointers, gloss."""
    data.seek(offset)
    cells = data.readline().decode("utf-8", errors="replace").split(" | ")[0].split()
    try:
        if int(cells[0]) != offset:
            raise ValueError
        count = int(cells[3], 16)
        pointers = cells[4 + 2 * count + 1 :]
        starts = range(0, 4 * int(cells[4 + 2 * count]), 4)
        above = tuple(int(pointers[at + 1]) for at in starts if pointers[at] == "@")
        return _Synset(offset, frozenset(word.lower() for word in cells[4 : 4 + 2 * count : 2]), above)
    except (IndexError, ValueError):
        raise ItmlabError(f"no synset begins at byte {offset}", where=data.name) from None


def _higher(synset: _Synset, read: Callable[[int], _Synset]) -> Iterator[set[int]]:
    """The synsets one above this, two above, and so on to the top."""
    level, seen = set(synset.above), set()
    while level - seen:
        seen |= level
        yield level
        level = {above for offset in level for above in read(offset).above}
