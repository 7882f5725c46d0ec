"""One negative as a row of a file: its columns, and what makes a row unfit to be read back."""

import json
import math
import platform
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

TEXTS = ("image_id", "caption_id", "source", "negative")  # the source is the caption, the negative the new sentence
LISTS = ("spans", "source_words", "replacement", "phrase_type")  # an entry for each changed place
NUMBERS = ("score", "fluency")
COLUMNS = (*TEXTS, *LISTS, *NUMBERS, "truth")


def to_row(negative: Negative, image_id: str, caption_id: str, source: str) -> dict[str, Any]:
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


def from_row(row: dict[str, Any]) -> Negative:
    """The negative of a row in which `wrong_row` finds nothing; image and caption are not numbered."""
    return Negative(
        row["negative"],
        spans=tuple(Span(start, end) for start, end in row["spans"]),
        source=tuple(row["source_words"]),
        replacement=tuple(row["replacement"]),
        kind=tuple(row["phrase_type"]),
        score=None if row["score"] is None else float(row["score"]),
        fluency=None if row["fluency"] is None else float(row["fluency"]),
        truth=row["truth"],
    )


def wrong_row(row: dict[str, Any]) -> str | None:
    """The first thing that makes a row unfit, or None; columns that are not known are let be."""
    missing = [repr(name) for name in COLUMNS if name not in row]
    if missing:
        return f"no {', '.join(missing)}"
    for name in ("image_id", "caption_id"):
        if not isinstance(row[name], str) or not row[name].strip() or not _is_unicode(row[name]):
            return f"the {name} is {_shown(row[name])}"
    for name in ("source", "negative"):
        what = wrong_caption(row[name])
        if what is not None:
            return f"the {name}: {what}"
    if row["negative"] == row["source"]:
        return "the negative is the caption itself"
    return _wrong_places(row) or _wrong_numbers(row)


def _wrong_places(row: dict[str, Any]) -> str | None:
    for name in LISTS:
        if not isinstance(row[name], list):
            return f"{name!r} is not a list but {_shown(row[name])}"
    if len({len(row[name]) for name in LISTS}) > 1:
        return f"{', '.join(f'{len(row[name])} {name}' for name in LISTS)}: not one of each a changed place"
    for span in row["spans"]:
        whole = isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)
        if not whole or not 0 <= span[0] <= span[1]:
            return f"the span {_shown(span)} is not two token numbers in order"
    for name in LISTS[1:]:
        for text in row[name]:
            if not isinstance(text, str) or not _is_unicode(text):
                return f"{name!r} holds {_shown(text)}, not a text"
    return None


def _wrong_numbers(row: dict[str, Any]) -> str | None:
    for name in NUMBERS:
        if row[name] is not None and not _is_number(row[name]):
            return f"the {name} is {_shown(row[name])}, not a number"
    if not isinstance(row["truth"], bool | None):
        return f"the truth is {_shown(row['truth'])}, not true, false or null"
    return None


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond what a float can say
        return False


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _shown(value: Any) -> str:
    return one_line(repr(value), 60)


# How negatives were made, as a file of them says it first.


LAYOUT = 1  # of the header and the columns
COUNTS = ("captions", "negatives", "left_out")  # what a header says only once all is done
FILLED_IN = {"itmlab_negatives", "format", "seed", "batch", "truth", "data", "versions", *COUNTS}
PACKAGES = ("itmlab", "torch", "transformers", "tokenizers", "spacy")


def full_header(
    given: dict[str, Any], data: CaptionSet, *, format: str, seed: int, batch: int, truth: bool
) -> dict[str, Any]:
    """What the caller says of the generator, with all else that decides what is written, as plain JSON.

    A field that is filled in here, or anything that JSON cannot say, is an ItmlabError.
    """
    clash = sorted(set(given) & FILLED_IN)
    if clash:
        raise ItmlabError(f"header has {', '.join(map(repr, clash))}", remedy="these are filled in by the export")
    if batch < 1:
        raise ItmlabError(f"batch={batch}", remedy="make negatives of at least one caption at a time")
    own = {
        "itmlab_negatives": LAYOUT,
        **given,
        "format": format,
        "seed": seed,
        "batch": batch,
        "truth": truth,
        "data": {
            "name": data.name,
            "images": len(data),
            "captions": len(data.captions),
            "fingerprint": data.fingerprint,
        },
        "versions": _versions(),
    }
    try:
        return json.loads(json.dumps(own, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        raise ItmlabError(f"header cannot be written as JSON: {one_line(error)}") from None


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "text rules": rules_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def refuse_other(found: dict[str, Any], wanted: dict[str, Any], path: Path) -> None:
    """An ItmlabError that names what differs, if what lies in `path` was made otherwise than is wanted now."""
    there, here = _flat(found), _flat(wanted)
    differing = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    if differing:
        first = differing[0]
        more = f", and {', '.join(differing[1:])}" if differing[1:] else ""
        raise ItmlabError(
            one_line(f"made otherwise: {first} is {there.get(first)!r} there and {here.get(first)!r} here{more}"),
            where=str(path),
            remedy="write to another file, or begin anew with resume=False (--no-resume)",
        )


def _flat(header: dict[str, Any]) -> dict[str, Any]:
    """The fields of a header, those within others under names like data.fingerprint."""
    flat = {}
    for name, value in header.items():
        inner = _flat(value) if isinstance(value, dict) else {}
        flat |= {f"{name}.{key}": each for key, each in inner.items()} or {name: value}
    return flat
