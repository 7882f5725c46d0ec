"""Trees of short captions whose scene graphs are known: what the graph says leaves one way to read the words.

FACTUAL (Li et al., ACL Findings 2023) gives captions with hand-made graphs. First the noun phrases are found by the
graph's names, then the words between them (verbs, prepositions) are attached where the graph says; a caption with a
word that neither explains is left out, so that what is left is reliable.
"""

import csv
import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import ItmlabError
from ...text.rules.lexicon import noun_lemma, verb_lemma
from .conllu import Sentence, Word

DETERMINERS = {"a": "a", "an": "a", "the": "the", "some": "some", "this": "this", "these": "this", "another": "another",
               "each": "each", "no": "no"}  # fmt: skip
POSSESSIVES = {"his", "her", "its", "their"}
NUMBERS = {"one", "two", "three", "four", "five", "six", "seven", "2", "3", "4"}
QUANTITIES = {"many", "several", "few", "other"}
COLLECTIVES = {"group", "bunch", "pair", "couple", "herd", "row", "stack", "pile", "piece", "slice", "bowl", "flock",
               "set", "patch", "lot", "part", "crowd", "line", "box", "cup", "glass", "plate", "bottle"}  # fmt: skip
ADJECTIVE_ENDINGS = ("y", "ed", "en", "less", "ful", "ous", "al", "ive", "ic", "ish", "able")
PLURALS = {"people", "men", "women", "children", "feet", "teeth", "sheep", "police"}
MATERIALS = {"metal", "brick", "glass", "stone", "plastic", "cement", "concrete", "leather", "dirt", "tile", "wii"}
PREPOSITIONS = {"on", "in", "at", "with", "of", "under", "behind", "near", "by", "above", "over", "below", "beside",
                "inside", "against", "through", "around", "across", "along", "from", "to", "between", "into", "onto",
                "beneath", "underneath", "atop", "towards", "toward", "outside", "upon", "beyond", "down", "up", "for",
                "alongside", "off"}  # fmt: skip
PLACES = {"top", "front", "side", "back", "middle", "edge", "bottom", "end"}
ADVERBS = {"down", "up", "out", "over", "off", "around", "along", "through"}
BE = {"is": ("VBZ", "Tense=Pres|VerbForm=Fin"), "are": ("VBP", "Tense=Pres|VerbForm=Fin")}

Tag = tuple[str, str, str, str]  # lemma, part of speech, Penn tag, features: in the order of a Word
Triples = list[tuple[str, ...]]


def read_factual(path: str | Path) -> list[tuple[str, Triples]]:
    """(caption, facts) of a FACTUAL table (.csv or .csv.gz); a file without such columns is an ItmlabError.

    A fact is (subject, relation, object), with the relation "is" for attributes, or one lone noun.
    """
    path = Path(path)
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            return [(row["caption"], _facts(row["scene_graph"])) for row in csv.DictReader(file)]
    except FileNotFoundError:
        remedy = "leave --captions out, or name the file"
        raise ItmlabError("no such captions", where=str(path), remedy=remedy) from None
    except (KeyError, OSError, EOFError, UnicodeDecodeError) as error:
        raise ItmlabError(f"not captions with scene graphs: {error}", where=str(path)) from None


def _facts(cell: str) -> Triples:
    parts = (part.strip().strip("()").strip() for part in re.split(r"\)\s*,\s*\(", cell.strip()))
    return [tuple(word.strip() for word in part.split(",") if word.strip()) for part in parts if part]


def caption_trees(captions: Iterable[tuple[str, Triples]], treebank: Iterable[Sentence]) -> Iterator[Sentence]:
    """One tree for each caption that its graph explains word by word; the others are left out."""
    adjectives = Counter(word.form.lower() for sentence in treebank for word in sentence if word.upos == "ADJ")
    seen: set[str] = set()
    for caption, facts in captions:
        if caption not in seen and 3 <= len(caption.split()) <= 20:
            seen.add(caption)
            tree = _tree(caption.lower().split(), [fact for fact in facts if len(fact) == 3], adjectives)
            if tree is not None:
                yield tree


