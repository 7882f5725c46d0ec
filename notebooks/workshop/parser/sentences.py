"""Treebank sentences as tuples of words, read from CoNLL-U by spaCy's converter and written as spaCy documents."""

import gzip
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from itmlab.errors import ItmlabError

if TYPE_CHECKING:
    from spacy import Vocab
    from spacy.tokens import Doc

KEPT_FEATURES = {
    "Number": ("NOUN", "PROPN", "PRON"),
    "VerbForm": ("VERB", "AUX"),
    "Tense": ("VERB", "AUX"),
    "Voice": ("VERB",),
    "NumType": ("NUM", "ADJ"),
    "Degree": ("ADJ", "ADV"),
    "Poss": ("PRON",),
}


@dataclass(frozen=True)
class Word:
    """One syntactic word of a sentence.

    Args:
        head: the position of its head in the sentence (from 0), or its own position at the root.
        space: whether a space follows.
    """

    form: str
    lemma: str
    upos: str
    xpos: str
    features: str
    head: int
    relation: str
    space: bool = True


Sentence = tuple[Word, ...]


def read_sentences(path: Path) -> list[Sentence]:
    """Read the sentences of a compressed file (.conllu.gz or .conllu.xz).

    Raises:
        ItmlabError: there is no such file.
    """
    from spacy.training.converters import conllu_to_docs

    if not path.is_file():
        raise ItmlabError("no such treebank", where=str(path), remedy="get it from universaldependencies.org")
    with (lzma if path.suffix == ".xz" else gzip).open(path, "rt", encoding="utf-8") as file:
        documents = conllu_to_docs(file.read(), n_sents=1, no_print=True)
    return [tuple(_word(token) for token in document) for document in documents]


def _word(token) -> Word:
    lemma = token.text if token.lemma_ == "_" else token.lemma_
    features, space = str(token.morph), bool(token.whitespace_)
    return Word(token.text, lemma, token.pos_, token.tag_, features, token.head.i, token.dep_, space)


def doc_of(vocab: "Vocab", sentences: Sequence[Sentence]) -> "Doc":
    """Return one spaCy document with the words, tags, heads and lemmas of consecutive sentences."""
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
        deps=[word.relation for word in words],
        sent_starts=[position in starts for position in range(len(words))],
    )


def kept_features(features: str, upos: str) -> str:
    """Return the features that scene graphs need (number, verb form, voice and so on).

    Fewer classes are learnt better.

    >>> kept_features("Case=Nom|Number=Sing|Person=3", "PRON")
    'Number=Sing'
    """
    pairs = (pair.partition("=") for pair in features.split("|") if "=" in pair)
    return "|".join(f"{name}={value}" for name, _, value in pairs if upos in KEPT_FEATURES.get(name, ()))
