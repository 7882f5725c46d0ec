"""A file of negatives by the name of their generator, as `python -m itmlab negatives` writes it."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ..data.captionset import CaptionSet
from ..errors import named
from ..fields import check_known, from_plain
from ..models import CrossEncoder
from ..storage import refuse_foreign
from ..synthesis import FilteredTopM, files
from ..synthesis.rules import vse_c
from ..synthesis.tags import Tags, implied_in
from .directory import file_hash, start_directory


@dataclass(frozen=True)
class SwapOptions:
    """Options of "vse_c": how many negatives of each caption, None for all."""

    number: int | None = None


@dataclass(frozen=True)
class TagsOptions:
    """Options of "tags", of the paper's Algorithm 1."""

    maskings: int = 20
    samples: int = 20
    temperature: float = 1.0
    keep: int | None = 31


OPTIONS = {"vse_c": SwapOptions, "tags": TagsOptions}


def write_negatives(
    data: CaptionSet,
    out: str | Path,
    generator: Literal["vse_c", "tags"] = "vse_c",
    *,
    model: str | Path = "tags",
    options: dict[str, Any] | None = None,
    seed: int = 0,
    truth: bool = True,
    force: bool = False,
    progress: bool = False,
) -> files.NegativeFile:
    """Write the negatives of every caption of `data` to `out`.

    Where there is a world, what its words imply is filtered as well. Those of your own generator are written by
    `synthesis.write_negatives(out, data, generate_negatives(data, yours))`.

    Args:
        data: the captions.
        out: the file.
        generator: "vse_c" (swaps by rule) or "tags" (refilled phrases, scored).
        model: the cross-encoder of "tags", by the name of a pretrained run or its folder.
        options: fields of `SwapOptions` or `TagsOptions`.
        seed: of the random draws.
        truth: label each negative by the data set's world, where it has one.
        force: overwrite a file that itmlab did not write.
        progress: show a progress bar.

    Returns:
        The file's content, as `read_negatives` gives it.
    """
    refuse_foreign(out, files.MARK, force=force)  # before the negatives are made
    check_known(generator, OPTIONS, "generator")
    with named(generator):
        chosen = asdict(from_plain(OPTIONS[generator], options or {}, ""))
    made_by = {"generator": generator, **chosen, "seed": seed}
    if generator == "tags":
        home = start_directory(str(model))
        make = Tags(CrossEncoder.load(home), data, implied=implied_in(data), **chosen)
        made_by |= {"model": home.name, "weights": file_hash(home / "model.safetensors")[:16]}
    else:
        make = FilteredTopM(vse_c(data, **chosen), keep=None, filtered=False, implied=implied_in(data))
    how = {"seed": seed, "conditioned": generator == "tags", "truth": truth, "progress": progress}
    described = ", ".join(f"{key}={value}" for key, value in made_by.items() if value is not None)
    return files.write_negatives(out, data, files.generate_negatives(data, make, **how), made_by=described, force=force)
