"""Rows of an export: a generator asked for the negatives of some captions, and what is known of each."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch

from ..data.captionset import CaptionSet
from ..data.entries import wrong_caption
from ..errors import ItmlabError
from ..text import SceneGraph, parse
from .negative import Negative
from .rows import to_row, wrong_row

Generate = Callable[..., list[list[Negative]]]
Score = Callable[[Sequence[int], Sequence[str]], Iterable[float]]  # image numbers and sentences → a match each
Fluency = Callable[[Sequence[str]], Iterable[float]]  # sentences → a perplexity each


class RowMaker:
    """The rows of some captions of a set at a time, from any generator."""

    def __init__(
        self,
        data: CaptionSet,
        generate: Generate,
        *,
        seed: int,
        conditioned: bool,
        score: Score | None,
        fluency: Fluency | None,
        truth: bool,
    ):
        self.data, self.generate, self.seed, self.conditioned = data, generate, seed, conditioned
        self.score, self.fluency, self.truth = score, fluency, truth
        self.image_of_caption = data.image_of_caption.tolist()

    def rows(self, numbers: range) -> tuple[list[dict[str, Any]], int]:
        """The rows of these captions, and how many negatives were left out."""
        made = self._made(numbers)
        kept: list[Negative] = []
        for number, negatives in zip(numbers, made, strict=True):
            found: dict[str, Negative] = {}
            for one in negatives:
                found.setdefault(one.sentence, one)
            found.pop(self.data.captions[number], None)
            sound = (one for sentence, one in found.items() if wrong_caption(sentence) is None)
            kept += [one.of(self.image_of_caption[number], number) for one in sound]
        kept = self._judged(kept)
        rows = [
            to_row(
                one, self.data.image_ids[one.image], self.data.caption_ids[one.caption], self.data.captions[one.caption]
            )
            for one in kept
        ]
        for row in rows:
            what = wrong_row(row)
            if what is not None:
                raise ItmlabError(f"its negative cannot be written: {what}", where=f"caption {row['caption_id']!r}")
        return rows, sum(map(len, made)) - len(kept)

    def _made(self, numbers: range) -> list[list[Negative]]:
        data = self.data
        captions = [data.captions[number] for number in numbers]
        of_image = [data.captions_of_image[self.image_of_caption[number]].tolist() for number in numbers]
        made = self.generate(
            captions,
            self._graphs(numbers, captions),
            [[data.captions[other] for other in others] for others in of_image],
            generator=_generator(self.seed, numbers.start),
            **({"numbers": numbers} if self.conditioned else {}),
        )
        if len(made) != len(captions):
            raise ItmlabError(f"the generator answered {len(captions)} captions with {len(made)} lists")
        return [list(negatives) for negatives in made]

    def _graphs(self, numbers: range, captions: list[str]) -> list[SceneGraph]:
        if self.data.world is not None:
            return [self.data.world.graphs[number] for number in numbers]
        return parse(captions)

    def _judged(self, negatives: list[Negative]) -> list[Negative]:
        """The same with the scores, perplexities and verdicts that were asked for and are still open."""
        if self.score is not None:
            still = [one for one in negatives if one.score is None]
            given = self.score([one.image for one in still], [one.sentence for one in still]) if still else []
            negatives = _filled(negatives, "score", given)
        if self.fluency is not None:
            still = [one for one in negatives if one.fluency is None]
            negatives = _filled(negatives, "fluency", self.fluency([one.sentence for one in still]) if still else [])
        return self._with_truth(negatives) if self.truth and negatives else negatives

    def _with_truth(self, negatives: list[Negative]) -> list[Negative]:
        parse([one.sentence for one in negatives])  # all at once into the cache that the world looks into
        images = [one.image for one in negatives]
        cuts = [0, *(at for at, (left, right) in enumerate(pairwise(images), 1) if left != right), len(images)]
        judged = []
        for start, end in pairwise(cuts):
            some = negatives[start:end]
            verdicts = self.data.world.truth([some[0].image], [one.sentence for one in some])[0].tolist()
            judged += [
                replace(one, truth=None if verdict < 0 else bool(verdict))
                for one, verdict in zip(some, verdicts, strict=True)
            ]
        return judged


def _filled(negatives: list[Negative], field: str, given: Iterable[float]) -> list[Negative]:
    values = [float(value) for value in given]
    open_ones = [at for at, one in enumerate(negatives) if getattr(one, field) is None]
    if len(values) != len(open_ones):
        raise ItmlabError(f"{len(open_ones)} sentences were given to {field}, which answered {len(values)}")
    filled = list(negatives)
    for at, value in zip(open_ones, values, strict=True):
        filled[at] = replace(filled[at], **{field: value})
    return filled


def _generator(seed: int, start: int) -> torch.Generator:
    """A generator of its own for the captions from number `start` on, whatever was made before them."""
    digest = hashlib.sha256(f"{seed}:{start}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)
