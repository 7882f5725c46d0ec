"""The shipped pipeline on UD English EWT's test split: quality bounds, on its own words and from raw text."""

import pytest
from spacy.tokens import Doc
from spacy.training import Example
from workshop.parser.treebank import doc_of, read_sentences

from itmlab.text.parsing import load_pipeline

pytestmark = pytest.mark.real


@pytest.mark.parametrize("raw_text", [False, True], ids=["its own words", "raw text"])
def test_tags_and_heads_on_the_test_split(real_data, capsys, raw_text):
    sentences = list(read_sentences(real_data("ud_english_ewt/test.conllu.gz")))[::3]
    pipeline, examples = load_pipeline(), []
    for sentence in sentences:
        tree = doc_of(pipeline.vocab, [sentence])
        words = Doc(tree.vocab, words=[token.text for token in tree], spaces=[token.whitespace_ > "" for token in tree])
        examples.append(Example(pipeline.make_doc(tree.text.rstrip()) if raw_text else words, tree))
    evaluated = pipeline.evaluate(examples)
    scores = {name: 100 * evaluated[name] for name in ("token_f", "pos_acc", "dep_las", "lemma_acc")}
    with capsys.disabled():
        print(f"\nUD EWT test, {'raw text' if raw_text else 'own words'}:", scores)
    assert scores["token_f"] >= 98 and scores["pos_acc"] >= 93 and scores["dep_las"] >= 80
    if not raw_text:
        assert scores["lemma_acc"] >= 95
