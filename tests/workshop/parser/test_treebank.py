"""From a treebank to training documents and a pipeline."""

import gzip
import lzma
import random

import pytest
import spacy
from workshop.parser import treebank
from workshop.parser.treebank import disguised, read_sentences, train, training_documents

from itmlab.errors import ItmlabError

SENTENCES = """\
# text = He didn't see the old dog.
1\tHe\the\tPRON\tPRP\tCase=Nom|Number=Sing\t4\tnsubj\t_\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdid\tdo\tAUX\tVBD\tTense=Past|VerbForm=Fin\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tsee\tsee\tVERB\tVB\tVerbForm=Inf\t0\troot\t_\t_
4.1\tseen\tsee\tVERB\tVBN\t_\t_\t_\t4:x\t_
5\tthe\tthe\tDET\tDT\tDefinite=Def\t7\tdet\t_\t_
6\told\told\tADJ\tJJ\tDegree=Pos\t7\tamod\t_\t_
7\tdog\tdog\tNOUN\tNN\tNumber=Sing\t4\tobj\t_\tSpaceAfter=No
8\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tman\tman\tNOUN\tNN\tNumber=Sing\t4\tnsubj\t_\t_
3\tis\tbe\tAUX\tVBZ\tVerbForm=Fin\t4\taux\t_\t_
4\triding\tride\tVERB\tVBG\tVerbForm=Part\t0\troot\t_\t_
5\ta\ta\tDET\tDT\t_\t6\tdet\t_\t_
6\thorse\thorse\tNOUN\tNN\tNumber=Sing\t4\tobj\t_\tSpaceAfter=No
7\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a small treebank, which also takes the place of the trees of phrases and captions."""
    for split in ("train", "dev"):
        (tmp_path / f"{split}.conllu.gz").write_bytes(gzip.compress(((SENTENCES + "\n") * 8).encode()))
    monkeypatch.setattr(treebank, "PHRASE_TREES", tmp_path / "dev.conllu.gz")
    monkeypatch.setattr(treebank, "CAPTION_TREES", tmp_path / "dev.conllu.gz")
    return tmp_path


def test_documents_keep_every_sentence_and_depend_on_the_seed(folder):
    sentences = read_sentences(folder / "train.conllu.gz")
    texts = [document.text for document in training_documents(sentences, seed=3)]
    assert texts == [document.text for document in training_documents(sentences, seed=3)]
    assert texts != [document.text for document in training_documents(sentences, seed=4)]
    assert " ".join(texts).count("The man is riding a horse.") >= 8
    wordings = {disguised(sentences[1], random.Random(seed)).text.strip() for seed in range(40)}
    assert {"The man is riding a horse", "the man is riding a horse ."} <= wordings and any(map(str.isupper, wordings))


@pytest.mark.parametrize("path", [treebank.PHRASE_TREES, treebank.CAPTION_TREES], ids=lambda path: path.name)
def test_committed_trees_have_one_root(path):
    trees = lzma.decompress(path.read_bytes()).decode().strip().split("\n\n")
    assert len(trees) > 6000 and all(tree.count("\t0\troot\t") == 1 for tree in trees)


def test_training_writes_a_pipeline_that_parses_and_never_into_an_existing_folder(folder):
    train(folder, folder / "made", steps=4, seed=1)
    document = spacy.load(folder / "made" / "model-best")("The man is riding a horse.")
    assert len(document) == 7 and all(token.pos_ and token.dep_ for token in document)
    with pytest.raises(ItmlabError, match="exists"):
        train(folder, folder / "made")
