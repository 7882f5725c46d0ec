"""The one table of words that the world knows: nouns, attributes and relations, what each is true of, and its forms.

The table is `words.toml`. The parser's readings, the swaps of one word for another of its category, the captions and
`entails` all use it.
"""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from .scene import KINDS


@dataclass(frozen=True)
class Noun:
    """A noun: kinds it is surely true of (`means`) and kinds it may be true of (`perhaps`)."""

    lemma: str
    category: str  # words of one category can be swapped for one another
    means: frozenset[str]
    perhaps: frozenset[str] = frozenset()
    plural: str = ""
    needs: tuple[str, str] | None = None  # a property and the value it must have ("puppy": size, small)
    general: int = 0  # 0 the kind's own name, 1 another name, 2 a wider word, 3 a very wide one, 9 not used in captions


@dataclass(frozen=True)
class Attribute:
    """An adjective or an intransitive verb: property → values that make it true, and values that leave it open."""

    lemma: str
    category: str
    means: dict[str, frozenset[str]]
    perhaps: dict[str, frozenset[str]] = field(default_factory=dict)
    forms: tuple[str, ...] = ("", "")  # third person and participle of a verb


@dataclass(frozen=True)
class Verb:
    """A relation word; any of the facts in `means` (see `facts`) makes it true."""

    lemma: str
    category: str  # action or place
    means: tuple[str, ...]
    forms: tuple[str, str, str] = ("", "", "")  # third person, present participle, past participle


_TABLES = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
PAIRS = frozenset(("trousers", "pants", "jeans", "glasses", "eyeglasses", "boots"))  # one thing in the plural


def _kinds(words: str) -> frozenset[str]:
    """The kinds that are named; "*animal" stands for every kind of the category."""
    categories = {word[1:] for word in words.split() if word.startswith("*")}
    named = {word for word in words.split() if not word.startswith("*")}
    return frozenset(named | {name for name, kind in KINDS.items() if kind.category in categories})


def _values(properties: dict[str, str]) -> dict[str, frozenset[str]]:
    return {name: frozenset(values.split()) for name, values in properties.items()}


NOUNS = tuple(
    Noun(
        row["word"],
        row["category"],
        _kinds(row.get("means", "")),
        _kinds(row.get("perhaps", "")),
        row.get("plural", row["word"] + "s"),
        tuple(row["needs"]) if "needs" in row else None,
        row["general"],
    )
    for row in _TABLES["nouns"]
)
ATTRIBUTES = tuple(
    Attribute(
        row["word"],
        row["category"],
        _values(row.get("means", {})),
        _values(row.get("perhaps", {})),
        tuple(row.get("forms", ("", ""))),
    )
    for row in _TABLES["attributes"]
)
RELATIONS = tuple(
    Verb(row["word"], row["category"], tuple(row["means"]), tuple(row.get("forms", ("", "", ""))))
    for row in _TABLES["relations"]
)
# sets of facts that one thing may have with another at the same time
COMPATIBLE = [frozenset(facts) for facts in _TABLES["compatible"]]
COMPATIBLE += [frozenset((deed, fact)) for deed, facts in _TABLES["compatible_with"].items() for fact in facts]


@cache
def nouns() -> dict[str, tuple[Noun, ...]]:
    """Every noun lemma with its entries ("bird" has two: the kind, and the wider word that takes in ducks).

    >>> [(noun.lemma, sorted(noun.means), noun.needs) for noun in nouns()["puppy"]]
    [('puppy', ['dog'], ('size', 'small'))]
    """
    table: dict[str, list[Noun]] = {}
    for noun in NOUNS:
        table.setdefault(noun.lemma, []).append(noun)
    return {lemma: tuple(entries) for lemma, entries in table.items()}


@cache
def kinds_of(lemma: str) -> frozenset[str]:
    """Every kind that a noun names or may name; none for a word that is not in the table."""
    return frozenset().union(*(noun.means | noun.perhaps for noun in nouns().get(lemma, ())))


ATTRIBUTE_OF = {attribute.lemma: attribute for attribute in ATTRIBUTES}
RELATION_OF = {relation.lemma: relation for relation in RELATIONS}
