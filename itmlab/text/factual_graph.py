"""From "( dog , is , brown ) , ( dog , on , grass )", as FACTUAL writes graphs, to a scene graph with token spans."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .graph import Attribute, Relation, SceneGraph, SceneObject, Span
from .lemmas import noun_lemma
from .spotting import spot

IS = "is"  # the relation that FACTUAL gives to attributes and numbers


class Reading(NamedTuple):
    """The tuples of one or three fields that were read, and a line for each piece of text that was not."""

    tuples: list[tuple[str, ...]]
    faults: list[str]


def read_tuples(text: str) -> Reading:
    """Every whole tuple of a FACTUAL string; a torn one, an empty field or words between tuples is a fault each."""
    tuples: list[tuple[str, ...]] = []
    faults: list[str] = []
    first, *groups = text.split("(")
    _outside(first, faults)
    for group in groups:
        inside, closed, after = group.partition(")")
        fields = tuple(" ".join(one.split()) for one in inside.split(","))
        if not closed:
            faults.append(f"the tuple {'(' + inside.strip()[:60]!r} is not closed")
        elif len(fields) not in (1, 3) or not all(fields):
            faults.append(f"the tuple {'(' + inside[:60] + ')'!r} has not one or three fields")
        else:
            tuples.append(fields)
        _outside(after, faults)
    return Reading(tuples, faults)


def factual_graph(text: str, tokens: Sequence[str]) -> tuple[SceneGraph, list[str]]:
    """The scene graph of a FACTUAL string, its spans found among the caption's `tokens`, and what was not read.

    Things of one name are one object. "is" makes an attribute, "is" with a number the count. Objects are singular
    lemmas; attributes and relations stay as written. What has no counterpart in the caption has no span.
    """
    tuples, faults = read_tuples(text)
    drafts: dict[str, _Draft] = {}
    links: list[tuple[str, str, str]] = []
    for fields in tuples:
        subject = drafts.setdefault(fields[0], _Draft())
        if len(fields) == 1:
            continue
        _, relation, target = fields
        if relation.lower() != IS:
            drafts.setdefault(target, _Draft())
            links.append(fields)
        elif target.isdecimal() and len(target) < 5:
            subject.count = int(target)
        elif target not in subject.attributes:
            subject.attributes.append(target)
    spans = _Spans(tokens)
    for name in sorted(drafts, key=lambda name: -len(name.split())):  # "soccer player" before "player"
        drafts[name].span = spans.object(name)
    objects = tuple(_object(name, draft, spans) for name, draft in drafts.items())
    numbers = {name: number for number, name in enumerate(drafts)}
    relations = tuple(
        Relation(
            numbers[subject],
            relation.lower(),
            numbers[target],
            spans.relation(relation, drafts[subject].span, drafts[target].span),
        )
        for subject, relation, target in dict.fromkeys(links)
    )
    return SceneGraph(objects, relations, tuple(tokens)), faults


@dataclass
class _Draft:
    attributes: list[str] = field(default_factory=list)
    count: int | None = None
    span: Span | None = None


def _object(name: str, draft: _Draft, spans: "_Spans") -> SceneObject:
    lemma = noun_lemma(name.lower())
    plural = lemma != name.lower() or (draft.count or 1) > 1
    count = draft.count if draft.count is not None else (None if plural else 1)
    attributes = tuple(Attribute(said.lower(), spans.attribute(said, draft.span)) for said in draft.attributes)
    return SceneObject(lemma, attributes, count, plural, draft.span)


class _Spans:
    """Where each part of a graph is said. No word is said for two things; relations may share theirs."""

    def __init__(self, tokens: Sequence[str]):
        self.tokens, self.taken = [token.lower() for token in tokens], [False] * len(tokens)

    def object(self, name: str) -> Span | None:
        """The first place of the name (or of as many of its last words as are there) that no other thing has."""
        words = name.lower().split()
        endings = [words[at:] for at in range(len(words))]
        return self._take(endings, lambda span: span.start, take=True)

    def attribute(self, said: str, owner: Span | None) -> Span | None:
        """The free place nearest to the thing that it is said of."""
        return self._take(_parts(said.lower().split()), lambda span: _distance(span, owner), take=True)

    def relation(self, said: str, subject: Span | None, target: Span | None) -> Span | None:
        """The place nearest to both things, not within either of them."""
        return self._take(
            _parts(said.lower().split()), lambda span: _distance(span, subject) + _distance(span, target), take=False
        )

    def _take(self, parts: list[list[str]], far: Callable[[Span], float], *, take: bool) -> Span | None:
        for words in parts:  # the most words first
            places = [(score, span) for score, span in spot(words, self.tokens) if not self._is_taken(span)]
            if places:
                span = min(places, key=lambda place: (-place[0], far(place[1])))[1]
                if take:
                    self.taken[span.start : span.end] = [True] * (span.end - span.start)
                return span
        return None

    def _is_taken(self, span: Span) -> bool:
        return any(self.taken[span.start : span.end])


def _parts(words: list[str]) -> list[list[str]]:
    """All runs of neighbouring words, longest first."""
    lengths = range(len(words), 0, -1)
    return [words[at : at + length] for length in lengths for at in range(len(words) - length + 1)]


def _distance(span: Span, other: Span | None) -> int:
    return 0 if other is None else max(other.start - span.end, span.start - other.end, 0)


def _outside(text: str, faults: list[str]) -> None:
    if text.strip(" ,\n"):
        faults.append(f"{text.strip()[:60]!r} stands outside the tuples")
