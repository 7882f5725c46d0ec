"""Training of the parser that ships with itmlab: `python -m workshop.parser.treebank --help`.

spaCy reads the treebank, trains with `text/english/training.cfg` and evaluates. This script prepares the training
documents (caption-like versions of the treebank's sentences, and trees of captions), adapts the tokeniser and removes
from the result what only training needs.

`caption_trees.conllu.xz` holds 26,929 dependency trees of FACTUAL's training captions (Li et al., Findings of ACL
2023). Each caption's hand-made scene graph explains it word by word and leaves one tree. They were derived by
`captions.py`, which the repository held until commit 605b455.
"""

import random
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from itmlab.errors import ItmlabError
from itmlab.storage import write_json
from itmlab.text.parsing import load_pipeline

from . import captionlike
from .sentences import Sentence, doc_of, read_sentences

if TYPE_CHECKING:
    from spacy import Language, Vocab
    from spacy.tokens import DocBin

app = typer.Typer(help="Train and score the pipeline that parses captions.", no_args_is_help=True)
TRAINING = Path(__file__).parents[2] / "text" / "english" / "training.cfg"
CAPTION_TREES = Path(__file__).with_name("caption_trees.conllu.xz")
CAPTION_SHARE = 0.5
ABOUT = {
    "name": "english",
    "version": "0.2.0",
    "description": "Captions: tags, heads, lemmas (UD English EWT and FACTUAL captions)",
    "license": "CC BY-SA 4.0",
}
Treebank = Annotated[Path, typer.Option(help="Folder with train, dev and test .conllu or .conllu.gz.")]


