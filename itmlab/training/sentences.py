"""The words of a TAGS-DC training step: the sentences made, by whatever a recipe says makes them, and the maskings.

`Sentences` is Algorithm 1, lines 2 to 12 and 15 (Fan et al. 2022), `TrainedMaskings` what Eq. 1 hides.
"""

import copy
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..models import CrossEncoder
from ..models.encoded import evaluating
from ..models.pairs import ImageInputs, pieces_read
from ..recipes.settings import TagsSettings
from ..synthesis import FilteredTopM, Negative
from ..synthesis.files import read_negatives
from ..synthesis.generate import Score
from ..synthesis.negative import Readable, SentenceGenerator, best, own_generators
from ..synthesis.tags import Tags, cross_encoder_score, implied_in, vse_c
from ..text import PhraseMasking, SceneGraph, WordMasking, parse
from ..text.alignment import MaskedPieces, Pieces, align, mask_pieces

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class Sentences:
    """Makes the hardest negatives of captions of `data` in evaluation mode without gradients, best first.

    `refiller` is the frozen tower of a "static" generator, `file` what a "file" one reads; a `fresh` model begins from
    random weights.
    """

    def __init__(
        self,
        settings: TagsSettings,
        model: CrossEncoder,
        data: CaptionSet,
        graphs: Sequence[SceneGraph],
        inputs: ImageInputs,
        *,
        refiller: CrossEncoder | None = None,
        file: str | Path | None = None,
        fresh: bool = False,
    ):
        self.settings, self.model, self.data, self.graphs = settings, model, data, graphs
        implied = implied_in(data) if settings.implied else None
        self._score: Score = cross_encoder_score(model, data, inputs)
        self._tags = self._rules = self._read = None
        self.readable = Readable(partial(pieces_read, model))
        if settings.generator == "file":
            self._read = read_negatives(file).of(data)
        elif settings.generator == "vse_c" or isinstance(settings.generator, SentenceGenerator):
            filtered = {"filtered": settings.filtered, "implied": implied, "readable": self.readable}
            if settings.generator == "vse_c":
                made = vse_c(data, graphs=graphs, filtered=settings.filtered)
            else:
                made = OneByOne(settings.generator)
            self._rules = FilteredTopM(made, keep=None, **filtered)
        else:
            options = {name: getattr(settings, name) for name in ("maskings", "samples", "temperature", "probability")}
            options |= {"keep": settings.hardest, "words": settings.masking == "word"}
            options |= {"implied": implied, "filtered": settings.filtered}
            self._tags = Tags(model, data, **options, refiller=refiller, inputs=inputs, fresh=fresh)

    def __call__(
        self, numbers: Int64[Tensor, "caption"], *, generator: torch.Generator, part: slice = slice(None)
    ) -> list[list[Negative]]:
        """At most `hardest` negatives of each caption of a `part` of a batch, drawn as for the whole batch."""
        rows, data = numbers[part].tolist(), self.data
        captions = [data.captions[row] for row in rows]
        if self._read is not None:
            return self._hardest(rows, self.readable(captions, [self._read[row] for row in rows]))
        own, graphs = own_generators(len(numbers), generator)[part], [self.graphs[row] for row in rows]
        images = data.image_of_caption[rows].tolist()
        others = data.captions_of(images)
        if self._tags is not None:
            return self._tags(captions, graphs, others, generator=own, numbers=rows)
        return self._hardest(rows, self._rules(captions, graphs, others, generator=own))

    def _hardest(self, rows: list[int], made: list[list[Negative]]) -> list[list[Negative]]:
        """Of negatives that come without scores, the best by the model as it is now."""
        images = self.data.image_of_caption[rows].tolist()
        owners = [image for image, row in zip(images, made, strict=True) for _ in row]
        sentences = [one.sentence for row in made for one in row]
        if not sentences:
            return made
        with evaluating(self.model):
            values = iter(self._score(owners, sentences).tolist())
        scored = [[replace(one, score=next(values)) for one in row] for row in made]
        return [best(row, self.settings.hardest) for row in scored]


class OneByOne:
    """A custom generator of sentences, called with one caption at a time and random numbers for this caption only."""

    def __init__(self, generate: SentenceGenerator):
        self.generate = copy.deepcopy(generate)

    def __call__(
        self,
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        image_captions: Sequence[Sequence[str]],
        *,
        generator: torch.Generator | Sequence[torch.Generator],
    ) -> list[list[Negative]]:
        """The negatives of each caption."""
        rows = zip(captions, graphs, image_captions, own_generators(len(captions), generator), strict=True)
        return [list(self.generate([one], [graph], [others], generator=own)[0]) for one, graph, others, own in rows]


