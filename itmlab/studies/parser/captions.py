"""Trees of short captions whose scene graphs are known: what the graph says leaves one way to read the words.

FACTUAL (Li et al., ACL Findings 2023) gives captions with hand-made graphs. First the noun phrases are found by the
graph's names, then the words between them (verbs, prepositions) are hung where the graph says; a caption with a word
that neither explains is left out, so that what is left is reliable.
"""

import csv
import gzip
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
BE = ("is", "are")

Tag = tuple[str, str, str, str]  # part of speech, Penn tag, lemma, features
Triple = tuple[str, str, str]


def caption_trees(captions: Iterable[tuple[str, list[Triple]]], treebank: Iterable[Sentence]) -> Iterator[Sentence]:
    """One tree for each caption that its graph explains word by word; the others are left out."""
    adjectives = Counter(word.form.lower() for sentence in treebank for word in sentence if word.upos == "ADJ")
    seen: set[str] = set()
    for caption, triples in captions:
        if caption not in seen and 3 <= len(caption.split()) <= 20:
            seen.add(caption)
            tree = _tree(caption.lower().split(), triples, adjectives)
            if tree is not None:
                yield tree


def _tree(tokens: list[str], triples: list[Triple], adjectives: Counter[str]) -> Sentence | None:
    stop = tokens[-1] == "."
    tokens = tokens[:-1] if stop else tokens
    tree = Tree(tokens)
    names = {noun_lemma(subject) for subject, _, _ in triples}
    names |= {noun_lemma(thing) for _, relation, thing in triples if relation != "is"}
    said = {word for _, relation, value in triples if relation == "is" for word in value.split()} - {"of"} - COLLECTIVES
    phrases = noun_phrases(tree, names, said, adjectives)
    there = 2 if tokens[0] == "there" and tokens[1] in ("is", "are") else 0
    if not phrases or phrases[0].start != there:
        return None
    try:
        root = Joining(tree, phrases, triples).join(said, adjectives)
    except Unexplained:
        return None
    if there and root == phrases[0].head:
        tree.put(0, ("PRON", "EX", "there", "_"), 1, "expl")
        tree.put(1, ("VERB", "VBZ" if tokens[1] == "is" else "VBP", "be", "Tense=Pres|VerbForm=Fin"), 1, "")
        tree.hang(root, 1, "nsubj")
        root = 1
    if None in tree.heads or not _projective(tree.heads):
        return None
    tree.relations[root] = "root"
    words = []
    for place, token in enumerate(tokens):
        (upos, xpos, lemma, features), space = tree.tags[place], token_after(tokens, place) != "'s"
        words.append(Word(token, lemma, upos, xpos, features, tree.heads[place], tree.relations[place], space))
    return (*words, Word(".", ".", "PUNCT", ".", "_", root, "punct")) if stop else tuple(words)


def _projective(heads: list[int]) -> bool:
    """Whether no two arcs cross and all words reach the root."""
    arcs = [(min(place, head), max(place, head)) for place, head in enumerate(heads) if place != head]
    if len(arcs) != len(heads) - 1:
        return False
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


def read_scene_captions(path: str | Path) -> Iterator[tuple[str, list[Triple]]]:
    """Captions with their triples from a FACTUAL file ("caption" and "scene_graph" columns, .csv or .csv.gz)."""
    path = Path(path)
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                triples = [tuple(part.strip() for part in triple.strip("() ").split(" , "))
                           for triple in row["scene_graph"].split(" ) , ( ")]  # fmt: skip
                yield row["caption"], [triple for triple in triples if len(triple) == 3]
    except FileNotFoundError:
        remedy = "leave --captions out, or name the file"
        raise ItmlabError("no such captions", where=str(path), remedy=remedy) from None
    except (KeyError, OSError, EOFError, UnicodeDecodeError) as error:
        raise ItmlabError(f"not captions with scene graphs: {error}", where=str(path)) from None


# Noun phrases: maximal runs of determiners, adjectives and the graph's nouns.


class Phrase(NamedTuple):
    """A noun phrase: tokens `start` to `end`, the head last."""

    start: int
    end: int
    head: int


class Tree:
    """Heads, relations and tags as they are found; a head of None is a word that nothing has explained."""

    def __init__(self, tokens: list[str]):
        self.tokens = tokens
        self.heads: list[int | None] = [None] * len(tokens)
        self.relations = [""] * len(tokens)
        self.tags: list[Tag] = [("X", "FW", token, "_") for token in tokens]

    def put(self, place: int, tag: Tag, head: int, relation: str) -> None:
        """Tag a word and hang it."""
        self.tags[place] = tag
        self.hang(place, head, relation)

    def hang(self, place: int, head: int, relation: str) -> None:
        """Give a word its head and its relation to it."""
        self.heads[place], self.relations[place] = head, relation


