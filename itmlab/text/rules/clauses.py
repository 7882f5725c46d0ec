"""Verbs and predicates: the relations and attributes that follow their noun."""

from ..graph import Span
from .lexicon import KNOWN, WORDS
from .noun_phrases import Phrases
from .tree import Preposition, Word

_MOST_TOGETHER = 24  # entities in one list: a longer list is not from a caption, and every pair may be related
_DEEPEST = 12  # clauses inside clauses


class Subjects:
    """The subjects of words: subjects, the nouns of participles and relative clauses, all joined by "and".

    Words and entities are numbers of words.
    """

    def __init__(self, words: list[Word], phrases: Phrases):
        self.words, self.phrases = words, phrases

    def of(self, number: int, depth: int = 0) -> list[int]:
        """Return the entities that are the subjects of a word."""
        if number < 0 or depth > _DEEPEST:
            return []
        word = self.words[number]
        for child in word.children:
            if self.words[child].label in ("nsubj", "nsubj:pass") and self.is_entity(child):
                return self.together(child)
        if word.head >= 0 and word.label in WORDS["clause_labels"]:
            return self._antecedent(number, depth)
        return []

    def _antecedent(self, number: int, depth: int) -> list[int]:
        """Return the noun that a clause is attached to, or the subjects of its verb."""
        head = self.words[number].head
        if not self.is_entity(head):
            return self.of(head, depth + 1)
        bearer = self.bearer(head, depth + 1) if self.is_verb(number) else []
        return bearer or self.joined(head)

    def bearer(self, number: int, depth: int = 0) -> list[int]:
        """Who wears a garment: in "a man in a hat riding a horse" no hat rides."""
        entity = self.phrases.entities.get(self.phrases.find(number))
        word = self.words[number]
        if entity is None or entity.name not in KNOWN["worn"] or word.head < 0:
            return []
        if word.preposition is not None and word.preposition.name in ("in", "with"):
            return self.together(word.head) if self.is_entity(word.head) else self.of(word.head, depth)
        if word.label == "obj" and self.words[word.head].verb == "wear":
            return self.of(word.head, depth)
        return []

    def referents(self, number: int, depth: int = 0) -> list[int]:
        """Return the entities of a word that governs a preposition: itself, or its subjects."""
        if number < 0 or depth > _DEEPEST:
            return []
        if self.is_entity(number):
            subjects = self.of(number) if self.has_subject(number) else []
            return subjects or self.joined(number)
        word = self.words[number]
        return self.of(number) or self.referents(word.head, depth + 1)

    def together(self, number: int) -> list[int]:
        """Return the entity of a word and those joined to it by "and", in the order of the caption."""
        entities, waiting = [], [number]
        while waiting and len(entities) < _MOST_TOGETHER:
            at = waiting.pop()
            if self.is_entity(at) and self.phrases.find(at) not in entities:
                entities.append(self.phrases.find(at))
            waiting += [child for child in reversed(self.words[at].children) if self._is_joined(child)]
        return entities

    def joined(self, number: int) -> list[int]:
        """Return also the entities before "and": "leaves and branches of a tree" are both the tree's."""
        head = self.words[number].head
        return self.together(head if head < number and self._is_joined(number) and self.is_entity(head) else number)

    def _is_joined(self, number: int) -> bool:
        word = self.words[number]
        return word.label == "conj" and word.preposition is None and not self.has_subject(number)

    def is_entity(self, number: int) -> bool:
        """Return whether a word stands for an entity."""
        return self.phrases.find(number) >= 0

    def has_subject(self, number: int) -> bool:
        """Return whether a word has a subject of its own."""
        return any(self.words[child].label in ("nsubj", "nsubj:pass") for child in self.words[number].children)

    def is_verb(self, number: int) -> bool:
        """Return whether a word is a verb with a meaning of its own ("be" and auxiliaries are not)."""
        word = self.words[number]
        if number in self.phrases.used or word.label in WORDS["no_verb_labels"]:
            return False
        return word.verb != "be" if word.pos == "VERB" else word.pos == "AUX" and word.verb in ("have", "do")


Link = tuple[int, str, int, Span]  # (word of the subject, name of the relation, word of the object, its tokens)


