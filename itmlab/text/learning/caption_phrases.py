"""The noun phrases of a caption whose nouns and adjectives are known from its scene graph."""

from collections import Counter
from dataclasses import dataclass, field

from ..lemmas import noun_lemma
from .caption_tags import COLLECTIVES, MATERIALS, Tag, modifier_tag, noun_tag


@dataclass
class Phrase:
    """A noun phrase: tokens `start` to `end`, the head last."""

    start: int
    end: int
    head: int


@dataclass
class Tree:
    """Heads, relations and tags as they are found; None is a word that nothing has explained."""

    tokens: list[str]
    heads: list[int | None] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    tags: list[Tag] = field(default_factory=list)  # upos, xpos, lemma, features

    def __post_init__(self) -> None:
        self.heads = [None] * len(self.tokens)
        self.relations = [""] * len(self.tokens)
        self.tags = [("X", "FW", token, "_") for token in self.tokens]

    def put(self, place: int, tag: Tag, head: int, relation: str) -> None:
        self.tags[place] = tag
        self.hang(place, head, relation)

    def hang(self, place: int, head: int, relation: str) -> None:
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
                first = "ADJ" if adjectives[token] and token not in MATERIALS else "NOUN"
                tag = (("ADJ", "JJ", token, "Degree=Pos"), "amod") if first == "ADJ" else (
                    ("NOUN", "NN", token, "Number=Sing"), "compound")  # fmt: skip
                if token.endswith(("ing", "ed")):
                    tag = None
            if tag is None or (noun_lemma(token) in heads_of_names and not _noun_follows(tokens, at, heads_of_names)):
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


def _noun_follows(tokens: list[str], place: int, names: set[str]) -> bool:
    return noun_lemma(token_after(tokens, place)) in names


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
