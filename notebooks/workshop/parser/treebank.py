"""Training of the parser that ships with itmlab: `python -m workshop.parser.treebank TREEBANK OUTPUT`.

spaCy reads the treebank and trains with `itmlab/text/english/training.cfg`. This script prepares the documents:
caption-like versions of the treebank's sentences, and trees of captions. The trained pipeline is `OUTPUT/model-best`,
and `python -m spacy benchmark accuracy OUTPUT/model-best OUTPUT/dev.spacy --gold-preproc` prints its scores.

`caption_trees.conllu.xz` holds 26,929 dependency trees of FACTUAL's training captions (Li et al., Findings of ACL
2023). Each caption's hand-made scene graph explains it word by word and leaves one tree. They were derived by
`captions.py`, which the repository held until commit 605b455.
"""

import gzip
import lzma
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from itmlab import text
from itmlab.errors import ItmlabError

from . import captionlike
from .captionlike import Sentence, Word

if TYPE_CHECKING:
    from spacy import Vocab
    from spacy.tokens import Doc

ENGLISH = Path(text.__file__).parent / "english"
CAPTION_TREES = Path(__file__).with_name("caption_trees.conllu.xz")
CAPTION_SHARE = 0.5
KEPT_FEATURES = {
    "Number": ("NOUN", "PROPN", "PRON"),
    "VerbForm": ("VERB", "AUX"),
    "Tense": ("VERB", "AUX"),
    "Voice": ("VERB",),
    "NumType": ("NUM", "ADJ"),
    "Degree": ("ADJ", "ADV"),
    "Poss": ("PRON",),
}


def train(
    treebank: Annotated[Path, typer.Argument(exists=True, help="Folder with train.conllu.gz and dev.conllu.gz.")],
    output: Annotated[Path, typer.Argument(help="New folder for the documents and the trained pipeline.")],
    steps: Annotated[int, typer.Option(help="Updates.")] = 4400,
    seed: Annotated[int, typer.Option(help="Seed of the augmentation and of the training.")] = 0,
) -> None:
    """Train the pipeline from scratch on one core (half an hour) and keep the best checkpoint on dev."""
    from spacy.cli.train import train as train_with_spacy

    if output.exists():
        raise ItmlabError("the folder exists", where=str(output), remedy="name a new folder")
    output.mkdir(parents=True)
    prepare(treebank, output, seed)
    overrides = {f"paths.{split}": str(output / f"{split}.spacy") for split in ("train", "dev")}
    overrides |= {"paths.shipped": str(ENGLISH / "model"), "system.seed": seed}
    overrides |= {"training.max_steps": steps, "training.eval_frequency": max(steps // 8, 1)}
    train_with_spacy(ENGLISH / "training.cfg", output, overrides=overrides)


def prepare(treebank: Path, output: Path, seed: int = 0) -> None:
    """Write train.spacy and dev.spacy: the augmented training split with every second caption tree, and dev."""
    import spacy
    from spacy.tokens import DocBin

    vocab, chance = spacy.blank("en").vocab, random.Random(seed)
    documents = list(augmented(read_sentences(treebank / "train.conllu.gz"), seed))
    trees = read_sentences(CAPTION_TREES)
    documents += ([disguised(tree, chance)] for tree in trees if chance.random() < CAPTION_SHARE)
    dev = [[sentence] for sentence in read_sentences(treebank / "dev.conllu.gz")]
    attributes = ["ORTH", "TAG", "POS", "MORPH", "LEMMA", "HEAD", "DEP", "SENT_START", "SPACY"]
    for name, split in (("train", documents), ("dev", dev)):
        docs = [doc_of(vocab, sentences) for sentences in split]
        DocBin(attrs=attributes, docs=docs).to_disk(output / f"{name}.spacy")


def augmented(sentences: Iterable[Sentence], seed: int) -> Iterator[list[Sentence]]:
    """Yield training documents: the sentences, one to three together, and caption-like versions of them."""
    chance = random.Random(seed)
    waiting, size = [], 1
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
    """Return the sentence in small letters or with a first capital, with or without its stop, rarely in capitals."""
    if chance.random() < 0.7:
        sentence = captionlike.without_final_stop(sentence)
    sentence = tuple(replace(word, form=word.form.lower(), lemma=word.lemma.lower()) for word in sentence)
    if chance.random() < 0.03:
        return tuple(replace(word, form=word.form.upper()) for word in sentence)
    if chance.random() < 0.5:
        first = sentence[0].form
        sentence = (replace(sentence[0], form=first[:1].upper() + first[1:]), *sentence[1:])
    if sentence[-1].relation != "punct" and chance.random() < 0.4:
        sentence = captionlike.with_stop(sentence, spaced=chance.random() < 0.3)
    return sentence


def read_sentences(path: Path) -> list[Sentence]:
    """Read the sentences of a compressed file (.conllu.gz or .conllu.xz)."""
    from spacy.training.converters import conllu_to_docs

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

    docs = [
        Doc(
            vocab,
            words=[word.form for word in sentence],
            spaces=[word.space for word in sentence],
            tags=[word.xpos for word in sentence],
            pos=[word.upos for word in sentence],
            morphs=[kept_features(word.features, word.upos) for word in sentence],
            lemmas=[word.lemma for word in sentence],
            heads=[word.head for word in sentence],
            deps=[word.relation for word in sentence],
        )
        for sentence in sentences
    ]
    return Doc.from_docs(docs, ensure_whitespace=False)


def kept_features(features: str, upos: str) -> str:
    """Return the features that scene graphs need (number, verb form, voice and so on).

    Fewer classes are learnt better.

    >>> kept_features("Case=Nom|Number=Sing|Person=3", "PRON")
    'Number=Sing'
    """
    pairs = (pair.partition("=") for pair in features.split("|") if "=" in pair)
    return "|".join(f"{name}={value}" for name, _, value in pairs if upos in KEPT_FEATURES.get(name, ()))


if __name__ == "__main__":
    typer.run(train)
