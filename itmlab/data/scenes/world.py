"""The truth behind `scenes`: what each picture shows, pixel by pixel, and which sentences are true of it."""

import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int8, Int64
from PIL import Image
from torch import Tensor

from ...errors import ItmlabError
from ...text.graph import SceneGraph
from . import entail
from .facts import Facts
from .rows import LazyRows
from .scene import Scene, Thing
from .spoken import Spoken, spoken, understood
from .truth import Verdicts

if TYPE_CHECKING:
    from datasets import Dataset

_VERDICT = {entail.TRUE: True, entail.OPEN: None, entail.FALSE: False}


class Unannotated(NamedTuple):
    """How much truth nobody wrote down, measured on some images and captions.

    `per_caption`: images, beside its own, of which a caption is surely true, on average. `share`: those pairs among
    all (image, caption) pairs. `undecided`: images per caption for which the world leaves it open. `true_share`: the
    part of all surely true pairs that is not annotated.
    """

    per_caption: float
    share: float
    undecided: float
    true_share: float


class World:
    """The truth of a set of images and captions, numbered as in the CaptionSet it belongs to.

    `scenes[image]` is a Scene, `graphs[caption]` the scene graph a caption was written from, with token spans. Objects
    are numbered as in `scenes[image].objects`: things, what people wear, then grass or sky and the setting itself.
    """

    def __init__(self, table: "Dataset", images: Sequence[int], captions: Sequence[tuple[int, int]]):
        self._table, self._images, self._captions = table, list(images), list(captions)
        self._facts = LazyRows(table, "scene", lambda text: Facts(Scene.from_json(text)))
        self._graphs = LazyRows(table, "graphs", _graphs)
        self._pixels = LazyRows(table, "marks", _marks, keep=False)
        self.scenes: Sequence[Scene] = _Mapped(self._images, lambda row: self._facts[row].scene)
        self.graphs: Sequence[SceneGraph] = _Mapped(self._captions, lambda at: self._graphs[at[0]][at[1]][0])

    def __repr__(self) -> str:
        return f"World({len(self._images)} scenes, {len(self._captions)} captions)"

    def select(self, image_indices: Sequence[int] | Tensor, caption_indices: Sequence[int] | Tensor) -> "World":
        """The world of these images and captions, renumbered in this order; what was read stays read."""
        other = World.__new__(World)
        other.__dict__ |= self.__dict__
        other._images = [self._images[int(at)] for at in image_indices]
        other._captions = [self._captions[int(at)] for at in caption_indices]
        other.scenes = _Mapped(other._images, lambda row: other._facts[row].scene)
        other.graphs = _Mapped(other._captions, lambda at: other._graphs[at[0]][at[1]][0])
        return other

    def entails(self, image: int, sentence: SceneGraph | str) -> bool | None:
        """Is the sentence true of the image? True, False, or None where the picture or the words leave it open.

        A string is parsed by `text.parse` with the shipped pipeline; what names nothing that can be seen is None.
        """
        facts = self._facts[self._images[image]]
        if isinstance(sentence, SceneGraph):
            return _VERDICT[entail.entails(facts, sentence)]
        said = understood(sentence)
        return _VERDICT[said.judged(entail.entails(facts, said.graph))]

    def truth(
        self,
        images: Int64[Tensor, "image"] | None = None,
        captions: Int64[Tensor, "caption"] | Sequence[str | SceneGraph] | None = None,
    ) -> Int8[Tensor, "image caption"]:
        """Verdicts of captions on images (all of them by default): 1 true, 0 false, -1 undecided.

        `captions` are numbers of the world's own captions, or any sentences and graphs, judged as by `entails`.
        """
        rows = self._images if images is None else [self._images[int(at)] for at in images]
        verdicts = Verdicts([self._facts[row] for row in rows])
        said = self._said(captions)
        found = np.zeros((len(rows), len(said)), dtype=np.int8)
        for column, one in enumerate(said):
            found[:, column] = [one.judged(level) for level in verdicts.column(one.graph)]
        return torch.from_numpy(np.array([0, -1, 1], dtype=np.int8)[found])

    def _said(self, captions: Int64[Tensor, "caption"] | Sequence[str | SceneGraph] | None) -> list[Spoken]:
        """What captions say; graphs, and the world's own captions, are taken at their word."""
        if captions is None:
            captions = range(len(self._captions))
        if isinstance(captions, str):
            raise ItmlabError("captions is one string, not a list", remedy="write truth(images, [caption])")
        strings = [one for one in captions if isinstance(one, str)]
        parsed = dict(zip(strings, spoken(strings), strict=True)) if strings else {}
        return [
            parsed[one]
            if isinstance(one, str)
            else Spoken(one if isinstance(one, SceneGraph) else self.graphs[int(one)], whole=True)
            for one in captions
        ]

    def unannotated(
        self, images: Int64[Tensor, "image"] | None = None, captions: Int64[Tensor, "caption"] | None = None
    ) -> Unannotated:
        """How many pairs are true although nobody annotated them, on these images and captions (default: all)."""
        rows = torch.tensor(self._images if images is None else [self._images[int(at)] for at in images])
        chosen = range(len(self._captions)) if captions is None else [int(at) for at in captions]
        own = torch.tensor([self._captions[at][0] for at in chosen])
        verdicts = self.truth(images, captions)
        true = (verdicts == 1) & (rows[:, None] != own[None, :])
        count, sure = max(len(chosen), 1), int((verdicts == 1).sum())
        return Unannotated(
            per_caption=int(true.sum()) / count,
            share=int(true.sum()) / max(true.numel(), 1),
            undecided=int((verdicts == -1).sum()) / count,
            true_share=int(true.sum()) / max(sure, 1),
        )

    def objects(self, image: int) -> tuple[Thing, ...]:
        """What the image shows, with `kind`, `category`, `attributes` and more."""
        return self.scenes[image].objects

    def masks(self, image: int) -> Bool[Tensor, "object height width"]:
        """The visible pixels of each object; a person's include what they wear, a setting's all ground and sky."""
        marks = torch.from_numpy(self._pixels[self._images[image]].astype(np.int64))
        things = self.objects(image)
        masks = marks[None] == torch.arange(1, len(things) + 1)[:, None, None]
        stuff = [number for number, thing in enumerate(things) if thing.category == "stuff"]
        for number, thing in enumerate(things):
            if thing.wearer is not None:
                masks[thing.wearer] |= masks[number]
            elif thing.category == "place":
                masks[number] = masks[stuff].any(dim=0)
        return masks

    def boxes(self, image: int) -> Int64[Tensor, "object 4"]:
        """The smallest box (left, top, right, bottom in pixels, ends excluded) around each object's visible pixels."""
        found = []
        for mask in self.masks(image):
            ys, xs = torch.nonzero(mask, as_tuple=True)
            empty = len(xs) == 0
            found.append(
                [0, 0, 0, 0] if empty else [int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1]
            )
        return torch.tensor(found, dtype=torch.int64).reshape(-1, 4)

    def object_of_word(self, caption: int, token_index: int) -> list[int]:
        """The objects of the caption's own image that a word of it means; none for articles, relations and the like.

        `token_index` counts the tokens of `graphs[caption]`; nouns, adjectives and poses mean their object. An index
        outside the sentence is an ItmlabError.
        """
        row, at = self._captions[caption]
        graph, means = self._graphs[row][at]
        if not 0 <= token_index < len(graph.tokens):
            raise ItmlabError(f"caption {caption} has no token {token_index}", remedy=f"it has {len(graph.tokens)}")
        for wanted, numbers in zip(graph.objects, means, strict=True):
            spans = [wanted.span, *(attribute.span for attribute in wanted.attributes)]
            if any(span is not None and span.start <= token_index < span.end for span in spans):
                return list(numbers)
        return []


class _Mapped(Sequence):
    """Items of a list seen through a function."""

    def __init__(self, items: list, function):
        self._items, self._function = items, function

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, at):
        if isinstance(at, slice):
            return [self._function(item) for item in self._items[at]]
        return self._function(self._items[at])


def _graphs(cells: list[str]) -> list[tuple[SceneGraph, tuple[tuple[int, ...], ...]]]:
    plain = [json.loads(cell) for cell in cells]
    return [(SceneGraph.from_dict(graph), tuple(map(tuple, means))) for graph, means in plain]


def _marks(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)))
