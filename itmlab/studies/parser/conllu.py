"""Universal Dependencies treebanks (CoNLL-U, also gzipped): sentences of words with their heads."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import ItmlabError

COLUMNS = 10


@dataclass(frozen=True)
class Word:
    """One syntactic word; `head` is the place of its head in the sentence (from 0), its own place at the root."""

    form: str
    lemma: str
    upos: str
    xpos: str
    features: str
    head: int
    relation: str
    space: bool = True


Sentence = tuple[Word, ...]


def read_conllu(path: str | Path) -> Iterator[Sentence]:
    """The sentences of a .conllu or .conllu.gz file; a bad line is one ItmlabError with file and line.

    A multiword token ("don't" over "do" and "n't") becomes its words without a blank between them where the words
    spell the token, and with the token's letters shared out otherwise; empty nodes (8.1) are left out.
    """
    for lines in _blocks(Path(path)):
        yield _sentence(lines, str(path))


def text_of(sentence: Sentence) -> str:
    """The sentence as it was written."""
    return "".join(word.form + " " * word.space for word in sentence).strip()


def _blocks(path: Path) -> Iterator[list[tuple[int, str]]]:
    """Each sentence's annotated lines, numbered."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            lines: list[tuple[int, str]] = []
            for number, line in enumerate(file, 1):
                line = line.rstrip("\r\n")
                if line and not line.startswith("#"):
                    lines.append((number, line))
                elif not line and lines:
                    yield lines
                    lines = []
            if lines:
                yield lines
    except FileNotFoundError:
        raise ItmlabError("no such treebank", where=str(path), remedy="get it from universaldependencies.org") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ItmlabError(f"cannot be read: {error}", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise ItmlabError(f"not UTF-8 at byte {error.start}", where=str(path)) from None


def _sentence(lines: list[tuple[int, str]], path: str) -> Sentence:
    words, places = [], []  # and the line each word stands on
    merged: list[tuple[int, int, str, bool]] = []
    for number, line in lines:
        columns = line.split("\t")
        here = f"{path}:{number}"
        if len(columns) != COLUMNS:
            raise ItmlabError(f"{len(columns)} columns where CoNLL-U has {COLUMNS}", where=here)
        place, form, lemma, upos, xpos, features, head, relation, _, other = columns
        space = "SpaceAfter=No" not in other.split("|")
        if "." in place:
            continue
        if "-" in place:
            first, last = (_number(part, here) for part in place.split("-", 1))
            merged.append((first - 1, last, form, space))
            continue
        if _number(place, here) != len(words) + 1:
            raise ItmlabError(f"word {place} where {len(words) + 1} comes next", where=here)
        target = _number(head, here) - 1
        target, lemma = len(words) if target < 0 else target, form if lemma == "_" else lemma
        places.append(here)
        words.append(Word(form, lemma, upos, xpos, features, target, relation, space))
    for here, word in zip(places, words, strict=True):
        if word.head >= len(words):
            raise ItmlabError(f"the head {word.head + 1} is not in the sentence", where=here)
    where = f"{path}:{lines[0][0]}"
    if sum(word.head == place for place, word in enumerate(words)) != 1:
        raise ItmlabError("a sentence has one root", where=where)
    for first, last, form, space in merged:
        if not first < last <= len(words):
            raise ItmlabError(f"the token {form!r} spans words that are not there", where=where)
        for place, piece in enumerate(_share_out(form, [word.form for word in words[first:last]]), first):
            words[place] = replace(words[place], form=piece, space=space and place == last - 1)
    return tuple(words)


def _share_out(token: str, forms: list[str]) -> list[str]:
    """The letters of a token over its words: as the words spell it, else by their lengths, each at least one."""
    if "".join(forms) == token or len(token) < len(forms):
        return forms
    pieces = []
    for place, form in enumerate(forms):
        left = len(forms) - place - 1
        size = len(token) if not left else max(1, min(len(form), len(token) - left))
        pieces.append(token[:size])
        token = token[size:]
    return pieces


def _number(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ItmlabError(f"{text!r} is not a word's number", where=where) from None