def _tree(tokens: list[str], triples: Triples, adjectives: Counter[str]) -> Sentence | None:
    stop = tokens[-1] == "."
    tokens = tokens[:-1] if stop else tokens
    names = {noun_lemma(subject) for subject, _, _ in triples}
    names |= {noun_lemma(entity) for _, relation, entity in triples if relation != "is"}
    said = {word for _, relation, value in triples if relation == "is" for word in value.split()} - {"of"} - COLLECTIVES
    tree = Tree(tokens, triples)
    phrases = noun_phrases(tree, names, said, adjectives)
    there = 2 if tokens[0] == "there" and tokens[1] in BE else 0
    if not phrases or phrases[0].start != there:
        return None
    try:
        root = tree.join(phrases, said, adjectives)
    except Unexplained:
        return None
    if there and root == phrases[0].head:
        tree.put(0, ("there", "PRON", "EX", "_"), 1, "expl")
        tree.put(1, ("be", "VERB", *BE[tokens[1]]), 1, "")
        tree.attach(root, 1, "nsubj")
        root = 1
    if None in tree.heads or not _projective(tree.heads):
        return None
    tree.relations[root] = "root"
    words = [
        Word(token, *tree.tags[at], tree.heads[at], tree.relations[at], token_after(tokens, at) != "'s")
        for at, token in enumerate(tokens)
    ]
    return (*words, Word(".", ".", "PUNCT", ".", "_", root, "punct")) if stop else tuple(words)


def _projective(heads: list[int]) -> bool:
    """Whether no two arcs cross and all words reach the root."""
    arcs = [(min(place, head), max(place, head)) for place, head in enumerate(heads) if place != head]
    return len(arcs) == len(heads) - 1 and not any(a < c < b < d for a, b in arcs for c, d in arcs)


# Noun phrases: maximal runs of determiners, adjectives and the graph's nouns.


class Phrase(NamedTuple):
    """A noun phrase: tokens `start` to `end`, the head last."""

    start: int
    end: int

    @property
    def head(self) -> int:
        """The place of its noun."""
        return self.end - 1


def token_after(tokens: list[str], place: int) -> str:
    """The next token, "" at the end."""
    return tokens[place + 1] if place + 1 < len(tokens) else ""


def noun_phrases(tree: "Tree", names: set[str], said: set[str], adjectives: Counter[str]) -> list[Phrase]:
    """The maximal runs of determiners, adjectives and the graph's nouns, each explained inside."""
    tokens, phrases = tree.tokens, []
    heads_of_names = {name.split()[-1] for name in names}
    pairs = {tuple(name.split()) for name in names if name.count(" ") == 1}
    place = 0
    while place < len(tokens):
        at, modifiers = place, []
        while at < len(tokens):
            token, after = tokens[at], noun_lemma(token_after(tokens, at))
            tag = modifier_tag(token, said, adjectives, names)
            if (token, after) in pairs:
                described = adjectives[token] and token not in MATERIALS
                tag = ((token, *ADJECTIVE), "amod") if described else ((token, *SINGULAR), "compound")
                tag = None if token.endswith(("ing", "ed")) else tag
            if tag is None or (noun_lemma(token) in heads_of_names and after not in heads_of_names):
                break
            modifiers.append((at, *tag))
            at += 1
        collective = token_after(tokens, at) == "of" and at < len(tokens) and noun_lemma(tokens[at]) in COLLECTIVES
        if at < len(tokens) and (noun_lemma(tokens[at]) in heads_of_names or collective) and at - place < 6:
            for modifier, tag, relation in modifiers:
                tree.put(modifier, tag, at, relation)
            tree.put(at, noun_tag(tokens[at]), at, "")
            phrases.append(Phrase(place, at + 1))
            place = at + 1
        else:
            place += 1
    return _possessives(tree, phrases)


