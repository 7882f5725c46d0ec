"""The truth behind `scenes`: what each picture shows, pixel by pixel, and which sentences are true of it.

`World` answers for a set of images and captions; `TruthLabels` does for many graphs on many scenes; `SceneRegions`
gives the regions that a detector would.
"""

import io
import json
import random
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int8, Int64
from PIL import Image
from torch import Tensor

from ..data.identity import digest_of, digests
from ..data.pictures import view
from ..data.regions import RegionFeatures, with_area
from ..errors import ItmlabError
from ..text.graph import SceneGraph, SceneObject
from .categories import implied_words, noun_swaps, relation_swaps
from .entail import FALSE, OPEN, TRUE, Parsed, Search, candidates, entails, is_group, parsed, parsed_sentence
from .lexicon import kinds_of, nouns
from .relations import Facts
from .scene import COLOURS, KINDS, Entity, Scene

if TYPE_CHECKING:
    from datasets import Dataset


NOTHING = "nothing"  # the kind of a region without an object
HAIR = ("blond", "brown", "black", "red", "gray")
_TRUTH_LABEL = {TRUE: True, OPEN: None, FALSE: False}


class Unannotated(NamedTuple):
    """How many true pairs are not annotated, measured on some images and captions.

    `per_caption`: the mean number of other images that a caption is surely true of. `share`: those pairs among all
    (image, caption) pairs. `undecided`: images per caption for which the world leaves it open. `true_share`: the
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
        self._facts = cache(_cells(table, "scene", lambda text: Facts(Scene.from_json(text))))
        self._graphs = cache(_cells(table, "graphs", _graphs))
        self._pixels = _cells(table, "marks", lambda png: np.asarray(Image.open(io.BytesIO(png))))
        self._number()

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens the table itself: what reads it cannot be sent."""
        return World, (self._table, self._images, self._captions)

    def _number(self) -> None:
        self._all_labels: Tensor | None = None  # of `truth`, once it has judged every pair
        self.scenes: Sequence[Scene] = _Mapped(self._images, lambda row: self._facts(row).scene)
        self.graphs: Sequence[SceneGraph] = _Mapped(self._captions, lambda at: self._graphs(at[0])[at[1]][0])

    def __repr__(self) -> str:
        return f"World({len(self._images)} scenes, {len(self._captions)} captions)"

    def select(self, image_indices: Sequence[int] | Tensor, caption_indices: Sequence[int] | Tensor) -> "World":
        """Return the world of these images and captions, numbered in this order."""
        other = World.__new__(World)
        vars(other).update(vars(self))  # with what was read already, which `copy` leaves out
        other._images = [self._images[int(at)] for at in image_indices]
        other._captions = [self._captions[int(at)] for at in caption_indices]
        other._number()
        return other

    def swaps(self) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """Return what nouns and relations may be swapped for so that a sentence becomes false.

        References:
            Shi et al. (2018), VSE-C.
        """
        return noun_swaps(), relation_swaps()

    def implied_words(self) -> dict[str, frozenset[str]]:
        """For each word those that are true wherever it is, for the filter of false negatives."""
        return implied_words()

    def entails(self, image: int, sentence: SceneGraph | str) -> bool | None:
        """Judge whether a sentence is true of an image.

        Args:
            image: its number.
            sentence: a scene graph, or text that `text.parse` reads with the shipped parser.

        Returns:
            True, False, or None where the picture or the words leave it open.
        """
        facts = self._facts(self._images[image])
        reading = Parsed(sentence, covered=True) if isinstance(sentence, SceneGraph) else parsed_sentence(sentence)
        return _TRUTH_LABEL[reading.truth_label(entails(facts, reading.graph))]

    def truth(
        self,
        images: Int64[Tensor, "image"] | None = None,
        captions: Int64[Tensor, "caption"] | Sequence[str | SceneGraph] | None = None,
    ) -> Int8[Tensor, "image caption"]:
        """Truth labels of captions on images (all of them by default): 1 true, 0 false, -1 undecided.

        `captions` are numbers of the world's own captions, or any sentences and graphs, judged as by `entails`. All of
        them on all images are judged once.
        """
        every = images is None and captions is None
        if every and self._all_labels is not None:
            return self._all_labels.clone()
        rows = self._images if images is None else [self._images[int(at)] for at in images]
        labels = TruthLabels([self._facts(row) for row in rows])
        readings = self._readings(captions)
        levels = np.zeros((len(rows), len(readings)), dtype=np.int8)
        for column, reading in enumerate(readings):
            levels[:, column] = np.minimum(labels.column(reading.graph), reading.truth_label(TRUE))
        values = torch.from_numpy(np.array([0, -1, 1], dtype=np.int8)[levels])
        if every:
            self._all_labels = values.clone()
        return values

    def _readings(self, captions: Int64[Tensor, "caption"] | Sequence[str | SceneGraph] | None) -> list[Parsed]:
        """What captions say; graphs, and the world's own captions, are taken at their word."""
        if captions is None:
            captions = range(len(self._captions))
        if isinstance(captions, str):
            raise ItmlabError("captions is one string, not a list", remedy="write truth(images, [caption])")
        strings = [sentence for sentence in captions if isinstance(sentence, str)]
        readings = iter(parsed(strings) if strings else ())
        graphs = (
            (sentence if isinstance(sentence, (str, SceneGraph)) else self.graphs[int(sentence)])
            for sentence in captions
        )
        return [next(readings) if isinstance(sentence, str) else Parsed(sentence, covered=True) for sentence in graphs]

    def unannotated(
        self, images: Int64[Tensor, "image"] | None = None, captions: Int64[Tensor, "caption"] | None = None
    ) -> Unannotated:
        """Count the pairs of these images and captions (default: all) that are true but not annotated."""
        rows = torch.tensor(self._images if images is None else [self._images[int(at)] for at in images])
        chosen = range(len(self._captions)) if captions is None else [int(at) for at in captions]
        source = torch.tensor([self._captions[at][0] for at in chosen])
        labels = self.truth(images, captions)
        true, count = labels == 1, max(len(chosen), 1)
        more = int((true & (rows[:, None] != source[None, :])).sum())
        undecided, sure = int((labels == -1).sum()), max(int(true.sum()), 1)
        return Unannotated(more / count, more / max(true.numel(), 1), undecided / count, more / sure)

    def objects(self, image: int) -> tuple[Entity, ...]:
        """Return what an image shows, with `kind`, `category`, `attributes` and more."""
        return self.scenes[image].objects

    def masks(self, image: int) -> Bool[Tensor, "object height width"]:
        """Return the visible pixels of each object.

        A person's include what they wear, a setting's all ground and sky.
        """
        marks = torch.from_numpy(self._pixels(self._images[image]).astype(np.int64))
        entities = self.objects(image)
        masks = marks[None] == torch.arange(1, len(entities) + 1)[:, None, None]
        stuff = [number for number, entity in enumerate(entities) if entity.category == "stuff"]
        for number, entity in enumerate(entities):
            if entity.wearer is not None:
                masks[entity.wearer] |= masks[number]
            elif entity.category == "place":
                masks[number] = masks[stuff].any(dim=0)
        return masks

    def questions(self) -> dict[str, tuple[str, ...]]:
        """Return what can be asked of a region or a patch, and the answers."""
        return questions()

    def patch_answers(self, image: int, rows: int, columns: int) -> Int64[Tensor, "patch question"]:
        """Return the answers to `questions` about the object that covers most of each patch.

        Args:
            image: the number of the picture.
            rows: how many rows of patches it has.
            columns: how many patches a row has.

        Returns:
            The numbers of the answers, patch by patch, row by row.
        """
        marks = self._pixels(self._images[image])
        patches = [part for row in np.array_split(marks, rows) for part in np.array_split(row, columns, axis=1)]
        most = [int(np.bincount(patch.ravel()).argmax()) - 1 for patch in patches]
        known = {number: answers(self.scenes[image], number, questions()) for number in set(most)}
        return torch.tensor([known[number] for number in most])

    def boxes(self, image: int) -> Int64[Tensor, "object 4"]:
        """Return the smallest box around each object's visible pixels (left, top, right, bottom; ends excluded)."""
        corners = []
        for mask in self.masks(image):
            places = mask.nonzero().flip(1)  # (x, y)
            corners.append(torch.cat([places.amin(0), places.amax(0) + 1]) if len(places) else torch.zeros(4).long())
        return torch.stack(corners)

    def object_of_word(self, caption: int, token_index: int) -> list[int]:
        """Return the objects of the caption's own image that a word means; none for articles and relations.

        Args:
            caption: its number.
            token_index: the number of the word.
        """
        row, at = self._captions[caption]
        graph, means = self._graphs(row)[at]
        if not 0 <= token_index < len(graph.tokens):
            raise ItmlabError(f"caption {caption} has no token {token_index}", remedy=f"it has {len(graph.tokens)}")
        for wanted, numbers in zip(graph.objects, means, strict=True):
            spans = (part.span for part in (wanted, *wanted.attributes) if part.span is not None)
            if any(span.start <= token_index < span.end for span in spans):
                return list(numbers)
        return []


