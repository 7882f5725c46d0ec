"""Candidates, false negatives and the choice of the best, each beside what Algorithm 1 and Eq. 6 say."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.synthesis import Negative
from itmlab.synthesis.negative import best, scored, without_false_negatives
from itmlab.synthesis.tags import FilteredTopM
from itmlab.text import SceneGraph

WORDS = st.sampled_from(["dog", "cat", "red", "blue", "An", "a"])
SMALL_ONES = st.sampled_from(["a", "an", "The", "this", "some", "is", "are", "and", "of", ".", ",", "🐎", "🐕", "…"])


def put_in(*words: str) -> Negative:
    return Negative(" ".join(words), replacement=words)


@given(st.lists(WORDS, min_size=1, max_size=3), st.lists(st.lists(WORDS, max_size=3), max_size=3))
def test_dropped_if_and_only_if_all_that_was_put_in_is_said_of_the_image(words, captions):
    in_captions = {word.lower() for caption in captions for word in caption}
    reference = all(word.lower() in in_captions for word in words if word not in ("a", "An"))
    remaining = without_false_negatives([put_in(*words)], [" ".join(caption) for caption in captions])
    assert (remaining == []) == reference


@given(st.lists(SMALL_ONES, min_size=1, max_size=4), st.lists(st.lists(WORDS | SMALL_ONES, max_size=3), max_size=3))
def test_small_words_and_signs_make_no_negative_whatever_the_captions_say(words, captions):
    in_captions = [" ".join(caption) for caption in captions]
    assert without_false_negatives([put_in(*words)], in_captions) == []
    assert without_false_negatives([put_in(*words, "zebra")], in_captions) == [put_in(*words, "zebra")]


@given(st.lists(st.integers(-3, 3), max_size=8), st.integers(1, 9))
def test_the_m_best_are_kept_and_the_earlier_of_equals(scores, number):
    negatives = [Negative(str(at), score=float(score)) for at, score in enumerate(scores)]
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
    assert [negative.sentence for negative in best(negatives, number)] == [str(at) for at in order[:number]]


def test_all_captions_are_scored_in_one_call_that_knows_whose_sentence_each_is():
    calls = []

    def score(sentences, captions):
        calls.append((sentences, captions.tolist()))
        return torch.arange(len(sentences)).float()

    rows = scored([[Negative("a"), Negative("b")], [], [Negative("c")]], score)
    assert calls == [(["a", "b", "c"], [0, 0, 2])]
    assert [[negative.score for negative in row] for row in rows] == [[0, 1], [], [2]]


@pytest.mark.parametrize("wrong", [torch.zeros(3), torch.tensor([0.0, float("nan")])])
def test_a_score_that_is_not_a_number_a_sentence_is_refused(wrong):
    with pytest.raises(ItmlabError, match="2 sentences were scored"):
        scored([[Negative("a"), Negative("b")]], lambda sentences, captions: wrong)


def test_tailored_filters_before_it_scores():
    candidates = [[put_in("dog"), put_in("cat"), put_in("cat"), put_in("cow"), put_in("red")], []]
    asked = []

    def score(sentences, captions):
        asked.extend(sentences)
        return torch.tensor([float(len(sentence)) + (sentence == "cow") for sentence in sentences])

    tailored = FilteredTopM(
        lambda captions, graphs, others, generator: candidates,
        score=score,
        keep=1,
    )
    graphs = [SceneGraph()] * 2
    rows = tailored(["dog", "dog"], graphs, [["a red dog"], ["a dog"]], generator=torch.Generator())
    assert asked == ["cat", "cow"]
    assert [[(n.sentence, n.score) for n in row] for row in rows] == [[("cow", 4.0)], []]