def token_after(tokens: list[str], place: int) -> str:
    """The next token, "" at the end."""
    return tokens[place + 1] if place + 1 < len(tokens) else ""


def noun_phrases(tree: Tree, names: set[str], said: set[str], adjectives: Counter[str]) -> list[Phrase]:
    """The maximal runs of determiners, adjectives and the graph's nouns, each explained inside."""
    tokens, phrases = tree.tokens, []
    heads_of_names = {name.split()[-1] for name in names}
    pairs = {tuple(name.split()) for name in names if name.count(" ") == 1}
    place = 0
    while place < len(tokens):
        at, modifiers = place, []
        while at < len(tokens):
            token = tokens[at]
            tag = modifier_tag(token, said, adjectives, names)
            if (token, noun_lemma(token_after(tokens, at))) in pairs:
                described = adjectives[token] and token not in MATERIALS
                tag = (adjective_tag(token), "amod") if described else (name_tag(token), "compound")
                tag = None if token.endswith(("ing", "ed")) else tag
            noun_follows = noun_lemma(token_after(tokens, at)) in heads_of_names
            if tag is None or (noun_lemma(token) in heads_of_names and not noun_follows):
                break
            modifiers.append((at, *tag))
            at += 1
        collective = token_after(tokens, at) == "of" and at < len(tokens) and noun_lemma(tokens[at]) in COLLECTIVES
        if at < len(tokens) and (noun_lemma(tokens[at]) in heads_of_names or collective) and at - place < 6:
            for modifier, tag, relation in modifiers:
                tree.put(modifier, tag, at, relation)
            tree.put(at, noun_tag(tokens[at]), at, "")
            phrases.append(Phrase(place, at + 1, at))
            place = at + 1
        else:
            place += 1
    return _possessives(tree, phrases)


def _possessives(tree: Tree, phrases: list[Phrase]) -> list[Phrase]:
    """Phrases with "man 's" taken into the phrase that follows."""
    joined: list[Phrase] = []
    for phrase in phrases:
        before = joined[-1] if joined else None
        if before and phrase.start == before.end + 1 and tree.tokens[before.end] == "'s":
            tree.put(before.end, ("PART", "POS", "'s", "_"), before.head, "case")
            tree.heads[before.head], tree.relations[before.head] = phrase.head, "nmod:poss"
            joined[-1] = Phrase(before.start, phrase.end, phrase.head)
        else:
            joined.append(phrase)
    return joined


# What stands between the phrases.


class Unexplained(Exception):
    """A word for which neither the graph nor the grammar has a place."""


