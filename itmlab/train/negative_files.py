"""A file of negatives by the name of their generator, as `python -m itmlab negatives` writes it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..components import parameters
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import did_you_mean, from_plain
from ..models import CrossEncoder
from ..models.base import saved_config
from ..models.config import ModelConfig
from ..models.pairs import pieces_read
from ..storage import refuse_foreign
from ..synthesis import files
from ..synthesis.files import generate_negatives
from ..synthesis.negative import OneByOne, Readable, SentenceGenerator
from ..synthesis.rules import vse_c
from ..synthesis.tags import FilteredTopM, Tags, cross_encoder_score, implied_in
from ..text import PhraseMasking, WordMasking
from .directory import file_hash, start_directory


@dataclass(frozen=True)
class SwapOptions:
    """Options of "vse_c": how many negatives of each caption, None for all."""

    number: int | None = None


@dataclass(frozen=True)
class TagsOptions:
    """Options of "tags"; `implied` (None: where there is a world) also filters by what words imply."""

    maskings: int = 20
    samples: int = 20
    temperature: float = 1.0
    keep: int | None = 31
    words: bool = False
    implied: bool | None = None


OPTIONS = {"vse_c": SwapOptions, "tags": TagsOptions}


def write_negatives(
    data: CaptionSet,
    out: str | Path,
    generator: str | SentenceGenerator = "vse_c",
    *,
    model: str | Path | None = None,
    options: dict[str, Any] | None = None,
    fluency: str | None = None,
    seed: int = 0,
    truth: bool = True,
    force: bool = False,
    progress: bool = False,
) -> files.NegativeFile:
    """Write the negatives of every caption of `data` to `out`, made by a generator by name or by a custom one.

    Args:
        generator: "vse_c" (swaps by rule), "tags" (refilled phrases), or a custom generator as in a recipe, whose
            negatives are filtered: copies and what the image's captions say are left out.
        model: a cross-encoder by the name of a pretrained run or its folder. "tags" refills and scores with it
            (default: the pretrained "tags"); it scores the negatives of other generators.
        options: fields of `SwapOptions` or `TagsOptions`.
        fluency: a causal language model for perplexities.
        truth: label each negative by the data set's world, where it has one.
        force: overwrite a file that itmlab did not write.

    Returns:
        The file's content, as `read_negatives` gives it.
    """
    refuse_foreign(out, files.MARK, force=force)  # before the negatives are made
    is_custom = isinstance(generator, SentenceGenerator)
    name = generator.class_name() if is_custom else generator
    chosen = dict(parameters(generator)) if is_custom else _options(name, options or {}, data)
    home = start_directory(str(model or "tags")) if model is not None or name == "tags" else None
    cross_encoder = None if home is None else CrossEncoder.load(home)
    if name == "tags":
        drawing = {name: value for name, value in chosen.items() if name not in ("words", "implied")}
        masking = WordMasking() if chosen["words"] else PhraseMasking()
        implied = implied_in(data) if chosen["implied"] else None
        make = Tags(cross_encoder, data, masking=masking, implied=implied, **drawing)
    else:
        make = OneByOne(generator) if is_custom else vse_c(data, **chosen)
        readable = None if cross_encoder is None else Readable(partial(pieces_read, cross_encoder))
        make = FilteredTopM(make, keep=None, filtered=is_custom, implied=implied_in(data), readable=readable)
    negatives = generate_negatives(
        data,
        make,
        seed=seed,
        conditioned=name == "tags",
        score=None if cross_encoder is None else cross_encoder_score(cross_encoder, data),
        fluency=None if fluency is None else _perplexities(fluency),
        truth=truth,
        progress=progress,
    )
    made_by = {"generator": name, **chosen, "seed": seed}
    if home is not None:
        made_by |= {"model": home.name, "weights": file_hash(home / "model.safetensors")[:16]}
    made_by["fluency"] = fluency
    described = ", ".join(f"{key}={value}" for key, value in made_by.items() if value is not None)
    return files.write_negatives(out, data, negatives, made_by=described, force=force)


def read_by(model: str) -> ModelConfig:
    """The configuration of a shipped or saved cross-encoder: what it looks at."""
    return saved_config(start_directory(model))


def _options(generator: str, options: dict[str, Any], data: CaptionSet) -> dict[str, Any]:
    """All options of a generator by name."""
    if generator not in OPTIONS:
        raise ItmlabError(f"no generator {generator!r}", remedy=did_you_mean(generator, OPTIONS))
    try:
        chosen = from_plain(OPTIONS[generator], options, "")
    except ItmlabError as error:
        raise ItmlabError(error.what, where=generator, remedy=error.remedy) from None
    if generator == "tags" and chosen.implied is None:
        chosen = replace(chosen, implied=data.world is not None)
    if generator == "tags" and chosen.implied and data.world is None:
        raise ItmlabError("tags.implied needs a world that says what words imply", where=data.name, remedy="leave it")
    return asdict(chosen)


def _perplexities(name: str) -> Callable[[Sequence[str]], Iterable[float]]:
    from ..metrics.perplexity import causal_model, fluency

    model = causal_model(name)
    return lambda sentences: fluency(sentences, model).perplexity.tolist()
