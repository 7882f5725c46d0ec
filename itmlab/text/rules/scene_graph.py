"""From a parsed caption to its scene graph: the steps in order, and the last of them, what prepositions say.

Names and form of the graph are FACTUAL's (Li et al., 2023): singular lemmas, a passive turned active.
"""

import itertools
from typing import TYPE_CHECKING

from ..graph import Attribute, Relation, SceneGraph, SceneObject, Span
from .clauses import Clauses, Link, Subjects
from .lexicon import ATTRIBUTES, OBJECTS, OF, RELATIONS, WORDS
from .noun_phrases import Entity, Phrases
from .tree import Preposition, Word, read

if TYPE_CHECKING:
    from spacy.tokens import Doc

_NEARBY = 20  # words in which a pronoun's noun is looked for


def scene_graph(doc: "Doc") -> SceneGraph:
    """The scene graph of a parsed caption, by rules over its dependency tree; spans index the tokens of `doc`.

    >>> import spacy
    >>> english = spacy.blank("en").vocab
    >>> doc = spacy.tokens.Doc(english, ["red", "balls"], pos=["ADJ", "NOUN"], deps=["amod", "ROOT"], heads=[1, 1])
    >>> sorted(scene_graph(doc).tuples())
    [('ball',), ('ball', 'red')]
    """
    words = read(doc)  # in one form, mended
    phrases = Phrases(words)  # the entities
    subjects = Subjects(words, phrases)  # the subjects of words
    clauses = Clauses(words, phrases, subjects)  # what verbs say
    attached = PrepositionalAttachments(words, phrases, subjects, clauses).links  # and prepositions and possessives
    # An object that the table renames to nothing ("front") is left out with its attributes and relations.
    entities = {
        at: entity
        for at, entity in sorted(phrases.entities.items())
        if at in phrases.frames or OBJECTS.get(entity.name, entity.name)
    }
    order = {number: at for at, number in enumerate(entities)}
    objects = [_object(entity) for entity in entities.values()]
    links = [(order[a], name, order[b], span) for a, name, b, span in attached if a in order and b in order]
    for number, entity in entities.items():
        for name, other, is_subject in entity.inner:
            outer, inner = order[number], len(objects)
            links.append((inner, name, outer, other.span) if is_subject else (outer, name, inner, other.span))
            objects.append(other)
    relations = dict.fromkeys(_relation(link, objects) for link in links)
    named = tuple(relation for relation in relations if relation.lemma)
    return SceneGraph(tuple(objects), named, tuple(token.text for token in doc))


def _object(entity: Entity) -> SceneObject:
    renamed = [(ATTRIBUTES.get(name, name), span) for name, span in entity.attributes]
    attributes = tuple(Attribute(name, span) for name, span in renamed if name)
    name = OBJECTS.get(entity.name) or entity.name
    return SceneObject(name, attributes, entity.count, entity.plural, entity.span)


def _relation(link: tuple[int, str, int, Span], objects: list[SceneObject]) -> Relation:
    subject, name, entity, span = link
    renamed = RELATIONS.get(f"{name}|{objects[entity].lemma}", RELATIONS.get(name, name))
    if renamed.startswith("<"):
        subject, entity, renamed = entity, subject, renamed[1:]
    return Relation(subject, renamed, entity, span)


class PrepositionalAttachments:
    """Nouns behind prepositions that no verb claims, possessives, and the pronouns of "a table with a meal on it".

    `links` are those of `clauses` and these; one of `clauses` gives way where a pronoun says it better.
    """

    def __init__(self, words: list[Word], phrases: Phrases, subjects: Subjects, clauses: Clauses):
        self.words, self.phrases, self.subjects = words, phrases, subjects
        self.links: list[Link] = list(clauses.links)
        for number, word in enumerate(words):
            if word.preposition is not None:
                self._noun(number, word.preposition)
        for number, word in enumerate(words):
            if word.preposition is not None and word.text in ("it", "them"):
                self._pronoun(number, word.preposition)
        for number, (relation, inner, span) in phrases.frames.items():
            framed = [entity for entity in subjects.together(inner) if entity not in phrases.frames]
            self._say(framed, relation, [number], span)
        self._owners()

    def _noun(self, number: int, preposition: Preposition) -> None:
        span, governor = preposition.span, self.words[number].head
        if not self.subjects.is_entity(number):
            return
        if self.subjects.has_subject(number):  # "the dog is on the table"
            subjects = self.subjects.of(number)
            self._say(subjects, preposition.name, self.subjects.together(number), span)
            if subjects:
                return
        if governor < 0 or self.subjects.is_verb(governor):
            return  # a verb has said it
        entities = self.subjects.together(number)
        if preposition.name != "of":
            who = self.subjects.bearer(governor) or self._doer(governor, number) or self.subjects.referents(governor)
            self._say(who, preposition.name, entities, span)
        elif governor not in self.phrases.frames:
            self._of(self.subjects.referents(governor), entities, span)

    def _doer(self, governor: int, number: int) -> list[int]:
        """In "a man holding a bag on the beach" it is the man who is on the beach."""
        word, setting = self.words[governor], self.phrases.entities[self.phrases.find(number)]
        is_setting = setting.name in WORDS["settings"] and word.label == "obj" and self.subjects.is_verb(word.head)
        return self.subjects.of(word.head) if is_setting else []

    def _of(self, parts: list[int], wholes: list[int], span: Span) -> None:
        """ "leg of the man": the man has a leg; what else "of" may mean is known noun by noun."""
        for part, owner in itertools.product(parts, wholes):
            how = OF.get(self.phrases.entities[part].name, "<have")
            if how.startswith("<"):
                self._say([owner], how[1:], [part], span)
            elif not how.startswith("transparent"):
                self._say([part], how, [owner], span)

    def _pronoun(self, number: int, preposition: Preposition) -> None:
        """ "a table with a meal on it": the meal is on the table, and "with" says no more than that."""
        before = [at for at in range(max(number - _NEARBY, 0), number) if at in self.phrases.entities]
        if len(before) < 2:
            return
        part = before[-1]
        owners = [a for a, name, b, _ in self.links if b == part and name in ("with", "have")]
        owner = owners[0] if owners else before[0]
        if owner != part:
            replaced = {(owner, "with", part), (owner, "have", part)}
            self.links = [link for link in self.links if link[:3] not in replaced]
            self._say([part], preposition.name, [owner], preposition.span)

    def _owners(self) -> None:
        """ "the man's hat": the man has it."""
        for number, entity in self.phrases.entities.items():
            if entity.owner >= 0 and self.subjects.is_entity(entity.owner):
                self._say([self.phrases.find(entity.owner)], "have", [number], self.words[entity.owner].span)

    def _say(self, who: list[int], name: str, entities: list[int], span: Span) -> None:
        self.links += [(who_at, name, entity, span) for who_at in who for entity in entities if who_at != entity]
