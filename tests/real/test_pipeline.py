"""The shipped pipeline on UD English EWT's test split: quality bounds, on its own words and from raw text."""

import pytest
from workshop.parser.sentences import read_sentences
from workshop.parser.treebank import parsing_scores

from itmlab.text.parsing import load_pipeline

pytestmark = pytest.mark.real


@pytest.mark.parametrize("raw_text", [False, True], ids=["its own words", "raw text"])
def test_tags_and_heads_on_the_test_split(real_data, capsys, raw_text):
    sentences = read_sentences(real_data("ud_english_ewt/test.conllu.gz"))
    scores = parsing_scores(load_pipeline(), sentences, raw_text=raw_text)
    with capsys.disabled():
        print(f"\nUD EWT test, {'raw text' if raw_text else 'own words'}:", scores)
    assert scores["words"] >= 98 and scores["upos"] >= 93 and scores["las"] >= 80
    if not raw_text:
        assert scores["lemma"] >= 95
