"""Mends trees of captions where the words say better than the tagger what is a noun and what is done.

A tagger trained on running text takes "shadow across a wall" for an order and "thumb touching pizza" for three nouns.
Words that captions nearly always use as a noun, or as a verb, are known from a table (`lexicon.shipped_lexicon`).
"""

from dataclasses import dataclass

from .lexicon import WORDS, Lexicon, noun_lemma, verb_lemma, verbs, word_set

NOUNS = word_set("NOUN PROPN")


@dataclass(slots=True)
class Node:
    """A token of a tree; the head of a root is -1."""

    text: str
    pos: str
    label: str
    head: int


def repair(nodes: list[Node], lexicon: Lexicon) -> None:
    """Change tags, heads and labels in place."""
    for at in range(len(nodes) - 2):
        if [node.text for node in nodes[at : at + 3]] == ["close", "up", "of"]:
            _make_close_up(nodes, at)
    for at, node in enumerate(nodes):
        if node.text in lexicon.nouns and node.pos in ("ADJ", "ADV", "VERB", "X", "INTJ", "SCONJ", "NUM"):
            if not _acts(nodes, at):
                node.pos = "NOUN"
        elif node.pos in ("NOUN", "PROPN", "ADJ", "X", "ADV", "ADP"):
            if node.text in lexicon.actions or _must_act(nodes, at):
                _make_verb(nodes, at)
        elif node.label == "aux" and node.text in ("has", "have", "had"):
            if node.head >= 0 and nodes[node.head].pos in NOUNS:
                _make_owner(nodes, at)
        elif node.pos == "VERB" and at and node.label not in ("amod", "compound", "case"):
            before = nodes[at - 1]
            if before.head == at and before.label == "compound" and before.pos in NOUNS:
                _make_verb(nodes, at)
    for at, node in enumerate(nodes):
        if node.pos == "VERB" and node.head < 0 and node.text.endswith("ed"):
            _make_modifier(nodes, at)
        if node.pos == "VERB":
            give_object(nodes, at)
            join_subjects(nodes, at)


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


def _acts(nodes: list[Node], at: int) -> bool:
    """Whether a word tagged as a verb has a subject or an auxiliary, or stands as a noun's modifier."""
    labels = {nodes[child].label for child in children_of(nodes, at)}
    modifies = nodes[at].label in ("amod", "compound") and nodes[at].head == at + 1 and nodes[at + 1].pos in NOUNS
    return modifies or bool(labels & (WORDS["subject_labels"] | WORDS["helper_labels"]))


def _must_act(nodes: list[Node], at: int) -> bool:
    """ "a kid kicks" has an article that no plural has, and "worn by" can be no noun."""
    word = nodes[at].text
    base = verb_lemma(word)
    if base == word or base not in verbs():
        return False
    if at + 1 < len(nodes) and nodes[at + 1].text == "by" and not word.endswith("s"):
        return True
    if not word.endswith("s") or at == 0 or nodes[at - 1].pos not in NOUNS or noun_lemma(word) == word:
        return False
    if at + 1 < len(nodes) and nodes[at + 1].text in ("a", "an", "the"):
        return True
    return any(node.text in ("a", "an") and node.head in (at, at - 1) for node in nodes[:at])


def _make_verb(nodes: list[Node], at: int) -> None:
    """A deed taken for a noun: "the vase sits on a table", "thumb touching pizza"."""
    node, left = nodes[at], at - 1
    if left >= 0 and nodes[left].pos == "AUX":
        left -= 1
    if left < 0 or nodes[left].pos not in NOUNS:
        return
    owner = nodes[left].head
    if node.label in ("amod", "compound") and node.head > at and owner != at and node.head != owner:
        return
    if owner == at and node.label in ("amod", "compound") and node.head > at:
        noun = node.head
        node.head, node.label = nodes[noun].head, nodes[noun].label
        nodes[noun].head, nodes[noun].label = at, "obj"
    if owner == at and nodes[left].label in ("compound", "amod", "nmod", "obl", "dep", "nsubj"):
        below = [
            child
            for child in children_of(nodes, at)
            if child < left and nodes[child].label in WORDS["before_noun_labels"]
        ]
        for child in below:
            nodes[child].head = left
        outer = node.head
        if any(nodes[child].label == "case" for child in below) and 0 <= outer < left:  # "a man on a horse chases"
            nodes[left].head, nodes[left].label = outer, "nmod"
            node.head, node.label = nodes[outer].head, nodes[outer].label
            nodes[outer].head, nodes[outer].label = at, "nsubj"
        elif node.text.endswith("ing") and left == at - 1:
            nodes[left].head, nodes[left].label = node.head, node.label
            node.head, node.label = left, "acl"
        else:
            nodes[left].label = "nsubj"
    elif owner == node.head and owner > at:
        for child in children_of(nodes, owner):
            if child < left and nodes[child].label in WORDS["before_noun_labels"]:
                nodes[child].head = left
        nodes[left].head, nodes[left].label = nodes[owner].head, nodes[owner].label
        node.head, node.label = left, "acl"
        nodes[owner].head, nodes[owner].label = at, "obj"
    elif node.head == left and node.label in WORDS["beside_noun_labels"]:
        node.label = "acl"
    elif node.label not in ("acl", "acl:relcl", "root", "ROOT"):
        return
    node.pos = "VERB"


