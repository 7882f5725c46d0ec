"""From a parsed caption to its scene graph."""

from typing import TYPE_CHECKING

from ..graph import Attribute, Relation, SceneGraph, SceneObject, Span
from .clauses import Clauses, Subjects
from .lexicon import Knowledge, knowledge
from .noun_phrases import Phrases, Thing
from .prepositions import Places
from .tree import read

if TYPE_CHECKING:
    from spacy.tokens import Doc


def scene_graph(doc: "Doc", known: Knowledge | None = None) -> SceneGraph:
    """The scene graph of a parsed caption, by rules over its dependency tree; spans index the tokens of `doc`."""
    known = knowledge() if known is None else known
    words = read(doc, known)
    phrases = Phrases(words, known)
    subjects = Subjects(words, phrases, known)
    clauses = Clauses(words, phrases, subjects)
    spoken = Places(words, phrases, subjects, clauses, known).links
    things = {at: thing for at, thing in sorted(phrases.things.items()) if known.objects.get(thing.name, thing.name)}
    order = {number: at for at, number in enumerate(things)}
    objects = [_object(thing, known) for thing in things.values()]
    links = [(order[a], name, order[b], span) for a, name, b, span in spoken if a in order and b in order]
    for number, thing in things.items():
        if thing.owner_name:
            owner = words[thing.owner]
            span = Span(owner.start, owner.end)
            links.append((len(objects), "have", order[number], span))
            objects.append(SceneObject(known.objects.get(thing.owner_name) or thing.owner_name, (), 1, False, span))
        for part, said, span in thing.parts:
            links.append((order[number], "have", len(objects), span))
            objects.append(SceneObject(part, (Attribute(said, span),), None, True, span))
        for name, doer, span in thing.covers:
            links.append((len(objects), name, order[number], span))
            objects.append(SceneObject(known.objects.get(doer) or doer, (), 1, False, span))
    relations = dict.fromkeys(found for link in links if (found := _relation(link, objects, known)).lemma)
    return SceneGraph(tuple(objects), tuple(relations), tuple(token.text for token in doc))


def _object(thing: Thing, known: Knowledge) -> SceneObject:
    said = tuple(Attribute(known.attributes.get(name, name), span) for name, span in thing.attributes)
    said = tuple(attribute for attribute in said if attribute.lemma)
    return SceneObject(known.objects.get(thing.name, thing.name), said, thing.count, thing.plural, thing.span)


def _relation(link: tuple[int, str, int, Span], objects: list[SceneObject], known: Knowledge) -> Relation:
    subject, name, thing, span = link
    renamed = known.relations.get(f"{name}|{objects[thing].lemma}", known.relations.get(name, name))
    if renamed.startswith("<"):
        subject, thing, renamed = thing, subject, renamed[1:]
    return Relation(subject, renamed, thing, span)
