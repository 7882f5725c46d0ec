"""Checks of a tokenizer.json before it is read: a file from elsewhere must neither exhaust memory nor stop the process.

The library behind it allocates in Rust, where a failed allocation or a panic ends the process. Only tokenisers whose
size and growth are plausible are therefore handed to it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import ItmlabError
from ..storage import read_json

MOST_BYTES = 2**25  # Gemma's 256,000 pieces take 17 MB
MOST_PIECES, MOST_ADDED, MOST_PARTS, LONGEST, MOST_WRITTEN = 2**20, 10_000, 256, 1000, 100
KINDS = ("WordPiece", "BPE", "WordLevel")
NESTED = re.compile(r"[+*}][^()]*\)[+*{]")  # a repeated group that ends in a repetition, such as (a+)+
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


def read_tokenizer_file(path: str | Path, *, remedy: str | None = None) -> Any:
    """Read a tokenizer.json after checking that it is a WordPiece, BPE or word tokeniser of plausible size.

    Args:
        path: the file.
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
        fault = _fault(content)
    except (AttributeError, KeyError, TypeError, ValueError):
        fault = "a part has the wrong form"
    if fault is not None:
        raise ItmlabError(f"not a tokeniser that can be read: {fault}", where=str(path), remedy=remedy)
    return content


def _fault(content: Any) -> str | None:
    """What is implausible about the content of a tokenizer.json; None for a plausible one."""
    model = content["model"]
    # old files do not name the kind
    kind = model.get("type") or ("BPE" if "merges" in model else "WordPiece")
    parts = [part for name in PARTS for part in _parts_of(content.get(name))]
    patterns = [part["pattern"]["Regex"] for part in parts if "Regex" in (part.get("pattern") or {})]
    rules = [part for part in parts if part["type"] in ("Replace", "Prepend")]
    written = [rule.get("content", rule.get("prepend", "")) for rule in rules]
    sizes = (len(model["vocab"]), MOST_PIECES), (len(content.get("added_tokens") or ()), MOST_ADDED)
    sizes += (len(parts), MOST_PARTS), (max(map(len, written), default=0), MOST_WRITTEN)
    lengths = [max(map(len, model["vocab"]), default=0), model.get("max_input_chars_per_word", 0), *map(len, patterns)]
    if kind not in KINDS or not isinstance(model["vocab"], dict):
        return f"it is a {kind}, and only {', '.join(KINDS)} can be read"
    if any(size > most for size, most in sizes) or max(lengths) > LONGEST:
        return "its vocabulary, its pieces or its rules are too large"
    if len(model.get("merges", ())) > MOST_PIECES or model.get("dropout"):
        return "its merges are too many or random"
    if any(NESTED.search(pattern) for pattern in patterns):
        return "a pattern can take exponential time"
    if any(map(_can_grow, rules)):
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


def number_pattern(figure: str) -> str:
    """Return the pattern of a number that stands alone: "2" in "2 dogs", not in "2.5" or "x2".

    >>> re.sub(number_pattern("2"), "two", "2 dogs, 2.5 x2 22")
    'two dogs, 2.5 x2 22'
    """
    return rf"(?<![\w.,]){figure}(?![\w.,]*\w)"


def _can_grow(rule: dict[str, Any]) -> bool:
    """Whether a rule, applied again and again, can make a text longer each time; spelling a number cannot."""
    if rule["type"] == "Prepend":
        return False
    pattern, content = rule["pattern"], rule["content"]
    figure = "".join(re.findall(r"\d", pattern.get("Regex", "")))
    is_number = pattern == {"Regex": number_pattern(figure)} and content.isalpha()
    return not is_number and len(content) > len(pattern.get("String", ""))
