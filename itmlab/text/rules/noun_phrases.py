"""Noun phrases: which things a caption speaks of, under which names, with which attributes and how many of them."""

from dataclasses import dataclass, field

from ..graph import Span
from .lexicon import Knowledge, noun_lemma, word_set
from .repair import NOUNS
from .tree import Word, attach

NUMBERS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "twenty": 20, "dozen": 12,
}  # fmt: skip
_PEOPLE = {
    "he": "man", "him": "man", "she": "woman", "they": "people", "someone": "person", "somebody": "person",
    "everyone": "people", "anyone": "person", "people": "people",
}  # fmt: skip
_QUANTIFIERS = word_set(
    "several many some few various multiple numerous more most all both other another each every any no one single "
    "certain such same own lot whole entire couple pair only different much half dozens hundreds"
)
_PLURAL_WORDS = word_set("several many some few various multiple numerous both dozens hundreds")
_PLURAL_FORMS = word_set("people cattle police children men women")
_SHADES = word_set("light dark bright pale deep medium neon off royal navy forest sky lime hot partly")
_COLOURS = word_set(
    "red orange yellow green blue purple pink brown black white gray grey tan beige gold golden silver colored "
    "coloured turquoise teal blond blonde maroon cream cloudy navy"
)
_SHAPES = word_set("colored coloured shaped haired covered sleeved")
_OUTSIDE = word_set(
    "nsubj nsubj:pass acl:relcl advcl xcomp ccomp parataxis cop aux aux:pass mark expl root list vocative"
)
_PARTS = {
    "haired": "hair", "framed": "frame", "sleeved": "sleeve", "legged": "leg", "eyed": "eye", "brimmed": "brim",
    "handled": "handle", "necked": "neck",
}  # fmt: skip
_DONE_BY = {"covered": "cover", "filled": "fill", "lined": "line"}
# Nouns to look through: in "a group of people" the thing is the people, in "bits of ice" the ice.
_TRANSPARENT = word_set(
    "group pair couple bunch row set lot pile piece bit slice stack crowd herd flock line number series collection "
    "variety amount plenty kind type sort array cluster patch pack dozen team assortment bundle strip chunk handful "
    "body batch range pieces"
)
_TWO = word_set("pair couple")
_WORN_IN_PAIRS = word_set("pants jeans shorts trousers scissors glass sunglasses shoe boot ski sock glove goggles")


@dataclass(slots=True)
class Thing:
    """An object under construction; `head` is the word it stands on."""

    name: str
    head: int
    span: Span
    attributes: list[tuple[str, Span]] = field(default_factory=list)
    count: int | None = 1
    plural: bool = False
    owner: int = -1  # the word of a possessive ("man's") or of a noun that has it ("clock face")
    owner_name: str = ""
    parts: list[tuple[str, str, Span]] = field(default_factory=list)  # (part, its attribute) of "a long haired woman"
    covers: list[tuple[str, str, Span]] = field(default_factory=list)  # (verb, what does it) of "a snow covered road"


