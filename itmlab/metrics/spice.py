"""SPICE between every caption and every image: the F-score of scene-graph tuples (Anderson et al. 2016, Sec. 3.2).

With T(c) the tuples of a caption's graph, T(S) those of the one graph that an image's references make, and ⊗ the tuples
that match one on the other side (equal words, or words with a common synset of WordNet):

    P = |T(c) ⊗ T(S)| / |T(c)|,    R = |T(S) ⊗ T(c)| / |T(S)|,    SPICE = 2 P R / (P + R)

All pairs of captions and images at once are products of sparse matrices: (caption, fact), (fact, fact) matching, (fact,
image). The published program counts the caption's matches in both shares; without synonyms that is the same.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from itertools import combinations, product

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from torch import Tensor

from ..text.graph import SceneGraph
from ..text.parsing import parse
from .cider import check_left_out
from .wordnet import wordnet
from .words import check_captions, check_references, warn_of_empty

Text = str | SceneGraph
CHUNK = 1024  # captions scored at once, which bounds the memory


def spice_matrix(
    captions: Sequence[Text], references: Sequence[Sequence[Text]], *, synonyms: str = "auto"
) -> Float[Tensor, "caption image"]:
    """Return SPICE (0 to 1) of every caption with the references of every image; see `Spice` for the arguments.

    >>> from itmlab.text.graph import SceneObject
    >>> dog, cat = (SceneGraph((SceneObject(name),)) for name in ("dog", "cat"))
    >>> spice_matrix([dog, cat], [[dog, cat], [cat]], synonyms="none")
    tensor([[0.6667, 0.0000],
            [0.6667, 1.0000]])
    """
    return Spice(references, synonyms=synonyms).matrix(captions)


class Spice:
    """SPICE against the references of a set of images, which are parsed once.

    A tuple is (object,), (object, attribute) or (subject, relation, object) in lemmas. Two match when their words are
    equal in each place or, with WordNet, stand in a common synset. Tuples of one graph that match count as one. SPICE
    is the same with the two graphs exchanged.

    Args:
        references: the captions of each image, as sentences or scene graphs.
        synonyms: "wordnet", "none", or "auto" for WordNet where it is installed. The attribute `synonyms` says what was
            used ("wordnet 3.0", "none").

    Raises:
        ItmlabError: an image without references, or a sentence in place of a list.
    """

    def __init__(self, references: Sequence[Sequence[Text]], *, synonyms: str = "auto"):
        self._held = check_references(references, Text)
        installed = wordnet(synonyms)
        self.synonyms = "none" if installed is None else f"wordnet {installed.version}"
        self._synsets = None if installed is None else installed.synsets
        self._graphs = _graphs([caption for captions in references for caption in captions])
        graphs = iter(self._graphs)
        self._references = [[next(graphs) for _ in captions] for captions in references]
        self._images = self._merged(self._references)
        warn_of_empty(self._images.size, "images have no scene-graph tuples")

    def matrix(
        self, captions: Sequence[Text] | None = None, *, leave_one_out: bool = False
    ) -> Float[Tensor, "caption image"]:
        """Return SPICE of captions with every image.

        A caption or image in which the parser finds no tuple scores 0 with everything, with a warning.

        Args:
            captions: sentences or scene graphs, by default the references themselves, image by image.
            leave_one_out: compare each reference with the other references of its own image only.

        Raises:
            ItmlabError: `leave_one_out` with other captions, or with an image that has a single reference.
        """
        graphs = self._graphs if captions is None else _graphs(captions)
        merged = self._merged([[graph] for graph in graphs])
        warn_of_empty(merged.size, "captions have no scene-graph tuples")
        scores = torch.zeros(len(graphs), len(self._references))
        matching = self._images.matching(merged.facts)
        images = self._images.held.T.tocsr()
        answered = _present(matching @ images)  # (fact of a caption, image)
        for start in range(0, len(graphs), CHUNK):
            rows = slice(start, start + CHUNK)
            held = merged.held[rows]
            matches = (held @ answered).toarray(), (_present(held @ matching) @ images).toarray()
            scores[rows] = torch.from_numpy(_f_score(*matches, merged.size[rows, None], self._images.size))
        if leave_one_out:
            check_left_out(captions, self._held)
            places = ((graphs, at) for graphs in self._references for at in range(len(graphs)))
            rest = self._merged([graphs[:at] + graphs[at + 1 :] for graphs, at in places])
            rows, image = np.arange(len(graphs)), np.repeat(np.arange(len(self._held)), self._held)
            left_out = _of_pairs(merged, rows, rest, rows, rest.matching(merged.facts))
            scores[rows, image] = torch.from_numpy(left_out)
        return scores

    def pairs(self, references: np.ndarray, images: np.ndarray) -> Float[np.ndarray, "pair"]:
        """Return SPICE of references, numbered image by image, each with one image."""
        merged, matching = self._single_references
        return _of_pairs(merged, references, self._images, images, matching)

    @cached_property
    def _single_references(self) -> tuple["Merged", sparse.csr_matrix]:
        """Every reference as a graph of its own, and which of its facts match those of the images."""
        merged = self._merged([[graph] for graph in self._graphs])
        return merged, self._images.matching(merged.facts)

    def _merged(self, captions: Sequence[Sequence[SceneGraph]]) -> "Merged":
        """Return one graph for each list of captions."""
        tuples = (set().union(*(graph.tuples() for graph in graphs)) for graphs in captions)
        return Merged([facts(of_image, self._synsets) for of_image in tuples], self._synsets)


def _graphs(captions: Sequence[Text]) -> list[SceneGraph]:
    check_captions(captions, Text)
    parsed = iter(parse([caption for caption in captions if isinstance(caption, str)]))
    return [next(parsed) if isinstance(caption, str) else caption for caption in captions]


def _of_pairs(
    captions: "Merged", rows: np.ndarray, images: "Merged", columns: np.ndarray, matching: sparse.csr_matrix
) -> Float[np.ndarray, "pair"]:
    """Return SPICE of graphs in pairs; `matching` as `images.matching(captions.facts)`."""
    caption_facts, image_facts = captions.held[rows], images.held[columns]
    by_caption = caption_facts.multiply(_present(image_facts @ matching.T.tocsr())).sum(axis=1)
    by_image = image_facts.multiply(_present(caption_facts @ matching)).sum(axis=1)
    return _f_score(
        np.asarray(by_caption).ravel(), np.asarray(by_image).ravel(), captions.size[rows], images.size[columns]
    )


def _f_score(
    by_caption: np.ndarray, by_image: np.ndarray, caption_size: np.ndarray, image_size: np.ndarray
) -> np.ndarray:
    """Return the harmonic mean of P and R from the matches that each side counts."""
    precision, recall = by_caption / np.maximum(caption_size, 1), by_image / np.maximum(image_size, 1)
    return (2 * precision * recall / np.where(precision + recall > 0, precision + recall, 1)).astype(np.float32)


# Which tuples match, as sparse matrices.

Fact = frozenset[tuple[str, ...]]  # a tuple of a graph, or several that match one another
Synsets = Callable[[str], frozenset[str]]


def facts(tuples: Iterable[tuple[str, ...]], synsets: Synsets | None) -> frozenset[Fact]:
    """Return the tuples of one graph, with those that match each other, directly or through a third, put together.

    This merges synonymous objects of several captions (and of one), whatever their order.
    """

    def match(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
        words = zip(first, second, strict=False)
        return len(first) == len(second) and all(a == b or not synsets(a).isdisjoint(synsets(b)) for a, b in words)

    groups = {item: {item} for item in tuples}
    for first, second in combinations(sorted(groups), 2) if synsets is not None else ():
        if groups[first] is not groups[second] and match(first, second):
            groups[first] |= groups[second]
            groups |= dict.fromkeys(groups[second], groups[first])
    return frozenset(map(frozenset, groups.values()))


class Merged:
    """Graphs as rows of numbered facts, to be compared with the facts of any other graph.

    Attributes:
        held: (graph, fact), one where the graph holds the fact.
        size: the number of facts of each graph.
    """

    def __init__(self, graphs: Sequence[frozenset[Fact]], synsets: Synsets | None):
        number: dict[Fact, int] = {}
        rows = [[number.setdefault(fact, len(number)) for fact in sorted(graph, key=sorted)] for graph in graphs]
        self.facts = list(number)
        self.held = _indicator(rows, len(number))
        self.size = np.array([len(row) for row in rows], dtype=np.int64)
        self._synsets = synsets
        self._holding: dict[tuple[str, ...], list[int]] = {}
        self._words: dict[tuple[int, int, str], set[str]] = {}  # by length of the tuple, place in it, and synset
        for index, fact in enumerate(self.facts):
            for item in fact:
                self._holding.setdefault(item, []).append(index)
                for place, word in enumerate(item):
                    for synset in () if synsets is None else synsets(word):
                        self._words.setdefault((len(item), place, synset), set()).add(word)
        self._similar = cache(self._similar_words)

    def matching(self, others: Sequence[Fact]) -> sparse.csr_matrix:
        """Return a matrix (other, fact): one where a tuple of the one matches a tuple of the other."""
        rows = [sorted({index for item in fact for index in self._matching(item)}) for fact in others]
        return _indicator(rows, len(self.facts))

    def _matching(self, item: tuple[str, ...]) -> Iterable[int]:
        if self._synsets is None:
            return self._holding.get(item, ())
        words = [self._similar(len(item), place, word) for place, word in enumerate(item)]
        return (index for similar in product(*words) for index in self._holding.get(similar, ()))

    def _similar_words(self, length: int, place: int, word: str) -> tuple[str, ...]:
        shared = (self._words.get((length, place, synset), ()) for synset in self._synsets(word))
        return tuple({word}.union(*shared))


def _indicator(rows: Sequence[Sequence[int]], columns: int) -> sparse.csr_matrix:
    """Return a sparse matrix of ones at the columns that each row lists."""
    ends = np.cumsum([0, *map(len, rows)])
    chosen = np.fromiter((column for row in rows for column in row), np.int64, ends[-1])
    matrix = sparse.csr_matrix((np.ones(len(chosen), np.float32), chosen, ends), (len(rows), columns))
    matrix.sort_indices()
    return matrix


def _present(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Set everything that is not zero to one."""
    matrix.data[:] = 1
    return matrix
