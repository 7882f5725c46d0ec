"""Word discrimination and correction over many synthetic negatives, whole and by type of phrase (TAGS-DC, Sec. 4.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..metrics import word_correction_accuracy, word_discrimination_accuracy
from ..metrics.discrimination import WordAccuracy
from ..models import OneTower
from ..synthesis import Negative
from ..text import SceneGraph, phrases
from ..text.alignment import align
from ..text.tokenise import plain_text
from ..training.reading import looked_at
from .made_wrong import changed_places
from .one_towers import WordAnswers, one_tower_of, word_answers

KINDS = ("object", "attribute", "relation", "other")  # of phrases; what lies outside all of them is "other"


@dataclass(frozen=True)
class WordStudy:
    """A tower's answers on the words of sentences that were made wrong, piece under piece with their captions.

    `original` holds the caption's pieces, `kind` the type of phrase that a piece stands in (a number into `KINDS`),
    `place` the changed place that it stands in (-1: none), `counted` is true at pieces of words. `images` are the
    rows' in the data. `left_out` counts the sentences that have another number of pieces than their caption.
    """

    negatives: list[Negative]
    answers: WordAnswers
    original: Int[Tensor, "row piece"]
    counted: Bool[Tensor, "row piece"]
    kind: Int[Tensor, "row piece"]
    place: Int[Tensor, "row piece"]
    images: Int[Tensor, "row"]
    left_out: int

    @property
    def replaced(self) -> Bool[Tensor, "row piece"]:
        """Words that are not the caption's (G = 0 in Eq. 8)."""
        return self.counted & (self.answers.input_ids != self.original)

    def discrimination(self, kind: str | None = None, *, threshold: float = 0.5) -> WordAccuracy:
        """Is a word said to be replaced exactly when it is? Of all words, or of those in phrases of one kind."""
        kept = 1 - self.answers.mismatch
        rows = self.answers.input_ids, self.original, self._counted(kind)
        return word_discrimination_accuracy(kept, *rows, threshold=threshold, images=self.images)

    def correction(self, kind: str | None = None) -> WordAccuracy:
        """Is the piece that the model would write the caption's own? Of all words, or of those of one kind."""
        rows = self.answers.input_ids, self.original, self._counted(kind)
        return word_correction_accuracy(self.answers.written, *rows, images=self.images)

    def _counted(self, kind: str | None) -> Bool[Tensor, "row piece"]:
        if kind is None:
            return self.counted
        if kind not in KINDS:
            raise ItmlabError(f"no kind of phrase {kind!r}", remedy=f"the kinds are {', '.join(KINDS)}")
        return self.counted & (self.kind == KINDS.index(kind))


def word_study(model: Any, data: CaptionSet, negatives: Sequence[Negative]) -> WordStudy:
    """What a one-tower model or Run says of every word of these negatives of captions of `data`.

    They carry the numbers of their image and caption (`Negative.of`), and must have been made word by word: those with
    another number of pieces than their caption, or cut, are left out and counted. None left is an ItmlabError.
    """
    tower = one_tower_of(model)
    usable = _usable(tower, data, negatives)
    if not usable:
        raise ItmlabError(
            f"none of {len(negatives)} negatives has its caption's words in its places",
            where=data.name,
            remedy="give those of a generator that replaces words, numbered by image and caption",
        )
    kept, places = [one for one, _ in usable], [where for _, where in usable]
    captions, image_of = [one.caption for one in kept], torch.tensor([one.image for one in kept])
    images, rows = image_of.unique(return_inverse=True)
    sentences = [one.sentence for one in kept]
    source = looked_at(tower, data)
    answers = word_answers(tower, [source[image] for image in images.tolist()], sentences, rows.tolist())
    graphs = dict(zip(captions, _graphs(data, captions), strict=True))
    texts = [data.captions[caption] for caption in captions]
    pieces = align(tower.tokenizer, texts, [graphs[caption] for caption in captions], tower.config.maximum_tokens)
    length = answers.input_ids.shape[1]  # of a row, its caption has as many
    kind = torch.full(answers.input_ids.shape, KINDS.index("other"))
    for row, caption in enumerate(captions):
        of_word = torch.tensor([*_kinds(graphs[caption]), KINDS.index("other")])
        kind[row] = of_word[pieces.first_word[row, :length].clamp(max=len(of_word) - 1)]
    place = torch.full(answers.input_ids.shape, -1)
    for row, (sentence, where) in enumerate(zip(sentences, places, strict=True)):
        found = _places(tower, sentence, where)
        place[row, : len(found)] = torch.tensor(found)
    return WordStudy(
        kept, answers, pieces.input_ids, answers.word_mask, kind, place, image_of, len(negatives) - len(kept)
    )


def _usable(
    tower: OneTower, data: CaptionSet, negatives: Sequence[Negative]
) -> list[tuple[Negative, list[tuple[int, int]]]]:
    """The negatives whose pieces stand under those of their captions, and differ in the changed places only."""
    found = []
    for negative in negatives:
        if not 0 <= negative.caption < len(data.captions):
            raise ItmlabError(
                f"{negative.sentence[:60]!r} is of no caption of the data", remedy="number it: Negative.of"
            )
        caption = data.captions[negative.caption]
        where = changed_places(negative, caption)
        if where is None:
            continue
        made, was = (
            tower.tokenizer.backend_tokenizer.encode(plain_text(text)).ids for text in (negative.sentence, caption)
        )
        if len(made) != len(was) or len(made) > tower.config.maximum_tokens:
            continue
        inside = _places(tower, negative.sentence, where)
        if all(one == other or at >= 0 for one, other, at in zip(made, was, inside, strict=True)):
            found.append((negative, where))
    return found


def _places(tower: OneTower, sentence: str, places: Sequence[tuple[int, int]]) -> list[int]:
    """For each piece of the sentence the number of the changed place it stands in, or -1."""
    offsets = tower.tokenizer.backend_tokenizer.encode(plain_text(sentence)).offsets
    return [
        next((at for at, (start, end) in enumerate(places) if first < end and last > start), -1)
        for first, last in offsets
    ]


def _graphs(data: CaptionSet, captions: Sequence[int]) -> list[SceneGraph]:
    if data.world is not None:
        return [data.world.graphs[caption] for caption in captions]
    from ..text import parse  # spaCy, only when something is to be parsed

    return parse([data.captions[caption] for caption in captions])


def _kinds(graph: SceneGraph) -> list[int]:
    """For each token of the sentence the kind of the shortest phrase that it stands in."""
    kinds = [KINDS.index("other")] * len(graph.tokens)
    for phrase in sorted(phrases(graph), key=lambda one: one.span.start - one.span.end):  # the longest first
        kinds[phrase.span.start : phrase.span.end] = [KINDS.index(phrase.kind)] * (phrase.span.end - phrase.span.start)
    return kinds
