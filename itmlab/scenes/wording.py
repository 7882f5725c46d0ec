"""What there is to say about a scene, and in which words: names, adjectives, actions, places."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from ..text.graph import Attribute, Relation, SceneGraph, SceneObject, Span
from .lexicon import NOUNS, PAIRS, Noun, attributes, relations
from .relations import Facts
from .scene import Entity

_ONE_COLOUR = frozenset(("zebra", "giraffe", "elephant", "snowman", "lion", "banana", "bush"))  # seldom said
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")  # from 2 on


@dataclass
class Sentence:
    """Say words; say things, attributes and relations, and their spans are kept."""

    tokens: list[str] = field(default_factory=list)
    objects: list[SceneObject] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    means: list[tuple[int, ...]] = field(default_factory=list)  # scene objects behind each graph object

    def say(self, words: str) -> Span:
        """Add words; the span they take."""
        start = len(self.tokens)
        self.tokens += words.split()
        return Span(start, len(self.tokens))

    def entity(
        self,
        lemma: str,
        surface: str,
        means: tuple[int, ...],
        *,
        before: str = "",
        adjectives: tuple[str, ...] = (),
        count: int | None = 1,
    ) -> int:
        """A noun phrase: `before` (article or number), adjectives ("and" is only said), noun; its object's number."""
        if before == "a":
            before = "an" if (*adjectives, surface)[0][0] in "aeiou" else "a"
        self.say(before)
        said = [Attribute(word, self.say(word)) if word != "and" else self.say(word) for word in adjectives]
        attributes = tuple(entry for entry in said if isinstance(entry, Attribute))
        span = self.say(surface)
        self.objects.append(SceneObject(lemma, attributes, count, count != 1, span))
        self.means.append(means)
        return len(self.objects) - 1

    def attribute(self, number: int, lemma: str, surface: str) -> None:
        """Say a verb or adjective about an object after its noun ("is running")."""
        entry = self.objects[number]
        self.objects[number] = replace(entry, attributes=(*entry.attributes, Attribute(lemma, self.say(surface))))

    def relate(self, subject: int, lemma: str, entity: int, span: Span) -> None:
        """Note a relation whose words have been said at `span`."""
        self.relations.append(Relation(subject, lemma, entity, span))

    def graph(self, *, stop: bool, capital: bool) -> SceneGraph:
        """The finished graph; its tokens are those of `text`."""
        tokens = [*self.tokens, "."] if stop else list(self.tokens)
        if capital:
            tokens[0] = tokens[0][0].upper() + tokens[0][1:]
        return SceneGraph(tuple(self.objects), tuple(self.relations), tuple(tokens))


def text(tokens: tuple[str, ...]) -> str:
    """The tokens as one writes them: no blank before a comma or a full stop.

    >>> text(("A", "man", ",", "a", "dog", "."))
    'A man, a dog.'
    """
    return " ".join(tokens).replace(" ,", ",").replace(" .", ".")


def number_word(count: int) -> str:
    """The English word of a count from 2 to 12; a scene shows no more of a kind."""
    return _NUMBERS[count - 2]


