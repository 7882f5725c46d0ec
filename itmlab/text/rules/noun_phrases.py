"""Noun phrases: which entities a caption speaks of, under which names, with which attributes and how many of them."""

from dataclasses import dataclass, field

from ..graph import Attribute, SceneObject, Span
from .lexicon import COMPOUNDS, MODIFIERS, OBJECTS, OF, TABLES, WORDS, noun_lemma
from .repair import NOUNS
from .tree import Word, attach

NUMBERS = TABLES["numbers"]


@dataclass(slots=True)
class Entity:
    """An object under construction; `head` is the word it stands on."""

    name: str
    head: int
    span: Span
    attributes: list[tuple[str, Span]] = field(default_factory=list)
    count: int | None = 1
    plural: bool = False
    owner: int = -1  # the word of a possessive ("man's") or of a noun that has it ("clock face")
    # relations to objects within the phrase: the clock that has the face, the hair of "a long haired woman", the snow
    # of "a snow covered road"; (name, object, whether the object is the subject)
    inner: list[tuple[str, SceneObject, bool]] = field(default_factory=list)


class Phrases:
    """All entities of a caption, by the number of their head word.

    Phrases are read from the last word to the first, so that a noun takes in its modifiers before they can be heads.
    """

    def __init__(self, words: list[Word]):
        self.words = words
        self.entities: dict[int, Entity] = {}
        self.stands_for: dict[int, int] = {}  # "group" in "group of people" → the word "people"
        # a noun that frames another → the relation, the word that stands in it, and its tokens
        self.frames: dict[int, tuple[str, int, Span]] = {}
        self.used: set[int] = set()
        self.spoken_for: set[int] = set()  # words that the word behind them has taken in
        for number in range(len(words) - 1, -1, -1):
            if number not in self.used and self._is_head(number):
                self._read(number)
        for number in list(self.entities):
            self._resolve_frame(number)

    def find(self, number: int) -> int:
        """The head word of the entity that a word stands for, -1 for none."""
        visited = set()
        while number in self.stands_for and number not in visited:
            visited.add(number)
            number = self.stands_for[number]
        return number if number in self.entities else -1

    def _is_head(self, number: int) -> bool:
        word = self.words[number]
        if word.pos not in NOUNS:
            return word.pos == "PRON" and word.text in TABLES["people"]
        return any(letter.isalpha() for letter in word.text)

    def _read(self, number: int) -> None:
        word, before = self.words[number], self._before(number)
        name = noun_lemma(word.text) if word.pos in NOUNS else TABLES["people"][word.text]
        plural = (noun_lemma(word.text) != word.text and word.text != "glasses") or word.text in WORDS["plural_forms"]
        entity = Entity(name, number, word.span, count=None if plural else 1, plural=plural)
        joined = True
        for at in reversed(before):
            joined = self._modify(entity, at, joined)
        self._quantify(entity, number, before)
        entity.attributes.reverse()
        self.entities[number] = entity

    def _before(self, number: int) -> list[int]:
        """The words of the phrase before its head, from left to right."""
        first = number
        while first > 0 and self._belongs(first - 1, number):
            first -= 1
            owner = self._owner(first, number)
            if owner >= 0:
                return [owner, *range(first + 1, number)]
        return list(range(first, number))

    def _owner(self, at: int, number: int) -> int:
        """The possessor in "the man's hat", met from the right at itself or at its "'s"."""
        for owner in (at, self.words[at].head):
            if 0 <= owner < number and self.words[owner].label == "nmod:poss":
                return owner
        return -1

    def _belongs(self, at: int, number: int) -> bool:
        word = self.words[at]
        if word.pos == "PART" and self._owner(at, number) >= 0:
            return True
        if word.pos in ("ADP", "AUX", "PRON", "SCONJ"):
            return word.label == "nmod:poss" and word.head == number
        climbed = at
        for _ in range(8):
            here = self.words[climbed]
            if here.label in WORDS["outside_labels"] or here.preposition is not None or here.head < 0:
                return False
            if here.head == number:
                return here.label != "conj"
            joined = here.label == "conj" and here.pos in ("ADJ", "VERB", "ADV")
            if here.head > number or (here.head < at and not joined):
                return False
            climbed = here.head
        return False

    def _modify(self, entity: Entity, at: int, joined: bool) -> bool:
        """Let a word before the noun have its say; whether the next one can still be a part of the name."""
        word = self.words[at]
        self.used.add(at)
        if at in self.spoken_for:
            return False
        helps = word.pos in ("DET", "PUNCT", "CCONJ", "NUM", "SYM", "PART", "PRON") or word.text in WORDS["quantifiers"]
        if word.label == "nmod:poss":
            entity.owner = at
            if not helps:
                self.used.discard(at)  # "the man's hat": the owner is an entity of its own
        if helps or word.label == "nmod:poss":
            return False
        kind = self._kind(entity, at) if joined else "attribute"
        if kind == "object":
            entity.name = f"{word.text} {entity.name}"
            entity.span = Span(word.start, entity.span.end)
            return True
        if kind == "have":
            entity.owner = at
            entity.inner.append(("have", _named(noun_lemma(word.text), word.span), True))
            return False
        if kind == "attribute" and not self._compound_adjective(entity, at):
            self._describe(entity, word)
        return False

    def _compound_adjective(self, entity: Entity, at: int) -> bool:
        """ "long haired" gives the entity hair, "snow covered" says that snow covers it."""
        word = self.words[at]
        first, _, last = word.text.rpartition("-")
        before = self.words[at - 1] if at else None
        span = word.span
        fits = before is not None and (
            before.pos in NOUNS or (last in TABLES["parts"] and before.pos in ("ADJ", "VERB"))
        )
        if not first and fits and self._belongs(at - 1, entity.head):
            first, span = before.text, Span(before.start, word.end)
        if not first:
            return False
        if last in TABLES["parts"]:
            part = SceneObject(TABLES["parts"][last], (Attribute(first, span),), None, True, span)
            entity.inner.append(("have", part, False))
        elif last in TABLES["done_by"]:
            entity.inner.append((TABLES["done_by"][last], _named(noun_lemma(first), span), True))
        else:
            return False
        if span.start != word.start:
            self.used.add(at - 1)
            self.spoken_for.add(at - 1)
        return True

    def _kind(self, entity: Entity, at: int) -> str:
        """How a noun before the noun goes with it, as `lexicon.COMPOUNDS` says."""
        text = self.words[at].text
        return COMPOUNDS.get(f"{text} {entity.name.rpartition(' ')[2]}", MODIFIERS.get(text, "attribute"))

    def _describe(self, entity: Entity, word: Word) -> None:
        if entity.attributes:
            last, span = entity.attributes[-1]
            first = last.partition(" ")[0]
            is_shade = word.text in WORDS["shades"] and first in WORDS["colours"]
            is_one_name = is_shade or (first in WORDS["shapes"] and " " not in last)
            if is_one_name and span.start == word.end:
                entity.attributes[-1] = (f"{word.text} {last}", Span(word.start, span.end))
                return
        entity.attributes.append((word.text, word.span))

    def _quantify(self, entity: Entity, number: int, before: list[int]) -> None:
        for at in before:
            word = self.words[at]
            count = NUMBERS.get(word.text)
            if count is None and word.text.isdecimal() and len(word.text) < 4:
                count = int(word.text)
            if count is not None and word.pos in ("NUM", "NOUN", "DET", "ADJ"):
                entity.count, entity.plural = count, count != 1
            elif word.text == "no":
                entity.count, entity.plural = 0, False

    def _resolve_frame(self, number: int) -> None:
        """Read a noun that frames, gathers or measures another one: "a blurry photo of a dog", "a group of people".

        A bare one stands for the other noun. With an adjective, a number or an owner it keeps these to itself and
        stays an entity; `frames` says how it goes with the other noun.
        """
        entity, noun = self.entities[number], self.entities[number].name.rpartition(" ")[2]
        behind = [at for at in self.words[number].children if at > number and at in self.entities]
        inner = next(
            (at for at in behind if self.words[at].preposition and self.words[at].preposition.name == "of"), -1
        )
        is_bare_by_table = entity.name in WORDS["partitive_nouns"] | WORDS["views"]
        kind = OF.get(entity.name, "transparent" if is_bare_by_table else "")
        is_picture, is_gathering = noun in WORDS["pictures"], noun in WORDS["gatherings"]
        if inner < 0 or not (is_picture or kind.startswith("transparent")):
            return
        content, is_root = self.entities[inner], self.words[number].head < 0
        if noun in WORDS["portions"]:
            content.attributes = [*entity.attributes, *content.attributes]
        if content.owner < 0 and noun in WORDS["gatherings"] | WORDS["portions"] | WORDS["amounts"]:
            content.owner, entity.owner = entity.owner, -1
        is_own = bool(entity.attributes) or (entity.count or 0) > 1 or entity.owner >= 0
        is_own = is_own or (is_picture and not (is_root and kind))
        if is_own and noun not in WORDS["portions"] | WORDS["amounts"]:
            relation = "in" if is_picture or is_gathering else "have"
            self.frames[number] = relation, inner, self.words[inner].preposition.span
        else:
            del self.entities[number]
        if kind == "transparent attribute":
            content.attributes.insert(0, ("group of" if entity.name == "group" else entity.name, entity.span))
        if content.plural and entity.name in WORDS["pairs"] and not entity.plural:
            content.count = None if content.name in WORDS["worn_in_pairs"] else 2
        if number not in self.frames or is_gathering or (is_picture and is_root):
            self.stands_for[number] = inner
            _replace(self.words, number, inner)


def _named(name: str, span: Span) -> SceneObject:
    return SceneObject(OBJECTS.get(name) or name, (), 1, False, span)


def _replace(words: list[Word], outer: int, inner: int) -> None:
    """Put the inner word in the outer one's place in the tree."""
    head, label, preposition = words[outer].head, words[outer].label, words[outer].preposition
    for child in [child for child in words[outer].children if child > inner]:
        attach(words, child, inner, words[child].label)
    attach(words, inner, head, label)
    attach(words, outer, inner, "det")
    words[inner].preposition, words[outer].preposition = preposition, None