class Phrases:
    """All things of a caption, by the number of their head word.

    Phrases are read from the last word to the first, so that a noun takes in its modifiers before they can be heads.
    """

    def __init__(self, words: list[Word], known: Knowledge):
        self.words, self.known = words, known
        self.things: dict[int, Thing] = {}
        self.stands_for: dict[int, int] = {}  # "group" in "group of people" → the word "people"
        self.used: set[int] = set()
        self.spoken_for: set[int] = set()  # words that the word behind them has taken in
        for number in range(len(words) - 1, -1, -1):
            if number not in self.used and self._is_head(number):
                self._read(number)
        see_through(words, self.things, self.stands_for, known)

    def find(self, number: int) -> int:
        """The head word of the thing that a word stands for, -1 for none."""
        seen = set()
        while number in self.stands_for and number not in seen:
            seen.add(number)
            number = self.stands_for[number]
        return number if number in self.things else -1

    def _is_head(self, number: int) -> bool:
        word = self.words[number]
        if word.pos not in NOUNS:
            return word.pos == "PRON" and word.text in _PEOPLE
        modifies = word.label in ("compound", "amod") and word.head == number + 1
        inside = modifies and self.words[word.head].pos in NOUNS
        return not inside and any(letter.isalpha() for letter in word.text)

    def _read(self, number: int) -> None:
        word, before = self.words[number], self._before(number)
        name = noun_lemma(word.text) if word.pos in NOUNS else _PEOPLE[word.text]
        plural = (noun_lemma(word.text) != word.text and word.text != "glasses") or word.text in _PLURAL_FORMS
        thing = Thing(name, number, word.span, count=None if plural else 1, plural=plural)
        joined = True
        for at in reversed(before):
            joined = self._modify(thing, at, joined)
        self._quantify(thing, number, before)
        thing.attributes.reverse()
        self.things[number] = thing

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
        for one in (at, self.words[at].head):
            if 0 <= one < number and self.words[one].label == "nmod:poss":
                return one
        return -1

    def _belongs(self, at: int, number: int) -> bool:
        word = self.words[at]
        if word.pos == "PART" and self._owner(at, number) >= 0:
            return True
        acts = word.pos == "VERB" and word.label not in ("amod", "advmod", "compound")
        if acts or word.pos in ("ADP", "AUX", "PRON", "SCONJ"):
            return word.label == "nmod:poss" and word.head == number
        climbed = at
        for _ in range(8):
            here = self.words[climbed]
            if here.label in _OUTSIDE or here.preposition is not None or here.head < 0:
                return False
            if here.head == number:
                return here.label != "conj" or word.label in ("cc", "punct")
            joined = here.label == "conj" and here.pos in ("ADJ", "VERB", "ADV")
            if here.head > number or (here.head < at and not joined):
                return False
            climbed = here.head
        return False

    def _modify(self, thing: Thing, at: int, joined: bool) -> bool:
        """Let a word before the noun have its say; whether the next one can still be a part of the name."""
        word = self.words[at]
        self.used.add(at)
        if at in self.spoken_for:
            return False
        helps = word.pos in ("DET", "PUNCT", "CCONJ", "NUM", "SYM", "PART", "PRON") or word.text in _QUANTIFIERS
        if word.label == "nmod:poss":
            thing.owner = at
            if not helps:
                self.used.discard(at)  # "the man's hat": the owner is a thing of its own
        if helps or word.label == "nmod:poss":
            return False
        if word.pos == "ADV" and word.text not in _SHADES and self.words[word.head].pos in ("ADV", "VERB"):
            return False
        kind = self._kind(thing, at) if joined else "attribute"
        if kind == "object":
            thing.name = f"{word.text} {thing.name}"
            thing.span = Span(word.start, thing.span.end)
            return True
        if kind == "have":
            thing.owner, thing.owner_name = at, noun_lemma(word.text)
            return False
        if kind == "attribute" and not self._compound_adjective(thing, at):
            self._describe(thing, word)
        return False

    def _compound_adjective(self, thing: Thing, at: int) -> bool:
        """ "long haired" gives the thing hair, "snow covered" says that snow covers it."""
        word = self.words[at]
        first, _, last = word.text.rpartition("-")
        before = self.words[at - 1] if at else None
        span = word.span
        fits = before is not None and (before.pos in NOUNS or (last in _PARTS and before.pos in ("ADJ", "VERB")))
        if not first and fits and self._belongs(at - 1, thing.head):
            first, span = before.text, Span(before.start, word.end)
        if not first:
            return False
        if last in _PARTS:
            thing.parts.append((_PARTS[last], first, span))
        elif last in _DONE_BY:
            thing.covers.append((_DONE_BY[last], noun_lemma(first), span))
        else:
            return False
        if span.start != word.start:
            self.used.add(at - 1)
            self.spoken_for.add(at - 1)
        return True

    def _kind(self, thing: Thing, at: int) -> str:
        """How a noun before the noun goes with it, as `Knowledge.compounds` says."""
        said, compounds = self.words[at].text, self.known.compounds
        last = compounds.get(f"{said} {thing.name.rpartition(' ')[2]}", self.known.modifiers.get(said, "attribute"))
        return compounds.get(f"{said} {thing.name}", last)

    def _describe(self, thing: Thing, word: Word) -> None:
        if thing.attributes:
            last, span = thing.attributes[-1]
            first = last.partition(" ")[0]
            one = (word.text in _SHADES and first in _COLOURS) or (first in _SHAPES and " " not in last)
            if one and span.start == word.end:
                thing.attributes[-1] = (f"{word.text} {last}", Span(word.start, span.end))
                return
        thing.attributes.append((word.text, word.span))

    def _quantify(self, thing: Thing, number: int, before: list[int]) -> None:
        for at in before:
            word = self.words[at]
            count = NUMBERS.get(word.text)
            if count is None and word.text.isdecimal() and len(word.text) < 4:
                count = int(word.text)
            if count is not None and word.pos in ("NUM", "NOUN", "DET", "ADJ"):
                thing.count, thing.plural = count, count != 1
                if count > 1:
                    thing.attributes = [pair for pair in thing.attributes if pair[0] != word.text]
            elif word.text in ("one", "a", "an") and word.pos in ("NUM", "DET"):
                thing.count, thing.plural = 1, False
            elif word.text == "no":
                thing.count, thing.plural = 0, False
            elif word.text in _PLURAL_WORDS and thing.plural:
                thing.count = None


def see_through(words: list[Word], things: dict[int, Thing], stands_for: dict[int, int], known: Knowledge) -> None:
    """Put what a group consists of in its place, among the things and in the tree, and note it in `stands_for`."""
    for number, thing in list(things.items()):
        kind = known.of.get(thing.name, "transparent" if thing.name in _TRANSPARENT else "")
        behind = [at for at in words[number].children if at > number and at in things and words[at].preposition]
        inner = next((at for at in behind if words[at].preposition.name == "of"), -1)
        if inner < 0 or not kind.startswith("transparent"):
            continue
        content = things[inner]
        content.attributes = [*thing.attributes, *content.attributes]
        if kind == "transparent attribute":
            content.attributes.insert(0, ("group of" if thing.name == "group" else thing.name, thing.span))
        if content.plural and content.count is None and thing.name in _TWO and not thing.plural:
            content.count = None if content.name in _WORN_IN_PAIRS else 2
        if content.owner < 0:
            content.owner = thing.owner
        del things[number]
        stands_for[number] = inner
        _replace(words, number, inner)


def _replace(words: list[Word], outer: int, inner: int) -> None:
    """Put the inner word in the outer one's place in the tree."""
    head, label, preposition = words[outer].head, words[outer].label, words[outer].preposition
    for child in list(words[outer].children):
        if child != inner and (child > inner or words[child].label in ("nsubj", "cop", "expl", "nsubj:pass")):
            attach(words, child, inner, words[child].label)
    attach(words, inner, head, label)
    attach(words, outer, inner, "det")
    words[inner].preposition, words[outer].preposition = preposition, None
