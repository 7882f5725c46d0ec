"""Negatives by rule (VSE-C): one noun, number or relation of a caption swapped for another that contradicts it.

After Shi et al., "Learning Visually-Grounded Semantics from Contrastive Adversarial Samples", 2018.
"""

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
from .negative import Change, Negative, distinct, edited, one_each, without_false_negatives

Swaps = Mapping[str, Sequence[str]]  # a word as written in a sentence → words, in the same form, that may replace it

_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_FIGURES = tuple(str(number) for number in range(2, 11))
_UPON, _BELOW = ("on", "on top of", "atop"), ("under", "underneath", "beneath", "below")
_VOWELS = "aeiou"


def of_categories(categories: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Swaps of each word for every other word of its categories (category → words)."""
    found: dict[str, dict[str, None]] = {}
    for words in categories.values():
        for word, other in product(words, words):
            if word != other:
                found.setdefault(word, {})[other] = None
    return {word: tuple(others) for word, others in found.items()}


NUMBERS: dict[str, tuple[str, ...]] = of_categories({"words": _WORDS, "figures": _FIGURES})
PLACES: dict[str, tuple[str, ...]] = {  # where each contradicts the other, whatever the captions are of
    **dict.fromkeys(_UPON, _BELOW),
    **dict.fromkeys(_BELOW, _UPON),
    **of_categories({"depth": ("behind", "in front of")}),
}


class RuleSwaps:
    """Every sentence that one swap makes of a caption, or `number` of them drawn at random.

    `nouns`, `relations` and `numbers` say what each word may be swapped for (of a
    drawn world: its `swaps()`; of real captions: `wordnet_swaps`; or `of_categories` of any lexicon); an empty
    mapping leaves a kind alone. Nouns are looked for in a graph's objects, relations in its relations, the longest
    known words first; numbers anywhere. "a" and "an" follow the new word. `filtered` drops what the image's captions
    say.
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
        self,
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        image_captions: Sequence[Sequence[str]],
        *,
        generator: torch.Generator,
    ) -> list[list[Negative]]:
        """The negatives of each caption; `image_captions` are those of its image, used by the filter.

        One number is drawn a caption, so what one caption gets does not depend on how many another has to choose from.
        """
        one_each(captions, graphs, image_captions)
        seeds = torch.randint(2**62, (len(captions),), generator=generator, device=generator.device).tolist()
        return [self._of(*one) for one in zip(captions, graphs, image_captions, seeds, strict=True)]

    def _of(self, caption: str, graph: SceneGraph, image_captions: Sequence[str], seed: int) -> list[Negative]:
        places = token_characters(caption, graph.tokens)
        found = distinct(caption, (edited(caption, graph.tokens, places, [each]) for each in self._changes(graph)))
        if self.filtered:
            found = without_false_negatives(found, [caption, *image_captions])
        if self.number is None or len(found) <= self.number:
            return found
        chosen = torch.randperm(len(found), generator=torch.Generator().manual_seed(seed))[: self.number]
        return [found[at] for at in chosen.sort().values.tolist()]

    def _changes(self, graph: SceneGraph) -> Iterator[Change]:
        words = [token.lower() for token in graph.tokens]
        for kind, parts, swaps in (
            ("object", graph.objects, self.nouns),
            ("relation", graph.relations, self.relations),
        ):
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
    before = words[span.start - 1] if span.start else ""
    wanted = "an" if other[:1] in _VOWELS else "a"
    if before in ("a", "an") and before != wanted:
        return Change(Span(span.start - 1, span.end), f"{wanted} {other}", kind)
    return Change(span, other, kind)


# Swaps of nouns from an installed WordNet: words of one vocabulary that are two kinds of the same thing.


LEVELS = 2  # how far up two words may meet: "dog" and "cat" are carnivores by way of "canine" and "feline"


class _Sense(NamedTuple):
    """A synset: its words and the offsets of those right above it."""

    offset: int
    words: frozenset[str]
    above: tuple[int, ...]


def wordnet_swaps(words: Iterable[str], directory: str | Path | None = None) -> dict[str, tuple[str, ...]]:
    """Each noun of a vocabulary with the others that may stand for it: another kind of the same, in the same number.

    Two nouns are swapped if their first senses have a synset at most `LEVELS` above them in common, neither is above
    the other ("animal", "dog") and no word is in both (synonyms). All come from `words`, the vocabulary of the
    captions, so no form has to be made up. `directory` holds WordNet's `index.noun` and `data.noun` (format
    wndb(5WN)); by default the installed one. MissingPart: no WordNet there; ItmlabError: files that are not of
    the format.
    """
    vocabulary = sorted({word.lower() for word in words if word.isalpha()})
    place = _place(directory)
    first = _first_senses({noun_lemma(word) for word in vocabulary}, place / "index.noun")
    with (place / "data.noun").open("rb") as data:
        read = cache(lambda offset: _sense(data, offset))
        senses = {word: read(first[noun_lemma(word)]) for word in vocabulary if noun_lemma(word) in first}
        higher = {word: list(_higher(sense, read)) for word, sense in senses.items()}
    groups: dict[tuple[int, bool], list[str]] = {}
    for word, levels in higher.items():
        for synset in sorted(set().union(*levels[:LEVELS])):
            groups.setdefault((synset, noun_lemma(word) != word), []).append(word)
    every = {word: set().union(*levels, {senses[word].offset}) for word, levels in higher.items()}
    found: dict[str, dict[str, None]] = {}
    for word, other in (pair for members in groups.values() for pair in permutations(members, 2)):
        related = senses[word].offset in every[other] or senses[other].offset in every[word]
        if not related and not senses[word].words & senses[other].words:
            found.setdefault(word, {})[other] = None
    return {word: tuple(others) for word, others in sorted(found.items())}


def _place(directory: str | Path | None) -> Path:
    for place in [Path(directory)] if directory else wordnet_places():
        if all((place / name).is_file() for name in ("index.noun", "data.noun")):
            return place
    raise MissingPart("WordNet", COMMAND, needed_for="swapping nouns by WordNet")


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


def _higher(sense: _Sense, read: Callable[[int], _Sense]) -> Iterator[set[int]]:
    """The synsets one above a sense, two above, and so on to the top."""
    level, seen = set(sense.above), set()
    while level - seen:
        seen |= level
        yield level
        level = {above for offset in level for above in read(offset).above}


def _sense(data: BinaryIO, offset: int) -> _Sense:
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
        return _Sense(offset, frozenset(word.lower() for word in cells[4 : 4 + 2 * count : 2]), above)
    except (IndexError, ValueError):
        raise ItmlabError(f"no synset begins at byte {offset}", where=data.name) from None