def _possessives(tree: "Tree", phrases: list[Phrase]) -> list[Phrase]:
    """Phrases with "man 's" taken into the phrase that follows."""
    joined: list[Phrase] = []
    for phrase in phrases:
        before = joined[-1] if joined else None
        if before and phrase.start == before.end + 1 and tree.tokens[before.end] == "'s":
            tree.put(before.end, ("'s", "PART", "POS", "_"), before.head, "case")
            tree.attach(before.head, phrase.head, "nmod:poss")
            joined[-1] = Phrase(before.start, phrase.end)
        else:
            joined.append(phrase)
    return joined


# What stands between the phrases.


class Unexplained(Exception):
    """A word for which neither the graph nor the grammar has a place."""


class Tree:
    """Heads, relations and tags as they are found; a head of None is a word that nothing has explained."""

    def __init__(self, tokens: list[str], triples: Triples):
        self.tokens = tokens
        self.heads: list[int | None] = [None] * len(tokens)
        self.relations = [""] * len(tokens)
        self.tags: list[Tag] = [(token, "X", "FW", "_") for token in tokens]
        self.verbs: dict[int, int] = {}  # the verb that a noun is subject of
        self.related = sorted({(noun_lemma(first), relation, noun_lemma(last)) for first, relation, last in triples})

    def put(self, place: int, tag: Tag, head: int, relation: str) -> None:
        """Tag a word and attach it."""
        self.tags[place] = tag
        self.attach(place, head, relation)

    def attach(self, place: int, head: int, relation: str) -> None:
        """Give a word its head and its relation to it."""
        self.heads[place], self.relations[place] = head, relation

    def join(self, phrases: Sequence[Phrase], said: set[str], adjectives: Counter[str]) -> int:
        """Explain the words between and after the phrases; the place of the root."""
        self.first = self.root = phrases[0].head  # `root`: so far
        for number, phrase in enumerate(phrases[1:], 1):
            self._join_one(phrases[:number], phrase)
        return self._rest(phrases[-1], said, adjectives)

    def _join_one(self, earlier: Sequence[Phrase], phrase: Phrase) -> None:
        between = list(range(earlier[-1].end, phrase.start))
        words = [self.tokens[place] for place in between]
        if words == ["and"]:
            self.put(between[0], ("and", "CCONJ", "CC", "_"), phrase.head, "cc")
            self.attach(phrase.head, earlier[-1].head, "conj")
            return
        be = bool(words) and words[0] in BE
        if be and (self.root != self.first or self.verbs):
            raise Unexplained
        auxiliary = between.pop(0) if be else None
        if not between:
            raise Unexplained
        if self.tokens[between[0]] not in PREPOSITIONS | {"next"}:
            self._verb(earlier, phrase, auxiliary, between.pop(0), between)
        elif auxiliary is not None:  # "the dog is on the beach"
            self.root = self._prepositions(between, phrase.head)
            self.put(auxiliary, be_tag(self.tokens[auxiliary]), self.root, "cop")
            self.heads[self.root] = self.root
            self.attach(self.first, self.root, "nsubj")
        else:
            self._preposition(earlier, phrase, between)

    def _verb(
        self, earlier: Sequence[Phrase], phrase: Phrase, auxiliary: int | None, verb: int, between: list[int]
    ) -> None:
        """ "a man [is] riding a horse", "a man sits on a bench", "a plate [is] covered by cheese"."""
        tokens, tag = self.tokens, verb_tag(self.tokens[verb], finite=auxiliary is None)
        # the nearest earlier noun that the graph joins to this one by the verb, in either direction (passives)
        links = self._links(earlier, phrase) if tag else ()
        noun = next((noun for noun, relation, _ in links if same_verb(relation, tag[0])), None)
        if noun is None:
            raise Unexplained
        subject, passive = self._collective_above(noun), tag[2] == "VBN"
        if auxiliary is not None or tag[2] in ("VBZ", "VBP"):
            if subject != self.root or self.root != self.first or self.verbs:
                raise Unexplained
            self.put(verb, tag, verb, "")
            self.attach(subject, verb, "nsubj:pass" if passive else "nsubj")
            self.root = verb
        else:
            self.put(verb, tag, subject, "acl")
        self.verbs[subject] = verb
        if auxiliary is not None:
            self.put(auxiliary, be_tag(tokens[auxiliary]), verb, "aux:pass" if passive else "aux")
        if len(between) == 2 and tokens[between[0]] in ADVERBS and tokens[between[1]] != "of":
            adverb = between.pop(0)
            self.put(adverb, (tokens[adverb], "ADV", "RB", "_"), verb, "advmod")
        if passive and not between:
            raise Unexplained
        agent = passive and tokens[between[0]] == "by"
        self.attach(
            self._prepositions(between, phrase.head), verb, "obl:agent" if agent else "obl" if between else "obj"
        )

    def _preposition(self, earlier: Sequence[Phrase], phrase: Phrase, between: list[int]) -> None:
        """ "a dog on the beach", by the only noun, by a noun before "of", or by what the graph joins it to."""
        if self.tokens[between[0]] == "of":
            target = earlier[-1].head
        elif len(earlier) == 1 and not self.verbs and self.root == earlier[0].head:
            target = self.root
        else:
            target = self._joined_to(earlier, phrase)
        noun = self._prepositions(between, phrase.head)
        upright = self.tags[target][1] == "VERB" or (target == self.root and self.tags[target][1] != "NOUN")
        self.attach(noun, target, "obl" if upright else "nmod")

    def _joined_to(self, earlier: Sequence[Phrase], phrase: Phrase) -> int:
        """The nearest earlier noun that the graph relates to this one, or its verb where the relation says that."""
        for noun, relation, is_subject in self._links(earlier, phrase):
            if is_subject:
                verb = self.verbs.get(noun)
                by_verb = verb is not None and (verb == self.root or same_verb(relation, self.tags[verb][0]))
                return verb if by_verb else noun
        raise Unexplained

    def _links(self, earlier: Sequence[Phrase], phrase: Phrase) -> Iterator[tuple[int, str, bool]]:
        """(earlier noun, relation, whether the noun is its subject) of what the graph says of both, nearest first."""
        name = noun_lemma(self.tokens[phrase.head])
        for other in reversed(earlier):
            pair = noun_lemma(self.tokens[other.head]), name
            for first, relation, last in self.related:
                ends = first.split()[-1], last.split()[-1]
                if ends in (pair, pair[::-1]):
                    yield other.head, relation, ends == pair

    def _collective_above(self, noun: int) -> int:
        """The "group" of "group of people", or the first of coordinated nouns; else the noun itself."""
        above, relation = self.heads[noun], self.relations[noun]
        if above is None or above == noun:
            return noun
        shared = relation == "conj" or (relation == "nmod" and self.tags[above][0] in COLLECTIVES)
        return self._collective_above(above) if shared else noun

    def _prepositions(self, between: list[int], noun: int) -> int:
        """Attach prepositions to their noun; the noun that attaches the phrase ("top" in "on top of the table")."""
        words = [self.tokens[place] for place in between]
        if len(words) in (3, 4) and words[-1] == "of" and words[-2] in PLACES and words[0] in PREPOSITIONS:
            place = between[-2]
            self.put(place, noun_tag(words[-2]), place, "")
            self.put(between[0], (words[0], *PREPOSITION), place, "case")
            if len(words) == 4:
                if words[1] not in DETERMINERS:
                    raise Unexplained
                self.put(between[1], (DETERMINERS[words[1]], *DETERMINER), place, "det")
            self.put(between[-1], ("of", *PREPOSITION), noun, "case")
            self.attach(noun, place, "nmod")
            return place
        if words != ["next", "to"] and (len(words) > 2 or any(word not in PREPOSITIONS for word in words)):
            raise Unexplained
        for place, word in zip(between, words, strict=True):
            self.put(place, (word, *PREPOSITION), noun, "case")
        return noun

    def _rest(self, last: Phrase, said: set[str], adjectives: Counter[str]) -> int:
        """Explain what follows the last phrase: nothing, "is red", "is walking" or "walking"."""
        *auxiliaries, word = self.tokens[last.end :] or [""]
        if not word:
            return self.root
        be = len(auxiliaries) == 1 and auxiliaries[0] in BE
        if word not in said or (be and (self.verbs or self.tags[self.root][1] != "NOUN")) or (auxiliaries and not be):
            raise Unexplained
        place = len(self.tokens) - 1
        tag = verb_tag(word, finite=False) if word.endswith("ing") and len(word) > 4 else None
        if tag is None and be and adjectives[word]:
            tag = (word, *ADJECTIVE)
        if tag is None:
            raise Unexplained
        if not be:
            self.put(place, tag, last.head, "acl")
            return self.root
        self.put(last.end, be_tag(auxiliaries[0]), place, "cop" if tag[1] == "ADJ" else "aux")
        self.put(place, tag, place, "")
        self.attach(self.root, place, "nsubj")
        return place


