"""What there is to say about a scene, and in which words: names, adjectives, actions, places."""

import random
from dataclasses import dataclass, field, replace
from functools import cache

from ..text.graph import Attribute, Relation, SceneGraph, SceneObject, Span
from .lexicon import NOUNS, PAIRS, Noun
from .relations import Facts
from .scene import SETTINGS, Entity

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
        """Say a noun phrase.

        Args:
            lemma: of the noun.
            surface: the noun as written.
            means: the numbers of the entities that it means.
            before: an article or number.
            adjectives: lemmas and words before the noun; "and" is only said.
            count: how many things it speaks of, if it says so.

        Returns:
            The object's number in the sentence.
        """
        if before == "a":
            before = "an" if (*adjectives, surface)[0][0] in "aeiou" else "a"
        self.say(before)
        spoken = [Attribute(word, self.say(word)) if word != "and" else self.say(word) for word in adjectives]
        attributes = tuple(entry for entry in spoken if isinstance(entry, Attribute))
        span = self.say(surface)
        self.objects.append(SceneObject(lemma, attributes, count, count != 1, span))
        self.means.append(means)
        return len(self.objects) - 1

    def attribute(self, number: int, lemma: str, surface: str) -> None:
        """Say a verb or adjective of an object after its noun ("is running").

        Args:
            number: the object's number.
            lemma: of the attribute.
            surface: as written.
        """
        entry = self.objects[number]
        self.objects[number] = replace(entry, attributes=(*entry.attributes, Attribute(lemma, self.say(surface))))

    def relate(self, subject: int, lemma: str, entity: int, span: Span) -> None:
        """Note a relation whose words have been said.

        Args:
            subject: the number of the first object.
            lemma: of the relation.
            entity: the number of the second object.
            span: where its words stand.
        """
        self.relations.append(Relation(subject, lemma, entity, span))

    def graph(self, *, stop: bool, capital: bool) -> SceneGraph:
        """Return the finished graph; its tokens are those of `text`."""
        tokens = [*self.tokens, "."] if stop else list(self.tokens)
        if capital:
            tokens[0] = tokens[0][0].upper() + tokens[0][1:]
        return SceneGraph(tuple(self.objects), tuple(self.relations), tuple(tokens))


def text(tokens: tuple[str, ...]) -> str:
    """Join tokens as one writes them: no blank before a comma or a full stop."""
    return " ".join(tokens).replace(" ,", ",").replace(" .", ".")


def number_word(count: int) -> str:
    """Return the English word of a count from 2 to 12; a scene shows no more of a kind."""
    return _NUMBERS[count - 2]


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
        """Return a probability between `specific` and `general`, as the knob is set."""
        return specific + (general - specific) * self.generic

    def noun(self, *entities: Entity) -> Noun:
        """Return a name for one thing, or for several at once: its own, or one of wider meaning."""

        def fits(noun: Noun, entity: Entity) -> bool:
            return not noun.needs or getattr(entity, noun.needs[0]) == noun.needs[1]

        named = _names(frozenset(entity.kind for entity in entities))
        nouns = [noun for noun in named if all(fits(noun, entity) for entity in entities)]
        weights = (self.between(1.0, 0.35), self.between(0.3, 0.35), self.between(0.06, 0.6), self.between(0.02, 0.75))
        return self.dice.choices(nouns, [weights[noun.general] for noun in nouns])[0]

    def adjectives(self, entity: Entity, noun: Noun) -> tuple[str, ...]:
        """Return some visible properties of a thing in English order."""
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
        """Say a noun phrase for one thing.

        Args:
            sentence: the caption so far.
            at: the number of the thing in the scene.
            bare: leave the article out.
            definite: the probability of "the".

        Returns:
            The object's number in the sentence.
        """
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
        """Say a noun phrase for all things of a sort, with their number or without.

        Args:
            sentence: the caption so far.
            group: the numbers of the things in the scene.
            bare: leave the article out.

        Returns:
            The object's number in the sentence.
        """
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
        alike = {tuple(at for at in self.mains if self.entities[at].kind == kind) for kind in kinds}
        alike.add(tuple(at for at in self.mains if self.entities[at].category == "person"))
        return sorted(group for group in alike if len(group) > 1)

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
        return SETTINGS[self.facts.scene.setting].phrases