PLACES: dict[str, tuple[tuple[str, str, str], ...]] = {  # preposition, words of the place, lemma
    "park": (("in", "a park", "park"), ("in", "the park", "park"), ("at", "the park", "park")),
    "beach": (("on", "the beach", "beach"), ("at", "the beach", "beach"), ("on", "a beach", "beach")),
    "street": (("on", "the street", "street"), ("in", "the street", "street"), ("on", "a street", "street")),
    "winter": (("in", "the snow", "snow"), ("on", "the snow", "snow")),
    "field": (("in", "a field", "field"), ("in", "the field", "field"), ("in", "a meadow", "meadow")),
    "forest": (("in", "the forest", "forest"), ("in", "a forest", "forest")),
    "desert": (("in", "the desert", "desert"), ("in", "a desert", "desert")),
    "lake": (("near", "a lake", "lake"), ("by", "the lake", "lake"), ("beside", "a lake", "lake")),
    "room": (("in", "a room", "room"), ("in", "the room", "room"), ("inside", "a room", "room")),
    "mountain": (("in", "the mountains", "mountain"), ("near", "the mountains", "mountain")),
    "kitchen": (("in", "a kitchen", "kitchen"), ("in", "the kitchen", "kitchen")),
    "garden": (("in", "a garden", "garden"), ("in", "the garden", "garden")),
    "playground": (("on", "a playground", "playground"), ("at", "the playground", "playground")),
    "harbor": (("at", "the harbor", "harbor"), ("in", "a harbor", "harbor")),
    "station": (("at", "a station", "station"), ("at", "the station", "station")),
}
AFLOAT = (("on", "the water", "water"), ("in", "the water", "water"))
GROUNDS = ("grass", "sand", "snow", "road", "floor", "dock", "platform")


@cache
def _names(kinds: frozenset[str]) -> tuple[Noun, ...]:
    """The nouns that captions use and that name all of some kinds, in the lexicon's order."""
    return tuple(noun for noun in NOUNS if noun.general < 9 and kinds <= noun.means)


class Chooser:
    """Chance choices for one caption; `generic` in 0..1 moves them from specific words to general ones."""

    def __init__(self, facts: Facts, dice: random.Random, generic: float):
        self.facts, self.entities, self.dice, self.generic = facts, facts.entities, dice, generic
        self.mains = [
            at for at, entity in enumerate(self.entities) if entity.category not in ("worn", "stuff", "place")
        ]

    def chance(self, share: float) -> bool:
        """True with probability `share`."""
        return self.dice.random() < share

    def between(self, specific: float, general: float) -> float:
        """A probability that goes from `specific` to `general` with the knob."""
        return specific + (general - specific) * self.generic

    def noun(self, *entities: Entity) -> Noun:
        """A name for one thing, or for several things at once: its own, or one of wider meaning."""

        def fits(noun: Noun, entity: Entity) -> bool:
            return not noun.needs or getattr(entity, noun.needs[0]) == noun.needs[1]

        named = _names(frozenset(entity.kind for entity in entities))
        nouns = [noun for noun in named if all(fits(noun, entity) for entity in entities)]
        weights = (self.between(1.0, 0.35), self.between(0.3, 0.35), self.between(0.06, 0.6), self.between(0.02, 0.75))
        return self.dice.choices(nouns, [weights[noun.general] for noun in nouns])[0]

    def adjectives(self, entity: Entity, noun: Noun) -> tuple[str, ...]:
        """Some of what can be seen of a thing, in English order."""
        share = self.between(0.85, 0.12)
        words: list[str] = []
        if entity.size and noun.needs is None and self.chance(share):
            words.append(self.dice.choice(("big", "large") if entity.size == "big" else ("small", "little")))
        if entity.age == "old" and self.chance(share * 0.7):
            words.append(self.dice.choice(("old", "old", "elderly")))
        elif entity.age == "child" and noun.lemma != "person" and self.chance(share * 0.45):
            words.append(self.dice.choice(("little", "young")))
        if entity.hair == "blond" and entity.age != "old" and self.chance(share * 0.3):
            words.append("blond")
        colours = entity.colour and self.chance(share)
        patterned = entity.pattern and entity.kind not in ("zebra", "giraffe") and self.chance(share * 0.8)
        if entity.kind in _ONE_COLOUR and self.chance(0.8):
            colours = False
        if colours and patterned and self.chance(0.5):
            return (*words, entity.colour, "and", entity.second, entity.pattern)
        if patterned and self.chance(0.3):
            return (*words, entity.pattern, entity.colour) if colours else (*words, entity.pattern)
        words += [entity.colour] if colours else []
        return (*words, entity.pattern) if patterned else tuple(words)

    def say(self, sentence: Sentence, at: int, *, bare: bool = False, definite: float = 0.1) -> int:
        """A noun phrase for one thing; `bare` leaves the article out, `definite` is the chance of "the"."""
        entity = self.entities[at]
        noun = self.noun(entity)
        adjectives = self.adjectives(entity, noun)
        pair = noun.lemma in PAIRS
        before = "" if bare or pair or noun.lemma in ("food", "fruit") else "a"
        if before and sentence.tokens and sentence.tokens[0] != "there" and self.chance(definite):
            before = "the"
        surface = noun.plural if pair else noun.lemma
        return sentence.entity(noun.lemma, surface, (at,), before=before, adjectives=adjectives)

    def say_group(self, sentence: Sentence, group: tuple[int, ...], *, bare: bool = False) -> int:
        """A noun phrase for all things of a sort, with their number or without."""
        noun, first = self.noun(*(self.entities[at] for at in group)), self.entities[group[0]]
        alike = first.colour and len({self.entities[at].colour for at in group}) == 1
        adjectives = (first.colour,) if alike and self.chance(self.between(0.8, 0.1)) else ()
        count: int | None = len(group)
        before = number_word(len(group))
        if self.chance(self.between(0.12, 0.4)):
            count, before = None, self.dice.choice(("some", "some", "a group of" if len(group) > 2 else "some"))
            before = "" if bare else before
        elif len(group) == 2 and self.chance(0.15):
            before = self.dice.choice(("a pair of", "a couple of"))
        return sentence.entity(noun.lemma, noun.plural, group, before=before, adjectives=adjectives, count=count)

    def groups(self) -> list[tuple[int, ...]]:
        """Sets of two and more main things of one kind, or people of any."""
        kinds = {self.entities[at].kind for at in self.mains}
        found = {tuple(at for at in self.mains if self.entities[at].kind == kind) for kind in kinds}
        found.add(tuple(at for at in self.mains if self.entities[at].category == "person"))
        return sorted(group for group in found if len(group) > 1)

    def places(self, at: int) -> tuple[tuple[str, str, str], ...]:
        """Ways to say where a thing is in its setting."""
        how, stuff = self.facts.ground(at)
        if stuff == "water":
            return AFLOAT
        if stuff in ("sky", ""):
            return (("in", "the sky", "sky"),) if stuff and self.facts.root(at) == at else ()
        if stuff == "track":
            return (("on", "the track", "track"),)
        if stuff in GROUNDS and self.facts.root(at) == at and self.chance(0.3):
            return ((how, f"the {stuff}", stuff),)
        return PLACES[self.facts.scene.setting]