# Tags of single words (without their lemma), from what the graph says of them.

ADJECTIVE, PREPOSITION, DETERMINER = ("ADJ", "JJ", "Degree=Pos"), ("ADP", "IN", "_"), ("DET", "DT", "_")
SINGULAR, PLURAL = ("NOUN", "NN", "Number=Sing"), ("NOUN", "NNS", "Number=Plur")
PRESENT, PAST = ("VERB", "VBG", "Tense=Pres|VerbForm=Part"), ("VERB", "VBN", "Tense=Past|VerbForm=Part")


def modifier_tag(token: str, said: set[str], adjectives: Counter[str], names: set[str]) -> tuple[Tag, str] | None:
    """The tag and relation of a word before its noun."""
    if token in DETERMINERS:
        return (DETERMINERS[token], *DETERMINER), "det"
    if token in POSSESSIVES:
        return (token, "PRON", "PRP$", "Poss=Yes|PronType=Prs"), "nmod:poss"
    if token in NUMBERS:
        return (token, "NUM", "CD", "NumType=Card"), "nummod"
    if token in QUANTITIES:
        return (token, *ADJECTIVE), "amod"
    if token not in said:
        return None
    adjective = bool(adjectives[token]) or token.endswith((*ADJECTIVE_ENDINGS, "ing")) or "-" in token
    if token in MATERIALS or (token in names and adjectives[token] < 2) or not adjective:
        return (token, *SINGULAR), "compound"
    if adjectives[token] < 2 and token.endswith("ing"):
        return (verb_lemma(token), *PRESENT), "amod"
    if adjectives[token] < 2 and token.endswith("ed") and token not in ("red", "colored", "wooded"):
        return (verb_lemma(token), *PAST), "amod"
    return (token, *ADJECTIVE), "amod"