class Joining:
    """One caption's tree while its phrases are joined; `root` is the place of the root so far."""

    def __init__(self, tree: Tree, phrases: Sequence[Phrase], triples: Sequence[Triple]):
        self.tree, self.phrases, self.root = tree, phrases, phrases[0].head
        self.verbs: dict[int, int] = {}  # the verb that a noun is subject of
        self.related = sorted({(noun_lemma(first), relation, noun_lemma(last)) for first, relation, last in triples})

    def join(self, said: set[str], adjectives: Counter[str]) -> int:
        """Explain the words between and after the phrases; the place of the root."""
        for number, phrase in enumerate(self.phrases[1:], 1):
            self._join_one(self.phrases[:number], phrase)
        return self._rest(said, adjectives)

    def _join_one(self, earlier: Sequence[Phrase], phrase: Phrase) -> None:
        between = list(range(earlier[-1].end, phrase.start))
        words = [self.tree.tokens[place] for place in between]
        if words == ["and"]:
            self.tree.put(between[0], ("CCONJ", "CC", "and", "_"), phrase.head, "cc")
            self.tree.hang(phrase.head, earlier[-1].head, "conj")
            return
        be = bool(words) and words[0] in BE
        if be and (self.root != self.phrases[0].head or self.verbs):
            raise Unexplained
        auxiliary = between.pop(0) if be else None
        if between and self.tree.tokens[between[0]] not in PREPOSITIONS | {"next"}:
            self._verb(earlier, phrase, auxiliary, between.pop(0), between)
        elif auxiliary is not None:
            self._place_is_said(phrase, auxiliary, between)
        else:
            self._preposition(earlier, phrase, between)

    def _verb(
        self, earlier: Sequence[Phrase], phrase: Phrase, auxiliary: int | None, verb: int, between: list[int]
    ) -> None:
        """ "a man [is] riding a horse", "a man sits on a bench", "a plate [is] covered by cheese"."""
        tree, tokens = self.tree, self.tree.tokens
        tag = verb_tag(tokens[verb], finite=auxiliary is None)
        subject = None if tag is None else self._subject(earlier, phrase, tag)
        if tag is None or subject is None:
            raise Unexplained
        passive = tag[1] == "VBN"
        if auxiliary is not None or tag[1] in ("VBZ", "VBP"):
            if subject != self.root or self.root != self.phrases[0].head or self.verbs:
                raise Unexplained
            tree.put(verb, tag, verb, "")
            tree.hang(subject, verb, "nsubj:pass" if passive else "nsubj")
            self.root = verb
        else:
            tree.put(verb, tag, subject, "acl")
        self.verbs[subject] = verb
        if auxiliary is not None:
            tree.put(auxiliary, be_tag(tokens[auxiliary]), verb, "aux:pass" if passive else "aux")
        if len(between) == 2 and tokens[between[0]] in ADVERBS and tokens[between[1]] != "of":
            adverb = between.pop(0)
            tree.put(adverb, ("ADV", "RB", tokens[adverb], "_"), verb, "advmod")
        if passive and not between:
            raise Unexplained
        agent = passive and tokens[between[0]] == "by"
        tree.hang(self._prepositions(between, phrase.head), verb, "obl:agent" if agent else "obl" if between else "obj")

    def _place_is_said(self, phrase: Phrase, copula: int, between: list[int]) -> None:
        """ "the dog is on the beach"."""
        if not between:
            raise Unexplained
        noun = self._prepositions(between, phrase.head)
        self.tree.put(copula, be_tag(self.tree.tokens[copula]), noun, "cop")
        self.tree.heads[noun] = noun
        self.tree.hang(self.phrases[0].head, noun, "nsubj")
        self.root = noun

    def _preposition(self, earlier: Sequence[Phrase], phrase: Phrase, between: list[int]) -> None:
        """ "a dog on the beach", by the only noun, by a noun before "of", or by what the graph joins it to."""
        if not between:
            raise Unexplained
        if self.tree.tokens[between[0]] == "of":
            target = earlier[-1].head
        elif len(earlier) == 1 and not self.verbs and self.root == earlier[0].head:
            target = self.root
        else:
            target = self._joined_to(earlier, phrase)
        noun = self._prepositions(between, phrase.head)
        upright = self.tree.tags[target][0] == "VERB" or (target == self.root and self.tree.tags[target][0] != "NOUN")
        self.tree.hang(noun, target, "obl" if upright else "nmod")

    def _subject(self, earlier: Sequence[Phrase], phrase: Phrase, tag: Tag) -> int | None:
        """The nearest earlier noun that the graph joins to this one by the verb, in either direction (passives)."""
        name = self._name(phrase)
        for other in reversed(earlier):
            for first, relation, last in self.related:
                pair = {first.split()[-1], last.split()[-1]}
                if same_verb(relation, tag[2]) and pair == {self._name(other), name}:
                    return self._collective_above(other.head)
        return None

    def _joined_to(self, earlier: Sequence[Phrase], phrase: Phrase) -> int:
        """The nearest earlier noun that the graph relates to this one, or its verb where the relation says that."""
        for other in reversed(earlier):
            for first, relation, last in self.related:
                if first.split()[-1] == self._name(other) and last.split()[-1] == self._name(phrase):
                    verb = self.verbs.get(other.head)
                    by_verb = verb is not None and (verb == self.root or same_verb(relation, self.tree.tags[verb][2]))
                    return verb if by_verb else other.head
        raise Unexplained

    def _name(self, phrase: Phrase) -> str:
        return noun_lemma(self.tree.tokens[phrase.head])

    def _collective_above(self, noun: int) -> int:
        """The "group" of "group of people", or the first of coordinated nouns; else the noun itself."""
        above, relation = self.tree.heads[noun], self.tree.relations[noun]
        if above is None or above == noun:
            return noun
        shared = relation == "conj" or (relation == "nmod" and self.tree.tags[above][2] in COLLECTIVES)
        return self._collective_above(above) if shared else noun

    def _prepositions(self, between: list[int], noun: int) -> int:
        """Hang prepositions on their noun; the noun that the phrase hangs by ("top" in "on top of the table")."""
        tree, words = self.tree, [self.tree.tokens[place] for place in between]
        if len(words) in (3, 4) and words[-1] == "of" and words[-2] in PLACES and words[0] in PREPOSITIONS:
            place = between[-2]
            tree.put(place, noun_tag(words[-2]), place, "")
            tree.put(between[0], ("ADP", "IN", words[0], "_"), place, "case")
            if len(words) == 4:
                if words[1] not in DETERMINERS:
                    raise Unexplained
                tree.put(between[1], ("DET", "DT", DETERMINERS[words[1]], "_"), place, "det")
            tree.put(between[-1], ("ADP", "IN", "of", "_"), noun, "case")
            tree.hang(noun, place, "nmod")
            return place
        if words != ["next", "to"] and (len(words) > 2 or any(word not in PREPOSITIONS for word in words)):
            raise Unexplained
        for place, word in zip(between, words, strict=True):
            tree.put(place, ("ADP", "IN", word, "_"), noun, "case")
        return noun

    def _rest(self, said: set[str], adjectives: Counter[str]) -> int:
        """Explain what follows the last phrase: nothing, "is red", "is walking" or "walking"."""
        tree, last = self.tree, self.phrases[-1]
        *auxiliaries, word = tree.tokens[last.end :] or [""]
        if not word:
            return self.root
        be = len(auxiliaries) == 1 and auxiliaries[0] in BE
        if word not in said or (be and (self.verbs or tree.tags[self.root][0] != "NOUN")) or (auxiliaries and not be):
            raise Unexplained
        place = len(tree.tokens) - 1
        tag = verb_tag(word, finite=False) if word.endswith("ing") and len(word) > 4 else None
        if tag is None and be and adjectives[word]:
            tag = adjective_tag(word)
        if tag is None:
            raise Unexplained
        if not be:
            tree.put(place, tag, last.head, "acl")
            return self.root
        tree.put(last.end, be_tag(auxiliaries[0]), place, "cop" if tag[0] == "ADJ" else "aux")
        tree.put(place, tag, place, "")
        tree.hang(self.root, place, "nsubj")
        return place


