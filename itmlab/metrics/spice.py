"""SPICE between every caption and every image: the F-score of scene-graph tuples (Anderson et al. 2016, Sec. 3.2).

With T(c) the tuples of a caption's graph, T(S) those of the one graph that an image's references make, and ⊗ the tuples
that match one on the other side (equal words, or words with a common synset of WordNet):

    P = |T(c) ⊗ T(S)| / |T(c)|,    R = |T(S) ⊗ T(c)| / |T(S)|,    SPICE = 2 P R / (P + R)

All pairs of captions and images at once are products of sparse matrices: (caption, fact), (fact, fact) matching, (fact,
image). The published program counts the caption's matches in both shares; without synonyms that is the same.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from itertools import combinations, product

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy import sparse
from torch import Tensor

from ..errors import ItmlabError
from ..text.graph import SceneGraph
from ..text.parsing import parse
from .wordnet import wordnet

Text = str | SceneGraph
Images = Int64[Tensor, "caption"] | Sequence[int]
CHUNK = 1024  # captions at once: the result does not depend on it


def spice_matrix(
    captions: Sequence[Text],
    references: Sequence[Sequence[Text]],
    *,
    parser: str = "english",
    synonyms: str = "auto",
    image_of_caption: Images | None = None,
    leave_one_out: bool = False,
    chunk: int = CHUNK,
) -> Float[Tensor, "caption image"]:
    """SPICE, 0…1, of every caption with the references of every image; see `Spice`, which also tells the synonyms used.

    Captions and references are sentences or scene graphs. ItmlabError: as `Spice` and `Spice.matrix`.

    >>> from itmlab.text.graph import SceneObject
    >>> dog, cat = (SceneGraph((SceneObject(name),)) for name in ("dog", "cat"))
    >>> spice_matrix([dog, cat], [[dog, cat], [cat]], synonyms="none")
    tensor([[0.6667, 0.0000],
            [0.6667, 1.0000]])
    """
    fitted = Spice(references, parser=parser, synonyms=synonyms)
    return fitted.matrix(captions, image_of_caption=image_of_caption, leave_one_out=leave_one_out, chunk=chunk)


class Spice:
    """SPICE against the references of a set of images, which are read once.

    `references[image]` are its captions, as sentences (read by `text.parse` with `parser`) or as scene graphs. A tuple
    is (object,), (object, attribute) or (subject, relation, object) in lemmas; two match when their words are equal in
    each place or, with WordNet (`synonyms`: "auto", "wordnet", "none"), stand in a common synset; `self.synonyms` says
    what was used ("wordnet 3.0", "none"). Tuples of one graph that match each other count as one. SPICE lies in 0…1 and
    is the same with the two graphs exchanged. ItmlabError: an image without references, a sentence for a list.
    """

    def __init__(self, references: Sequence[Sequence[Text]], *, parser: str = "english", synonyms: str = "auto"):
        if isinstance(references, str) or any(isinstance(own, str | SceneGraph) for own in references):
            raise ItmlabError("references are a list of captions for each image", remedy="put each into a list")
        if without := [image for image, own in enumerate(references) if len(own) == 0]:
            raise ItmlabError(
                f"{len(without)} of {len(references)} images have no references, the first is image {without[0]}",
                remedy="leave these images out",
            )
        found = wordnet(synonyms)
        self.synonyms = "none" if found is None else f"wordnet {found.version}"
        self._parser, self._synsets = parser, None if found is None else found.synsets
        graphs = iter(_graphs([caption for own in references for caption in own], parser))
        self._references = [[next(graphs) for _ in own] for own in references]
        self._images = self._merged(self._references)
        _warn_of_empty(self._images.size, "images")

    def matrix(
        self,
        captions: Sequence[Text] | None = None,
        *,
        image_of_caption: Images | None = None,
        leave_one_out: bool = False,
        chunk: int = CHUNK,
    ) -> Float[Tensor, "caption image"]:
        """SPICE of every caption (not given: the references themselves) with every image, `chunk` captions at once.

        A caption of the image is among its own references; with `leave_one_out` it is compared with the others of its
        image only, `image_of_caption` (-1: of none; not given: the captions are the references in their order). A
        caption (or image) in which the parser finds no tuple scores 0 with everything, and one warning says how many
        there are. ItmlabError: as the class; left out where it is the only reference, or is none.
        """
        if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
            raise ItmlabError(f"captions cannot be scored chunk={chunk!r} at once", remedy="choose a whole number")
        own = [graph for references in self._references for graph in references]
        graphs = own if captions is None else _graphs(captions, self._parser)
        mine = self._merged([[graph] for graph in graphs])
        _warn_of_empty(mine.size, "captions")
        scores = torch.zeros(len(graphs), len(self._references))
        matching = self._images.matching(mine.facts)
        images = self._images.held.T.tocsr()
        answered = _present(matching @ images)  # (fact of a caption, image)
        for start in range(0, len(graphs), chunk):
            rows = slice(start, start + chunk)
            said = mine.held[rows]
            block = _harmonic(said @ answered, _present(said @ matching) @ images, mine.size[rows], self._images.size)
            scores[rows] = torch.from_numpy(block.toarray())
        if leave_one_out:
            image = self._image_of_caption(image_of_caption, len(graphs))
            scores[np.flatnonzero(image >= 0), image[image >= 0]] = self._left_out(graphs, mine, image)
        return scores

    def pairs(self, references: np.ndarray, images: np.ndarray) -> Float[np.ndarray, "pair"]:
        """SPICE, 0…1, of the references with these numbers (image by image) each with the image beside it."""
        mine, matching = self._own
        return _of_pairs(mine, references, self._images, images, matching)

    @cached_property
    def _own(self) -> tuple["Merged", sparse.csr_matrix]:
        """Every reference as a graph of its own, and which of its facts match those of the images."""
        mine = self._merged([[graph] for references in self._references for graph in references])
        return mine, self._images.matching(mine.facts)

    def _merged(self, captions: Sequence[Sequence[SceneGraph]]) -> "Merged":
        """One graph for each list of captions."""
        tuples = (set().union(*(graph.tuples() for graph in own)) for own in captions)
        return Merged([facts(own, self._synsets) for own in tuples], self._synsets)

    def _left_out(self, graphs: Sequence[SceneGraph], mine: "Merged", image: np.ndarray) -> Float[Tensor, "own"]:
        """Each caption that belongs to an image with the other captions of that image."""
        belonging = np.flatnonzero(image >= 0)
        others = []
        for caption in belonging.tolist():
            left = list(self._references[image[caption]])
            if graphs[caption] not in left or len(left) == 1:
                why = "not among the references" if graphs[caption] not in left else "the only reference"
                raise ItmlabError(
                    f"caption {caption} is {why} of image {image[caption]}: it cannot be left out",
                    remedy="correct image_of_caption, or put -1 for a caption of no image",
                )
            left.remove(graphs[caption])
            others.append(left)
        rest = self._merged(others)
        return torch.from_numpy(_of_pairs(mine, belonging, rest, np.arange(len(belonging)), rest.matching(mine.facts)))

    def _image_of_caption(self, given: Images | None, captions: int) -> np.ndarray:
        own = np.repeat(np.arange(len(self._references)), [len(references) for references in self._references])
        image = own if given is None else np.asarray(given, dtype=np.int64)
        if image.shape != (captions,) or (captions and not -1 <= image.min() <= image.max() < len(self._references)):
            raise ItmlabError(
                f"leave_one_out needs image_of_caption: one of {len(self._references)} images, or -1, for each of "
                f"{captions} captions"
            )
        return image


def _graphs(captions: Sequence[Text], parser: str) -> list[SceneGraph]:
    if isinstance(captions, str | SceneGraph):
        raise ItmlabError("captions are a list of captions, not one", remedy="put it into a list")
    if wrong := [type(each).__name__ for each in captions if not isinstance(each, str | SceneGraph)]:
        raise ItmlabError(f"a caption is a sentence or a SceneGraph, not a {wrong[0]}")
    parsed = iter(parse([each for each in captions if isinstance(each, str)], parser=parser))
    return [next(parsed) if isinstance(each, str) else each for each in captions]


def _of_pairs(
    captions: "Merged", rows: np.ndarray, images: "Merged", columns: np.ndarray, matching: sparse.csr_matrix
) -> Float[np.ndarray, "pair"]:
    """The harmonic mean of P and R of graphs in pairs; `matching` as `images.matching(captions.facts)`."""
    said, held = captions.held[rows], images.held[columns]
    by_caption = said.multiply(_present(held @ matching.T.tocsr())).sum(axis=1)
    by_image = held.multiply(_present(said @ matching)).sum(axis=1)
    precision = np.asarray(by_caption).ravel() / np.maximum(captions.size[rows], 1)
    recall = np.asarray(by_image).ravel() / np.maximum(images.size[columns], 1)
    both = 2 * precision * recall / np.where(precision + recall > 0, precision + recall, 1)
    return both.astype(np.float32)


def _harmonic(
    by_caption: sparse.csr_matrix, by_image: sparse.csr_matrix, caption_size: np.ndarray, image_size: np.ndarray
) -> sparse.csr_matrix:
    """The harmonic mean of P and R from their counts, which are zero in the same places."""
    by_caption.sort_indices()
    by_image.sort_indices()
    row = np.repeat(np.arange(by_caption.shape[0]), np.diff(by_caption.indptr))
    precision = by_caption.data / caption_size[row]
    recall = by_image.data / image_size[by_caption.indices]
    scores = (2 * precision * recall / (precision + recall)).astype(np.float32)
    return sparse.csr_matrix((scores, by_caption.indices, by_caption.indptr), by_caption.shape)


def _warn_of_empty(size: np.ndarray, what: str) -> None:
    if len(empty := np.flatnonzero(size == 0)):
        warnings.warn(
            f"SPICE: {len(empty)} of {len(size)} {what} have no scene-graph tuples and score 0 with everything, "
            f"the first is number {empty[0]}",
            stacklevel=3,
        )


# Which tuples match, as sparse matrices.

Fact = frozenset[tuple[str, ...]]  # what a graph says once: a tuple, or several that match one another
Synsets = Callable[[str], frozenset[str]]


def facts(tuples: Iterable[tuple[str, ...]], synsets: Synsets | None) -> frozenset[Fact]:
    """The tuples of one graph with those that match one another put together, directly or through a third.

    This merges synonymous objects of several captions (and of one), whatever their order.
    """

    def alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(a == b or not synsets(a).isdisjoint(synsets(b)) for a, b in pairs)

    groups = {each: {each} for each in tuples}
    for one, other in combinations(sorted(groups), 2) if synsets is not None else ():
        if groups[one] is not groups[other] and alike(one, other):
            groups[one] |= groups[other]
            groups |= dict.fromkeys(groups[other], groups[one])
    return frozenset(map(frozenset, groups.values()))


class Merged:
    """Graphs as rows of numbered facts, to be compared with the facts of any other graph.

    `held: (graph, fact)` is one where the graph holds the fact, `size: (graph,)` how many it holds.
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
            for each in fact:
                self._holding.setdefault(each, []).append(index)
                for place, word in enumerate(each):
                    for synset in () if synsets is None else synsets(word):
                        self._words.setdefault((len(each), place, synset), set()).add(word)
        self._similar = cache(self._similar_words)

    def matching(self, asked: Sequence[Fact]) -> sparse.csr_matrix:
        """(asked, fact): one where a tuple of the one matches a tuple of the other."""
        rows = [sorted({index for each in fact for index in self._matching(each)}) for fact in asked]
        return _indicator(rows, len(self.facts))

    def _matching(self, asked: tuple[str, ...]) -> Iterable[int]:
        if self._synsets is None:
            return self._holding.get(asked, ())
        words = [self._similar(len(asked), place, word) for place, word in enumerate(asked)]
        return (index for each in product(*words) for index in self._holding.get(each, ()))

    def _similar_words(self, length: int, place: int, word: str) -> tuple[str, ...]:
        shared = (self._words.get((length, place, synset), ()) for synset in self._synsets(word))
        return tuple({word}.union(*shared))


def _indicator(rows: Sequence[Sequence[int]], columns: int) -> sparse.csr_matrix:
    """A sparse matrix of ones at the columns that each row lists."""
    ends = np.cumsum([0, *map(len, rows)])
    chosen = np.fromiter((column for row in rows for column in row), np.int64, ends[-1])
    matrix = sparse.csr_matrix((np.ones(len(chosen), np.float32), chosen, ends), (len(rows), columns))
    matrix.sort_indices()
    return matrix


def _present(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Ones where the matrix is not zero."""
    matrix.data[:] = 1
    return matrix
