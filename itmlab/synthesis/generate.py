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
            negatives = _filled(negatives, "score", score)
        if fluency is not None:
            negatives = _filled(negatives, "fluency", lambda images, sentences: fluency(sentences))
        if truth and data.world is not None:
            negatives = _labelled(data, negatives)
        yield from negatives


def _filled(negatives: list[Negative], field: str, measure: Score) -> list[Negative]:
    """The same negatives, those whose `field` is None with what is measured of them."""
    missing = [negative for negative in negatives if getattr(negative, field) is None]
    if not missing:
        return negatives
    values = measure([negative.image for negative in missing], [negative.sentence for negative in missing])
    filled = {id(old): replace(old, **{field: float(value)}) for old, value in zip(missing, values, strict=True)}
    return [filled.get(id(negative), negative) for negative in negatives]


def _labelled(data: CaptionSet, negatives: list[Negative]) -> list[Negative]:
    """The same negatives with the world's labels: True, False, or None where it cannot tell."""
    parse([negative.sentence for negative in negatives])  # all at once, into the cache that the world looks into
    labelled = list(negatives)
    for image in {negative.image for negative in negatives}:
        places = [place for place, negative in enumerate(negatives) if negative.image == image]
        labels = data.world.truth([image], [negatives[place].sentence for place in places])[0].tolist()
        for place, label in zip(places, labels, strict=True):
            labelled[place] = replace(negatives[place], truth=None if label < 0 else bool(label))
    return labelled