# Tags of single words, from what the graph says of them.


def modifier_tag(token: str, said: set[str], adjectives: Counter[str], names: set[str]) -> tuple[Tag, str] | None:
    """The tag and relation of a word before its noun."""
    if token in DETERMINERS:
        return ("DET", "DT", DETERMINERS[token], "_"), "det"
    if token in POSSESSIVES:
        return ("PRON", "PRP$", token, "Poss=Yes|PronType=Prs"), "nmod:poss"
    if token in NUMBERS:
        return ("NUM", "CD", token, "NumType=Card"), "nummod"
    if token in QUANTITIES:
        return adjective_tag(token), "amod"
    if token not in said:
        return None
    adjective = bool(adjectives[token]) or token.endswith((*ADJECTIVE_ENDINGS, "ing")) or "-" in token
    if token in MATERIALS or (token in names and adjectives[token] < 2) or not adjective:
        return name_tag(token), "compound"
    if token.endswith("ing") and adjectives[token] < 2:
        return ("VERB", "VBG", verb_lemma(token), "Tense=Pres|VerbForm=Part"), "amod"
    if token.endswith("ed") and adjectives[token] < 2 and token not in ("red", "colored", "wooded"):
        return ("VERB", "VBN", verb_lemma(token), "Tense=Past|VerbForm=Part"), "amod"
    return adjective_tag(token), "amod"


def adjective_tag(token: str) -> Tag:
    """The tag of an adjective."""
    return "ADJ", "JJ", token, "Degree=Pos"


def name_tag(token: str) -> Tag:
    """The tag of a noun before a noun."""
    return "NOUN", "NN", token, "Number=Sing"


def noun_tag(token: str) -> Tag:
    """The tag of a noun, plural where it differs from its lemma."""
    lemma = noun_lemma(token)
    many = lemma != token or token in PLURALS
    return "NOUN", "NNS" if many else "NN", lemma, f"Number={'Plur' if many else 'Sing'}"


def verb_tag(token: str, finite: bool) -> Tag | None:
    """The tag of a verb form as it can stand after a noun."""
    lemma = "lie" if token in ("lying", "lies") else verb_lemma(token)
    if token.endswith("ing") and len(token) > 4:
        return "VERB", "VBG", lemma, "Tense=Pres|VerbForm=Part"
    if finite and token == lemma:
        return "VERB", "VBP", lemma, "Tense=Pres|VerbForm=Fin"
    if finite and token.endswith("s"):
        return "VERB", "VBZ", lemma, "Tense=Pres|VerbForm=Fin"
    if token != lemma and not token.endswith("s"):
        return "VERB", "VBN", lemma, "Tense=Past|VerbForm=Part|Voice=Pass"
    return None


def same_verb(relation: str, lemma: str) -> bool:
    """Whether a relation is said with the verb; the graphs write "lay" for "lie".

    >>> same_verb("ride on", "ride"), same_verb("lay on", "lie"), same_verb("ride", "hold")
    (True, True, False)
    """
    return verb_lemma(relation.split()[0]) in (lemma, "lay" if lemma == "lie" else lemma)


def be_tag(form: str) -> Tag:
    """The tag of "is" or "are" as an auxiliary."""
    return "AUX", "VBZ" if form == "is" else "VBP", "be", "Tense=Pres|VerbForm=Fin"
