"""The synthetic sentences of a training step, by whatever a recipe says makes them (Algorithm 1, lines 2 to 12, 15)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from jaxtyping import Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..models import OneTower
from ..synthesis import Negative, Tailored
from ..synthesis.evaluation import evaluating
from ..synthesis.export_rows import Score
from ..synthesis.read import read_negatives
from ..synthesis.select import best
from ..text import SceneGraph
from .generators import Tags, implied_in, tower_score, vse_c
from .image_inputs import ImageInputs
from .tags_settings import TagsSettings


class Sentences:
    """Makes the hardest negatives of captions of `data` in evaluation mode without gradients, best first.

    `refiller` is the frozen tower of a "static" generator, `file` what a "file" one reads.
    """

    def __init__(
        self,
        settings: TagsSettings,
        model: OneTower,
        data: CaptionSet,
        graphs: Sequence[SceneGraph],
        inputs: ImageInputs,
        *,
        refiller: OneTower | None = None,
        file: str | Path | None = None,
    ):
        self.settings, self.model, self.data, self.graphs = settings, model, data, graphs
        implied = implied_in(data) if settings.implied else None
        self._score: Score = tower_score(model, data, inputs)
        self._tags = self._rules = self._read = None
        if settings.generator == "file":
            self._read = read_negatives(file).of(data)
        elif settings.generator == "vse_c":
            self._rules = Tailored(vse_c(), keep=None, implied=implied)
        else:
            self._tags = Tags(
                model,
                data,
                maskings=settings.maskings,
                samples=settings.samples,
                temperature=settings.temperature,
                keep=settings.hardest,
                words=settings.masking == "word",
                implied=implied,
                probability=settings.probability,
                refiller=refiller,
                inputs=inputs,
            )

    def __call__(self, numbers: Int64[Tensor, "caption"], *, generator: torch.Generator) -> list[list[Negative]]:
        """At most `hardest` negatives of each caption."""
        rows = numbers.tolist()
        if self._read is not None:
            return self._hardest(rows, [self._read[row] for row in rows])
        data = self.data
        captions, graphs = [data.captions[row] for row in rows], [self.graphs[row] for row in rows]
        images = data.image_of_caption[numbers].tolist()
        others = [[data.captions[other] for other in data.captions_of_image[image].tolist()] for image in images]
        if self._tags is not None:
            return self._tags(captions, graphs, others, generator=generator, numbers=rows)
        return self._hardest(rows, self._rules(captions, graphs, others, generator=generator))

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
