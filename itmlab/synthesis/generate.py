"""Negatives of all captions of a data set, from any generator, with scores, perplexities and labels."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import torch
from tqdm import tqdm

from ..data.captionset import CaptionSet
from ..data.tables import wrong_caption
from ..text import parse
from .negative import Generate, Negative
from .tags import graphs_of

Score = Callable[[Sequence[int], Sequence[str]], Iterable[float]]  # (image numbers, sentences) -> a match for each
Fluency = Callable[[Sequence[str]], Iterable[float]]  # sentences -> a perplexity for each


def generate_negatives(
    data: CaptionSet,
    generate: Generate,
    *,
    seed: int = 0,
    batch: int = 64,
    conditioned: bool = False,
    score: Score | None = None,
    fluency: Fluency | None = None,
    truth: bool = True,
    progress: bool = False,
) -> Iterator[Negative]:
    """Yield the negatives that `generate(captions, graphs, image_captions, *, generator)` makes of every caption.

    Args:
        data: the data set.
        generate: the generator; it is called with a batch of captions at a time.
        seed: of the random numbers, which depend on it and on the position of a batch only.
        batch: how many captions are passed at a time.
        conditioned: pass `numbers=` as well, the captions' positions in `data`, to a generator that looks at images.
        score: match of images and sentences, asked for negatives without a score.
        fluency: perplexity of sentences, asked for negatives without one.
        truth: label each negative by the data set's world, if it has one.
        progress: show a progress bar.
    """
    for start in tqdm(range(0, len(data.captions), batch), desc="negatives", unit="batch", disable=not progress):
        numbers = range(start, min(start + batch, len(data.captions)))
        captions, images = [data.captions[number] for number in numbers], data.image_of_caption[list(numbers)].tolist()
        digest = hashlib.sha256(f"{seed}:{start}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)
        options = {"numbers": numbers} if conditioned else {}
        rows = generate(captions, graphs_of(data, numbers), data.captions_of(images), generator=generator, **options)
        negatives = [
            negative.of(image, number)
            for number, image, row in zip(numbers, images, rows, strict=True)
            for negative in row
            if wrong_caption(negative.sentence) is None
        ]
        if score is not None:
            negatives = _filled(
                negatives, "score", lambda some: score([empty.image for empty in some], _sentences(some))
            )
        if fluency is not None:
            negatives = _filled(negatives, "fluency", lambda some: fluency(_sentences(some)))
        if truth and data.world is not None:
            negatives = _labelled(data, negatives)
        yield from negatives


def _sentences(negatives: Sequence[Negative]) -> list[str]:
    return [negative.sentence for negative in negatives]


def _filled(
    negatives: list[Negative], field: str, measure: Callable[[list[Negative]], Iterable[float]]
) -> list[Negative]:
    """The same negatives, those whose `field` is None with what is measured of them."""
    missing = [place for place, negative in enumerate(negatives) if getattr(negative, field) is None]
    filled = list(negatives)
    if missing:
        for place, value in zip(missing, measure([negatives[place] for place in missing]), strict=True):
            filled[place] = replace(negatives[place], **{field: float(value)})
    return filled


def _labelled(data: CaptionSet, negatives: list[Negative]) -> list[Negative]:
    """The same negatives with the world's labels: True, False, or None where it cannot tell."""
    parse(_sentences(negatives))  # all at once, into the cache that the world looks into
    labelled = list(negatives)
    for image in {negative.image for negative in negatives}:
        places = [place for place, negative in enumerate(negatives) if negative.image == image]
        labels = data.world.truth([image], [negatives[place].sentence for place in places])[0].tolist()
        for place, label in zip(places, labels, strict=True):
            labelled[place] = replace(negatives[place], truth=None if label < 0 else bool(label))
    return labelled
