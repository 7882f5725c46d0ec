"""Negatives by rule (VSE-C): one noun, number or relation of a caption swapped for another that contradicts it.

After Shi et al. (2018), "Learning Visually-Grounded Semantics from Contrastive Adversarial Samples", the baseline of
TAGS' Tables 3 and 4 (METHODS 3.8). A lexicon says what words are swapped for: that of a drawn world, or WordNet's for
captions of photographs. No world says there what is true. So a noun is swapped for one of the same kind that excludes
it (WordNet, the sense by frequency), that the captions use in the same number, and that two captions of one image
seldom say in each other's place. `caption_swaps.toml` holds the tables.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import torch

from ..data.captionset import CaptionSet
from ..fields import FROM_1, check_ranges
from ..metrics.wordnet import WordNet, wordnet
from ..text import SceneGraph, Span
from ..text.alignment import token_characters
from ..text.rules.lexicon import noun_lemma, word_set
from . import negative as base
from .negative import Captions, Change, Draws, Graphs, Negative, OfImage, Rows, edited, own_generators
from .tags import graphs_of

Swaps = Mapping[str, Sequence[str]]  # a word as written in a sentence → words, in the same form, that may replace it


# numbers in words and in figures
SCRIPTS = (["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], list(map(str, range(2, 11))))
NUMBERS: Swaps = {word: [other for other in script if other != word] for script in SCRIPTS for word in script}


@dataclass
class RuleSwaps:
    """Makes negatives by swapping one noun, relation or number of a caption (VSE-C).

    Nouns are looked for in a graph's objects and relations in its relations, the longest known words first; numbers
    anywhere. "a" and "an" follow the new word.

    Args:
        nouns: for each noun, what it may be swapped for (in a drawn world: `world.swaps()`); an empty mapping swaps
            none.
        relations: the same for relations.
        numbers: the same for numbers.
        number: how many sentences are drawn for each caption; None makes all.
        filtered: leave out what the image's captions say.
        implied: what words imply, for the filter (see `without_false_negatives`).

    Raises:
        ItmlabError: `number` is below 1.

    References:
        Shi et al. (2018), Sec. 3; METHODS 3.8.

    >>> swaps, graph = RuleSwaps({}, {}), SceneGraph(tokens=("two", "dogs"))
    >>> [one.sentence for one in swaps(["two dogs"], [graph], [["nine dogs"]], generator=torch.Generator())[0]][:2]
    ['three dogs', 'four dogs']
    """

    nouns: Swaps
    relations: Swaps
    numbers: Swaps = field(default_factory=lambda: NUMBERS)
    number: int | None = None
    filtered: bool = True
    implied: base.Implied | None = None

    def __post_init__(self) -> None:
        check_ranges(self, "vse_c", number=FROM_1)

    def __call__(self, captions: Captions, graphs: Graphs, image_captions: OfImage, *, generator: Draws) -> Rows:
        """Return the negatives of each caption; `image_captions` are all captions of its image, for the filter."""
        generators = own_generators(len(captions), generator)
        return [self._of(*parts) for parts in zip(captions, graphs, image_captions, generators, strict=True)]

    def _of(
        self, caption: str, graph: SceneGraph, image_captions: Captions, generator: torch.Generator
    ) -> list[Negative]:
        """The negatives of one caption."""
        # all sentences of a caption of thousands of words take gigabytes: their changes are kept instead
        candidates = list(dict.fromkeys(self._changes(graph)))
        if self.filtered:
            put_in = [Negative(change.words, replacement=(change.words,)) for change in candidates]
            remaining = set(base.without_false_negatives(put_in, [caption, *image_captions], self.implied))
            candidates = [change for change, negative in zip(candidates, put_in, strict=True) if negative in remaining]
        if self.number is not None and len(candidates) > self.number:
            chosen = torch.randperm(len(candidates), generator=generator)[: self.number].tolist()
            candidates = [candidates[place] for place in sorted(chosen)]
        characters = token_characters(caption, graph.tokens)
        return [edited(caption, graph.tokens, characters, [change]) for change in candidates]

    def _changes(self, graph: SceneGraph) -> Iterator[Change]:
        """What to change in the caption of a graph, a sentence each."""
        words = [token.lower() for token in graph.tokens]
        of_parts = (("object", graph.objects, self.nouns), ("relation", graph.relations, self.relations))
        for kind, parts, swaps in of_parts:
            spans = dict.fromkeys(_known(words, part.span, swaps) for part in parts if part.span is not None)
            for span in filter(None, spans):
                for other in swaps[" ".join(words[span.start : span.end])]:
                    yield with_article(words, span, other, kind)
        for at, word in enumerate(words):
            for other in self.numbers.get(word, ()):
                yield Change(Span(at, at + 1), other, "number")


def _known(words: Sequence[str], span: Span, swaps: Swaps) -> Span | None:
    """The longest part of a span that can be swapped, the last of equally long ones ("police dog": "dog")."""
    for length in range(span.end - span.start, 0, -1):
        for start in range(span.end - length, span.start - 1, -1):
            if swaps.get(" ".join(words[start : start + length])):
                return Span(start, start + length)
    return None


_CONSONANT = re.compile(r"eu|ew|uni([^nm]|$)|us[aeiu]|ut[aei]|uk|one|once|u-")  # "a European", "a one-year-old"
_VOWEL = re.compile(r"[aeiou]|hour|hono|honest|heir|8|1[18]\b|x-|[fhlmnrsx]([^a-z]|$)")  # "an hour", "an X-ray"


def article(word: str) -> str:
    """Return "a" or "an", by the sound of the next word.

    >>> article("elephant"), article("european"), article("unicycle"), article("hour"), article("umbrella")
    ('an', 'a', 'a', 'an', 'an')
    """
    word = word.lower()
    return "an" if _VOWEL.match(word) and not _CONSONANT.match(word) else "a"


def with_article(words: Sequence[str], span: Span, other: str, kind: str) -> Change:
    """Return the change of a span, with the article before it if that must change ("an elephant": "a dog")."""
    wanted = article(other)
    if span.start and words[span.start - 1] in {"a", "an"} - {wanted}:
        return Change(Span(span.start - 1, span.end), f"{wanted} {other}", kind)
    return Change(span, other, kind)


# The lexicon of captions of photographs.

TABLES = tomllib.loads((Path(__file__).parent / "caption_swaps.toml").read_text("utf-8"))
PERSONS: Mapping[str, str] = TABLES["persons"]
PHOTO_PLACES: Swaps = {place: (other,) for place, other in TABLES["places"].items()}
# only greater numbers are put in, since where three are there are two
GREATER: Swaps = {word: script[at + 1 : at + 4] for script in SCRIPTS for at, word in enumerate(script[:-1])}
WORDS = {name: word_set(words) for name, words in TABLES["words"].items()}
VAGUE, BESIDE, TIED, SOME = (WORDS[name] for name in ("vague", "beside", "tied", "some"))
FEMALE, MALE = (WORDS[sex] | {word for word in PERSONS if noun_lemma(word) in WORDS[sex]} for sex in ("female", "male"))
SENSE = 0.6  # the least share of a word's sense among all its senses that belong to one of the kinds
RARE = 0.2  # of all that it was met for, the least share
IMAGES = 3  # in the captions of so many images a word must stand to take another's place
TOGETHER = 0.04  # two words said of one image in different captions this often may mean the same


class Kinds:
    """The kind of each noun, by its most frequent sense that has one, and which nouns exclude each other."""

    def __init__(self, nouns: WordNet):
        self.nouns = nouns
        self.tops = set()
        for name in TABLES["words"]["kinds"].split():
            word, _, number = name.rpartition(".")
            self.tops |= {synset.offset for synset, _ in nouns.senses(word)[int(number) - 1 : int(number)]}
        self.sense, self.all_above = cache(self._sense), cache(self._all_above)

    def _sense(self, noun: str) -> int | None:
        """Return the synset of a noun; None if none has a kind, or if several are likely."""
        senses = [(synset.offset, count + 0.5) for synset, count in self.nouns.senses(noun)]
        visible = [sense for sense in senses if self.top(sense[0])]
        if not visible or noun in VAGUE:
            return None
        best, count = max(visible, key=lambda sense: sense[1])  # of equal ones the first
        if count < 1 and best != senses[0][0]:  # neither ever met nor the first
            return None
        shares = count / sum(times for _, times in visible), count / sum(times for _, times in senses)
        return best if shares[0] >= SENSE and shares[1] >= RARE else None

    def _all_above(self, noun: str) -> frozenset[int]:
        """Return the synsets of all senses of a noun, and all above them."""
        return frozenset().union(*(self.nouns.above(synset.offset) for synset, _ in self.nouns.senses(noun)))

    def top(self, offset: int) -> int | None:
        """Return the kind above a synset."""
        return next((above for above in self.nouns.above(offset) if above in self.tops and above != offset), None)

    def exclude(self, noun: str, other: str) -> bool:
        """Return whether two nouns are of one kind, and neither is above the other or a synonym of it."""
        mine, other_sense = self.sense(noun), self.sense(other)
        if mine is None or other_sense is None or self.top(mine) != self.top(other_sense):
            return False
        synonyms = self.nouns.synset(mine).words & self.nouns.synset(other_sense).words
        return not (synonyms or mine in self.all_above(other) or other_sense in self.all_above(noun))


class CaptionLexicon:
    """What `RuleSwaps` needs to know of captions of photographs.

    Args:
        graphs: scene graphs of the captions.
        images: the number of each caption's image.

    Attributes:
        nouns: a noun as written → nouns that may take its place.
        implied: a word → words that are true wherever it is.
    """

    def __init__(self, graphs: Sequence[SceneGraph], images: Sequence[int], kinds: Kinds):
        forms: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
        self.captions: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))  # noun → image → captions
        for caption, (graph, image) in enumerate(zip(graphs, images, strict=True)):
            for thing in graph.objects:
                if thing.span is not None:
                    word = graph.tokens[thing.span.end - 1].lower()
                    noun = noun_lemma(word)
                    forms[noun, thing.plural or word != noun][word] += 1
                    self.captions[noun][image].add(caption)
        usual = [noun for noun, images in self.captions.items() if len(images) >= IMAGES and noun not in BESIDE]
        known = sorted(noun for noun in usual if kinds.sense(noun) is not None)
        self.nouns: dict[str, tuple[str, ...]] = {word: (other,) for word, other in PERSONS.items()}
        self.implied: dict[str, frozenset[str]] = dict.fromkeys(FEMALE, FEMALE) | dict.fromkeys(MALE, MALE)
        self.implied |= dict.fromkeys(TIED, FEMALE | MALE) | dict.fromkeys(SOME, frozenset(GREATER))
        for (noun, plural), words in forms.items():
            others = [other for other in known if (other, plural) in forms]
            put_in = [other for other in others if kinds.exclude(noun, other) and self.are_apart(noun, other)]
            above = [other for other in others if kinds.sense(other) in kinds.all_above(noun)]
            both_numbers = frozenset(form for many in (False, True) for form in forms.get((noun, many), ()))
            for word in words:
                self.nouns.setdefault(word, tuple(forms[other, plural].most_common(1)[0][0] for other in put_in))
                implied = frozenset(form for other in above for form in forms[other, plural])
                self.implied[word] = self.implied.get(word, frozenset()) | implied | both_numbers

    def are_apart(self, noun: str, other: str) -> bool:
        """Whether two nouns seldom stand in different captions of the same image."""
        first, second = self.captions[noun], self.captions[other]
        common = first.keys() & second.keys()
        both = sum(bool(first[image] - second[image] and second[image] - first[image]) for image in common)
        return both <= TOGETHER * min(len(first), len(second))


LEARNT = 30_000  # captions, spread over a set, that say how its words are used


def vse_c(data: CaptionSet, number: int | None = None, *, filtered: bool = True) -> RuleSwaps:
    """Return VSE-C's swaps for a data set.

    The lexicon is that of the data's world, or else WordNet and how the set's captions use their words.

    Args:
        data: the data set.
        number: how many negatives are drawn for each caption; None makes all.
        filtered: leave out what the image's captions say.

    Raises:
        MissingPart: the data have no world, and WordNet is not installed.
    """
    if data.world is not None:
        return RuleSwaps(*data.world.swaps(), number=number, filtered=filtered)
    step = -(-len(data.captions) // LEARNT)  # whole images, so that all captions of each are there
    rows = [at for image in range(0, len(data), max(step, 1)) for at in data.captions_of_image[image].tolist()]
    lexicon = CaptionLexicon(graphs_of(data, rows), data.image_of_caption[rows].tolist(), Kinds(wordnet("wordnet")))
    return RuleSwaps(lexicon.nouns, PHOTO_PLACES, GREATER, number, filtered, lexicon.implied)
