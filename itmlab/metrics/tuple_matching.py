"""Which tuples of scene graphs match, as sparse matrices: equal words, or words with a common synset."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations, product

import numpy as np
from scipy import sparse

Fact = frozenset[tuple[str, ...]]  # what a graph says once: a tuple, or several that match one another
Synsets = Callable[[str], frozenset[str]]


def alike(one: tuple[str, ...], other: tuple[str, ...], synsets: Synsets | None) -> bool:
    """Whether two tuples match: as long, and word by word equal or (with `synsets`) in a common synset."""
    if one == other or synsets is None or len(one) != len(other):
        return one == other
    return all(a == b or not synsets(a).isdisjoint(synsets(b)) for a, b in zip(one, other, strict=True))


def facts(tuples: Iterable[tuple[str, ...]], synsets: Synsets | None) -> frozenset[Fact]:
    """The tuples of one graph with those that match one another put together, directly or through a third.

    This merges synonymous objects of several captions (and of one), whatever their order.
    """
    groups = {each: {each} for each in tuples}
    if synsets is not None:
        for one, other in combinations(sorted(groups), 2):
            if groups[one] is not groups[other] and alike(one, other, synsets):
                groups[one] |= groups[other]
                for member in groups[other]:
                    groups[member] = groups[one]
    return frozenset(map(frozenset, groups.values()))


class Merged:
    """Graphs as rows of numbered facts, to be compared with the facts of any other graph.

    `held: (graph, fact)` is one where the graph holds the fact, `size: (graph,)` how many it holds.
    """

    def __init__(self, graphs: Sequence[frozenset[Fact]], synsets: Synsets | None):
        number: dict[Fact, int] = {}
        rows = [[number.setdefault(fact, len(number)) for fact in sorted(graph, key=sorted)] for graph in graphs]
        self.facts = list(number)
        self.held = indicator(rows, len(number))
        self.size = np.array([len(row) for row in rows], dtype=np.int64)
        self._synsets = synsets
        self._holding: dict[tuple[str, ...], list[int]] = {}
        self._words: dict[tuple[int, int, str], set[str]] = {}
        for index, fact in enumerate(self.facts):
            for each in fact:
                self._holding.setdefault(each, []).append(index)
                for place, word in enumerate(each):
                    for synset in () if synsets is None else synsets(word):
                        self._words.setdefault((len(each), place, synset), set()).add(word)
        self._similar = cache(self._similar_words)

    def matching(self, asked: Sequence[Fact]) -> sparse.csr_matrix:
        """(asked, fact): one where a tuple of the one matches a tuple of the other."""
        rows = [sorted({index for each in fact for index in self._matching(each)}) for fact in asked]
        return indicator(rows, len(self.facts))

    def _matching(self, asked: tuple[str, ...]) -> Iterable[int]:
        if self._synsets is None:
            return self._holding.get(asked, ())
        words = [self._similar(len(asked), place, word) for place, word in enumerate(asked)]
        return (index for each in product(*words) for index in self._holding.get(each, ()))

    def _similar_words(self, length: int, place: int, word: str) -> tuple[str, ...]:
        shared = (self._words.get((length, place, synset), ()) for synset in self._synsets(word))
        return tuple({word}.union(*shared))


def indicator(rows: Sequence[Sequence[int]], columns: int) -> sparse.csr_matrix:
    """A sparse matrix of ones at the columns that each row lists."""
    ends = np.cumsum([0, *map(len, rows)])
    chosen = np.fromiter((column for row in rows for column in row), np.int64, ends[-1])
    matrix = sparse.csr_matrix((np.ones(len(chosen), np.float32), chosen, ends), (len(rows), columns))
    matrix.sort_indices()
    return matrix


def present(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Ones where the matrix is not zero."""
    matrix.data[:] = 1
    return matrix
