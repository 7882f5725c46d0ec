"""spaCy documents to train on: a treebank's sentences and caption-like versions of them."""

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from . import captionlike
from .conllu import Sentence

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


def doc_of(vocab: "Vocab", sentences: Sequence[Sentence]) -> "Doc":
    """One spaCy document with the words, tags, heads and lemmas of sentences that follow each other."""
    from spacy.tokens import Doc

    starts = [sum(map(len, sentences[:number])) for number in range(len(sentences))]
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
    """The features that scene graphs ask for (number, verb form, voice …); fewer classes are learnt better."""
    pairs = (pair.partition("=") for pair in features.split("|") if "=" in pair)
    return "|".join(f"{name}={value}" for name, _, value in pairs if upos in KEPT_FEATURES.get(name, ()))


def augmented(sentences: Iterable[Sentence], seed: int) -> Iterator[list[Sentence]]:
    """Training documents: the sentences themselves, one to three together, and caption-like versions of them."""
    chance = random.Random(seed)
    waiting: list[Sentence] = []
    size = 1
    for sentence in sentences:
        waiting.append(sentence)
        if len(waiting) >= size:
            yield waiting
            waiting, size = [], chance.choice((1, 1, 2, 3))
        if chance.random() < 0.3:
            yield [disguised(sentence, chance)]
        for phrase in captionlike.participle_phrases(sentence, chance):
            if chance.random() < 0.6:
                yield [disguised(captionlike.indefinite(phrase, chance), chance)]
        for phrase in captionlike.noun_phrases(sentence):
            if chance.random() < 0.15:
                yield [disguised(captionlike.indefinite(phrase, chance), chance)]
    if waiting:
        yield waiting


def disguised(sentence: Sentence, chance: random.Random) -> Sentence:
    """The sentence in small letters or with a first capital, with or without its stop, rarely in capitals."""
    if chance.random() < 0.7:
        sentence = captionlike.without_final_stop(sentence)
    sentence = captionlike.lower(sentence)
    if chance.random() < 0.03:
        return captionlike.upper(sentence)
    if chance.random() < 0.5:
        sentence = captionlike.capitalised(sentence)
    if sentence[-1].relation != "punct" and chance.random() < 0.4:
        sentence = captionlike.with_stop(sentence, spaced=chance.random() < 0.3)
    return sentence
