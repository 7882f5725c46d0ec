"""VSE-C on captions of photographs: which swaps of a noun, number or relation contradict the picture and read well.

After Shi et al. (2018), where WordNet's kinds give the nouns; no world says here what is true, so each rule below asks
two things (METHODS 3.8). Is the new word false? It is another kind of the same (WordNet, the sense by frequency), no
caption of the image says or implies it, and captions of one image never say both of the same scene. Does it read well?
`Usage` has counted, in all captions given, that it stands in this number, with such an article, in the same relations.

`caption_swaps.toml` holds the tables of words. `Kinds` reads WordNet, `Usage` counts captions, `CaptionSwaps` swaps.
"""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ..metrics.wordnet import Nouns
from ..text import SceneGraph, SceneObject, Span
from ..text.graph import tokenise
from ..text.rules.lexicon import noun_lemma, verb_lemma, word_set
from .negative import Captions, Change
from .rules import RuleSwaps, with_article

TABLES = tomllib.loads((Path(__file__).parent / "caption_swaps.toml").read_text("utf-8"))  # words by what they mean
KINDS = TABLES["words"]["kinds"]
SENSE = 0.6  # of what a word was met for in any of the kinds, the least share of the one sense that it is taken for
RARE = 0.2  # of all that it was met for, the least share
OFTEN = 2  # times that a noun must have stood behind a verb or a word of place to stand there again
USUAL = 0.2  # the least share of a noun's uses that have an article for it to be usual
IMAGES = 3  # in the captions of so many images a word must stand to take another's place
TOGETHER, LIFT = 0.04, 3.0  # two words said of one image in different captions this often may mean the same
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
MORE = 3  # a number grows by at most; only greater ones are put in, since where three are there are two

WORDS = {name: word_set(words) for name, words in TABLES["words"].items()}
VAGUE, BESIDE, FEMALE, MALE, TIED = (WORDS[name] for name in ("vague", "beside", "female", "male", "tied"))
RESTING, MOVING = WORDS["resting"], WORDS["moving"]
ENTERED, SLOPES, SOME = (WORDS[name] for name in ("entered", "slopes", "some"))
OBJECTIVE, COLOURS, SMALL = (WORDS[name] for name in ("objective", "colours", "small"))
PERSONS, PRONOUNS, PLACES = TABLES["persons"], TABLES["pronouns"], TABLES["places"]
ALIKE = TABLES["alike"]
DETERMINERS = {**dict.fromkeys(WORDS["definite"], "the"), "a": "a", "an": "a"}


class Kinds:
    """The kind of each noun, by the most frequent of its senses that has one, and which nouns exclude each other."""

    def __init__(self, nouns: Nouns, kinds: str = KINDS):
        self.nouns = nouns
        named = (name.rpartition(".") for name in kinds.split())
        found = ((nouns.senses(word), int(number)) for word, _, number in named)
        self.tops = {senses[number - 1][0].offset for senses, number in found if len(senses) >= number}
        self.sense, self.kind, self.all_above = cache(self._sense), cache(self._kind), cache(self._all_above)

    def _sense(self, noun: str) -> int | None:
        """The synset that a noun stands for; None if none has a kind, or if it could be more than one."""
        senses = [(synset.offset, count + 0.5) for synset, count in self.nouns.senses(noun)]
        visible = [each for each in senses if self._top(each[0])]
        if not visible or noun in VAGUE:
            return None
        best, count = max(visible, key=lambda each: each[1])  # of equal ones the first
        if count < 1 and best != senses[0][0]:  # neither ever met nor the first
            return None
        shares = count / sum(each for _, each in visible), count / sum(each for _, each in senses)
        return best if shares[0] >= SENSE and shares[1] >= RARE else None

    def _top(self, offset: int) -> int | None:
        above = self.nouns.above(offset)
        return next((each for each in above if each in self.tops and each != offset), None)

    def _kind(self, noun: str) -> int | None:
        sense = self.sense(noun)
        return None if sense is None else self._top(sense)

    def _all_above(self, noun: str) -> frozenset[int]:
        """The synsets of all senses of a noun, and all above them."""
        return frozenset().union(*(self.nouns.above(synset.offset) for synset, _ in self.nouns.senses(noun)))

    def alive(self, noun: str) -> bool:
        """Whether a noun first means a person, an animal or some of these."""
        senses, living = self.nouns.senses(noun), ("person", "animal", "social_group", "people", "crowd")
        tops = {synset.offset for each in living for synset, _ in self.nouns.senses(each)[:1]}
        return noun in ("group", "couple") or not tops.isdisjoint(
            self.nouns.above(senses[0][0].offset) if senses else ()
        )

    def above(self, noun: str, other: str) -> bool:
        """Whether some sense of the one noun is the other's or lies above it."""
        return any(synset.offset in self.all_above(other) for synset, _ in self.nouns.senses(noun))

    def exclude(self, noun: str, other: str) -> bool:
        """Whether two nouns are of one kind, and neither is the other, above it, or a synonym."""
        kind = self.kind(noun)
        if kind is None or kind != self.kind(other):
            return False
        mine, theirs = self.sense(noun), self.sense(other)
        synonyms = self.nouns.synset(mine).words & self.nouns.synset(theirs).words
        return not (synonyms or mine in self.all_above(other) or theirs in self.all_above(noun))


