"""Mends who does what: subjects that a parser gives to the nearer noun only."""

from .nodes import NOMINAL, Node, children_of

_RELATIVE_PRONOUNS = frozenset({"who", "that", "which"})
_RELATIVE_CLAUSES = frozenset({"acl:relcl", "relcl"})
_OWN = frozenset({"obj", "dobj", "obl", "prep", "nsubj"})
_ONE = frozenset({"is", "was", "has"})


def give_object(nodes: list[Node], at: int) -> None:
    """ "a man wearing a hat holds a bag" read as if the hat held it: the hat is worn, the man holds."""
    who = nodes[at].head
    if who < 0 or who > at or nodes[who].pos not in NOMINAL:
        return
    own = [child for child in children_of(nodes, at) if nodes[child].label in _OWN]
    if nodes[at].label in _RELATIVE_CLAUSES and any(nodes[child].text in _RELATIVE_PRONOUNS for child in own):
        own = [child for child in own if nodes[child].text not in _RELATIVE_PRONOUNS]  # "a man who wears a hat holds"
    elif nodes[at].label != "acl" or not nodes[at].text.endswith("ing"):
        return
    if any(all(nodes[below].label != "nsubj" for below in children_of(nodes, child)) for child in own):
        return  # it has something of its own, and that is no clause
    thing = at + 1
    while thing < len(nodes) and nodes[thing].pos in ("DET", "ADJ", "NUM", "NOUN", "PROPN", "CCONJ", "VERB"):
        verb = nodes[thing].head
        if nodes[thing].label == "nsubj" and nodes[thing].pos in NOMINAL and verb > thing:
            break
        thing += 1
    else:
        return
    if verb in (who, at) or not (nodes[who].head in (-1, verb) or nodes[verb].head in (who, at)):
        return
    nodes[thing].head, nodes[thing].label = at, "obj"
    if nodes[verb].head in (who, at):
        nodes[verb].head, nodes[verb].label = (-1 if nodes[who].head == verb else nodes[who].head), nodes[who].label
    nodes[who].head, nodes[who].label = verb, "nsubj"


def join_subjects(nodes: list[Node], verb: int) -> None:
    """ "a man and two dogs are walking" read as a man, and dogs that walk: with a plural verb both walk."""
    first = nodes[verb].head
    if nodes[verb].label != "conj" or not 0 <= first < verb or nodes[first].pos not in NOMINAL:
        return
    below = children_of(nodes, verb)
    second = next((child for child in below if nodes[child].label == "nsubj"), -1)
    joint = next((child for child in below if nodes[child].label == "cc"), -1)
    if not first < joint < second < verb or nodes[second].pos not in NOMINAL or nodes[joint].text != "and":
        return
    helpers = {nodes[child].text for child in below if nodes[child].label in ("aux", "aux:pass", "auxpass", "cop")}
    one = helpers & _ONE or (not helpers and nodes[verb].text.endswith("s"))
    busy = any(
        nodes[child].pos == "VERB" or nodes[child].label in ("nsubj", "expl")
        for child in children_of(nodes, first)
        if child != verb
    )
    if one or busy:
        return
    nodes[verb].head, nodes[verb].label = nodes[first].head, nodes[first].label
    nodes[first].head, nodes[first].label = verb, "nsubj"
    nodes[second].head, nodes[second].label = first, "conj"
    nodes[joint].head = second
