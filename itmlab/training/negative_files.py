"""A file of negatives by the name of their generator: what `python -m itmlab negatives` does."""

import inspect
from functools import partial
from pathlib import Path
from typing import Any

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import did_you_mean, typed
from ..models import CrossEncoder, CrossEncoderConfig
from ..models.pairs import pieces_read
from ..runs.directory import file_hash, start_directory
from ..storage import read_json
from ..synthesis.export import Exported, Fluency, export_negatives
from ..synthesis.negative import Readable
from ..synthesis.tags import FilteredTopM, Tags, cross_encoder_score, implied_in, vse_c

GENERATORS = {"vse_c": vse_c, "tags": Tags}
SET = {"vse_c": ("number",), "tags": ("maskings", "samples", "temperature", "keep", "words", "implied")}


def write_negatives(
    data: CaptionSet,
    out: str | Path,
    generator: str = "vse_c",
    *,
    model: str | Path | None = None,
    options: dict[str, Any] | None = None,
    fluency: str | None = None,
    **export: Any,
) -> Exported:
    """Export the negatives of every caption of `data` by "vse_c" or "tags" with their `options`.

    Option `implied` of "tags" adds to the filter of false negatives what words imply in the world of the data; it is on
    where there is one. `model` is a cross-encoder, by the name of one that ships or the folder of a saved one: "tags"
    refills and scores with it (None: the shipped "tags"), of "vse_c" it scores what the rules made. `fluency` names a
    causal language model for perplexities; of "vse_c" with a `number`, those that it finds likeliest are
    written. More keywords are `export_negatives`'. The header says all of it, with a hash of the model's weights.
    """
    if generator not in GENERATORS:
        raise ItmlabError(f"no generator {generator!r}", remedy=did_you_mean(generator, GENERATORS))
    options = _options(generator, options or {}, data)
    if generator == "tags" and model is None:
        model = "tags"
    home = None if model is None else start_directory(str(model))
    cross_encoder = None if home is None else CrossEncoder.load(home)
    ranked = None if fluency is None else _perplexities(fluency)
    if generator == "tags":
        made = Tags(cross_encoder, data, **{**options, "implied": implied_in(data) if options["implied"] else None})
    else:
        made = vse_c(data, **options, fluency=ranked)
        if cross_encoder is not None:
            readable = Readable(partial(pieces_read, cross_encoder))
            made = FilteredTopM(made, keep=None, filtered=False, readable=readable)
    header = {
        "generator": generator,
        "options": options,
        "model": None if home is None else home.name,
        "weights": None if home is None else file_hash(home / "model.safetensors"),
        "language_model": fluency,
    }
    return export_negatives(
        data,
        made,
        out,
        header=header,
        conditioned=generator == "tags",
        score=None if cross_encoder is None else cross_encoder_score(cross_encoder, data),
        fluency=ranked,
        **export,
    )


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