def questions() -> dict[str, tuple[str, ...]]:
    """Return what is asked of a region, and the answers: kind (of a whole picture the setting), looks, clothes."""
    poses = {name for kind in KINDS.values() for name in kind.poses}
    patterns = {name for kind in KINDS.values() for name in kind.patterns}
    worn = [name for name, kind in KINDS.items() if kind.category == "worn"]
    return {
        "kind": (*KINDS, NOTHING),
        "colour": tuple(COLOURS),
        "second": tuple(COLOURS),
        "pattern": ("none", *sorted(patterns)),
        "pose": tuple(sorted(poses)),
        "size": ("none", "big", "small"),
        "age": ("child", "adult", "old"),
        "hair": HAIR,
        **{name: ("none", *COLOURS) for name in worn},  # of a person, the colour of each garment
    }


def answers(scene: Scene, number: int, asked: dict[str, tuple[str, ...]]) -> list[int]:
    """Return the number of each answer for an object, -1 where the question does not arise.

    Args:
        scene: the scene.
        number: of the object, or -1 for nothing.
        asked: questions and their answers.
    """
    if number < 0:
        return [names.index(NOTHING) if question == "kind" else -1 for question, names in asked.items()]
    entity = scene.objects[number]
    worn = {other.kind: other.colour for other in scene.objects if other.wearer == number}
    texts = (_answer(entity, worn, question) for question in asked)
    return [names.index(text) if text in names else -1 for text, names in zip(texts, asked.values(), strict=True)]