class Clauses:
    """The relations (`links`) of verbs and predicates. Attributes are added to the entities themselves."""

    def __init__(self, words: list[Word], phrases: Phrases, subjects: Subjects):
        self.words, self.phrases, self.subjects = words, phrases, subjects
        self.links: list[Link] = []
        for number in range(len(words)):
            if subjects.is_verb(number):
                self._verb(number)
        for number in range(len(words)):
            is_free = number not in phrases.used and not subjects.is_entity(number)
            if words[number].pos == "ADJ" and is_free:  # "the dog is brown"
                self._attribute(subjects.of(number), words[number].text, words[number].span)

    def _verb(self, number: int) -> None:
        word = self.words[number]
        who, children = self.subjects.of(number), [(child, self.words[child].label) for child in word.children]
        direct = [child for child, label in children if label in ("obj", "iobj")]
        objects = [entity for child in direct for entity in self.subjects.together(child)]
        attachments = [c for c in word.children if self.words[c].preposition is not None and self.subjects.is_entity(c)]
        leads_on = any(label in ("xcomp", "ccomp") and self.subjects.is_verb(child) for child, label in children)
        if leads_on and not objects and word.verb in WORDS["helpers"]:
            return  # "trying to catch": the deed is the other verb's
        if word.label in ("acl", "acl:relcl") and not objects and self._missing(number, who, attachments):
            return
        if self._is_passive(number):
            self._passive(number, who, attachments)
            return
        particle = next((self.words[c] for c in word.children if self.words[c].label == "compound:prt"), None)
        name, span = word.verb, word.span
        if particle is not None:  # "pick up"
            name, span = f"{name} {particle.text}", joint(word, particle)
        for entity in objects:
            self._say(who, name, entity, span)
        for rank, attachment in enumerate(attachments):
            self._attachment(number, who, attachment, with_verb=not rank and not objects)
        if not objects and not attachments:
            self._attribute(who, name, span)

    def _attachment(self, number: int, who: list[int], attachment: int, *, with_verb: bool) -> None:
        """A noun behind a preposition: the first says its relation with the verb ("sit on"), others alone ("in")."""
        word, preposition = self.words[number], self.words[attachment].preposition
        name, span = preposition.name, preposition.span
        if with_verb:
            name, span = f"{word.verb} {name}", joint(word, preposition)
        for entity in self.subjects.together(attachment):
            self._say(who, name, entity, span)

    def _is_passive(self, number: int) -> bool:
        """Whether a participle is passive: "is covered", "a road covered by snow"."""
        word = self.words[number]
        if word.text.endswith(("ing", "s")):
            return False
        labels = {self.words[child].label for child in word.children}
        prepositions = (self.words[child].preposition for child in word.children)
        has_agent = any(preposition is not None and preposition.name == "by" for preposition in prepositions)
        return has_agent or (word.label in WORDS["passive_labels"] and word.text != word.verb and "obj" not in labels)

    def _passive(self, number: int, who: list[int], attachments: list[int]) -> None:
        """ "a road covered by snow": the snow covers the road; other prepositions leave the subject what it is."""
        word, span = self.words[number], self.words[number].span
        for rank, attachment in enumerate(attachments):
            name = self.words[attachment].preposition.name
            if name == "by" or (word.verb in WORDS["inverted_with"] and name in ("with", "in")):
                for patient in who:
                    self._say(self.subjects.together(attachment), word.verb, patient, span)
            else:
                self._attachment(number, who, attachment, with_verb=not rank)
        if not attachments:
            self._attribute(who, word.text, span)

    def _missing(self, number: int, who: list[int], attachments: list[int]) -> bool:
        """In "the sofa the man is sitting on" the clause has its own subject, and its noun is what it lacks."""
        word = self.words[number]
        subjects = [child for child in word.children if self.words[child].label in ("nsubj", "nsubj:pass")]
        head = self.phrases.find(word.head)
        is_marked = any(self.words[child].label == "mark" for child in word.children)  # "while the man is sitting"
        if head < 0 or is_marked or not any(map(self.subjects.is_entity, subjects)):
            return False
        if (left := self._left_behind(number)) is not None:
            self._say(who, f"{word.verb} {left.text}", head, joint(word, left))
        elif not attachments:
            self._say(who, word.verb, head, word.span)
        return left is not None or not attachments

    def _left_behind(self, number: int) -> Word | None:
        """The preposition without a noun behind a verb."""
        behind = (self.words[child] for child in self.words[number].children if child > number)
        return next((w for w in behind if w.pos == "ADP" and w.preposition is None and not w.children), None)

    def _say(self, who: list[int], name: str, entity: int, span: Span) -> None:
        self.links += [(subject, name, entity, span) for subject in who if subject != entity]

    def _attribute(self, who: list[int], name: str, span: Span) -> None:
        for subject in who:
            attributes = self.phrases.entities[subject].attributes
            if name not in [lemma for lemma, _ in attributes]:
                attributes.append((name, span))


def joint(word: Word, other: Word | Preposition) -> Span:
    """The tokens of a verb and of a preposition right behind it; of the verb alone if they stand apart."""
    return Span(word.start, other.end if word.end == other.start else word.end)
