"""What captions' words usually mean, learnt from FACTUAL's training graphs (`learning.learn_words`): one table."""

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("caption_words.json")


@dataclass(frozen=True)
class Knowledge:
    """The table's parts, all in lower-case lemmas; each may be empty.

    `compounds`: "tree trunk" → how the first noun goes with the second ("object": one name; "attribute"; "have": the
    first has the second; "drop"). `modifiers`: the same by the first noun alone. `of`: first noun of "N of M" → what it
    is. `relations`: name → its usual name; with an object behind a bar ("in|shirt"), for that object only.
    """

    compounds: dict[str, str] = field(default_factory=dict)
    modifiers: dict[str, str] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)
    relations: dict[str, str] = field(default_factory=dict)
    objects: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    nouns: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()
    worn: frozenset[str] = frozenset()


@cache
def _table() -> dict:
    return json.loads(TABLE.read_text("utf-8"))


@cache
def verbs() -> frozenset[str]:
    """Base forms of common verbs."""
    return frozenset(_table().get("verbs", "").split())


@cache
def knowledge() -> Knowledge:
    """The table that ships with the package."""
    plain, parts = _table(), Knowledge.__dataclass_fields__
    lists = {name: frozenset(plain.get(name, "").split("|")) - {""} for name in ("names", "nouns", "actions", "worn")}
    return Knowledge(**{name: lists[name] if name in lists else plain.get(name, {}) for name in parts})
