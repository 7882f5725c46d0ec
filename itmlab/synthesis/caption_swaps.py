"""VSE-C's lexicon for captions of photographs: which noun, number or place contradicts which.

After Shi et al. (2018), where WordNet's kinds give the nouns. No world says here what is true. So a noun is swapped for
one of the same kind that excludes it (WordNet, the sense by frequency), that the captions use in the same number, and
that two captions of one image seldom say in each other's place (METHODS 3.8). `caption_swaps.toml` holds the tables.
"""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from ..metrics.wordnet import Nouns
from ..text import SceneGraph
from ..text.rules.lexicon import noun_lemma, word_set
from .rules import SCRIPTS, Swaps

TABLES = tomllib.loads((Path(__file__).parent / "caption_swaps.toml").read_text("utf-8"))
PERSONS: Mapping[str, str] = TABLES["persons"]
PLACES: Swaps = {place: (other,) for place, other in TABLES["places"].items()}
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

    def __init__(self, nouns: Nouns, kinds: str = TABLES["words"]["kinds"]):
        self.nouns = nouns
        self.tops = set()
        for name in kinds.split():
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
