"""From a treebank to the pipeline that ships with itmlab: `python -m itmlab.studies.parser.treebank --help`."""

import os
import random
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import ItmlabError
from ...storage import write_json
from ...text.parsing import load_pipeline
from . import captionlike
from .captions import caption_trees, read_factual
from .conllu import Sentence, doc_of, read_conllu
from .learn_words import fit_tokenizer
from .scores import parsing_scores

if TYPE_CHECKING:
    from spacy import Language, Vocab
    from spacy.tokens import DocBin

app = typer.Typer(help="Train and score the pipeline that reads captions.", no_args_is_help=True)
TRAINING = Path(__file__).parents[2] / "text" / "english" / "training.cfg"
CAPTION_SHARE = 0.5
ABOUT = {
    "name": "english",
    "version": "0.2.0",
    "description": "Captions: tags, heads, lemmas (UD English EWT and FACTUAL captions)",
    "license": "CC BY-SA 4.0",
}


@app.command()
def train(
    treebank: Annotated[Path, typer.Option(help="Folder with train, dev and test .conllu or .conllu.gz.")],
    output: Annotated[Path, typer.Option(help="Where the trained pipeline is written, in one step.")],
    captions: Annotated[
        Path | None, typer.Option(help="FACTUAL's train captions with scene graphs (.csv or .csv.gz).")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Updates; what the configuration says where not given.")] = None,
    seed: Annotated[int, typer.Option(help="Of the augmentation and the training.")] = 0,
) -> None:
    """Train the pipeline from scratch on one core (half an hour) with english/training.cfg; keep the best on dev."""
    from spacy.cli.train import train as train_with_spacy

    if output.exists() and not (output / "meta.json").exists():
        raise ItmlabError("the folder is there and holds no pipeline", where=str(output), remedy="name a new folder")
    with tempfile.TemporaryDirectory(prefix="itmlab-treebank-") as temporary:
        work = Path(temporary)
        prepare(treebank, work, captions, seed)
        paths = {f"paths.{split}": str(work / f"{split}.spacy") for split in ("train", "dev")}
        length = {} if steps is None else {"training.max_steps": steps, "training.eval_frequency": max(steps // 8, 1)}
        train_with_spacy(TRAINING, work / "trained", overrides={**paths, **length, "system.seed": seed})
        trained = load_pipeline(str(work / "trained" / "model-best"))
        fit_tokenizer(trained)
        trained.meta.update(ABOUT)
        write_pipeline(trained, output)
    score(treebank, output)


@app.command()
def score(
    treebank: Annotated[Path, typer.Option(help="Folder with train, dev and test .conllu or .conllu.gz.")],
    pipeline: Annotated[Path | None, typer.Option(help="A pipeline's folder; the shipped one if not given.")] = None,
    split: Annotated[str, typer.Option(help="dev or test.")] = "dev",
) -> None:
    """Print a pipeline's scores on a split, on its own words and from raw text."""
    sentences = list(read_conllu(_file(treebank, split)))
    loaded = load_pipeline() if pipeline is None else load_pipeline(str(pipeline))
    for raw_text in (False, True):
        scores = parsing_scores(loaded, sentences, raw_text=raw_text)
        values = "  ".join(f"{name} {value:.2f}" for name, value in asdict(scores).items())
        typer.echo(f"{split}, {'raw text' if raw_text else 'given words'}: {values}")


def prepare(treebank: Path, output: Path, captions: Path | None = None, seed: int = 0) -> None:
    """Write train.spacy and dev.spacy from the treebank's .conllu(.gz) files.

    The training split is augmented and joined by `captions` with scene graphs (FACTUAL) that have one tree, every
    second of them as it stands.
    """
    import spacy

    vocab, chance = spacy.blank("en").vocab, random.Random(seed)
    sentences = list(read_conllu(_file(treebank, "train")))
    groups = list(augmented(sentences, seed))
    if captions is not None:
        trees = caption_trees(read_factual(captions), sentences)
        groups += ([disguised(tree, chance)] for tree in trees if chance.random() < CAPTION_SHARE)
    _docbin(vocab, groups).to_disk(output / "train.spacy")
    _docbin(vocab, ([sentence] for sentence in read_conllu(_file(treebank, "dev")))).to_disk(output / "dev.spacy")


def _file(treebank: Path, split: str) -> Path:
    zipped = treebank / f"{split}.conllu.gz"
    return zipped if zipped.exists() else treebank / f"{split}.conllu"


def augmented(sentences: Iterable[Sentence], seed: int) -> Iterator[list[Sentence]]:
    """Training documents: the sentences themselves, one to three together, and caption-like versions of them."""
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
    """The sentence in small letters or with a first capital, with or without its stop, rarely in capitals."""
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


def _docbin(vocab: "Vocab", groups: Iterable[Sequence[Sentence]]) -> "DocBin":
    from spacy.tokens import DocBin

    docbin = DocBin(attrs=["ORTH", "TAG", "POS", "MORPH", "LEMMA", "HEAD", "DEP", "SENT_START", "SPACY"])
    for group in groups:
        docbin.add(doc_of(vocab, group))
    return docbin


def write_pipeline(pipeline: "Language", directory: Path) -> None:
    """Write a trained pipeline in one step, without what only training needs: vectors, lookups and strings."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}.") as temporary:
        new, old = Path(temporary) / "new", Path(temporary) / "old"
        pipeline.config["paths"].update(train=None, dev=None)  # of a machine that is of no interest
        pipeline.to_disk(new, exclude=["lookups"])
        pipes = (pipeline.get_pipe(name) for name in pipeline.pipe_names)
        kept = {str(label) for pipe in pipes for label in getattr(pipe, "labels", ())}
        kept.update(_lemma_pieces(pipeline, new))
        write_json(new / "vocab" / "strings.json", sorted(kept & set(pipeline.vocab.strings)))
        if directory.exists():
            os.replace(directory, old)
        os.replace(new, directory)


def _lemma_pieces(pipeline: "Language", directory: Path) -> Iterator[str]:
    """The letters that the lemmatiser's edit trees replace, which they keep as hashes of strings."""
    import srsly

    trees = srsly.read_msgpack(directory / "trainable_lemmatizer" / "trees")["trees"]
    return (pipeline.vocab.strings[tree[side]] for tree in trees for side in ("orig", "subst") if side in tree)


if __name__ == "__main__":
    try:
        app()
    except ItmlabError as error:
        raise SystemExit(f"error: {error}") from None
