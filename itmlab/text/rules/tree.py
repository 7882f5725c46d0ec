"""The words of a parsed caption in one form: prepositions are marks on their nouns.

The labels are those of Universal Dependencies (de Marneffe et al., 2021), where a preposition is the `case` of its
noun.
"""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..graph import Span
from .lexicon import KNOWN, TABLES, WORDS, noun_lemma, verb_lemma, word_set
from .repair import Node, repair

if TYPE_CHECKING:
    from spacy.tokens import Doc


@dataclass(slots=True)
class Preposition:
    """A preposition with the tokens that say it; `name` is that of a relation ("on top of")."""

    name: str
    start: int
    end: int

    span = property(lambda self: Span(self.start, self.end), doc="Its tokens.")


@dataclass(slots=True)
class Word:
    """A word of a caption: tokens `start` to `end`, its label and head in the tree (-1 for a root)."""

    start: int
    end: int
    text: str
    pos: str
    label: str
    head: int
    preposition: Preposition | None = None
    children: list[int] = field(default_factory=list)

    span = Preposition.span

    @property
    def verb(self) -> str:
        """The base form, the word read as a verb."""
        return verb_lemma(self.text)


def read(doc: "Doc") -> list[Word]:
    """The words of a parsed caption in one form; a caption without a parse gives words that are attached to nothing."""
    heads = [-1 if token.head.i == token.i else token.head.i for token in doc]
    tree = [Node(token.lower_, token.pos_, token.dep_, head) for token, head in zip(doc, heads, strict=True)]
    repair(tree)
    texts = [node.text for node in tree]
    # a block is what becomes one word: a preposition of several words, words joined by hyphens, a known name
    blocks = _blocks(texts, [bool(token.whitespace_) for token in doc])
    block_of = [number for number, (start, end, _) in enumerate(blocks) for _ in range(start, end)]
    words, units, outside = [], {}, {}
    for number, (start, end, name) in enumerate(blocks):
        out = [at for at in range(start, end) if tree[at].head < 0 or block_of[tree[at].head] != number]
        token = tree[out[-1] if out else end - 1]  # the block is attached where its last token is that leaves it
        head = number if token.head < 0 else block_of[token.head]
        text, pos, label = texts[start], token.pos, token.label.lower()
        if end > start + 1:
            text = "".join(texts[start:end]) if "-" in texts[start:end] else " ".join(texts[start:end])
            text = "close-up" if text == "close up" else text
            pos = "NOUN" if " " in text or text == "close-up" else pos
        if name:
            units[number], pos, text = Preposition(name, start, end), "ADP", name
            outside[number] = [block_of[tree[at].head] for at in out if tree[at].head >= 0]
        elif label == "case" or (pos == "ADP" and text in WORDS["single_prepositions"]):
            units[number] = Preposition(text, start, end)
        label = label if label in WORDS["kept_labels"] else label.partition(":")[0]
        words.append(Word(start, end, text, pos, label, -1 if head == number else head))
    _attach_prepositions(words, units, outside)
    _break_cycles(words)
    _link(words)
    return words


def _blocks(texts: Sequence[str], spaced: Sequence[bool]) -> list[tuple[int, int, str]]:
    """(start, end, preposition name or ""): words joined by hyphens and prepositions of several words are one block."""
    blocks, at = [], 0
    while at < len(texts):
        if (matched := match(texts[at : at + LONGEST + 2], 0)) is not None:
            blocks.append((at, at + matched[0], matched[1]))
            at += matched[0]
            continue
        end = at + 1
        while end + 1 < len(texts) and texts[end] == "-" and not spaced[end - 1] and not spaced[end]:
            end += 2
        if end == at + 1 and end < len(texts):
            is_name = f"{texts[at]} {noun_lemma(texts[end])}" in KNOWN["names"]
            end += is_name or _is_close_up(texts, at)
        blocks.append((at, end, ""))
        at = end
    return blocks


