"""Prepositions of several words: "in front of", "on the left side of", "next to", each under one name."""

from collections.abc import Sequence

from .word_set import word_set

_DETERMINERS = word_set("the a an its his her their one")
_PLACES = {
    "on": word_set("side back edge bottom end front top face corner middle center left right inside outside rim"),
    "in": word_set("middle center front back corner side end top rear bottom"),
    "at": word_set("end edge back top rear left right bottom base corner front foot side center"),
    "to": word_set("left right side rear back"),
    "by": word_set("side edge"),
    "along": word_set("side edge"),
    "from": word_set("top side back bottom"),
}
_SIDES = word_set("left right other far both either opposite each back front")
_FIXED = (
    "next to", "close to", "up to", "on to", "in to", "near to", "out of", "inside of", "outside of", "off of",
    "on top", "across from", "away from", "ahead of", "side by side with", "in between", "instead of", "because of",
    "along with", "together with", "apart from", "such as", "as well as", "adjacent to", "all over", "atop of",
    "alongside of", "in back", "out from", "down from", "up against", "in amongst", "underneath of", "full of",
    "part of", "on board", "due to", "according to",
)  # fmt: skip
_SINGLE = word_set(
    "about above across after against along alongside amid amidst among amongst around at atop before behind below "
    "beneath beside besides between beyond by down during for from in inside into near nearby of off on onto opposite "
    "out outside over past through throughout to toward towards under underneath until up upon via with within "
    "without like aboard next"
)
_NAMES = {"all over": "over", "in to": "into", "on to": "onto", "near to": "near", "off of": "off", "atop of": "atop"}
LONGEST = 6


def _fixed_table() -> dict[str, list[tuple[str, ...]]]:
    table: dict[str, list[tuple[str, ...]]] = {}
    for words in _FIXED:
        parts = tuple(words.split())
        table.setdefault(parts[0], []).append(parts)
    for patterns in table.values():
        patterns.sort(key=len, reverse=True)
    return table


_BY_FIRST = _fixed_table()


def is_preposition(word: str) -> bool:
    """Whether a single word can be a preposition."""
    return word in _SINGLE


def match(words: Sequence[str], start: int) -> tuple[int, str] | None:
    """(end, name) of the preposition of several words that begins at `start`, the longest one; None if none does.

    Determiners are left out of the name, so "on the side of" and "on side of" are one relation.
    """
    first = words[start]
    placed = _place(words, start) if first in _PLACES else None
    if placed is not None:
        return placed
    for parts in _BY_FIRST.get(first, ()):
        end = start + len(parts)
        if tuple(words[start:end]) == parts:
            name = " ".join(parts)
            return end, _NAMES.get(name, name)
    return None


def _place(words: Sequence[str], start: int) -> tuple[int, str] | None:
    """As in "on the right hand side of": preposition, determiner, side, place, "of"."""
    first, at, said = words[start], start + 1, []
    if at < len(words) and words[at] in _DETERMINERS:
        at += 1
    while at < len(words) and len(said) < 3 and (words[at] in _SIDES or words[at] in ("hand", "very")):
        if at + 1 < len(words) and words[at + 1] in ("of", "from"):
            break
        said += [words[at]] if words[at] not in ("hand", "very") else []
        at += 1
    if at + 1 >= len(words):
        return None
    place = words[at].removesuffix("s") if words[at] in ("sides", "edges", "ends") else words[at]
    if place not in _PLACES[first] or words[at + 1] != "of":
        return None
    return at + 2, " ".join([first, *said, words[at], "of"])