KINDS = {  # of the fields with an axis of pieces
    "input_ids": torch.int32,
    "attention_mask": torch.int8,
    "word_mask": torch.bool,
    "characters": torch.int32,
    "first_word": torch.int16,
    "last_word": torch.int16,
}


class CachedPieces:
    """`text.alignment.align` of captions by number, each worked out once; `maximum` pieces of each are kept."""

    def __init__(
        self,
        tokenizer: "PreTrainedTokenizerFast",
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        maximum: int,
    ):
        self._tokenizer, self._captions, self._graphs, self._maximum = tokenizer, captions, graphs, maximum
        # a row a caption in the smallest types that hold it: COCO has 566,000
        count = len(captions)
        shapes = {name: (count, maximum) + (2,) * (name == "characters") for name in KINDS}
        self._rows = {name: torch.zeros(shape, dtype=KINDS[name]) for name, shape in shapes.items()}
        self._rows["words_kept"] = torch.zeros(count, dtype=torch.int64)
        self._rows["cut"] = torch.zeros(count, dtype=torch.bool)
        self._known = torch.zeros(count, dtype=torch.bool)

    def __call__(self, numbers: Int64[Tensor, "caption"]) -> Pieces:
        """The same as `align` of these captions gives."""
        missing = numbers[~self._known[numbers]].unique()
        if len(missing):
            self._learn(missing)
        lengths = self._rows["attention_mask"][numbers].sum(dim=1)
        width = int(lengths.max())
        found = {name: self._rows[name][numbers, :width] for name in KINDS}
        fields = {name: one if one.dtype is torch.bool else one.long() for name, one in found.items()}
        padding = getattr(self._tokenizer, "pad_token_id", None) or 0
        fields["input_ids"][fields["attention_mask"] == 0] = padding
        return Pieces(**fields, words_kept=self._rows["words_kept"][numbers], cut=self._rows["cut"][numbers])

    def _learn(self, numbers: Int64[Tensor, "caption"]) -> None:
        texts = [self._captions[number] for number in numbers.tolist()]
        graphs = [self._graphs[number] for number in numbers.tolist()]
        pieces = align(self._tokenizer, texts, graphs, self._maximum)
        for name in KINDS:
            value = getattr(pieces, name)
            self._rows[name][numbers, : value.shape[1]] = value.to(KINDS[name])
        self._rows["words_kept"][numbers], self._rows["cut"][numbers] = pieces.words_kept, pieces.cut
        self._known[numbers] = True


class TrainedMaskings:
    """Draws `trained_maskings` maskings of each caption, of phrases or words, 80 / 10 / 10 (METHODS 3.1)."""

    def __init__(
        self,
        settings: TagsSettings,
        tokenizer: "PreTrainedTokenizerFast",
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        maximum: int,
    ):
        self.times, self.tokenizer, self.graphs = settings.trained_maskings, tokenizer, graphs
        self.masking = (WordMasking if settings.masking == "word" else PhraseMasking)(settings.probability)
        self.pieces = CachedPieces(tokenizer, captions, graphs, maximum)

    def __call__(
        self, captions: Int64[Tensor, "caption"], *, generator: torch.Generator, part: slice = slice(None)
    ) -> MaskedPieces:
        """Hidden pieces of captions by number, the maskings of one after the other; of a `part` of those drawn for."""
        pieces = self.pieces(captions)
        hidden = [
            phrases
            for at, number in enumerate(captions.tolist())
            for phrases in self.masking.draw(
                self.graphs[number], self.times, generator=generator, length=int(pieces.words_kept[at])
            )
        ]
        rows = torch.arange(len(captions)).repeat_interleave(self.times).tolist()
        masked = mask_pieces(self.tokenizer, pieces, hidden, captions=rows, replacement="bert", generator=generator)
        first, last, _ = part.indices(len(captions))
        rows = slice(first * self.times, last * self.times)
        return replace(masked, **{each.name: getattr(masked, each.name)[rows] for each in fields(masked)})


def caption_graphs(data: CaptionSet, *, progress: bool = False) -> Sequence[SceneGraph]:
    """The world's own graphs where there is one, else what the shipped parser reads, kept in the cache of graphs."""
    return data.world.graphs if data.world is not None else parse(data.captions, progress=progress)
