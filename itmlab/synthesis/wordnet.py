"""Swaps of nouns from an installed WordNet: words of one vocabulary that are two kinds of the same thing."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..errors import ItmlabError, MissingPart
from ..text.lemmas import noun_lemma
from ..text.wordnet_places import COMMAND, wordnet_places

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