def _is_close_up(texts: Sequence[str], at: int) -> bool:
    """Whether "close up" is a noun, as in "a close up of a dog" and "a close up view"."""
    after = noun_lemma(texts[at + 2]) if at + 2 < len(texts) else ""
    return list(texts[at : at + 2]) == ["close", "up"] and (after == "of" or after in WORDS["pictures"])


def _attach_prepositions(words: list[Word], units: dict[int, Preposition], outside: dict[int, list[int]]) -> None:
    """Mark each preposition's noun with it and attach the noun to what the preposition joins it to.

    `outside` are, for each preposition of several words, the words that its tokens are attached to.
    """
    for number in reversed(units):
        unit, word = units[number], words[number]
        if word.head < number or word.label not in ("case", "mark", "fixed", "advmod"):
            continue  # a particle, or a preposition left behind ("the sofa he sits on")
        complement = word.head
        noun = words[complement]
        if noun.preposition is not None:
            continue  # the second of "from behind a tree"
        noun.preposition = unit
        if number in outside:
            governor = next((head for head in outside[number] if head != complement and head < number), noun.head)
            noun.head, noun.label = governor, word.label if governor < 0 else "obl"
        word.head, word.label = complement, "case"
    for word in words:  # what is attached to a preposition belongs to its noun
        if word.head in units and words[word.head].label == "case":
            word.head = words[word.head].head


def _break_cycles(words: list[Word]) -> None:
    """Make the first word of a ring, which attaching words can close in a faulty tree, a root."""
    state = [0] * len(words)  # 1: on the way up from the present word, 2: seen before
    for number in range(len(words)):
        path, at = [], number
        while at >= 0 and not state[at]:
            state[at] = 1
            path.append(at)
            at = words[at].head
        if at >= 0 and state[at] == 1:
            words[at].head, words[at].label = -1, "root"
        for visited in path:
            state[visited] = 2


def _link(words: list[Word]) -> None:
    for word in words:
        word.children = []
    for number, word in enumerate(words):
        if word.head >= 0:
            words[word.head].children.append(number)


def attach(words: list[Word], child: int, head: int, label: str) -> None:
    """Give a word another head and label (-1: none)."""
    word = words[child]
    if word.head >= 0:
        words[word.head].children.remove(child)
    word.head, word.label = head, label
    if head >= 0:
        bisect.insort(words[head].children, child)


# Prepositions of several words, each under one name: fixed, or with a locative noun ("on the left side of").
LOCATIVE_NOUNS = {preposition: word_set(nouns) for preposition, nouns in TABLES["locative_nouns"].items()}
FIXED = sorted((words.split() for words in TABLES["prepositions"]["fixed"]), key=len, reverse=True)  # longest first
LONGEST = 6


def match(words: Sequence[str], start: int) -> tuple[int, str] | None:
    """(end, name) of the preposition of several words that begins at `start`, the longest one; None if none does.

    Determiners are left out of the name, so "on the side of" and "on side of" are one relation.

    >>> match("a dog on the side of the road".split(), 2)
    (6, 'on side of')
    """
    if words[start] in LOCATIVE_NOUNS and (placed := _locative(words, start)):
        return placed
    for parts in FIXED:
        end = start + len(parts)
        if parts[0] == words[start] and list(words[start:end]) == parts:
            name = " ".join(parts)
            return end, TABLES["preposition_names"].get(name, name)
    return None


def _locative(words: Sequence[str], start: int) -> tuple[int, str] | None:
    """As in "on the right hand side of": preposition, determiner, side, locative noun, "of"."""
    first, at, sides = words[start], start + 1, []
    if at < len(words) and words[at] in WORDS["determiners"]:
        at += 1
    while at < len(words) and (words[at] in WORDS["sides"] or words[at] in ("hand", "very")):
        if at + 1 < len(words) and words[at + 1] in ("of", "from"):
            break
        sides += [words[at]] if words[at] not in ("hand", "very") else []
        at += 1
    if at + 1 >= len(words):
        return None
    if words[at].removesuffix("s") not in LOCATIVE_NOUNS[first] or words[at + 1] != "of":
        return None
    return at + 2, " ".join([first, *sides, words[at], "of"])
