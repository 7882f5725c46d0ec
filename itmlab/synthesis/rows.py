"""One negative as a row of a file, and the header before the rows: what they hold, what makes them unfit to be read."""

import json
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..data.captionset import CaptionSet
from ..data.entries import wrong_caption
from ..data.faults import one_line
from ..errors import ItmlabError
from ..text import Span
from ..text.parsing import rules_version
from .negative import Negative

Row = dict[str, Any]
Header = dict[str, Any]

TEXTS = ("image_id", "caption_id", "source", "negative")  # the source is the caption, the negative the new sentence
LISTS = ("spans", "source_words", "replacement", "phrase_type")  # an entry for each changed place
NUMBERS = ("score", "fluency")
COLUMNS = (*TEXTS, *LISTS, *NUMBERS, "truth")


def to_json(value: Any) -> bytes:
    """JSON as it stands in the files; NaN, infinities and lone surrogates are a ValueError."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def to_row(negative: Negative, image_id: str, caption_id: str, source: str) -> Row:
    """The row of a negative of the caption `source`, in the order of COLUMNS."""
    return {
        "image_id": image_id,
        "caption_id": caption_id,
        "source": source,
        "negative": negative.sentence,
        "spans": [[span.start, span.end] for span in negative.spans],
        "source_words": list(negative.source),
        "replacement": list(negative.replacement),
        "phrase_type": list(negative.kind),
        "score": negative.score,
        "fluency": negative.fluency,
        "truth": negative.truth,
    }


def from_row(row: Row) -> Negative:
    """The negative of a row in which `wrong_row` finds nothing; image and caption are not numbered.

    >>> made = Negative("a cat", spans=(Span(1, 2),), source=("dog",), replacement=("cat",), kind=("object",))
    >>> from_row(to_row(made, "image 3", "image 3#0", "a dog")) == made
    True
    """
    return Negative(
        row["negative"],
        spans=tuple(Span(start, end) for start, end in row["spans"]),
        source=tuple(row["source_words"]),
        replacement=tuple(row["replacement"]),
        kind=tuple(row["phrase_type"]),
        truth=row["truth"],
        **{name: None if row[name] is None else float(row[name]) for name in NUMBERS},
    )


def missing_columns(names: Any) -> str:
    """The columns that are not among `names`, as a message shows them."""
    return ", ".join(repr(name) for name in COLUMNS if name not in names)


def wrong_row(row: Row) -> str | None:
    """The first thing that makes a row unfit, or None; columns that are not known are let be."""
    return next(_faults(row), None)


def _faults(row: Row) -> Iterator[str]:
    # Each check may rely on those before it: nobody asks for what comes after the first fault.
    if missing := missing_columns(row):
        yield f"no {missing}"
    for name in ("image_id", "caption_id"):
        if not _is_text(row[name]) or not row[name].strip():
            yield f"the {name} is {_shown(row[name])}"
    for name in ("source", "negative"):
        if what := wrong_caption(row[name]):
            yield f"the {name}: {what}"
    if row["negative"] == row["source"]:
        yield "the negative is the caption itself"
    for name in LISTS:
        if not isinstance(row[name], list):
            yield f"{name!r} is not a list but {_shown(row[name])}"
    if len({len(row[name]) for name in LISTS}) > 1:
        yield f"{', '.join(f'{len(row[name])} {name}' for name in LISTS)}: not one of each a changed place"
    for span in row["spans"]:
        whole = isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)
        if not whole or not 0 <= span[0] <= span[1] < 2**31:  # as Parquet holds them
            yield f"the span {_shown(span)} is not two token numbers in order"
    for name in LISTS[1:]:
        for text in row[name]:
            if not _is_text(text):
                yield f"{name!r} holds {_shown(text)}, not a text"
    for name in NUMBERS:
        if row[name] is not None and not _is_number(row[name]):
            yield f"the {name} is {_shown(row[name])}, not a number"
    if not isinstance(row["truth"], bool | None):
        yield f"the truth is {_shown(row['truth'])}, not true, false or null"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _is_number(value: Any) -> bool:
    # JSON's whole numbers may be larger than any float; NaN is not below anything
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _shown(value: Any) -> str:
    return one_line(repr(value), 60)


MARK = "itmlab_negatives"  # the first field of every header
LAYOUT = 1  # of the header and the columns
COUNTS = ("captions", "negatives", "left_out")  # what a header says only once all is done
PACKAGES = ("itmlab", "torch", "transformers", "tokenizers", "spacy")


def full_header(given: Header, data: CaptionSet, *, format: str, seed: int, batch: int, truth: bool) -> Header:
    """What the caller says of the generator, with all else that decides what is written, as plain JSON.

    A field that is filled in here, or anything that JSON cannot say, is an ItmlabError.
    """
    of_data = {"name": data.name, "images": len(data), "captions": len(data.captions), "fingerprint": data.fingerprint}
    own = {"format": format, "seed": seed, "batch": batch, "truth": truth, "data": of_data, "versions": _versions()}
    clash = sorted(set(given) & {MARK, *own, *COUNTS})
    if clash:
        raise ItmlabError(f"header has {', '.join(map(repr, clash))}", remedy="these are filled in by the export")
    if batch < 1:
        raise ItmlabError(f"batch={batch}", remedy="make negatives of at least one caption at a time")
    try:
        return json.loads(to_json({MARK: LAYOUT, **given, **own}))
    except (TypeError, ValueError) as error:
        raise ItmlabError(f"header cannot be written as JSON: {one_line(error)}") from None


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "text rules": rules_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def refuse_other(found: Header, wanted: Header, path: Path) -> None:
    """An ItmlabError that names what differs, if what lies in `path` was made otherwise than is wanted now."""
    there, here = dict(_flat(found)), dict(_flat(wanted))
    first, *others = [name for name in {**there, **here} if there.get(name) != here.get(name)] or [None]
    if first is not None:
        more = f", and {', '.join(others)}" if others else ""
        what = one_line(f"made otherwise: {first} is {there.get(first)!r} there and {here.get(first)!r} here{more}")
        remedy = "write to another file, or begin anew with resume=False (--no-resume)"
        raise ItmlabError(what, where=str(path), remedy=remedy)


def _flat(header: Header, before: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a header, those within others under names like data.fingerprint."""
    for name, value in header.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield before + name, value
