"""From a treebank to training documents and a pipeline."""

import gzip
import lzma
import random

import pytest
import spacy
from workshop.parser import captionlike, treebank
from workshop.parser.captionlike import Sentence, Word
from workshop.parser.treebank import CAPTION_TREES, augmented, read_sentences, train

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
def sentences(tmp_path) -> list[Sentence]:
    path = tmp_path / "some.conllu.gz"
    path.write_bytes(gzip.compress(SENTENCES.encode()))
    return read_sentences(path)


def forms(sentence: Sentence) -> str:
    return " ".join(word.form for word in sentence)


def arcs(sentence: Sentence) -> set[tuple[str, str, str]]:
    return {(word.form, word.relation, sentence[word.head].form) for word in sentence}


def test_clauses_and_noun_phrases_become_captions(sentences):
    assert not list(captionlike.participle_phrases(sentences[0], random.Random(0)))  # it is negated
    (phrase,) = captionlike.participle_phrases(sentences[1], random.Random(0))
    assert forms(phrase) == "The man riding a horse"
    assert {("man", "ROOT", "man"), ("riding", "acl", "man"), ("horse", "obj", "riding")} <= arcs(phrase)
    assert [forms(phrase) for phrase in captionlike.noun_phrases(sentences[0])] == ["the old dog"]


def test_a_pronoun_becomes_a_noun_and_the_past_a_participle():
    he = Word("He", "he", "PRON", "PRP", "_", 1, "nsubj")
    drove = Word("drove", "drive", "VERB", "VBD", "_", 1, "ROOT")
    cars = Word("cars", "car", "NOUN", "NNS", "Number=Plur", 1, "obj")
    (phrase,) = captionlike.participle_phrases((he, drove, cars), random.Random(1))
    *_, driving, last = phrase
    assert driving.form == "driving" and phrase[driving.head].upos == "NOUN" and phrase[last.head] is driving


def test_augmentation_keeps_every_sentence_and_depends_on_the_seed(sentences, tmp_path):
    many = sentences * 20
    documents = list(augmented(many, seed=3))
    assert documents == list(augmented(many, seed=3)) and documents != list(augmented(many, seed=4))
    plain = [sentence for document in documents for sentence in document]
    assert all(plain.count(sentence) >= 20 for sentence in sentences)
    first = tmp_path / "first.conllu.gz"
    trees = lzma.decompress(CAPTION_TREES.read_bytes()).split(b"\n\n")
    first.write_bytes(gzip.compress(b"\n\n".join(trees[:500])))
    for sentence in [*plain, *read_sentences(first)]:
        assert sum(word.head == position for position, word in enumerate(sentence)) == 1
        assert all(0 <= word.head < len(sentence) for word in sentence)


def test_training_writes_a_pipeline_that_parses_and_never_into_an_existing_folder(tmp_path, monkeypatch):
    for split in ("train", "dev"):
        (tmp_path / f"{split}.conllu.gz").write_bytes(gzip.compress(((SENTENCES + "\n") * 8).encode()))
    monkeypatch.setattr(treebank, "CAPTION_TREES", tmp_path / "dev.conllu.gz")
    train(tmp_path, tmp_path / "made", steps=4, seed=1)
    document = spacy.load(tmp_path / "made" / "model-best")("The man is riding a horse.")
    assert len(document) == 7 and all(token.pos_ and token.dep_ for token in document)
    with pytest.raises(ItmlabError, match="exists"):
        train(tmp_path, tmp_path / "made")
