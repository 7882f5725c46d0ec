"""A file of negatives by the name of their generator: what `python -m itmlab negatives` does."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import did_you_mean, typed
from ..models import CrossEncoder, CrossEncoderConfig
from ..models.pairs import pieces_read
from ..recipes.custom import Custom
from ..runs.directory import file_hash, start_directory
from ..storage import read_json
from ..synthesis.columns import LAYOUTS, Table, place_of_table, write_table
from ..synthesis.export import Exported, Fluency, export_negatives
from ..synthesis.negative import Generate, Negative, Readable
from ..synthesis.read import read_negatives
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
    format: str | None = None,
    root: str | Path | None = None,
    **export: Any,
) -> Exported | Table:
    """Export the negatives of every caption of `data` by "vse_c", "tags" (with `options`) or your own.

    A generator of your own is an instance or a function, as in a recipe (`recipes.custom`). Of what it makes copies are
    left out, and what the captions of the image say; where it tells of a changed place its words but not its
    span and kind, no places are written. Option `implied` of "tags" adds to that filter of false negatives what words
    imply in the world of the data; it is on where there is one. `model` is a cross-encoder, by the
    name of one that ships or the folder of a saved one: "tags" refills and scores with it (None: the shipped "tags"),
    what others made it scores. `fluency` names a causal language model for perplexities; of "vse_c" with a `number`,
    those that it finds likeliest are written. More keywords are `export_negatives`'. The header says all of it, with
    a hash of the model's weights.

    A `format` of `synthesis.columns.LAYOUTS` writes `out` as a table for others, with paths that begin at `root`, from
    a .jsonl of the same name, which lies beside it and has the header.
    """
    if table := format in LAYOUTS:
        place_of_table(out, format, force=bool(export.get("force")))
    custom = Custom.of(generator) if callable(generator) else None
    if custom is not None:
        generator, options = custom.path, custom.options
    elif generator not in GENERATORS:
        raise ItmlabError(f"no generator {generator!r}", remedy=did_you_mean(generator, GENERATORS))
    else:
        options = _options(generator, options or {}, data)
    if generator == "tags" and model is None:
        model = "tags"
    home = None if model is None else start_directory(str(model))
    cross_encoder = None if home is None else CrossEncoder.load(home)
    ranked = None if fluency is None else _perplexities(fluency)
    if generator == "tags":
        made = Tags(cross_encoder, data, **{**options, "implied": implied_in(data) if options["implied"] else None})
    else:
        readable = None if cross_encoder is None else Readable(partial(pieces_read, cross_encoder))
        if custom is not None:
            made = OneByOne(custom, data, cross_encoder)
            made = FilteredTopM(made, keep=None, implied=implied_in(data), readable=readable)
            made = _with_whole_places(made)
        else:
            made = vse_c(data, **options, fluency=ranked)
            if readable is not None:
                made = FilteredTopM(made, keep=None, filtered=False, readable=readable)
    header = {
        "generator": generator,
        "options": options,
        "model": None if home is None else home.name,
        "weights": None if home is None else file_hash(home / "model.safetensors"),
        "language_model": fluency,
    }
    done = export_negatives(
        data,
        made,
        Path(out).with_suffix(".jsonl") if table else out,
        header=header,
        format=None if table else format,
        conditioned=generator == "tags",
        score=None if cross_encoder is None else cross_encoder_score(cross_encoder, data),
        fluency=ranked,
        **export,
    )
    if not table:
        return done
    if not done.negatives:
        raise ItmlabError(
            "no negative was made, so there is no table", where=str(done.path), remedy="another generator"
        )
    sentences = [[one.sentence for one in row] for row in read_negatives(done.path).of(data)]
    return write_table(data, out, format, sentences, root=root, seed=export.get("seed", 0), force=True)


def _with_whole_places(made: Generate) -> Generate:
    """The same, where a file needs all of a changed place or nothing: a filter is content with the words."""

    def whole(*given: Any, **options: Any) -> list[list[Negative]]:
        return [
            [
                one
                if len({len(of) for of in (one.spans, one.source, one.replacement, one.kind)}) == 1
                else replace(one, spans=(), source=(), replacement=(), kind=())
                for one in row
            ]
            for row in made(*given, **options)
        ]

    return whole


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
