"""What hostile inputs are made of: texts, JSON values, bytes and files, all drawn from a `random.Random`."""

import copy
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from itmlab.data.faults import FaultyData
from itmlab.errors import ItmlabError


class Refused(Exception):
    """Refused cleanly otherwise than by an ItmlabError: by what a check returns, or by a command's exit status 2."""


Use = Callable[[], None]  # what must work once an input was accepted; nothing that it raises is a refusal

PHRASES = (
    *("a dog", "two men in red shirts", "riding a horse", "next to the tree", "on the beach", "while it rains", "and"),
    *("does n't", "T-shirt", "the woman's hat", "3 o'clock", "1,000", "number 7", "who sits", "with", "of", "under"),
)
SIGNS = (
    *(".", "?!", "...", '"', "'", "``", "(", "]", "{}", "%s", "{0}", "\\", "/", "../", "--", "#", "@", "&amp;", "$x$"),
    *("<b>", "</script>", "<img src=x onerror=1>", "javascript:1", "=1+1", "'; DROP TABLE graphs;", "[SEP]", "[MASK]"),
    *("\t", "\r", "\n", "\x00", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u202e", "\u200b", "\u200d", "\ufeff", "\ufffe"),
    *("\ud800", "\udfff", "e\u0301\u0301", "👩‍👩‍👧", "犬", "كلب", "ﬁ", "İ", "ß", "Ⅻ", "٣", "½", "\U0010ffff", "null"),
)


def text(rng: Random, most: int = 12) -> str:
    """Words, signs and code points of any kind; rarely thousands of words, or one word of thousands of letters."""
    draw = rng.random()
    if draw < 0.02:
        return " ".join(rng.choices(PHRASES, k=rng.randrange(100, 1000)))
    if draw < 0.04:
        return rng.choice((*SIGNS, "a", "ab ")) * rng.randrange(1, 5000)
    if draw < 0.06:
        return rng.choice(("", " ", ".", *SIGNS))
    kinds = (lambda: rng.choice(PHRASES), lambda: rng.choice(SIGNS), lambda: _letters(rng))
    weights = rng.choice(((8, 1, 1), (1, 1, 0), (1, 4, 4)))
    return rng.choice((" ", " ", "")).join(made() for made in rng.choices(kinds, weights, k=rng.randrange(1, most)))


def _letters(rng: Random) -> str:
    highest = rng.choice((0x7F, 0x250, 0xFFFF, 0x10FFFF))
    return "".join(chr(rng.randrange(highest)) for _ in range(rng.randrange(1, 9)))


# JSON that Python's own writer does not write; each name stands for itself until `as_json`.
RAW = {
    "@digits@": "9" * 5000,
    "@deep@": "[" * 100_000 + "]" * 100_000,
    "@open@": '{"a":' * 50_000,
    "@float@": "1e999",
    "@twice@": '{"kind": 1, "kind": 2}',
}
NUMBERS = (0, 1, -1, 2, 0.5, -0.5, 1e-300, 1e300, 2**31, 2**63, -(2**63) - 1, 2**64, 10**30, 999, 20_000, 10**9)
PLAIN = (*NUMBERS, True, False, None, float("nan"), float("inf"), "", " ", "null", "train", "0", "1e3", [], {}, *RAW)


def value(rng: Random, depth: int = 0) -> Any:
    """A JSON value of any type."""
    draw = rng.random()
    if depth > 3 or draw < 0.6:
        return rng.choice(PLAIN) if draw < 0.55 else text(rng)
    if draw < 0.8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {text(rng, 3): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def changed(rng: Random, plain: Any, times: int = 3) -> Any:
    """A copy of a JSON value with up to so many places replaced, removed, repeated, renamed or added to."""
    plain = copy.deepcopy(plain)
    for _ in range(rng.randrange(1, times + 1)):
        plain = _change(rng, plain)
    return plain


def _change(rng: Random, plain: Any) -> Any:
    inside = plain if isinstance(plain, dict | list) and plain else None
    if inside is None or rng.random() < 0.05:
        return value(rng)
    key = rng.choice([*inside] if isinstance(inside, dict) else range(len(inside)))
    if isinstance(inside[key], dict | list) and rng.random() < 0.75:
        inside[key] = _change(rng, inside[key])
        return plain
    draw = rng.randrange(6)
    if draw == 0:
        del inside[key]
    elif draw == 1 and isinstance(inside, dict):
        inside[rng.choice([text(rng, 2), *inside])] = inside.pop(key)
    elif draw == 1:
        inside.append(copy.deepcopy(inside[key]))
    elif draw == 2 and isinstance(inside[key], int | float):
        inside[key] = rng.choice(NUMBERS)
    elif draw == 2 and isinstance(inside[key], str):
        inside[key] += text(rng, 3)
    else:
        inside[key] = value(rng)
    return plain


def as_json(plain: Any, *, lines: bool = False) -> bytes:
    """The value as JSON (`lines`: a list as JSON lines), with RAW's names as what they stand for."""
    rows = plain if lines and isinstance(plain, list) else [plain]
    written = "\n".join(json.dumps(row) for row in rows)
    for name, raw in RAW.items():
        written = written.replace(f'"{name}"', raw)
    return written.encode()


def damaged(rng: Random, content: bytes) -> bytes:
    """The bytes with flips, holes, cuts, insertions, swaps or repetitions, up to three of them."""
    for _ in range(rng.randrange(1, 4)):
        at, length = rng.randrange(len(content) + 1), rng.choice((1, 2, 4, 16, 256))
        if rng.random() < 0.3:
            at = min(at, rng.randrange(64))  # headers decide most
        kind = rng.randrange(7)
        if kind <= 1 and content:
            at = min(at, len(content) - 1)
            content = content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]
        elif kind == 2:
            content = content[:at] + bytes(min(length, len(content) - at)) + content[at + length :]
        elif kind == 3:
            content = content[:at] if rng.random() < 0.5 else content[:at] + content[at + length :]
        elif kind == 4:
            content = (
                content[:at]
                + rng.choice((rng.randbytes(length), b"\xff" * length, b'"', b"\n", b"\xed\xa0\x80"))
                + content[at:]
            )
        elif kind == 5:
            content = content[:at] + content[at : at + length] + content[at:]
        else:
            content = rng.choice((b"", b"\xef\xbb\xbf", b"PK\x03\x04", b"\x80\x02", b"\x1f\x8b")) + content
    return content


def packed(rng: Random, content: bytes) -> bytes:
    """Gzipped, sometimes cut or damaged, rarely with very much behind it."""
    if rng.random() < 0.03:
        content += rng.choice((b" ", b"\n", b"a")) * rng.choice((10**7, 5 * 10**8))
    written = gzip.compress(content, compresslevel=1)
    return damaged(rng, written) if rng.random() < 0.3 else written


def odd_file(rng: Random, path: Path) -> None:
    """In the place of `path` what is no file of data: nothing, a folder, a pipe, links, a device that never ends."""
    path.unlink(missing_ok=True)
    kind = rng.randrange(7)
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        path.symlink_to(path.name)
    elif kind == 3:
        path.symlink_to("nowhere")
    elif kind == 4:
        path.symlink_to("/dev/zero")
    elif kind == 5:
        path.write_bytes(b"")
        path.chmod(0)


def write(rng: Random, path: Path, content: bytes, *, odd: float = 0.03) -> None:
    """The file with this content, damaged in some cases, and in a few (`odd`) no file at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(damaged(rng, content) if rng.random() < 0.3 else content)
    if rng.random() < odd:
        odd_file(rng, path)


def one_line(error: ItmlabError) -> bool:
    """Whether a refusal is one line that a terminal shows as it stands; the faults of data are a line each."""
    said = str(error)
    lines = said.split("\n") if isinstance(error, FaultyData) else [said]
    return (
        all(len(line.splitlines()) <= 1 for line in lines) and "\x1b" not in said and "weights_only=False" not in said
    )
