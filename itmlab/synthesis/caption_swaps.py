"""VSE-C on captions of photographs: which swaps of a noun, number or relation contradict the picture and read well.

After Shi et al. (2018), where WordNet's kinds give the nouns; no world says here what is true, so each rule below asks
two things (METHODS 3.8). Is the new word false? It is another kind of the same (WordNet, the sense by frequency), no
caption of the image says or implies it, and captions of one image never say both of the same scene. Does it read well?
`Usage` has counted, in all captions given, that it stands in this number, with such an article, in the same relations.

Read from the tables on: nouns, persons, relations, numbers; then `Kinds` (WordNet), `Usage` (captions), `CaptionSwaps`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise, permutations
from pathlib import Path
from typing import NamedTuple

from ..metrics.wordnet import Nouns
from ..text import SceneGraph, SceneObject, Span
from ..text.graph import tokenise
from ..text.rules.lexicon import noun_lemma, verb_lemma, word_set
from .negative import Captions, Change
from .rules import Fluency, RuleSwaps, with_article

# Nouns: kinds that exclude each other in one place, as WordNet's senses ("vehicle.1" is the first of "vehicle").

KINDS = (
    "animal.1 wheeled_vehicle.1 self-propelled_vehicle.1 vessel.2 aircraft.1 public_transport.1 musical_instrument.1 "
    "furniture.1 garment.1 headdress.1 footwear.1 building.1 room.1 athletic_game.1 edible_fruit.1 vegetable.1 dish.2 "
    "baked_goods.1 beverage.1 vessel.3 bag.1 sports_equipment.1 plaything.1 publication.1 press.2"
)
SENSE = 0.6  # of what a word was met for in any of the kinds, the least share of the one sense that it is taken for
RARE = 0.2  # of all that it was met for, the least share
OFTEN = 2  # times that a noun must have stood behind a verb or a word of place to stand there again
USUAL = 0.2  # the least share of a noun's uses that have an article for it to be usual
IMAGES = 3  # in the captions of so many images a word must stand to take another's place
TOGETHER, LIFT = 0.04, 3.0  # two words said of one image in different captions this often may mean the same
VAGUE = word_set(  # too wide, of more than one meaning in captions, or the same in the plural
    "adult animal female male thing object other one seat beast pet toy glass bat bra suit top tank cart box counter "
    "grill calf sheep deer fish"
)
BESIDE = word_set("shirt t-shirt undershirt sock underwear scarf shawl tie apron")  # worn with others: never put in

# Persons: a man may be an adult, a worker and a guy, but he is no woman.

PERSONS = {
    "man": "woman", "woman": "man", "men": "women", "women": "men", "boy": "girl", "girl": "boy", "boys": "girls",
    "girls": "boys", "male": "female", "female": "male", "males": "females", "females": "males", "lady": "man",
    "ladies": "men", "gentleman": "lady", "gentlemen": "ladies", "guy": "woman", "guys": "women", "mother": "father",
    "father": "mother", "mom": "dad", "dad": "mom", "son": "daughter", "daughter": "son", "brother": "sister",
    "sister": "brother", "sons": "daughters", "daughters": "sons", "brothers": "sisters", "sisters": "brothers",
    "policeman": "policewoman", "policewoman": "policeman", "waiter": "waitress", "waitress": "waiter",
    "businessman": "businesswoman", "businesswoman": "businessman", "grandmother": "grandfather",
    "grandfather": "grandmother",
}  # fmt: skip
FEMALE = word_set(
    "woman lady girl female mother mom daughter sister wife bride grandmother waitress actress she her hers herself "
    "policewoman businesswoman aunt queen princess ballerina girlfriend gal"
)
MALE = word_set(
    "man guy boy male gentleman father dad son brother husband groom grandfather waiter actor he his him himself "
    "policeman businessman uncle king prince boyfriend fisherman fireman cowboy"
)
PRONOUNS = {"he": "she", "she": "he", "his": "her", "him": "her", "himself": "herself", "herself": "himself"}
TIED = word_set(  # said of one sex, or of what mostly one wears
    "beard bearded mustache moustache goatee bald balding shirtless pregnant dress dresses skirt skirts bikini bikinis "
    "bra blouse gown gowns heels tutu breast makeup lipstick purse ponytail pigtails sari veil turban bridal wedding "
    "tuxedo monk nun football rugby sumo stubble kilt topless cheerleader cheerleaders sundress hijab headscarf no "
    "pretty trunks"
)

# Relations: each with what contradicts it; `CaptionSwaps._place_fits` says where.

UNDER = ("under", "underneath", "beneath", "below")
PLACES = {
    "in front of": ("behind",), "behind": ("in front of",), "on": ("under",), "on top of": ("underneath",),
    "atop": ("underneath",), **dict.fromkeys(UNDER, ("on",)), "over": ("under",), "above": ("below",),
    "inside": ("outside",), "outside": ("inside",), "next to": ("far from",), "beside": ("far from",),
    "into": ("out of",), "out of": ("into",), "toward": ("away from",), "towards": ("away from",),
    "away from": ("towards",), "up": ("down",), "down": ("up",), "with": ("without",), "without": ("with",),
}  # fmt: skip
ALIKE = {**dict.fromkeys(UNDER, "under"), "atop": "on", "on top of": "on"}  # places counted as one
RESTING = word_set("sit stand lay sleep rest crouch kneel nap relax lean wait play read eat talk")
MOVING = word_set("walk run jump climb ride drive go leap step crawl swim ski skate skateboard head race")
BODY = word_set("head face hand arm leg body back eye foot hair skin mouth neck")
ENTERED = word_set("pool water lake river ocean sea pond stream building house store shop car bus tent cave room box")
SLOPES = word_set("stair stairs steps step hill slope ladder mountain ramp escalator cliff slide staircase stairway")
VERBS = {"sit": "stand", "stand": "sit", "push": "pull", "pull": "push"}
FORMS = {
    "sit": ("sit", "sits", "sitting", "sat"), "stand": ("stand", "stands", "standing", "stood"),
    "push": ("push", "pushes", "pushing", "pushed"), "pull": ("pull", "pulls", "pulling", "pulled"),
}  # fmt: skip

# Numbers: only greater ones, since where three are there are two.

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
MORE = 3  # a number grows by at most
SOME = word_set(
    "several many few group groups crowd bunch multiple numerous dozen lots team family both pair couple other others "
    "another each one second third fourth trio duo various different"
)

OBJECTIVE = word_set("them it him her me us you each")
COLOURS = word_set("red blue green yellow white black orange purple brown pink gray grey")
DETERMINERS = {
    **dict.fromkeys(word_set("the his her their its my your our this that these those"), "the"), "a": "a", "an": "a",
}  # fmt: skip
SMALL = word_set(
    "a an the and or but of in on at by with without to from into onto over under for while as is are was were be "
    "being has have who that which near next behind beside between through across around along during against up "
    "down off out outside inside above below toward towards"
)


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


def wordnet_swaps(
    words: Iterable[str], directory: str | Path | None = None, kinds: str = KINDS
) -> dict[str, tuple[str, ...]]:
    """Each noun of a vocabulary with the others of its kind, in the same number, that exclude it (`Kinds`).

    All come from `words`, so no form has to be made up. `directory` and the errors are those of `Nouns`.
    """
    known = Kinds(Nouns(directory), kinds)
    groups: dict[tuple[int | None, bool], list[str]] = defaultdict(list)
    for word in sorted({word.lower() for word in words if word.isalpha()}):
        groups[known.kind(noun_lemma(word)), noun_lemma(word) != word].append(word)
    found: dict[str, list[str]] = defaultdict(list)
    for word, other in (pair for members in groups.values() for pair in permutations(members, 2)):
        if known.exclude(noun_lemma(word), noun_lemma(other)):
            found[word].append(other)
    return {word: tuple(others) for word, others in sorted(found.items())}


class Said(NamedTuple):
    """How an object is said: its noun in the singular and where, its form, its article, and what it is and does.

    `form` is "singular", "plural", or "pair" of what has no singular ("jeans").
    """

    noun: str
    at: int
    form: str
    article: str
    roles: tuple[tuple[str, str], ...]


def said(graph: SceneGraph) -> list[Said | None]:
    """How each object of a graph is said; None if it has no place in the sentence."""
    roles = [
        [("is", "colour" if each.lemma in COLOURS else each.lemma) for each in o.attributes] for o in graph.objects
    ]
    for link in graph.relations:
        other = graph.objects[link.subject].lemma  # what is worn depends on who wears it
        roles[link.subject].append(("does", link.lemma))
        roles[link.object].append((f"of {other}" if link.lemma == "wear" else "of", link.lemma))
    return [None if one.span is None else _said(graph, one, own) for one, own in zip(graph.objects, roles, strict=True)]


def _said(graph: SceneGraph, one: SceneObject, roles: list[tuple[str, str]]) -> Said:
    at = one.span.end - 1
    word = graph.tokens[at].lower()
    noun, many = noun_lemma(word), word.endswith("s") and not word.endswith(("ss", "us", "is"))
    form = ("pair" if many and noun == word else "plural") if many or one.plural else "singular"
    return Said(noun, at, form, _article(graph, one, at), tuple(dict.fromkeys(roles)))


def _article(graph: SceneGraph, one: SceneObject, at: int) -> str:
    """ "a", "the" (or who has it), or "" for the noun at `at`, looked for before its adjectives."""
    described = {place for each in one.attributes if each.span for place in range(*each.span)}
    for place in range(at - 1, max(at - 6, -1), -1):
        word = graph.tokens[place].lower()
        if word in DETERMINERS or word.endswith("'s"):
            return DETERMINERS.get(word, "the")
        if not (place in described or place >= one.span.start or word in COLOURS or word in ("very", "-")):
            return ""
    return ""


class Usage:
    """How the captions of a set use their nouns: in which form, with which article, in which roles, beside what.

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
            objects = said(graph)
            for one in filter(None, objects):
                self.forms[one.noun, one.form][words[one.at]] += 1
                self.articles[one.noun, one.form, one.article] += 1
                self.roles.update((one.noun, role) for role in one.roles)
            for link in graph.relations:
                if objects[link.object] is not None and link.span is not None and link.lemma != "wear":
                    place, _ = _place(words, link.span)
                    self.places[ALIKE.get(place, place), objects[link.object].noun] += 1
        self.nouns = sorted({noun for noun, _ in self.forms if len(self._images[noun]) >= IMAGES})
        self.together = cache(self._together)

    def takes(self, noun: str, form: str, article: str) -> bool:
        """Whether a noun has stood with an article more than by accident."""
        found = self.articles[noun, form, article]
        return found > 1 and found >= USUAL * self.forms[noun, form].total()

    def _together(self, noun: str, other: str) -> tuple[float, float]:
        """The share of the rarer noun's images in which another caption says the other, and that over chance."""
        mine, theirs = self._images.get(noun, set()), self._images.get(other, set())
        both = 0
        for image in mine & theirs:
            ways = {(noun in row, other in row) for row in self._of_image[image]}
            both += {(True, False), (False, True)} <= ways
        least = min(len(mine), len(theirs))
        return (both / least, both * len(self._of_image) / (len(mine) * len(theirs))) if both else (0.0, 0.0)


