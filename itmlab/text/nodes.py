"""A dependency tree that can be changed: what `repair` works on."""

from dataclasses import dataclass

NOMINAL = frozenset({"NOUN", "PROPN"})


@dataclass(slots=True)
class Node:
    """A token of a tree; the head of a root is -1."""

    text: str
    pos: str
    label: str
    head: int


def children_of(nodes: list[Node], at: int) -> list[int]:
    """The tokens whose head is token `at`."""
    return [child for child, node in enumerate(nodes) if node.head == at]
