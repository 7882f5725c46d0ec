"""Which words of the world contradict each other (swaps, in the same form), and which imply others."""

from collections.abc import Iterable, Sequence
from functools import cache

from .entail import SMALL_WORDS
from .lexicon import ATTRIBUTE_OF, COMPATIBLE, PAIRS, RELATION_OF, Attribute, Noun, Verb, nouns
from .scene import SETTINGS

_NOT_IN_CAPTIONS = 9  # Noun.general
_NO_SINGULAR = PAIRS | {"clothes", "furniture", "clothing", "livestock", "cattle", "luggage", "food", "fruit"}
_VAGUE = frozenset(("have", "with", "at", "near", "by", "close to", "around"))  # true of much that other words name


@cache
def noun_swaps() -> dict[str, tuple[str, ...]]:
    """Each noun, singular and plural, with those of its category that mean no kind it may mean.

    Only words that the world's captions use are put in; any that the lexicon knows can be taken out.

    >>> "cats" in noun_swaps()["dogs"], "puppies" in noun_swaps()["dogs"]
    (True, False)
    """
    swaps: dict[str, tuple[str, ...]] = {}
    for lemma, entries in nouns().items():
        others = [word for word, other in nouns().items() if word not in _NO_SINGULAR and _contradict(entries, other)]
        if others and lemma not in _NO_SINGULAR:
            swaps[entries[0].plural] = tuple(nouns()[word][0].plural for word in others)
            swaps[lemma] = tuple(others)  # "sheep" is read as one
    return swaps


@cache
def relation_swaps() -> dict[str, tuple[str, ...]]:
    """Each action (in all its forms) and place word with those that cannot be true beside it; vague ones left out."""
    swaps: dict[str, tuple[str, ...]] = {}
    for lemma, verb in RELATION_OF.items():
        if lemma in _VAGUE:
            continue
        others = [other for other in RELATION_OF.values() if other.lemma not in _VAGUE and _differ(verb, other)]
        for form, mine in enumerate((lemma, *verb.forms)):
            words = tuple(word for other in others if (word := (other.lemma, *other.forms)[form]))
            if words and mine:
                swaps.setdefault(mine, words)
    return swaps


@cache
def implied_words() -> dict[str, frozenset[str]]:
    """Each single word of the lexicon, in all forms, with the words that are true, or may be, wherever it is true.

    Nouns imply wider ones and places what they are made of ("park": "grass"), adjectives their equals, actions and
    place words what rests on compatible facts; the vague words are implied by every noun. Words that say nothing
    ("and", "some") are implied by all: with one of them in its place, a caption says less, and that is true.

    >>> implied = implied_words()
    >>> "animal" in implied["dog"], "dog" in implied["animal"], "grass" in implied["park"]
    (True, False, True)
    """
    vague = frozenset(word for lemma in _VAGUE for word in (lemma, *RELATION_OF[lemma].forms))
    groups = [({lemma, *(noun.plural for noun in entries)}, _kinds(entries)) for lemma, entries in nouns().items()]
    implied = {
        word: vague.union(*(others for others, wider in groups if _shown(kinds, wider)))
        for words, kinds in groups
        for word in words
    }
    entries: list[Attribute | Verb] = [*ATTRIBUTE_OF.values(), *RELATION_OF.values()]
    for mine in entries:
        alike = frozenset(word for other in entries if _alike(mine, other) for word in (other.lemma, *other.forms))
        for word in (mine.lemma, *mine.forms):
            implied[word] = implied.get(word, frozenset()) | alike
    # small words that do not name a relation: the words beside them carry the meaning
    empty = frozenset(SMALL_WORDS).difference(*((lemma, *verb.forms) for lemma, verb in RELATION_OF.items()))
    return {word: frozenset(filter(None, others | empty)) - {word} for word, others in implied.items() if word}


def _kinds(entries: Iterable[Noun]) -> frozenset[str]:
    return frozenset().union(*(noun.means | noun.perhaps for noun in entries))


def _shown(kinds: frozenset[str], wider: frozenset[str]) -> bool:
    """Whether each of some kinds is one of the wider ones, or a setting with one of them on or around it."""
    parts = {kind: {kind} for kind in kinds}
    parts |= {kind: {kind, SETTINGS[kind].ground, *SETTINGS[kind].around} for kind in kinds if kind in SETTINGS}
    return bool(kinds) and all(parts[kind] & wider for kind in kinds)


def _alike(mine: Attribute | Verb, other: Attribute | Verb) -> bool:
    """Whether a thing that the first word is true of may bear the second too."""
    if isinstance(mine, Attribute) and isinstance(other, Attribute):
        return mine == other or any(
            values & (other.means.get(name, frozenset()) | other.perhaps.get(name, frozenset()))
            for name, values in mine.means.items()
        )
    return mine.category == other.category and not _differ(mine, other)


def _contradict(mine: Sequence[Noun], other: Sequence[Noun]) -> bool:
    alike = {noun.category for noun in mine} == {noun.category for noun in other}
    used = all(noun.means and noun.general < _NOT_IN_CAPTIONS for noun in other)
    return alike and used and bool(_kinds(mine)) and _kinds(mine).isdisjoint(_kinds(other))


def _differ(mine: Verb, other: Verb) -> bool:
    both = [{*mine.means, fact} for fact in other.means]
    together = any(pair <= facts for pair in both for facts in COMPATIBLE) or set(mine.means) & set(other.means)
    return mine.category == other.category and not together
