"""Mends trees of captions where the words say better than the tagger what is a noun and what is done.

A tagger trained on running text takes "shadow across a wall" for an order and "thumb touching pizza" for three nouns.
Words that captions nearly always use as a noun, or as a verb, are known from a table (`lexicon`).
"""

from dataclasses import dataclass

from .lexicon import VERBS, WORDS, noun_lemma, verb_lemma, word_set

NOUNS = word_set("NOUN PROPN")


@dataclass(slots=True)
class Node:
    """A token of a tree; the head of a root is -1."""

    text: str
    pos: str
    label: str
    head: int


def repair(nodes: list[Node]) -> None:
    """Change tags, heads and labels in place."""
    for at, node in enumerate(nodes):
        if [node.text for node in nodes[at : at + 3]] == ["close", "up", "of"]:
            _make_close_up(nodes, at)
        elif node.pos in ("NOUN", "PROPN", "ADJ", "ADV") and _must_act(nodes, at):
            _make_verb(nodes, at)
    for at, node in enumerate(nodes):
        if node.pos == "VERB":
            _give_object(nodes, at)
            _join_subjects(nodes, at)


def _make_close_up(nodes: list[Node], at: int) -> None:
    """ "a close up of a dog" read as a dog that is close: the close-up is a noun, as a photo is."""
    close, up, noun = nodes[at], nodes[at + 1], nodes[at + 2].head
    if noun >= 0 and close.head in (noun, at + 1):
        for node in nodes[:at]:
            node.head = at if node.head in (noun, at + 1) else node.head
        close.head, close.label = nodes[noun].head, nodes[noun].label
        nodes[noun].head, nodes[noun].label = at, "nmod"
    close.pos, up.pos = "NOUN", "ADV"
    up.head, up.label = at, "compound:prt"


def _must_act(nodes: list[Node], at: int) -> bool:
    """Whether a word that could be a plural noun is a verb: "a kid kicks" has an article that no plural has."""
    word = nodes[at].text
    could_be_either = word.endswith("s") and verb_lemma(word) in VERBS and noun_lemma(word) != word
    if not could_be_either or at == 0 or nodes[at - 1].pos not in NOUNS:
        return False
    has_object = at + 1 < len(nodes) and nodes[at + 1].text in ("a", "an", "the")
    return has_object or any(node.text in ("a", "an") and node.head in (at, at - 1) for node in nodes[:at])


def _make_verb(nodes: list[Node], at: int) -> None:
    """Read a noun as a verb, and the noun before it as its subject: "a kid kicks a ball"."""
    node, subject = nodes[at], nodes[at - 1]
    if subject.head == at:
        for child in _children_of(nodes, at):
            if child < at - 1:
                nodes[child].head = at - 1
        subject.label = "nsubj"
    node.pos = "VERB"


def _give_object(nodes: list[Node], at: int) -> None:
    """ "a man wearing a hat holds a bag" read as if the hat held it: the hat is worn, the man holds."""
    who = nodes[at].head
    if not 0 <= who < at or nodes[who].pos not in NOUNS or not nodes[at].label.startswith("acl"):
        return
    below = [child for child in _children_of(nodes, at) if nodes[child].label in WORDS["objects_below"]]
    below = [child for child in below if nodes[child].text not in WORDS["relative_pronouns"]]
    if any(all(nodes[inner].label != "nsubj" for inner in _children_of(nodes, child)) for child in below):
        return  # it has something of its own, and that is no clause
    noun = at + 1
    while noun < len(nodes) and nodes[noun].pos in ("DET", "ADJ", "NUM", "NOUN", "PROPN", "CCONJ", "VERB"):
        verb = nodes[noun].head
        if nodes[noun].label == "nsubj" and nodes[noun].pos in NOUNS and verb > noun:
            break
        noun += 1
    else:
        return
    if verb in (who, at) or not (nodes[who].head in (-1, verb) or nodes[verb].head in (who, at)):
        return
    nodes[noun].head, nodes[noun].label = at, "obj"
    nodes[verb].head, nodes[verb].label = (-1 if nodes[who].head == verb else nodes[who].head), nodes[who].label
    nodes[who].head, nodes[who].label = verb, "nsubj"


def _join_subjects(nodes: list[Node], verb: int) -> None:
    """ "a man and two dogs are walking" read as a man, and dogs that walk: with a plural verb both walk."""
    first = nodes[verb].head
    if nodes[verb].label != "conj" or not 0 <= first < verb or nodes[first].pos not in NOUNS:
        return
    below = _children_of(nodes, verb)
    second = next((child for child in below if nodes[child].label == "nsubj"), -1)
    joint = next((child for child in below if nodes[child].label == "cc"), -1)
    if not first < joint < second < verb or nodes[second].pos not in NOUNS or nodes[joint].text != "and":
        return
    helpers = {nodes[child].text for child in below if nodes[child].label in WORDS["helper_labels"]}
    singular = helpers & WORDS["singular_helpers"] or (not helpers and nodes[verb].text.endswith("s"))
    others = [nodes[child] for child in _children_of(nodes, first) if child != verb]
    if singular or any(other.pos == "VERB" or other.label in ("nsubj", "expl") for other in others):
        return
    nodes[verb].head, nodes[verb].label = nodes[first].head, nodes[first].label
    nodes[first].head, nodes[first].label = verb, "nsubj"
    nodes[second].head, nodes[second].label = first, "conj"
    nodes[joint].head = second


def _children_of(nodes: list[Node], at: int) -> list[int]:
    """The tokens whose head is token `at`."""
    return [child for child, node in enumerate(nodes) if node.head == at]
