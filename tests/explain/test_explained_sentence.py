"""A corrected sentence keeps everything of the sentence but the words that are rewritten."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.explain.explained_sentence import ExplainedSentence, Word


def explained(sentence: str, **rewritten: str) -> ExplainedSentence:
    """Words at blanks and before a final point; `word="correction"` rewrites a word with mismatch 0.75."""
    words, at = [], 0
    for text in sentence.replace(".", " .").split():
        start = sentence.index(text, at)
        at = start + len(text)
        new = rewritten.get(text, text)
        words.append(Word(text, start, at, 0.75 if new != text else 0.1, new.removeprefix("##"), new.startswith("##")))
    return ExplainedSentence(sentence, tuple(words), {"one": 0.5, "other": 0.934})


def test_without_corrections_it_is_the_sentence_to_the_letter():
    sentence = " A dog,  two\ncats\tand <b>one</b>. "
    assert explained(sentence).corrected() == sentence


def test_corrected_words_stand_where_the_words_stood():
    found = explained("A dog  on a sofa.", dog="cat", sofa="chair")
    assert found.corrected() == "A cat  on a chair."
    assert [text for text, new in found.parts() if new] == ["cat", "chair"]


def test_only_words_with_enough_mismatch_are_rewritten():
    found = explained("A dog on a sofa.", dog="cat")
    assert found.corrected(0.75) == "A cat on a sofa." and found.corrected(0.76) == "A dog on a sofa."


def test_a_correction_that_goes_on_with_the_word_before_has_no_blank():
    assert explained("a foot ball.", ball="##path").corrected() == "a footpath."
    assert explained("ball games", ball="##path").corrected() == "path games"  # nothing to go on with


def test_two_words_do_not_run_into_one():
    assert explained("a dog.", **{".": "and"}).corrected() == "a dog and"
    assert explained("a dog.", dog="cat").corrected() == "a cat."


def test_it_reads_as_scores_and_words_in_doubt():
    found = explained("A dog\n on a sofa.", dog="cat")
    assert str(found) == "“A dog\\n on a sofa.” one 50.0 %, other 93.4 %\n  dog: 75 %, rather cat"
    assert str(ExplainedSentence("a dog", ())) == "“a dog”"


@settings(max_examples=60, deadline=None)
@given(sentence=st.text(alphabet="ab .,\n'", min_size=1, max_size=30), above=st.sampled_from([0.0, 0.5, 1.0]))
def test_the_parts_make_up_the_corrected_sentence(sentence, above):
    found = explained(sentence, a="bab", b="##a")
    assert "".join(text for text, _ in found.parts(above)) == found.corrected(above)
    if above == 1.0:
        assert found.corrected(above) == sentence


@pytest.mark.parametrize("word", ["dog", "Dog"])
def test_a_word_is_rewritten_if_it_reads_otherwise(word):
    assert Word("dog", 0, 3, 0.2, word).rewritten == (word != "dog")
