"""A file of negatives by the name of their generator, as `python -m itmlab negatives` writes it."""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ..components import parameters
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import did_you_mean, typed
from ..models import CrossEncoder, CrossEncoderConfig
from ..models.pairs import pieces_read
from ..runs.directory import file_hash, start_directory
from ..storage import read_json, refuse_foreign
from ..synthesis import files
from ..synthesis.generate import Fluency, generate_negatives
from ..synthesis.negative import Readable, SentenceGenerator
from ..synthesis.tags import FilteredTopM, Tags, cross_encoder_score, implied_in, vse_c
from .sentences import OneByOne

GENERATORS = {"vse_c": vse_c, "tags": Tags}
SET = {"vse_c": ("number",), "tags": ("maskings", "samples", "temperature", "keep", "words", "implied")}


def write_negatives(
    data: CaptionSet,
    out: str | Path,
    generator: str | Callable[..., Any] = "vse_c",
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
        options: settings of the generator (`SET`). `implied` of "tags" also filters by what words imply in the world
            of the data, and is on where there is one.
        fluency: a causal language model for perplexities.
        truth: label each negative by the data set's world, where it has one.
        force: overwrite a file that itmlab did not write.

    Returns:
        The file's content, as `read_negatives` gives it.
    """
    refuse_foreign(out, files.MARK, force=force)  # before the negatives are made
    custom = generator if isinstance(generator, SentenceGenerator) else None
    if custom is not None:
        generator, options = custom.class_name(), dict(parameters(custom))
    elif generator not in GENERATORS:
        raise ItmlabError(f"no generator {generator!r}", remedy=did_you_mean(generator, GENERATORS))
    else:
        options = _options(generator, options or {}, data)
    if generator == "tags" and model is None:
        model = "tags"
    home = None if model is None else start_directory(str(model))
    cross_encoder = None if home is None else CrossEncoder.load(home)
    if generator == "tags":
        made = Tags(cross_encoder, data, **{**options, "implied": implied_in(data) if options["implied"] else None})
    else:
        readable = None if cross_encoder is None else Readable(partial(pieces_read, cross_encoder))
        if custom is not None:
            made = OneByOne(custom)
            made = FilteredTopM(made, keep=None, implied=implied_in(data), readable=readable)
        else:
            made = vse_c(data, **options)
            if readable is not None:
                made = FilteredTopM(made, keep=None, filtered=False, readable=readable)
    negatives = generate_negatives(
        data,
        made,
        seed=seed,
        conditioned=generator == "tags",
        score=None if cross_encoder is None else cross_encoder_score(cross_encoder, data),
        fluency=None if fluency is None else _perplexities(fluency),
        truth=truth,
        progress=progress,
    )
    made_by = {"generator": generator, **options, "seed": seed}
    if home is not None:
        made_by |= {"model": home.name, "weights": file_hash(home / "model.safetensors")[:16]}
    made_by["fluency"] = fluency
    described = ", ".join(f"{name}={value}" for name, value in made_by.items() if value is not None)
    return files.write_negatives(out, data, negatives, made_by=described, force=force)


def read_by(model: str) -> CrossEncoderConfig:
    """The configuration of a shipped or saved cross-encoder: what it looks at."""
    return CrossEncoderConfig.from_dict(read_json(start_directory(model) / "config.json"))


def _options(generator: str, given: dict[str, Any], data: CaptionSet) -> dict[str, Any]:
    """All options of a generator, those not given as they are by default."""
    for name in given:
        if name not in SET[generator]:
            raise ItmlabError(f"{generator} has no option {name!r}", remedy=did_you_mean(name, SET[generator]))
    known = inspect.signature(GENERATORS[generator]).parameters
    hints = {name: bool if name == "implied" else known[name].annotation for name in SET[generator]}
    options = {name: data.world is not None if name == "implied" else known[name].default for name in hints}
    for name, value in given.items():
        try:
            options[name] = typed(hints[name], value, name)
        except ItmlabError as error:
            raise ItmlabError(error.what, where=generator, remedy=error.remedy) from None
    if options.get("implied") and data.world is None:
        raise ItmlabError("tags.implied needs a world that says what words imply", where=data.name, remedy="leave it")
    return options


def _perplexities(name: str) -> Fluency:
    from ..metrics.perplexity import causal_model, fluency

    model = causal_model(name)
    return lambda sentences: fluency(sentences, model).perplexity.tolist()
