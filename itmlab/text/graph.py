"""Scene graphs of sentences: objects, their attributes and relations, and the tokens that name them.

The form is that of FACTUAL (Li et al., 2023). TAGS masks and refills the spans (METHODS 3.1), SPICE compares the tuples
(METHODS 2.2).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..errors import ItmlabError

TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


def tokenise(sentence: str) -> tuple[str, ...]:
    """Split a sentence into words and punctuation marks.

    >>> tokenise("A dog's well-worn ball.")
    ('A', "dog's", 'well-worn', 'ball', '.')
    """
    return tuple(TOKEN.findall(sentence))


class Span(NamedTuple):
    """Tokens `start` to `end` of a sentence, the end excluded."""

    start: int
    end: int


@dataclass(frozen=True)
class Attribute:
    """A property of an object ("red", "striped", "run"), as a lemma."""

    lemma: str
    span: Span | None = None


@dataclass(frozen=True)
class SceneObject:
    """An object that a sentence mentions.

    Args:
        lemma: its name, singular and in lower case.
        attributes: its properties.
        count: the number in the sentence; None for a plural without a number ("some dogs").
        plural: whether there are several.
        span: the tokens that name it; None for an object that no tokens name.
    """

    lemma: str
    attributes: tuple[Attribute, ...] = ()
    count: int | None = None
    plural: bool = False
    span: Span | None = None


@dataclass(frozen=True)
class Relation:
    """A relation of object number `subject` to object number `object`, such as "ride" or "next to"."""

    subject: int
    lemma: str
    object: int
    span: Span | None = None


@dataclass(frozen=True)
class SceneGraph:
    """The objects and relations of one sentence.

    Places are objects too: "in the park" is a relation "in" to an object "park".

    Args:
        objects: the objects, numbered from 0.
        relations: relations between objects, by their numbers.
        tokens: the tokens of the sentence, which spans count.

    Raises:
        ItmlabError: a relation to an object that does not exist.

    >>> dog, ball = SceneObject("dog", (Attribute("brown"),), count=2), SceneObject("ball")
    >>> sorted(SceneGraph((dog, ball), (Relation(0, "chase", 1),)).tuples())
    [('ball',), ('dog',), ('dog', '2'), ('dog', 'brown'), ('dog', 'chase', 'ball')]
    """

    objects: tuple[SceneObject, ...] = ()
    relations: tuple[Relation, ...] = ()
    tokens: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for relation in self.relations:
            if not (0 <= relation.subject < len(self.objects) and 0 <= relation.object < len(self.objects)):
                raise ItmlabError(
                    f"relation {relation.lemma!r} joins objects {relation.subject} and {relation.object}, "
                    f"and the graph has {len(self.objects)}",
                    remedy="number objects from 0 in the order of `objects`",
                )

    def tuples(self) -> set[tuple[str, ...]]:
        """Return the facts of the graph: (object,), (object, attribute) and (subject, relation, object), in lemmas.

        A number of two or more is an attribute too ("two dogs": ("dog", "2")), as in FACTUAL and SPICE.
        """
        names = [entity.lemma for entity in self.objects]
        facts: set[tuple[str, ...]] = {(name,) for name in names}
        facts |= {(entity.lemma, attribute.lemma) for entity in self.objects for attribute in entity.attributes}
        facts |= {(entity.lemma, str(entity.count)) for entity in self.objects if (entity.count or 0) > 1}
        return facts | {(names[link.subject], link.lemma, names[link.object]) for link in self.relations}

    def meaning(self) -> "SceneGraph":
        """Return the graph without tokens and spans, which is equal for two sentences with the same meaning."""
        objects = tuple(
            replace(entity, span=None, attributes=tuple(Attribute(attribute.lemma) for attribute in entity.attributes))
            for entity in self.objects
        )
        return SceneGraph(objects, tuple(replace(link, span=None) for link in self.relations))

    def text(self, span: Span) -> str:
        """Return the tokens of a span, joined by blanks."""
        return " ".join(self.tokens[span.start : span.end])

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists for JSON; `from_dict` restores an equal graph."""
        entities = [
            [o.lemma, [[a.lemma, a.span] for a in o.attributes], o.count, o.plural, o.span] for o in self.objects
        ]
        links = [[r.subject, r.lemma, r.object, r.span] for r in self.relations]
        return {"objects": entities, "relations": links, "tokens": list(self.tokens)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "SceneGraph":
        """Restore the graph from what `to_dict` returned."""
        return cls(
            tuple(
                SceneObject(
                    lemma, tuple(Attribute(name, _span(at)) for name, at in attributes), count, plural, _span(place)
                )
                for lemma, attributes, count, plural, place in plain["objects"]
            ),
            tuple(Relation(subject, lemma, entity, _span(at)) for subject, lemma, entity, at in plain["relations"]),
            tuple(plain["tokens"]),
        )


def _span(pair: Iterable[int] | None) -> Span | None:
    return None if pair is None else Span(*pair)