@app.command()
def train(
    treebank: Treebank,
    output: Annotated[Path, typer.Option(help="New folder for the trained pipeline.")],
    captions: Annotated[bool, typer.Option(help="Whether to learn from FACTUAL's caption trees as well.")] = True,
    steps: Annotated[int | None, typer.Option(help="Updates; the configuration's number by default.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the augmentation and of the training.")] = 0,
) -> None:
    """Train the pipeline from scratch on one core (half an hour) and keep the best checkpoint on dev."""
    from spacy.cli.train import train as train_with_spacy

    if output.exists():
        raise ItmlabError("the folder exists", where=str(output), remedy="name a new folder")
    with tempfile.TemporaryDirectory(prefix="itmlab-treebank-") as temporary:
        work = Path(temporary)
        prepare(treebank, work, captions, seed)
        overrides = {f"paths.{split}": str(work / f"{split}.spacy") for split in ("train", "dev")}
        overrides["system.seed"] = seed
        if steps is not None:
            overrides["training.max_steps"] = steps
            overrides["training.eval_frequency"] = max(steps // 8, 1)
        train_with_spacy(TRAINING, work / "trained", overrides=overrides)
        trained = load_pipeline(str(work / "trained" / "model-best"))
        fit_tokenizer(trained)
        trained.meta.update(ABOUT)
        write_pipeline(trained, output)
    score(treebank, output)


@app.command()
def score(
    treebank: Treebank,
    pipeline: Annotated[Path | None, typer.Option(help="A pipeline's folder; the shipped one by default.")] = None,
    split: Annotated[str, typer.Option(help="dev or test.")] = "dev",
) -> None:
    """Print a pipeline's scores on a split, with the treebank's words and from raw text."""
    sentences = read_sentences(_file(treebank, split))
    loaded = load_pipeline() if pipeline is None else load_pipeline(str(pipeline))
    for raw_text in (False, True):
        scores = parsing_scores(loaded, sentences, raw_text=raw_text)
        values = "  ".join(f"{name} {value:.2f}" for name, value in scores.items())
        typer.echo(f"{split}, {'raw text' if raw_text else 'given words'}: {values}")


def parsing_scores(pipeline: "Language", sentences: Iterable[Sentence], *, raw_text: bool) -> dict[str, float]:
    """Return spaCy's scores of a pipeline in percent: words, UPOS, lemma, UAS and LAS.

    UAS and LAS leave punctuation out. LAS compares full relations with their subtypes.

    Args:
        raw_text: whether the pipeline finds the words itself.
    """
    from spacy.tokens import Doc
    from spacy.training import Example

    trees = [doc_of(pipeline.vocab, [sentence]) for sentence in sentences]
    examples = []
    for tree in trees:
        spaces = [bool(token.whitespace_) for token in tree[:-1]] + [False]
        words = Doc(tree.vocab, words=[token.text for token in tree], spaces=spaces)
        examples.append(Example(pipeline.make_doc(words.text) if raw_text else words, tree))
    scores = pipeline.evaluate(examples)
    names = {"words": "token_f", "upos": "pos_acc", "lemma": "lemma_acc", "uas": "dep_uas", "las": "dep_las"}
    return {name: 100 * scores[key] for name, key in names.items()}


def prepare(treebank: Path, output: Path, captions: bool = True, seed: int = 0) -> None:
    """Write train.spacy and dev.spacy: the augmented training split with every second caption tree, and dev."""
    import spacy

    vocab, chance = spacy.blank("en").vocab, random.Random(seed)
    documents = list(augmented(read_sentences(_file(treebank, "train")), seed))
    if captions:
        trees = read_sentences(CAPTION_TREES)
        documents += ([disguised(tree, chance)] for tree in trees if chance.random() < CAPTION_SHARE)
    _docbin(vocab, documents).to_disk(output / "train.spacy")
    dev = ([sentence] for sentence in read_sentences(_file(treebank, "dev")))
    _docbin(vocab, dev).to_disk(output / "dev.spacy")


def _file(treebank: Path, split: str) -> Path:
    compressed = treebank / f"{split}.conllu.gz"
    return compressed if compressed.exists() else treebank / f"{split}.conllu"


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


def _docbin(vocab: "Vocab", documents: Iterable[Sequence[Sentence]]) -> "DocBin":
    from spacy.tokens import DocBin

    attributes = ["ORTH", "TAG", "POS", "MORPH", "LEMMA", "HEAD", "DEP", "SENT_START", "SPACY"]
    return DocBin(attrs=attributes, docs=[doc_of(vocab, sentences) for sentences in documents])


# spaCy's English tokeniser, adapted to where the treebank ends its words: "e-mail", "T-shirt", "!!!", "555-1234".

BEFORE_HYPHEN = "e non pre anti mid re co post over multi pro ex semi sub cross neo un counter t i v u tee"
RUNS = (r"[!?]{2,}", r"\*{2,}", r"={2,}", r"_{2,}", r"-{4,}", r"<{2,}", r">{2,}", r"~{2,}", r"#{2,}")
NUMBERS = r"\(?\d{3}\)?[-.]\d{3}[-.]\d{4}|\d{3}-\d{4}"
ABBREVIATIONS = (
    "Ft. ft. lb. lbs. oz. No. Sr. Jr. Lt. Col. Sec. Vol. Esp. esp. ext. Ph. Fax. Attn. Blvd. Ave. mins. hrs. yrs. Mon. "
    "Tue. Tues. Wed. Thur. Thurs. Fri. Sat. Sun. Rep. Reps. Sen. Conf. Que. al. eg. approx."
)
NO_CONTRACTIONS = ("and/or", "Wed", "wed", "Id", "id", "Shed", "shed")
SPLIT = {"wanna": ("wan", "na"), "Wanna": ("Wan", "na"), "outta": ("out", "ta"), "lotta": ("lot", "ta")}


def fit_tokenizer(pipeline: "Language") -> None:
    """Change the tokeniser of an English pipeline in place; it is saved with the pipeline as plain patterns."""
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

    tokenizer, defaults = pipeline.tokenizer, pipeline.Defaults
    tokenizer.prefix_search = compile_prefix_regex([*RUNS, *defaults.prefixes]).search
    tokenizer.suffix_search = compile_suffix_regex([*RUNS, *defaults.suffixes, r"(?<=:\d\d)[AaPp][Mm]"]).search
    unsplit = "".join(
        rf"(?<!\b{case(part)})" for part in BEFORE_HYPHEN.split() for case in (str, str.capitalize, str.upper)
    )
    infixes = [unsplit + infix if _splits_at_hyphens(infix) else infix for infix in defaults.infixes]
    tokenizer.infix_finditer = compile_infix_regex([*RUNS[:3], *infixes]).finditer
    tokenizer.token_match = re.compile(f"^(?:{NUMBERS})$").match
    tokenizer.rules = {word: pieces for word, pieces in tokenizer.rules.items() if word not in NO_CONTRACTIONS}
    for word in ABBREVIATIONS.split():
        tokenizer.add_special_case(word, [{"ORTH": word}])
    for word, pieces in SPLIT.items():
        tokenizer.add_special_case(word, [{"ORTH": piece} for piece in pieces])


def _splits_at_hyphens(infix: str) -> bool:
    """Whether a pattern is spaCy's for a dash between letters."""
    return bool(re.search(infix, "well-known")) and not re.search(infix, "and/or")


def write_pipeline(pipeline: "Language", directory: Path) -> None:
    """Write a trained pipeline without lookups, and with the strings of its labels and edit trees only."""
    import srsly

    pipeline.config["paths"].update(train=None, dev=None)  # they name a temporary folder
    pipeline.to_disk(directory, exclude=["lookups"])
    pipes = (pipeline.get_pipe(name) for name in pipeline.pipe_names)
    strings = {str(label) for pipe in pipes for label in getattr(pipe, "labels", ())}
    trees = srsly.read_msgpack(directory / "trainable_lemmatizer" / "trees")["trees"]
    strings.update(pipeline.vocab.strings[tree[side]] for tree in trees for side in ("orig", "subst") if side in tree)
    write_json(directory / "vocab" / "strings.json", sorted(strings & set(pipeline.vocab.strings)))


if __name__ == "__main__":
    try:
        app()
    except ItmlabError as error:
        raise SystemExit(f"error: {error}") from None