def noun_tag(token: str) -> Tag:
    """The tag of a noun, plural where it differs from its lemma."""
    lemma = noun_lemma(token)
    return lemma, *(PLURAL if lemma != token or token in PLURALS else SINGULAR)


def verb_tag(token: str, finite: bool) -> Tag | None:
    """The tag of a verb form as it can stand after a noun."""
    lemma = "lie" if token in ("lying", "lies") else verb_lemma(token)
    if token.endswith("ing") and len(token) > 4:
        return lemma, *PRESENT
    if finite and (token == lemma or token.endswith("s")):
        return lemma, "VERB", *BE["are" if token == lemma else "is"]
    return (lemma, "VERB", "VBN", PAST[2] + "|Voice=Pass") if token != lemma and not token.endswith("s") else None


def be_tag(form: str) -> Tag:
    """The tag of "is" or "are" as an auxiliary."""
    return "be", "AUX", *BE[form]


def same_verb(relation: str, lemma: str) -> bool:
    """Whether a relation is said with the verb; the graphs write "lay" for "lie".

    >>> same_verb("ride on", "ride"), same_verb("lay on", "lie"), same_verb("ride", "hold")
    (True, True, False)
    """
    return verb_lemma(relation.split()[0]) in (lemma, "lay" if lemma == "lie" else lemma)