class Mention(NamedTuple):
    """How a caption mentions an object: its noun in the singular and where, its form, its article, its roles.

    `form` is "singular", "plural", or "pair" for a noun without a singular ("jeans").
    """

    noun: str
    at: int
    form: str
    article: str
    roles: tuple[tuple[str, str], ...]


def mentions(graph: SceneGraph) -> list[Mention | None]:
    """How each object of a graph is mentioned; None if it has no place in the sentence."""
    roles = [
        [("is", "colour" if attribute.lemma in COLOURS else attribute.lemma) for attribute in thing.attributes]
        for thing in graph.objects
    ]
    for relation in graph.relations:
        subject = graph.objects[relation.subject].lemma  # what is worn depends on who wears it
        roles[relation.subject].append(("does", relation.lemma))
        roles[relation.object].append((f"of {subject}" if relation.lemma == "wear" else "of", relation.lemma))
    return [None if thing.span is None else _mention(graph, thing, roles[at]) for at, thing in enumerate(graph.objects)]


def _mention(graph: SceneGraph, thing: SceneObject, roles: list[tuple[str, str]]) -> Mention:
    at = thing.span.end - 1
    word = graph.tokens[at].lower()
    noun, many = noun_lemma(word), word.endswith("s") and not word.endswith(("ss", "us", "is"))
    form = "plural" if many or thing.plural else "singular"
    if many and noun == word:
        form = "pair"
    return Mention(noun, at, form, _article(graph, thing, at), tuple(dict.fromkeys(roles)))


def _article(graph: SceneGraph, thing: SceneObject, at: int) -> str:
    """ "a", "the" (or a possessive), or "" for the noun at `at`, searched before its adjectives."""
    described = {place for attribute in thing.attributes if attribute.span for place in range(*attribute.span)}
    for place in range(at - 1, max(at - 6, -1), -1):
        word = graph.tokens[place].lower()
        if word in DETERMINERS or word.endswith("'s"):
            return DETERMINERS.get(word, "the")
        if not (place in described or place >= thing.span.start or word in COLOURS or word in ("very", "-")):
            return ""
    return ""


class Usage:
    """How the captions of a set use their nouns: form, article, roles, and the words beside them.

    `images` are the numbers of the captions' images.
    """

    def __init__(self, graphs: Sequence[SceneGraph], images: Sequence[int]):
        self.forms: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.articles: Counter[tuple[str, str, str]] = Counter()
        self.roles: Counter[tuple[str, tuple[str, str]]] = Counter()
        self.places: Counter[tuple[str, str]] = Counter()  # (place, noun): "on" a bench
        self.pairs: Counter[tuple[str, str]] = Counter()  # neighbouring words
        self._of_image: dict[int, list[frozenset[str]]] = defaultdict(list)
        self._images: dict[str, set[int]] = defaultdict(set)
        for graph, image in zip(graphs, images, strict=True):
            words = [word.lower() for word in graph.tokens]
            self.pairs.update(pairwise(words))
            nouns = frozenset(map(noun_lemma, words)) - SMALL
            self._of_image[image].append(nouns)
            for noun in nouns:
                self._images[noun].add(image)
            mentioned = mentions(graph)
            for mention in filter(None, mentioned):
                self.forms[mention.noun, mention.form][words[mention.at]] += 1
                self.articles[mention.noun, mention.form, mention.article] += 1
                self.roles.update((mention.noun, role) for role in mention.roles)
            for relation in graph.relations:
                thing = mentioned[relation.object]
                if thing is not None and relation.span is not None and relation.lemma != "wear":
                    place, _ = _place(words, relation.span)
                    self.places[ALIKE.get(place, place), thing.noun] += 1
        self.nouns = sorted({noun for noun, _ in self.forms if len(self._images[noun]) >= IMAGES})
        self.together = cache(self._together)

    def takes(self, noun: str, form: str, article: str) -> bool:
        """Whether a noun has stood with an article more than by accident."""
        times = self.articles[noun, form, article]
        return times > 1 and times >= USUAL * self.forms[noun, form].total()

    def _together(self, noun: str, other: str) -> tuple[float, float]:
        """The share of the rarer noun's images in which another caption has the other noun, and that over chance."""
        images, other_images = self._images.get(noun, set()), self._images.get(other, set())
        both = 0
        for image in images & other_images:
            captions = {(noun in nouns, other in nouns) for nouns in self._of_image[image]}
            both += {(True, False), (False, True)} <= captions
        if both == 0:
            return 0.0, 0.0
        chance = len(images) * len(other_images) / len(self._of_image)
        return both / min(len(images), len(other_images)), both / chance


