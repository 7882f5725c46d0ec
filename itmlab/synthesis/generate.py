"""The negatives of all captions of a set, from any generator, with scores, perplexities and labels filled in."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import torch
from tqdm import tqdm

from ..data.captionset import CaptionSet
from ..data.tables import wrong_caption
from ..errors import ItmlabError
from ..text import parse
from .negative import Generate, Negative

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

    Random numbers depend on `seed` and the position of a batch only.

    Args:
        conditioned: pass `numbers=` as well, the captions' positions in `data`, to a generator that looks at images.
        score: match of images and sentences, asked for negatives without a score.
        fluency: perplexity of sentences, asked for negatives without one.
        truth: label each negative by the data set's world, where it has one.
    """
    for start in tqdm(range(0, len(data.captions), batch), desc="negatives", unit="batch", disable=not progress):
        numbers = range(start, min(start + batch, len(data.captions)))
        negatives = _generated(data, generate, numbers, seed, conditioned)
        if score is not None:
            negatives = _filled(negatives, "score", score)
        if fluency is not None:
            negatives = _filled(negatives, "fluency", lambda images, sentences: fluency(sentences))
        if truth and data.world is not None:
            negatives = _labelled(data, negatives)
        yield from negatives


def _generated(data: CaptionSet, generate: Generate, numbers: range, seed: int, conditioned: bool) -> list[Negative]:
    """The negatives of some captions, numbered; without copies, duplicates and sentences that say nothing."""
    captions = [data.captions[number] for number in numbers]
    images = data.image_of_caption[numbers.start : numbers.stop].tolist()
    graphs = parse(captions) if data.world is None else [data.world.graphs[number] for number in numbers]
    digest = hashlib.sha256(f"{seed}:{numbers.start}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)
    options = {"numbers": numbers} if conditioned else {}
    rows = generate(captions, graphs, data.captions_of(images), generator=generator, **options)
    if len(rows) != len(captions):
        raise ItmlabError(f"the generator returned {len(rows)} lists of negatives for {len(captions)} captions")
    negatives = []
    for number, image, caption, row in zip(numbers, images, captions, rows, strict=True):
        distinct = {negative.sentence: negative for negative in reversed(row) if negative.sentence != caption}
        fit = [negative for sentence, negative in reversed(distinct.items()) if wrong_caption(sentence) is None]
        negatives += [negative.of(image, number) for negative in fit]
    return negatives


def _filled(negatives: list[Negative], field: str, measure: Score) -> list[Negative]:
    """The same negatives, with what `measure` says of those whose `field` is None."""
    missing = [negative for negative in negatives if getattr(negative, field) is None]
    if not missing:
        return negatives
    values = list(measure([negative.image for negative in missing], [negative.sentence for negative in missing]))
    if len(values) != len(missing):
        raise ItmlabError(f"{field} returned {len(values)} numbers for {len(missing)} sentences")
    remaining = iter(values)
    return [
        replace(negative, **{field: float(next(remaining))}) if getattr(negative, field) is None else negative
        for negative in negatives
    ]


def _labelled(data: CaptionSet, negatives: list[Negative]) -> list[Negative]:
    """The same negatives with the world's labels: True, False, or None where it cannot tell."""
    parse([negative.sentence for negative in negatives])  # all at once, into the cache that the world looks into
    by_image: dict[int, list[int]] = {}
    for place, negative in enumerate(negatives):
        by_image.setdefault(negative.image, []).append(place)
    labelled = list(negatives)
    for image, places in by_image.items():
        labels = data.world.truth([image], [negatives[place].sentence for place in places])[0].tolist()
        for place, label in zip(places, labels, strict=True):
            labelled[place] = replace(negatives[place], truth=None if label < 0 else bool(label))
    return labelled
