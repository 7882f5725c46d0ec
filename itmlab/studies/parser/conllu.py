"""Universal Dependencies treebanks (CoNLL-U, also gzipped): sentences of words with their heads, also for spaCy."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ItmlabError

if TYPE_CHECKING:
    from spacy import Vocab
    from spacy.tokens import Doc

COLUMNS = 10
KEPT_FEATURES = {"Number": ("NOUN", "PROPN", "PRON"), "VerbForm": ("VERB", "AUX"), "Tense": ("VERB", "AUX"),
                 "Voice": ("VERB",), "NumType": ("NUM", "ADJ"), "Degree": ("ADJ", "ADV"),
                 "Poss": ("PRON",)}  # fmt: skip


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
    path = Path(path)
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
            lines = [(number, line.rstrip("\r\n")) for number, line in enumerate(file, 1) if line[0] != "#"]
    except FileNotFoundError:
        raise ItmlabError("no such treebank", where=str(path), remedy="get it from universaldependencies.org") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ItmlabError(f"cannot be read: {error}", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise ItmlabError(f"not UTF-8 at byte {error.start}", where=str(path)) from None
    for annotated, block in groupby(lines, key=lambda pair: bool(pair[1])):
        if annotated:
            yield _sentence(list(block), str(path))


def text_of(sentence: Sentence) -> str:
    """The sentence as it was written."""
    return "".join(word.form + " " * word.space for word in sentence).strip()


def _sentence(lines: list[tuple[int, str]], path: str) -> Sentence:
    words, places = [], []  # and the line each word stands on
    merged: list[tuple[int, int, str, bool]] = []
    for number, line in lines:
        columns, here = line.split("\t"), f"{path}:{number}"
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
        target = len(words) if target < 0 else target
        places.append(here)
        words.append(Word(form, form if lemma == "_" else lemma, upos, xpos, features, target, relation, space))
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
    for left, form in zip(range(len(forms) - 1, 0, -1), forms, strict=False):
        size = max(1, min(len(form), len(token) - left))
        pieces, token = [*pieces, token[:size]], token[size:]
    return [*pieces, token]


def _number(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ItmlabError(f"{text!r} is not a word's number", where=where) from None


def doc_of(vocab: "Vocab", sentences: Sequence[Sentence]) -> "Doc":
    """One spaCy document with the words, tags, heads and lemmas of sentences that follow each other."""
    from spacy.tokens import Doc

    starts = list(accumulate(map(len, sentences[:-1]), initial=0))
    words = [word for sentence in sentences for word in sentence]
    return Doc(
        vocab,
        words=[word.form for word in words],
        spaces=[word.space for word in words],
        tags=[word.xpos for word in words],
        pos=[word.upos for word in words],
        morphs=[kept_features(word.features, word.upos) for word in words],
        lemmas=[word.lemma for word in words],
        heads=[start + word.head for start, sentence in zip(starts, sentences, strict=True) for word in sentence],
        deps=["ROOT" if word.relation == "root" else word.relation for word in words],
        sent_starts=[place in set(starts) for place in range(len(words))],
    )


def kept_features(features: str, upos: str) -> str:
    """The features that scene graphs ask for (number, verb form, voice …); fewer classes are learnt better.

    >>> kept_features("Case=Nom|Number=Sing|Person=3", "PRON")
    'Number=Sing'
    """
    pairs = (pair.partition("=") for pair in features.split("|") if "=" in pair)
    return "|".join(f"{name}={value}" for name, _, value in pairs if upos in KEPT_FEATURES.get(name, ()))
