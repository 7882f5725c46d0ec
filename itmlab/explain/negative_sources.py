"""Where negatives of a caption come from: refilled maskings, swaps by rule, captions of other pictures."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..models import OneTower
from ..synthesis import Negative, Retrieved, RuleSwaps, Tailored, wordnet_swaps
from ..synthesis.false_negatives import Implied
from ..text import SceneGraph, parse, tokenise
from ..training.generators import Tags
from .matching import Match, model_of

Named = Literal["tags", "wm", "vse_c", "in_batch", "whole_set"]
GENERATORS: tuple[Named, ...] = get_args(Named)
REFILLED = ("tags", "wm")  # made, and chosen, by a tower
Generator = Named | Callable[..., list[list[Negative]]]  # a name, or a function called as `Tailored.generate` is
Source = Callable[[Sequence[int], torch.Generator], list[list[Negative]]]  # numbers of captions → negatives of each


def source(
    generator: Generator,
    data: CaptionSet,
    run: Any,
    match: Match | None,
    *,
    keep: int | None,
    filtered: bool,
    implied: Implied | None,
    maskings: int,
    samples: int,
    temperature: float,
    drawn: int | None,
) -> Source:
    """A generator over captions of `data`, with Algorithm 1's filter and choice (see `synthetic_negatives`)."""
    if callable(generator):
        generate = generator
    elif generator in REFILLED:
        tower = model_of(run)
        if not isinstance(tower, OneTower):
            raise ItmlabError(f"{generator} needs a one tower to refill with", remedy="give run=, a trained `tags`")
        drawing = {"maskings": maskings, "samples": samples, "temperature": temperature, "words": generator == "wm"}
        generate = Tags(tower, data, keep=keep, filtered=filtered, implied=implied, **drawing)
    elif generator in GENERATORS:
        number = keep if match is None else None  # without scores a few at random
        generate = {
            "vse_c": lambda: _rules(data, number, filtered),
            "in_batch": lambda: Retrieved(number=len(data.captions)),
            "whole_set": lambda: Retrieved(data.captions, number=len(data.captions) if drawn is None else drawn),
        }[generator]()
    else:
        raise ItmlabError(f"there is no generator {generator!r}", remedy=f"choose from {', '.join(GENERATORS)}")

    def made(numbers: Sequence[int], order: torch.Generator) -> list[list[Negative]]:
        images = data.image_of_caption[list(numbers)]
        given = [data.captions[number] for number in numbers], graphs(data, numbers), own_captions(data, images)
        if isinstance(generate, Tags):
            return generate(*given, generator=order, numbers=numbers)

        def score(sentences: list[str], of: Int[Tensor, "sentence"]) -> Float[Tensor, "sentence"]:
            return match(images[of].tolist(), sentences)

        tailored = Tailored(generate, score=score if match else None, keep=keep, filtered=filtered, implied=implied)
        return tailored(*given, generator=order)

    return made


def graphs(data: CaptionSet, numbers: Sequence[int]) -> list[SceneGraph]:
    """The scene graphs of captions: the world's own, else parsed."""
    if data.world is not None:
        return [data.world.graphs[number] for number in numbers]
    return parse([data.captions[number] for number in numbers])


def own_captions(data: CaptionSet, images: Int[Tensor, "row"]) -> list[list[str]]:
    """All captions of each image."""
    return [[data.captions[other] for other in data.captions_of_image[image].tolist()] for image in images.tolist()]


def _rules(data: CaptionSet, number: int | None, filtered: bool) -> RuleSwaps:
    """VSE-C's swaps: of `scenes` by its lexicon, of other captions by an installed WordNet."""
    if data.world is None:
        nouns = wordnet_swaps({word.lower() for caption in data.captions for word in tokenise(caption)})
        return RuleSwaps(nouns, number=number, filtered=filtered)
    from ..data.scenes import categories

    swaps = categories.noun_swaps(), categories.relation_swaps()
    return RuleSwaps(*swaps, number=number, filtered=filtered)