# Clauses: what a thing is said to do, in each construction.

PROGRESSIVE, PARTICIPLE, SIMPLE, RELATIVE = "is riding", "riding", "rides", "who is riding"
POSES = ("stand", "sit", "lie", "walk", "run", "jump", "fly", "swim")
_DONE = ("push", "pull", "eat", "feed", "pet", "hug", "photograph", "throw", "use", "climb", "drive")
PASSIVE = ("ride", "hold", "chase", "kick", "fly", "play", "walk", "lead", *_DONE)
_SAID = (
    *_DONE,
    "lean against",
    "look through",
    "sweep with",
    "slide down",
    "ride",
    "hold",
    "chase",
    "kick",
    "fly",
    "read",
    "play",
    "walk",
    "lead",
    "in",
    "on",
    "under",
    "over",
)
_NEXT = ("next to", "in front of", "behind", "under", "near", "above")
OTHER_WORDS = {
    "next to": ("next to", "next to", "beside"),
    "near": ("near", "close to", "by"),
    "lead": ("lead", "walk"),
    "over": ("jump over", "jump over", "leap over"),
    "pet": ("pet", "pet", "stroke"),
    "pull": ("pull", "pull", "drag"),
    "lean against": ("lean against", "lean against", "lean on"),
}


def deeds(chooser: Chooser, at: int) -> list[tuple[str, int]]:
    """The composed (relation, entity) of which `at` is the subject, apart from clothes and the ground."""
    return [
        (fact.relation, fact.object)
        for fact in chooser.facts.scene.facts
        if fact.subject == at and fact.relation in _SAID and chooser.entities[fact.object].category != "stuff"
    ]


