"""Negatives of captions from any generator in one call: their scores, changed words, fluency, and the world's verdict.

TAGS (Fan et al., 2022), Sec. 2.1 and 4, Algorithm 1.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..metrics import CausalModel, fluency
from ..synthesis import Negative
from ..text import parse
from ..training.generators import implied_in
from .made import Made
from .matching import Match, matching
from .negative_sources import REFILLED, Generator, source

TOGETHER = 32  # captions at a time, whose region embeddings and candidates are in memory at once


def synthetic_negatives(
    data: CaptionSet,
    captions: Sequence[int],
    generator: Generator = "tags",
    *,
    run: Any = None,
    scorer: Any = None,
    keep: int | None = 31,
    filtered: bool = True,
    implied: bool = True,
    maskings: int = 20,
    samples: int = 20,
    temperature: float = 1.5,
    drawn: int | None = 399,
    batch: int = 32,
    fluent: str | CausalModel | None = None,
    truth: bool = True,
    seed: int = 0,
    progress: bool = False,
) -> Made:
    """Negatives of the captions with these numbers, each with score, changed places and, on `scenes`, verdict.

    `generator`: "tags" (phrases masked and refilled by the one tower `run`: K = `maskings`, L = `samples`, τ =
    `temperature`), "wm" (the same with single words), "vse_c" (swaps by rule), "in_batch" and "whole_set" (captions of
    other images: of `batch` of these captions, or of `drawn` of the whole set, None: all), or a function of your own
    that is called as `synthesis.Tailored` calls. Copies, duplicates and, if `filtered`, false negatives go; `implied`
    counts what said words imply as said too, where a world knows (the paper's filter does not). The `keep` best by the
    generating model stay, or by `scorer` if no model generates. `scorer` (default: `run`) scores what stays, Run or
    model of any kind; without both nothing is scored. `fluent` names the causal model of the perplexities (None: not
    asked).
    """
    numbers = [int(number) for number in captions]
    if not numbers or not 0 <= min(numbers) <= max(numbers) < len(data.captions):
        raise ItmlabError(f"captions must be numbers from 0 to {len(data.captions) - 1}", where=data.name)
    scorer = run if scorer is None else scorer
    match = None if scorer is None else matching(scorer, data)
    drawing = {"maskings": maskings, "samples": samples, "temperature": temperature, "drawn": drawn}
    words = implied_in(data) if implied else None
    make = source(generator, data, run, match, keep=keep, filtered=filtered, implied=words, **drawing)
    order = torch.Generator().manual_seed(seed)
    of_caption: dict[int, list[Negative]] = {}
    for block in _bar(_blocks(numbers, generator, batch, order), progress):
        made = make(block, order)
        if match is not None and scorer is not run and generator in REFILLED:
            made = _scored(made, data.image_of_caption[block].tolist(), match)
        of_caption |= dict(zip(block, made, strict=True))
    images = data.image_of_caption[numbers].tolist()
    rows = [[one.of(image, at) for one in of_caption[at]] for image, at in zip(images, numbers, strict=True)]
    positive = None if match is None else match(images, [data.captions[number] for number in numbers])
    name = generator if isinstance(generator, str) else getattr(generator, "__name__", type(generator).__name__)
    result = Made(data, name, tuple(numbers), rows, positive, scorer)
    result = result if fluent is None else _with_fluency(result, fluent)
    return _with_truth(result) if truth and data.world is not None else result


def _blocks(numbers: list[int], generator: Generator, batch: int, order: torch.Generator) -> list[list[int]]:
    """Captions at a time; those that are each other's negatives stand together by chance."""
    size = TOGETHER
    if generator == "in_batch":
        numbers, size = [numbers[at] for at in torch.randperm(len(numbers), generator=order).tolist()], batch
    if size < 1 or len(set(numbers)) < len(numbers):
        raise ItmlabError("a batch must have captions and each of them once", remedy="give different numbers")
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def _bar(blocks: list[list[int]], progress: bool) -> Any:
    from tqdm.auto import tqdm

    return tqdm(blocks, desc="making negatives", unit="block", disable=not progress)


def _scored(made: list[list[Negative]], images: Sequence[int], match: Match) -> list[list[Negative]]:
    """By a model other than the one that made them; best first again."""
    given = [image for image, row in zip(images, made, strict=True) for _ in row]
    found = iter(match(given, [one.sentence for row in made for one in row]).tolist())
    rows = [[replace(one, score=next(found)) for one in row] for row in made]
    return [sorted(row, key=lambda one: -one.score) for row in rows]


def _with_fluency(made: Made, model: str | CausalModel) -> Made:
    said = iter(fluency([one.sentence for one in made.all()], model).perplexity.tolist())
    return replace(made, negatives=[[replace(one, fluency=next(said)) for one in row] for row in made.negatives])


def _with_truth(made: Made) -> Made:
    """The world's verdicts, of all negatives of an image at once."""
    of_image: dict[int, dict[str, bool | None]] = {}
    for one in made.all():
        of_image.setdefault(one.image, {})[one.sentence] = None
    if of_image:
        parse([one.sentence for one in made.all()])  # all at once into the cache that the world looks into
    for image, sentences in of_image.items():
        verdicts = made.data.world.truth([image], list(sentences))[0].tolist()
        of_image[image] = {
            sentence: None if verdict < 0 else bool(verdict)
            for sentence, verdict in zip(sentences, verdicts, strict=True)
        }
    rows = [[replace(one, truth=of_image[one.image][one.sentence]) for one in row] for row in made.negatives]
    return replace(made, negatives=rows)