def _place(words: Sequence[str], span: Span) -> tuple[str, int]:
    """The words of place at the end of a relation's span, and where they begin; ("", span.end) without any."""
    for start in range(max(span.start, span.end - 3), span.end):
        place = " ".join(words[start : span.end])
        if place in PLACES:
            return place, start
    return "", span.end


class CaptionSwaps(RuleSwaps):
    """The swaps of captions of photographs, chosen among as `RuleSwaps` chooses those of a lexicon.

    `usage` is that of the captions of the whole set, `kinds` are WordNet's.
    """

    def __init__(self, usage: Usage, kinds: Kinds, *, number: int | None = None, filtered: bool = True):
        super().__init__({}, {}, {}, number=number, filtered=filtered)
        self.usage, self.kinds = usage, kinds
        self.others = cache(self._others)
        self.means = lru_cache(maxsize=2**20)(self._means)

    def _others(self, noun: str) -> tuple[str, ...]:
        """The nouns of the same kind that exclude a noun and are never said of the same scene."""
        return tuple(
            other
            for other in self.usage.nouns
            if other not in BESIDE
            and self.kinds.exclude(noun, other)
            and self.usage.together(noun, other)[0] <= TOGETHER
        )

    def _means(self, word: str, noun: str) -> bool:
        """Whether a word says a noun or a kind of it, or often goes with it."""
        share, lift = self.usage.together(word, noun)
        return self.kinds.above(noun, word) or (share > TOGETHER and lift > LIFT)

    def implied(self, other: str, noun: str, said: set[str]) -> bool:
        """Whether a word said of the image, besides `noun`, implies the noun `other`."""
        return any(
            self.means(word, other) or (self.kinds.above(word, other) and not self.kinds.above(word, noun))
            for word in said - {noun}
        )

    def _changes(self, graph: SceneGraph, image_captions: Captions) -> Iterator[Sequence[Change]]:
        words = [word.lower() for word in graph.tokens]
        said = {word for caption in image_captions for word in tokenise(caption.lower())}.union(words)
        said |= {noun_lemma(word) for word in said} | {verb_lemma(word) for word in said}
        mentioned = mentions(graph)
        heads, times = {mention.at for mention in mentioned if mention is not None}, Counter(words)
        for at, mention in enumerate(mentioned):
            if mention is None or times[words[mention.at]] > 1:
                continue
            if words[mention.at] in PERSONS:
                yield from self._persons(words, mention, said)
            elif mention.article or mention.at - 1 not in heads:  # else it is a verb: "a man bowls"
                yield from self._nouns(graph, words, at, mention, said)
        yield from self._relations(graph, words, mentioned)
        yield from self._numbers(graph, words, said)

    def _persons(self, words: list[str], mention: Mention, said: set[str]) -> Iterator[Sequence[Change]]:
        """A person of the other sex, with the pronouns; not where captions mention that sex or what goes with it."""
        other = PERSONS[words[mention.at]]
        opposite, same = (FEMALE, MALE) if noun_lemma(other) in FEMALE else (MALE, FEMALE)
        persons = [word for word in words if noun_lemma(word) in same and word not in PRONOUNS and word != "her"]
        agrees = mention.form != "plural" or mention.noun != words[mention.at]  # not "three woman"
        if said & opposite or said & TIED or len(persons) != 1 or not agrees:
            return
        changes = [with_article(words, Span(mention.at, mention.at + 1), other, "object")]
        for place, word in enumerate(words):
            if word == "her":  # "his" before a noun, else "him"
                following = words[place + 1] if place + 1 < len(words) else "."
                word = "him" if following in SMALL or not following.isalpha() else "his"
                changes.append(Change(Span(place, place + 1), word, "object"))
            elif word in PRONOUNS:
                changes.append(Change(Span(place, place + 1), PRONOUNS[word], "object"))
        yield sorted(changes, key=lambda change: change.span)

    def _nouns(
        self, graph: SceneGraph, words: list[str], at: int, mention: Mention, said: set[str]
    ) -> Iterator[Sequence[Change]]:
        """Another noun of the same kind that has stood in the same roles, in the place of object `at`."""
        usage, thing = self.usage, graph.objects[at]
        before = words[mention.at - 1] if mention.at else "."
        following = words[mention.at + 1] if mention.at + 1 < len(words) else "."
        if before == "to" or following == "'s":  # "something to ship", and what is not the object's head
            return
        begins = {attribute.span.start for attribute in thing.attributes if attribute.span}
        begins |= {relation.span.start for relation in graph.relations if relation.subject == at and relation.span}
        alone = following in SMALL or not following[0].isalnum() or mention.at + 1 in begins
        for other in self.others(mention.noun):
            forms = usage.forms.get((other, mention.form))
            if not forms or (other in TIED and said & MALE) or not usage.takes(other, mention.form, mention.article):
                continue
            word = forms.most_common(1)[0][0]
            fits = alone or usage.pairs[word, following] > 0
            fits &= mention.at == thing.span.start or usage.pairs[before, word] > 0
            for role in mention.roles:
                fits &= usage.roles[other, role] >= (OFTEN if role[0].startswith("of") else 1)
            if fits and not self.implied(other, mention.noun, said):
                yield [with_article(words, Span(mention.at, mention.at + 1), word, "object")]

    def _relations(
        self, graph: SceneGraph, words: list[str], mentioned: list[Mention | None]
    ) -> Iterator[Sequence[Change]]:
        """The opposite place, where captions have put such a thing; never where something is worn."""
        for relation in {relation.span: relation for relation in graph.relations if relation.span}.values():
            span, subject, thing = relation.span, mentioned[relation.subject], mentioned[relation.object]
            following = words[min(span.end, len(words) - 1)]
            if relation.lemma == "wear" or subject is None or thing is None or following in OBJECTIVE:
                continue
            place, start = _place(words, span)
            verb = verb_lemma(words[span.start])
            if place and self._place_fits(place, verb if start > span.start else "", thing.noun):
                yield [Change(Span(start, span.end), PLACES[place], "relation")]

    def _place_fits(self, place: str, verb: str, noun: str) -> bool:
        """Whether something can be, or go, to the opposite of a place beside a noun."""
        other, places = PLACES[place], self.usage.places
        if other in ("up", "down"):
            return verb in MOVING and noun in SLOPES
        if other in ("into", "out of"):
            return verb in MOVING and noun in ENTERED
        if other in ("towards", "away from"):
            return verb in MOVING
        if verb not in RESTING | {""}:
            return False
        if other == "far from":
            return True
        name = ALIKE.get(other, other)
        if name in ("behind", "in front of"):
            return places[name, noun] > 0
        if verb:
            usual = self.usage.roles[noun, ("of", f"{verb} {name}")] > 0
        else:
            usual = places[name, noun] >= max(OFTEN, USUAL * places[ALIKE.get(place, place), noun])
        return usual and not self.kinds.alive(noun)

    def _numbers(self, graph: SceneGraph, words: list[str], said: set[str]) -> Iterator[Sequence[Change]]:
        """A greater number of the same, where no caption counts otherwise or says "some" in any way."""
        counted = {word for word in said if word in NUMBERS or word.isdigit()}
        for thing in graph.objects:
            value = thing.count or 0
            if said & SOME or thing.span is None or not thing.plural or not 2 <= value < len(NUMBERS):
                continue
            figures = tuple(map(str, range(1, len(NUMBERS) + 1)))
            scripts = {script[value - 1]: script for script in (NUMBERS, figures)}
            places = [at for at in range(max(thing.span.start - 5, 0), thing.span.end) if words[at] in scripts]
            if places and counted <= set(scripts) and words[places[-1] - 1] != "between":
                for more in scripts[words[places[-1]]][value : value + MORE]:
                    yield [Change(Span(places[-1], places[-1] + 1), more, "number")]
