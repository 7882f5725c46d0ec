"""A file of negatives by the name of their generator, as `python -m itmlab negatives` writes it."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ..data.captionset import CaptionSet
from ..errors import ItmlabError, named
from ..fields import did_you_mean, from_plain
from ..models import CrossEncoder
from ..models.base import saved_config
from ..models.config import ModelConfig
from ..models.pairs import pieces_read
from ..storage import refuse_foreign
from ..synthesis import files
from ..synthesis.files import generate_negatives
from ..synthesis.negative import Readable
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
    generator: Literal["vse_c", "tags"] = "vse_c",
    *,
    model: str | Path | None = None,
    options: dict[str, Any] | None = None,
    seed: int = 0,
    truth: bool = True,
    force: bool = False,
    progress: bool = False,
) -> files.NegativeFile:
    """Write the negatives of every caption of `data` to `out`.

    Those of your own generator are written by `synthesis.write_negatives(out, data, generate_negatives(data, yours))`.

    Args:
        data: the captions.
        out: the file.
        generator: "vse_c" (swaps by rule) or "tags" (refilled phrases).
        model: a cross-encoder by the name of a pretrained run or its folder. "tags" refills and scores with it
            (default: the pretrained "tags"); it scores the negatives of "vse_c".
        options: fields of `SwapOptions` or `TagsOptions`.
        seed: of the random draws.
        truth: label each negative by the data set's world, where it has one.
        force: overwrite a file that itmlab did not write.
        progress: show a progress bar.

    Returns:
        The file's content, as `read_negatives` gives it.
    """
    refuse_foreign(out, files.MARK, force=force)  # before the negatives are made
    chosen = _options(generator, options or {}, data)
    made_by = {"generator": generator, **chosen, "seed": seed}
    score = readable = None
    if model is not None or generator == "tags":
        home = start_directory(str(model or "tags"))
        model = CrossEncoder.load(home)
        readable = Readable(partial(pieces_read, model))
        score = cross_encoder_score(model, data) if generator == "vse_c" else None  # "tags" scores its own
        made_by |= {"model": home.name, "weights": file_hash(home / "model.safetensors")[:16]}
    implied = implied_in(data)
    if generator == "tags":
        drawing = {name: value for name, value in chosen.items() if name not in ("words", "implied")}
        masking = WordMasking() if chosen["words"] else PhraseMasking()
        make = Tags(model, data, masking=masking, implied=implied if chosen["implied"] else None, **drawing)
    else:
        make = FilteredTopM(vse_c(data, **chosen), keep=None, filtered=False, implied=implied, readable=readable)
    how = {
        "seed": seed,
        "conditioned": generator == "tags",
        "score": score,
        "truth": truth,
        "progress": progress,
    }
    described = ", ".join(f"{key}={value}" for key, value in made_by.items() if value is not None)
    return files.write_negatives(out, data, generate_negatives(data, make, **how), made_by=described, force=force)


def read_by(model: str) -> ModelConfig:
    """The configuration of a shipped or saved cross-encoder: what it looks at."""
    return saved_config(start_directory(model))


def _options(generator: str, options: dict[str, Any], data: CaptionSet) -> dict[str, Any]:
    """All options of a generator by name."""
    if generator not in OPTIONS:
        raise ItmlabError(f"no generator {generator!r}", remedy=did_you_mean(generator, OPTIONS))
    with named(generator):
        chosen = asdict(from_plain(OPTIONS[generator], options, ""))
    has_world = data.world is not None
    if "implied" in chosen and chosen["implied"] is None:
        chosen["implied"] = has_world
    if chosen.get("implied") and not has_world:
        raise ItmlabError("tags.implied needs a world that says what words imply", where=data.name, remedy="leave it")
    return chosen