def neighbours(chooser: Chooser, at: int) -> list[tuple[str, int]]:
    """(relation, entity) that hold by position; nobody says "a box next to a box"."""
    entity = chooser.entities[at]
    return [
        (name, other)
        for other in chooser.mains
        if other != at and not chooser.facts.between(at, other)
        if chooser.entities[other].kind != entity.kind or entity.category == "person"
        for name in _NEXT
        if chooser.facts.holds(at, name, other)
        and not (name == "under" and chooser.entities[other].category in ("animal", "person"))
    ]


def be(sentence: Sentence, subject: int) -> None:
    sentence.say("are" if sentence.objects[subject].plural else "is")


def _verb(sentence: Sentence, subject: int, form: str, lemma: str, forms: tuple[str, ...]) -> str:
    """The words of a verb in a construction, still to be said; "is" or "are" before them has been."""
    third, participle, *_ = forms
    if form == SIMPLE:
        return lemma if sentence.objects[subject].plural else third
    if form != PARTICIPLE:
        be(sentence, subject)
    return participle


def say_pose(sentence: Sentence, subject: int, form: str, lemma: str) -> None:
    """A pose said of the subject ("is sitting")."""
    sentence.attribute(subject, lemma, _verb(sentence, subject, form, lemma, attributes()[lemma].forms))


def say_relative(chooser: Chooser, sentence: Sentence, form: str, at: int) -> None:
    """The pronoun of a relative clause."""
    if form == RELATIVE:
        sentence.say("who" if chooser.entities[at].category == "person" else "that")


def say_deed(
    chooser: Chooser, sentence: Sentence, subject: int, at: int, relation: str, entity: int, form: str
) -> None:
    """A relation said of the subject, its object's noun phrase included."""
    say_relative(chooser, sentence, form, at)
    placed, pose = relation in ("on", "in", *_NEXT), chooser.entities[at].pose
    if placed:  # with the pose ("sits on a bench") or without ("is on a bench")
        posed = pose in POSES and pose != "jump"
        if posed and chooser.chance(chooser.between(0.75, 0.4)):
            say_pose(sentence, subject, form, pose)
        elif form != PARTICIPLE:
            be(sentence, subject)
    lemma = chooser.dice.choice(OTHER_WORDS.get(relation, (relation,)))
    if relation == "hold" and chooser.entities[entity].kind in ("bag", "ball", "umbrella") and chooser.chance(0.3):
        lemma = "carry"
    if relation == "chase" and chooser.chance(0.3):
        lemma = "run after"
    span = sentence.say(lemma if placed else _verb(sentence, subject, form, lemma, relations()[lemma].forms))
    sentence.relate(subject, lemma, chooser.say(sentence, entity), span)


def say_setting(chooser: Chooser, sentence: Sentence, subject: int, at: int) -> None:
    """Where in the world the subject is, if there is anything to say."""
    options = chooser.places(at)
    if options:
        preposition, span, place = say_place(chooser, sentence, options)
        sentence.relate(subject, preposition, place, span)


def say_place(chooser: Chooser, sentence: Sentence, options: Sequence[tuple[str, str, str]]) -> tuple[str, Span, int]:
    """One of some places: its preposition, where that is said, the place's number among the objects."""
    preposition, words, lemma = chooser.dice.choice(options)
    span, (article, noun) = sentence.say(preposition), words.split()
    stuff = tuple(number for number, entity in enumerate(chooser.entities) if entity.kind == lemma)
    return preposition, span, sentence.entity(lemma, noun, stuff or (chooser.facts.scene.place,), before=article)