def _answer(entity: Entity, worn: dict[str, str], question: str) -> str:
    kind = KINDS[entity.kind]
    if question in KINDS:
        return worn.get(question, "none") if kind.category == "person" else ""
    asked = {"pattern": bool(kind.patterns), "size": kind.sized}.get(question, False)
    return getattr(entity, question) or ("none" if asked else "")


def _cells(table: "Dataset", column: str, read: Callable[[Any], Any]) -> Callable[[int], Any]:
    """`read` of the cell of a row in one column; the row is read without its pictures."""
    cells = table.select_columns([column]).with_format("arrow")
    return lambda row: read(cells[row][column][0].as_py())


class _Mapped(Sequence):
    """Items of a list seen through a function."""

    def __init__(self, items: list, function: Callable):
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


class TruthLabels:
    """Truth labels (entail.TRUE, OPEN, FALSE) of graphs on a fixed list of scenes; equal graphs are judged once.

    Every object of a graph rules out scenes by whole arrays before anything is searched, for most captions are false of
    most pictures.
    """

    def __init__(self, scenes: Sequence[Facts]):
        self.facts = scenes
        self.shown: dict[str, np.ndarray] = {}  # of each kind, the scenes that show one or may seem to
        for at, facts in enumerate(scenes):
            for kind in {entity.kind for entity in facts.entities} | facts.scene.backdrop:
                self.shown.setdefault(kind, np.zeros(len(scenes), dtype=bool))[at] = True
        self.objects: dict[SceneObject, tuple[np.ndarray, dict[int, list[tuple[int, int]]]]] = {}
        self.columns: dict[SceneGraph, Int8[np.ndarray, scene]] = {}

    def column(self, graph: SceneGraph) -> Int8[np.ndarray, "scene"]:
        """Return the truth label of one graph on every scene."""
        meaning = graph.meaning()
        if meaning not in self.columns:
            self.columns[meaning] = self._labels(meaning)
        return self.columns[meaning]

    def _labels(self, graph: SceneGraph) -> Int8[np.ndarray, "scene"]:
        labels = np.full(len(self.facts), TRUE, dtype=np.int8)
        fits = [self._object(wanted) for wanted in graph.objects]
        for levels, _ in fits:
            np.minimum(labels, levels, out=labels)
        if len(graph.objects) == 1 and not graph.relations and not is_group(graph.objects[0]):
            return labels
        for at in np.flatnonzero(labels):
            choices = [chosen.get(int(at), []) for _, chosen in fits]
            labels[at] = Search(self.facts[at], graph, choices).best()
        return labels

    def _object(self, wanted: SceneObject) -> tuple[Int8[np.ndarray, "scene"], dict[int, list[tuple[int, int]]]]:
        """The best level of an object on every scene, and its candidates where there are any."""
        if wanted not in self.objects:
            levels, chosen = np.zeros(len(self.facts), dtype=np.int8), {}
            for at in np.flatnonzero(self._shown(wanted.lemma)):
                fits = candidates(self.facts[at].scene, wanted)
                if fits:
                    chosen[int(at)], levels[at] = fits, fits[0][1]
            if wanted.count == 0:
                levels[:] = TRUE
            self.objects[wanted] = (levels, chosen)
        return self.objects[wanted]

    def _shown(self, lemma: str) -> np.ndarray:
        """Scenes that show something the word may name."""
        shown = np.zeros(len(self.facts), dtype=bool)
        if lemma not in nouns():
            return ~shown
        for kind in kinds_of(lemma):
            shown |= self.shown.get(kind, False)
        return shown