def _place(words: Sequence[str], span: Span) -> tuple[str, int]:
    """The word of place that a relation's span ends in, and where it begins; nothing at the span's end if none."""
    for start in range(max(span.start, span.end - 3), span.end):
        if (found := " ".join(words[start : span.end])) in PLACES:
            return found, start
    return "", span.end


class CaptionSwaps(RuleSwaps):
    """The swaps of captions of photographs, given out as `RuleSwaps` gives those of a lexicon.

    `usage` is that of the captions of the whole set, `kinds` are WordNet's.
    """

    def __init__(
        self,
        usage: Usage,
        kinds: Kinds,
        *,
        number: int | None = None,
        filtered: bool = True,
        fluency: Fluency | None = None,
    ):
        super().__init__({}, {}, {}, number=number, filtered=filtered, fluency=fluency)
        self.usage, self.kinds = usage, kinds
        self.others = cache(lambda noun: tuple(other for other in usage.nouns if self._another(noun, other)))

    def _another(self, noun: str, other: str) -> bool:
        apart = other not in BESIDE and self.kinds.exclude(noun, other)
        return apart and self.usage.together(noun, other)[0] <= TOGETHER

    def _changes(self, graph: SceneGraph, image_captions: Captions) -> Iterator[Sequence[Change]]:
        words = [word.lower() for word in graph.tokens]
        told = {word for caption in image_captions for word in tokenise(caption.lower())}.union(words)
        told |= {noun_lemma(word) for word in told} | {verb_lemma(word) for word in told}
        objects = said(graph)
        heads, times = {one.at for one in objects if one is not None}, Counter(words)
        begins = [{each.span.start for each in one.attributes if each.span} for one in graph.objects]
        for link in graph.relations:
            begins[link.subject].update([link.span.start] if link.span else [])
        implying = cache(lambda other: self._implying(other, told))  # all below once for each noun, not for each object
        for one, span, own in zip(objects, (each.span for each in graph.objects), begins, strict=True):
            if one is None or times[words[one.at]] > 1:
                continue
            if words[one.at] in PERSONS:
                yield from self._persons(words, one, told)
            elif one.article or one.at - 1 not in heads:  # else it is a verb: "a man bowls"
                yield from self._nouns(words, span, own, one, told, implying)
        yield from self._relations(graph, words, objects, told)
        yield from self._numbers(graph, words, told)

    def _persons(self, words: list[str], one: Said, told: set[str]) -> Iterator[Sequence[Change]]:
        """A person of the other sex, pronouns too; not where another of that sex is told of, or what goes with one."""
        other = PERSONS[words[one.at]]
        theirs, mine = (FEMALE, MALE) if noun_lemma(other) in FEMALE else (MALE, FEMALE)
        persons = [word for word in words if noun_lemma(word) in mine and word not in PRONOUNS and word != "her"]
        agrees = one.form != "plural" or one.noun != words[one.at]  # not "three woman"
        if told & theirs or told & TIED or len(persons) != 1 or not agrees:
            return
        changes = [with_article(words, Span(one.at, one.at + 1), other, "object")]
        for place, word in enumerate(words):
            if word == "her":  # "his" before what is hers, else "him"
                behind = words[place + 1] if place + 1 < len(words) else "."
                word = "him" if behind in SMALL or not behind.isalpha() else "his"
                changes.append(Change(Span(place, place + 1), word, "object"))
            elif word in PRONOUNS:
                changes.append(Change(Span(place, place + 1), PRONOUNS[word], "object"))
        yield sorted(changes, key=lambda change: change.span)

    def _nouns(
        self, words: list[str], span: Span, begins: set[int], one: Said, told: set[str], implying: Callable
    ) -> Iterator[Sequence[Change]]:
        """Another kind of the same that has stood in the same roles; `begins` are the places of what is said of it."""
        usage = self.usage
        before = words[one.at - 1] if one.at else "."
        behind = words[one.at + 1] if one.at + 1 < len(words) else "."
        alone = behind in SMALL or not behind[0].isalnum() or one.at + 1 in begins
        if before == "to" or behind == "'s":  # "something to ship" and what is no object's head
            return
        for other in self.others(one.noun):
            forms = usage.forms.get((other, one.form))
            if not forms or self._implied(one.noun, *implying(other)) or (other in TIED and told & MALE):
                continue
            word = forms.most_common(1)[0][0]
            joined = (alone or usage.pairs[word, behind]) and (one.at == span.start or usage.pairs[before, word])
            seen = all(usage.roles[other, role] >= (OFTEN if role[0].startswith("of") else 1) for role in one.roles)
            if joined and seen and usage.takes(other, one.form, one.article):
                yield [with_article(words, Span(one.at, one.at + 1), word, "object")]

    def _implied(self, noun: str, saying: set[str], above: set[str]) -> bool:
        """Whether what is told of an image besides a noun implies another, by the words of `_implying`."""
        return bool(saying - {noun}) or any(not self.kinds.above(word, noun) for word in above - {noun})

    def _implying(self, other: str, told: set[str]) -> tuple[set[str], set[str]]:
        """Of the words told, (two of) those that say a noun or a kind of it or go with it, and what it is a kind of."""

        def says(word: str) -> bool:
            share, lift = self.usage.together(word, other)
            return self.kinds.above(other, word) or (share > TOGETHER and lift > LIFT)

        return set(islice(filter(says, told), 2)), {word for word in told if self.kinds.above(word, other)}

    def _relations(
        self, graph: SceneGraph, words: list[str], objects: list[Said | None], told: set[str]
    ) -> Iterator[Sequence[Change]]:
        """Another place, where things have been said to be; sitting for standing; nothing of what is worn."""
        for link in {link.span: link for link in graph.relations if link.span and link.lemma != "wear"}.values():
            subject, thing = objects[link.subject], objects[link.object]
            if subject is None or thing is None or words[min(link.span.end, len(words) - 1)] in OBJECTIVE:
                continue
            place, start = _place(words, link.span)
            first = words[link.span.start]
            verb = verb_lemma(first) if start > link.span.start else ""
            for other in PLACES.get(place, ()):
                if (
                    self._without(words, link.span, subject, thing)
                    if other == "without"
                    else self._place_fits(place, other, verb, thing.noun)
                ):
                    yield [Change(Span(start, link.span.end), other, "relation")]
            verb = verb_lemma(first)
            other = VERBS.get(verb)
            if other is None or other in told or first not in FORMS[verb]:
                continue
            seen = self.usage.roles[thing.noun, ("of", " ".join([other, *link.lemma.split()[1:]]))]
            if seen and (link.lemma == verb if verb not in RESTING else self.kinds.alive(subject.noun)):
                form = FORMS[other][FORMS[verb].index(first)]
                yield [Change(Span(link.span.start, link.span.start + 1), form, "relation")]

    def _without(self, words: list[str], span: Span, subject: Said, thing: Said) -> bool:
        """Whether "with" says what somebody has, and no more: "a man with a beard"."""
        behind = words[thing.at + 1] if thing.at + 1 < len(words) else "."
        alone = behind in SMALL - {"and", "or", "that", "who", "which"} or behind in (".", ",")
        own = span == (subject.at + 1, subject.at + 2) and words[span.end : thing.at] in ([], ["a"], ["an"])
        return own and alone and thing.noun not in BODY

    def _place_fits(self, place: str, other: str, verb: str, noun: str) -> bool:
        """Whether something can be said to be, or to go, in another place than it is."""
        if other in ("up", "down"):
            return verb in MOVING and noun in SLOPES
        if other in ("into", "out of"):
            return verb in MOVING and noun in ENTERED
        if other in ("towards", "away from"):
            return verb in MOVING
        if other == "far from":
            return verb in RESTING | {""}
        name, places = ALIKE.get(other, other), self.usage.places
        if name in ("behind", "in front of"):
            return verb in RESTING | {""} and places[name, noun] > 0
        usual = places[name, noun] >= max(OFTEN, USUAL * places[ALIKE.get(place, place), noun])
        said_so = self.usage.roles[noun, ("of", f"{verb} {name}")] > 0 if verb else usual
        return said_so and verb in RESTING | {""} and not self.kinds.alive(noun)

    def _numbers(self, graph: SceneGraph, words: list[str], told: set[str]) -> Iterator[Sequence[Change]]:
        """A greater number of the same, where no caption counts otherwise or says "some" in any way."""
        counted = {word for word in told if word in NUMBERS or word.isdigit()}
        for one in graph.objects:
            value = one.count or 0
            if told & SOME or one.span is None or not one.plural or not 2 <= value < len(NUMBERS):
                continue
            figures = tuple(map(str, range(1, len(NUMBERS) + 1)))
            scripts = {script[value - 1]: script for script in (NUMBERS, figures)}
            places = [at for at in range(max(one.span.start - 5, 0), one.span.end) if words[at] in scripts]
            if places and counted <= set(scripts) and words[places[-1] - 1] != "between":
                for more in scripts[words[places[-1]]][value : value + MORE]:
                    yield [Change(Span(places[-1], places[-1] + 1), more, "number")]