def _make_owner(nodes: list[Node], at: int) -> None:
    """ "the shirt has a collar" with "has" taken for an auxiliary of the collar."""
    node, noun = nodes[at], nodes[at].head
    for child in children_of(nodes, noun):
        if nodes[child].label in ("nsubj", "advmod", "punct", "expl") and child != at:
            nodes[child].head = at
    node.pos, node.head, node.label = "VERB", nodes[noun].head, nodes[noun].label
    nodes[noun].head, nodes[noun].label = at, "obj"


def _make_modifier(nodes: list[Node], at: int) -> None:
    """A participle taken for an order: "chopped onions on a board"."""
    before = [nodes[child] for child in children_of(nodes, at) if child < at]
    if any(child.label not in ("det", "amod", "advmod", "nummod", "punct", "compound") for child in before):
        return
    noun = next((c for c in children_of(nodes, at) if c > at and nodes[c].label == "obj"), -1)
    if noun < 0 or noun > at + 3 or any(nodes[c].pos in ("DET", "ADP", "PRON") for c in range(at + 1, noun)):
        return
    node = nodes[at]
    for child in children_of(nodes, at):
        if child != noun:
            nodes[child].head = noun
            if nodes[child].label == "obl":
                nodes[child].label = "nmod"
    nodes[noun].head, nodes[noun].label = node.head, node.label
    node.head, node.label = noun, "amod"


def give_object(nodes: list[Node], at: int) -> None:
    """ "a man wearing a hat holds a bag" read as if the hat held it: the hat is worn, the man holds."""
    who = nodes[at].head
    if who < 0 or who > at or nodes[who].pos not in NOUNS:
        return
    below = [child for child in children_of(nodes, at) if nodes[child].label in WORDS["objects_below"]]
    full = [child for child in below if nodes[child].text not in WORDS["relative_pronouns"]]
    if nodes[at].label in WORDS["relative_clause_labels"] and full != below:
        below = full  # "a man who wears a hat holds"
    elif nodes[at].label != "acl" or not nodes[at].text.endswith("ing"):
        return
    if any(all(nodes[inner].label != "nsubj" for inner in children_of(nodes, child)) for child in below):
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
    if nodes[verb].head in (who, at):
        nodes[verb].head, nodes[verb].label = (-1 if nodes[who].head == verb else nodes[who].head), nodes[who].label
    nodes[who].head, nodes[who].label = verb, "nsubj"


def join_subjects(nodes: list[Node], verb: int) -> None:
    """ "a man and two dogs are walking" read as a man, and dogs that walk: with a plural verb both walk."""
    first = nodes[verb].head
    if nodes[verb].label != "conj" or not 0 <= first < verb or nodes[first].pos not in NOUNS:
        return
    below = children_of(nodes, verb)
    second = next((child for child in below if nodes[child].label == "nsubj"), -1)
    joint = next((child for child in below if nodes[child].label == "cc"), -1)
    if not first < joint < second < verb or nodes[second].pos not in NOUNS or nodes[joint].text != "and":
        return
    helpers = {nodes[child].text for child in below if nodes[child].label in WORDS["helper_labels"]}
    singular = helpers & WORDS["singular_helpers"] or (not helpers and nodes[verb].text.endswith("s"))
    others = [nodes[child] for child in children_of(nodes, first) if child != verb]
    if singular or any(other.pos == "VERB" or other.label in ("nsubj", "expl") for other in others):
        return
    nodes[verb].head, nodes[verb].label = nodes[first].head, nodes[first].label
    nodes[first].head, nodes[first].label = verb, "nsubj"
    nodes[second].head, nodes[second].label = first, "conj"
    nodes[joint].head = second


def children_of(nodes: list[Node], at: int) -> list[int]:
    """The tokens whose head is token `at`."""
    return [child for child, node in enumerate(nodes) if node.head == at]
