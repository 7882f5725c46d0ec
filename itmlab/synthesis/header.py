"""How negatives were made, as a file of them says it first."""

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..data.captionset import CaptionSet
from ..data.faults import one_line
from ..errors import ItmlabError
from ..text.parse import rules_version

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
