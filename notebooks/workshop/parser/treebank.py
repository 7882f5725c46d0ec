"""Training of the parser that ships with itmlab: `python -m workshop.parser.treebank TREEBANK OUTPUT`.

spaCy reads the treebank and trains with `itmlab/text/english/training.cfg`. This script prepares the training documents
(caption-like versions of the treebank's sentences, and trees of captions), and removes from the result what only
training needs. `python -m spacy benchmark accuracy OUTPUT OUTPUT/dev.spacy --gold-preproc` prints its scores.

`caption_trees.conllu.xz` holds 26,929 dependency trees of FACTUAL's training captions (Li et al., Findings of ACL
2023). Each caption's hand-made scene graph explains it word by word and leaves one tree. They were derived by
`captions.py`, which the repository held until commit 605b455.
"""

import random
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from itmlab import text
from itmlab.errors import ItmlabError
from itmlab.storage import write_json
from itmlab.text.parsing import load_pipeline

from . import captionlike
from .sentences import Sentence, doc_of, read_sentences

TRAINING = Path(text.__file__).parent / "english" / "training.cfg"
CAPTION_TREES = Path(__file__).with_name("caption_trees.conllu.xz")
CAPTION_SHARE = 0.5
ABOUT = {
    "name": "english",
    "version": "0.2.0",
    "description": "Captions: tags, heads, lemmas (UD English EWT and FACTUAL captions)",
    "license": "CC BY-SA 4.0",
}


def train(
    treebank: Annotated[Path, typer.Argument(help="Folder with train.conllu.gz and dev.conllu.gz.")],
    output: Annotated[Path, typer.Argument(help="New folder for the trained pipeline.")],
    steps: Annotated[int, typer.Option(help="Updates.")] = 4400,
    seed: Annotated[int, typer.Option(help="Seed of the augmentation and of the training.")] = 0,
) -> None:
    """Train the pipeline from scratch on one core (half an hour) and keep the best checkpoint on dev."""
    from spacy.cli.train import train as train_with_spacy

    if output.exists():
        raise ItmlabError("the folder exists", where=str(output), remedy="name a new folder")
    with tempfile.TemporaryDirectory(prefix="itmlab-treebank-") as temporary:
        work = Path(temporary)
        prepare(treebank, work, seed)
        overrides = {f"paths.{split}": str(work / f"{split}.spacy") for split in ("train", "dev")}
        overrides |= {"system.seed": seed, "training.max_steps": steps, "training.eval_frequency": max(steps // 8, 1)}
        train_with_spacy(TRAINING, work / "trained", overrides=overrides)
        write_pipeline(load_pipeline(str(work / "trained" / "model-best")), output)
        (output / "dev.spacy").write_bytes((work / "dev.spacy").read_bytes())


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


def write_pipeline(pipeline, directory: Path) -> None:
    """Write a trained pipeline with the shipped tokeniser, and with the strings of its labels and edit trees only.

    The shipped tokeniser splits words where the treebank does: "e-mail", "T-shirt", "!!!", "555-1234".
    """
    import srsly

    pipeline.tokenizer.from_bytes(load_pipeline().tokenizer.to_bytes(exclude=["vocab"]), exclude=["vocab"])
    pipeline.meta.update(ABOUT)
    pipeline.config["paths"].update(train=None, dev=None)  # they name a temporary folder
    pipeline.to_disk(directory, exclude=["lookups"])
    pipes = (pipeline.get_pipe(name) for name in pipeline.pipe_names)
    strings = {str(label) for pipe in pipes for label in getattr(pipe, "labels", ())}
    trees = srsly.read_msgpack(directory / "trainable_lemmatizer" / "trees")["trees"]
    strings.update(pipeline.vocab.strings[tree[side]] for tree in trees for side in ("orig", "subst") if side in tree)
    write_json(directory / "vocab" / "strings.json", sorted(strings & set(pipeline.vocab.strings)))


if __name__ == "__main__":
    typer.run(train)
