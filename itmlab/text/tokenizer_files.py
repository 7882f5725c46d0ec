"""Checks of a tokenizer.json before it is read: a file from elsewhere must neither exhaust memory nor stop the process.

The library behind it allocates in Rust, where a failed allocation or a panic ends the process. Only tokenisers whose
size and growth are plausible are therefore handed to it.
"""

import re
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..storage import read_json

MOST_BYTES = 2**25  # Gemma's 256,000 pieces take 17 MB
MOST_PIECES, MOST_ADDED, MOST_PARTS, LONGEST, MOST_GROWTH = 2**20, 10_000, 256, 1000, 1000
KINDS = ("WordPiece", "BPE", "WordLevel")
NESTED = re.compile(r"[+*}][^()]*\)[+*{]")  # a repeated group that ends in a repetition, such as (a+)+
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


def read_tokenizer_file(path: str | Path, *, safe_patterns: tuple[str, ...] = (), remedy: str | None = None) -> Any:
    """Read a tokenizer.json after checking that it is a WordPiece, BPE or word tokeniser of plausible size.

    Args:
        path: the file.
        safe_patterns: regular expressions that are known to be fast.
        remedy: what to do about a file that cannot be read.

    Returns:
        The content as JSON values.

    Raises:
        ItmlabError: a file that is too large, another kind of tokeniser, rules by which a text can grow
            exponentially, or patterns that can take exponential time.
    """
    path = Path(path)
    if path.is_file() and path.stat().st_size > MOST_BYTES:
        message = f"more than {MOST_BYTES // 2**20} MiB, which is too large for a tokeniser"
        raise ItmlabError(message, where=str(path), remedy=remedy)
    content = read_json(path, remedy=remedy)
    try:
        fault = _fault(content, safe_patterns)
    except (AttributeError, KeyError, TypeError, ValueError):
        fault = "a part has the wrong form"
    if fault is not None:
        raise ItmlabError(f"not a tokeniser that can be read: {fault}", where=str(path), remedy=remedy)
    return content


def _fault(content: Any, safe_patterns: tuple[str, ...]) -> str | None:
    """What is implausible about the content of a tokenizer.json; None for a plausible one."""
    model = content["model"]
    # old files do not name the kind
    kind = model.get("type") or ("BPE" if "merges" in model else "WordPiece")
    parts = [part for name in PARTS for part in _parts_of(content.get(name))]
    patterns = [part["pattern"]["Regex"] for part in parts if "Regex" in (part.get("pattern") or {})]
    sizes = (len(model["vocab"]), MOST_PIECES), (len(content.get("added_tokens") or ()), MOST_ADDED)
    lengths = [max(map(len, model["vocab"]), default=0), model.get("max_input_chars_per_word", 0), *map(len, patterns)]
    if kind not in KINDS or not isinstance(model["vocab"], dict):
        return f"it is a {kind}, and only {', '.join(KINDS)} can be read"
    if any(size > most for size, most in (*sizes, (len(parts), MOST_PARTS))) or max(lengths) > LONGEST:
        return "its vocabulary, its pieces or its rules are too large"
    if len(model.get("merges", ())) > MOST_PIECES or model.get("dropout"):
        return "its merges are too many or random"
    if any(NESTED.search(pattern) for pattern in patterns if pattern not in safe_patterns):
        return "a pattern can take exponential time"
    if _growth(parts) > MOST_GROWTH:
        return "its rules can make a text exponentially longer"
    templates = [part.get(name) or () for part in parts for name in ("single", "pair") if "special_tokens" in part]
    if any(len(template) > 16 or sum("Sequence" in item for item in template) > 2 for template in templates):
        return "its template repeats the text"
    return None


def _parts_of(value: Any) -> Iterator[dict[str, Any]]:
    """Yield a part of a tokeniser and all parts within it."""
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and "type" in value:
        yield value
    for child in children:
        yield from _parts_of(child)


def _growth(parts: list[dict[str, Any]]) -> float:
    """By which factor the rules can make a text longer, at most.

    Rules that match what another rule writes multiply; of the others each letter of a text meets one.
    """
    rules = [part for part in parts if part["type"] in ("Replace", "Prepend")]
    written = [part.get("content", part.get("prepend", "")) for part in rules]
    texts = " ".join(text * 2 for text in written)
    multiplied, single = [1.0], [1.0]
    for part, text in zip(rules, written, strict=True):
        pattern = part.get("pattern", {"Regex": ""})
        expression = pattern["Regex"] if "Regex" in pattern else re.escape(pattern["String"])
        factor = (1 + len(text)) if "Regex" in pattern else max(1, len(text) / max(len(pattern["String"]), 1))
        (multiplied if _matches(expression, texts) else single).append(factor)
    return prod(multiplied) * max(single)


def _matches(expression: str, text: str) -> bool:
    try:
        return re.search(expression, text) is not None
    except re.error:  # a pattern of the library's own dialect
        return True
