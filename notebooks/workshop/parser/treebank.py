"""Training of the parser that ships with itmlab: `python -m workshop.parser.treebank TREEBANK OUTPUT`.

spaCy reads the treebank and trains with `itmlab/text/english/training.cfg`. This script prepares the documents: the
treebank's sentences, phrases of them worded like captions, and trees of captions. The trained pipeline is
`OUTPUT/model-best`, and `python -m spacy benchmark accuracy OUTPUT/model-best OUTPUT/dev.spacy --gold-preproc` prints
its scores.

`phrase_trees.conllu.xz` holds 6,273 phrases of the treebank's training sentences (CC BY-SA 4.0): noun phrases, and
clauses worded as captions word them ("he drove the car" as "a man driving the car"). They were made by
`captionlike.py`, which the repository held until commit ac2dca1.

`caption_trees.conllu.xz` holds 26,929 dependency trees of FACTUAL's training captions (Li et al., Findings of ACL
2023). Each caption's hand-made scene graph explains it word by word and leaves one tree. They were derived by
`captions.py`, which the repository held until commit 605b455.
"""

import gzip
import lzma
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from itmlab import text
from itmlab.errors import ItmlabError

if TYPE_CHECKING:
    from spacy.tokens import Doc

ENGLISH = Path(text.__file__).parent / "english"
PHRASE_TREES = Path(__file__).with_name("phrase_trees.conllu.xz")
CAPTION_TREES = Path(__file__).with_name("caption_trees.conllu.xz")
CAPTION_SHARE = 0.5
FULL_STOP = {"words": ".", "lemmas": ".", "pos": "PUNCT", "tags": ".", "morphs": "", "deps": "punct", "spaces": True}
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
    seed: Annotated[int, typer.Option(help="Seed of the documents and of the training.")] = 0,
) -> None:
    """Train the pipeline from scratch on one core (half an hour) and keep the best checkpoint on dev."""
    from spacy.cli.train import train as train_with_spacy
    from spacy.tokens import DocBin

    if output.exists():
        raise ItmlabError("the folder exists", where=str(output), remedy="name a new folder")
    output.mkdir(parents=True)
    attributes = ["ORTH", "TAG", "POS", "MORPH", "LEMMA", "HEAD", "DEP", "SENT_START", "SPACY"]
    documents = training_documents(read_sentences(treebank / "train.conllu.gz"), seed)
    for split, docs in {"train": documents, "dev": read_sentences(treebank / "dev.conllu.gz")}.items():
        DocBin(attrs=attributes, docs=docs).to_disk(output / f"{split}.spacy")
    overrides = {f"paths.{split}": str(output / f"{split}.spacy") for split in ("train", "dev")}
    overrides |= {"paths.shipped": str(ENGLISH / "model"), "system.seed": seed}
    overrides |= {"training.max_steps": steps, "training.eval_frequency": max(steps // 8, 1)}
    train_with_spacy(ENGLISH / "training.cfg", output, overrides=overrides)


def training_documents(sentences: Iterable["Doc"], seed: int = 0) -> Iterator["Doc"]:
    """Yield training documents: sentences, one to three together, a third of them again in disguise, and phrases.

    To these come every phrase of the treebank and every second caption, in disguise.
    """
    from spacy.tokens import Doc

    chance = random.Random(seed)
    waiting, size = [], 1
    for sentence in sentences:
        waiting.append(sentence)
        if len(waiting) >= size:
            yield Doc.from_docs(waiting, ensure_whitespace=False)
            waiting, size = [], chance.choice((1, 1, 2, 3))
        if chance.random() < 0.3:
            yield disguised(sentence, chance)
    if waiting:
        yield Doc.from_docs(waiting, ensure_whitespace=False)
    for path, share in ((PHRASE_TREES, 1), (CAPTION_TREES, CAPTION_SHARE)):
        for tree in read_sentences(path):
            if chance.random() < share:
                yield disguised(tree, chance)


def disguised(sentence: "Doc", chance: random.Random) -> "Doc":
    """Return the sentence in small letters or with a first capital, with or without its stop, rarely in capitals."""
    from spacy.tokens import Doc

    words = list(sentence)
    if chance.random() < 0.7:
        while len(words) > 1 and words[-1].dep_ == "punct" and words[-1] not in {word.head for word in words}:
            words.pop()
    columns = {
        "words": [word.text.lower() for word in words],
        "lemmas": [word.lemma_.lower() for word in words],
        "pos": [word.pos_ for word in words],
        "tags": [word.tag_ for word in words],
        "morphs": [str(word.morph) for word in words],
        "deps": [word.dep_ for word in words],
        "spaces": [bool(word.whitespace_) for word in words],
        "heads": [word.head.i for word in words],
    }
    forms = columns["words"]
    if chance.random() < 0.03:
        columns["words"] = [form.upper() for form in forms]
        return Doc(sentence.vocab, **columns)
    if chance.random() < 0.5:
        forms[0] = forms[0][:1].upper() + forms[0][1:]
    if words[-1].dep_ != "punct" and chance.random() < 0.4:
        columns["spaces"][-1] = chance.random() < 0.3  # as in the COCO captions
        for name, value in FULL_STOP.items():
            columns[name].append(value)
        columns["heads"].append(next(word.i for word in words if word.head == word))
    return Doc(sentence.vocab, **columns)


def read_sentences(path: Path) -> list["Doc"]:
    """Read the sentences of a compressed file (.conllu.gz or .conllu.xz), with the features of `kept_features`."""
    from spacy.training.converters import conllu_to_docs

    with (lzma if path.suffix == ".xz" else gzip).open(path, "rt", encoding="utf-8") as file:
        documents = list(conllu_to_docs(file.read(), n_sents=1, no_print=True))
    for word in (word for document in documents for word in document):
        word.set_morph(kept_features(str(word.morph), word.pos_))
        if word.lemma_ == "_":
            word.lemma_ = word.text
    return documents


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