SIDE = 8  # a feature is the region's picture at SIDE × SIDE pixels, RGB in 0..1
_LEAST = 4  # pixels a side that a region has at least
# what a spurious region's tag may name
_TAGS = sorted(name for name, kind in KINDS.items() if kind.category not in ("stuff", "place"))


class SceneRegions(Sequence[RegionFeatures]):
    """The regions of each image: a slightly displaced box for every visible thing, then `spurious` boxes at random.

    Features are Float["region 192"], boxes shares of the image as in `Regions`, confidences higher for true ones on
    the whole, tags what the objects are. Each image's are a function of its own id.
    """

    kind = "pixels"

    def __init__(self, images: Sequence[Image.Image], image_ids: Sequence[str], world: World, *, spurious: int = 3):
        self._images, self._ids, self._world, self._spurious = images, list(image_ids), world, spurious
        self._rows, self._origin = list(range(len(image_ids))), f"pixels, {spurious}"

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> RegionFeatures:
        row = self._rows[index]
        picture = self._images[row]
        boxes, confidence, numbers = self._located(index)
        crops = [picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=tuple(box)) for box in boxes]
        pixels = np.stack([np.asarray(crop, dtype=np.float32).reshape(-1) / 255 for crop in crops])
        shares = boxes / np.array([picture.width, picture.height] * 2, dtype=np.float32)
        boxes, confidence = torch.from_numpy(with_area(shares)), torch.tensor(confidence, dtype=torch.float32)
        return RegionFeatures(torch.from_numpy(pixels), boxes, confidence, self._tags(row, numbers))

    def _tags(self, row: int, numbers: list[int]) -> tuple[str, ...]:
        """The kind of each region's object, and of a spurious one any."""
        dice, shown = random.Random(f"tags/{self._ids[row]}"), self._world.objects(row)
        return tuple(shown[number].kind if number >= 0 else dice.choice(_TAGS) for number in numbers)

    def objects(self, index: int) -> Int64[Tensor, "region"]:
        """Return the number of the object that each region of an image is around, -1 for a spurious one."""
        return torch.tensor(self._located(index)[2], dtype=torch.int64)

    def boxes(self, index: int) -> Float[np.ndarray, "region 4"]:
        """Left, top, right and bottom of each region in pixels."""
        return self._located(index)[0]

    def digests(self) -> list[bytes]:
        """Return a digest for each image, of the kind of its regions, its id and its picture."""
        pictures = zip(self._rows, digests(view(self._images, self._rows)), strict=True)
        return [digest_of((self._origin, self._ids[row], picture)) for row, picture in pictures]

    def select(self, indices: Sequence[int] | Tensor) -> "SceneRegions":
        """Return the regions of these images in this order."""
        other = copy(self)
        other._rows = [self._rows[int(at)] for at in indices]
        return other

    def _located(self, index: int) -> tuple[np.ndarray, list[float], list[int]]:
        """Boxes, confidences and the objects' numbers."""
        row = self._rows[index]
        size = self._images[row].width
        dice = random.Random(f"regions/{self._ids[row]}")
        regions: list[tuple[list[float], float, int]] = []
        entities = self._world.objects(row)
        for number, box in enumerate(self._world.boxes(row).tolist()):
            wide, high = box[2] - box[0], box[3] - box[1]
            if min(wide, high) < _LEAST or entities[number].category in ("stuff", "place"):
                continue
            shift = [dice.uniform(-0.05, 0.05) * side for side in (wide, high, wide, high)]
            moved = [min(max(edge + by, 0.0), float(size)) for edge, by in zip(box, shift, strict=True)]
            regions.append((moved, dice.uniform(0.5, 1.0), number))
        for _ in range(self._spurious):
            wide, high = dice.uniform(0.1, 0.5) * size, dice.uniform(0.1, 0.5) * size
            left, top = dice.uniform(0, size - wide), dice.uniform(0, size - high)
            regions.append(([left, top, left + wide, top + high], dice.uniform(0.2, 0.7), -1))
        boxes, confidence, numbers = zip(*regions, strict=True)
        return np.array(boxes, dtype=np.float32), list(confidence), list(numbers)
