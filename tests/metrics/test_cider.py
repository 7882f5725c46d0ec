"""CIDEr-D against its formula, pair by pair; words of captions; odd and bad input."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.metrics import Cider, cider_matrix
from tests.refusals import refused


def ngrams(sentence: str, n: int) -> Counter:
    words = sentence.lower().split()
    return Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))


def formula(caption: str, references: list[str], documents: list[list[str]]) -> float:
    """Vedantam et al. 2015, Eq. 3 and 4 (CIDEr-D), with the logarithm of images per image that has the n-gram."""
    total = 0.0
    for n in (1, 2, 3, 4):
        frequency = Counter(gram for texts in documents for gram in set().union(*(ngrams(text, n) for text in texts)))

        def weights(sentence, n=n, frequency=frequency):
            return {g: c * math.log(len(documents) / max(1, frequency[g])) for g, c in ngrams(sentence, n).items()}

        left = weights(caption)
        for reference in references:
            right = weights(reference)
            product = sum(min(left[gram], right[gram]) * right[gram] for gram in left.keys() & right.keys())
            norms = math.hypot(*left.values()) * math.hypot(*right.values())
            difference = len(caption.split()) - len(reference.split())
            total += (product / norms if norms else 0.0) * math.exp(-(difference**2) / (2 * 6**2))
    return 10 * total / 4 / len(references)


def by_formula(captions, references) -> torch.Tensor:
    return torch.tensor([[formula(caption, texts, references) for texts in references] for caption in captions])


words = st.sampled_from(["a", "A", "dog", "runs", "red", "ball", "."])
sentences = st.lists(words, min_size=1, max_size=9).map(" ".join).filter(lambda text: set(text) - set(" ."))
pools = st.lists(st.lists(sentences, min_size=1, max_size=3), min_size=2, max_size=5)
REFERENCES = [
    ["a dog runs on the beach", "the brown dog runs after a red ball", "a dog at the sea"],
    ["two men ride bikes", "men on two bikes on a road"],
    ["a dog sleeps on a red sofa", "a sleeping dog", "a dog sleeps on a red sofa"],
]


@settings(max_examples=50, deadline=None)
@given(captions=st.lists(sentences, min_size=1, max_size=5), references=pools, data=st.data())
def test_it_is_the_formula_in_any_order(captions, references, data):
    scores = cider_matrix(captions, references)
    assert torch.allclose(scores, by_formula(captions, references), atol=1e-5)
    assert scores.min() >= 0 and scores.max() <= 10 + 1e-5
    everything = [caption for texts in references for caption in texts]
    assert torch.equal(Cider(references).matrix(), cider_matrix(everything, references))
    row, column = (data.draw(st.permutations(range(size))) for size in scores.shape)
    moved = cider_matrix([captions[i] for i in row], [references[i][::-1] for i in column])
    assert torch.allclose(moved, scores[row][:, column], atol=1e-6)


def test_a_caption_is_left_out_of_its_own_references():
    scores, usual = (Cider(REFERENCES).matrix(leave_one_out=left_out) for left_out in (True, False))
    places = [(image, number) for image, texts in enumerate(REFERENCES) for number in range(len(texts))]
    for row, (image, number) in enumerate(places):
        others = [text for place, text in enumerate(REFERENCES[image]) if place != number]
        expected = formula(REFERENCES[image][number], others, REFERENCES)
        assert scores[row, image].item() == pytest.approx(expected, abs=1e-5)
        elsewhere = [column for column in range(3) if column != image]
        assert torch.equal(scores[row, elsewhere], usual[row, elsewhere])
    refused("the only reference of image 0", Cider([["a"], ["b", "c"]]).matrix, leave_one_out=True)
    refused("with one another", Cider(REFERENCES).matrix, ["a dog"], leave_one_out=True)


def test_a_repeated_word_counts_as_often_as_in_the_reference():
    references = [["very very very old", "old"], ["new"], ["very new"]]
    captions = ["very", "very very", "very very very very very old", "old very " * 3000]
    assert torch.allclose(cider_matrix(captions, references), by_formula(captions, references), atol=1e-5)


@pytest.mark.parametrize(
    ("captions", "references", "message"),
    [
        ("a dog", REFERENCES, "captions must be a list of captions"),
        (["a", None], REFERENCES, "caption 1 is None"),
        (["a"], ["a dog", "a cat"], "captions must be a list of captions"),
        (["a"], [["a dog"], []], "image 1 has no references"),
        (["a"], [["."], ["!"]], "no reference has a word"),
        (["a"], [["a dog"]], "single image"),
    ],
)  # fmt: skip
def test_input_that_cannot_be_scored_is_refused(captions, references, message):
    refused(message, cider_matrix, captions, references)


def test_odd_captions_are_scored():
    odd = ["dog", "word " * 10_000, "犬 が 走る", "😀 dog", "<script>alert(1)</script>", "\ud800 dog", "a" * 10_000]
    scores = cider_matrix(odd, REFERENCES)
    assert scores.isfinite().all() and scores[0, 0] > 0 and scores[3, 0] > 0 and (scores[2] == 0).all()


@pytest.mark.parametrize("wordless", ["", "?! ..."])
def test_a_caption_without_words_counts_as_empty_with_a_warning(wordless):
    references = [["a dog runs", wordless], ["one red cat", "two cats"], ["a dog"]]
    with pytest.warns(UserWarning, match="have no word") as caught:
        scores = Cider(references).matrix(["a dog", wordless, "red cats"])
    assert len(caught) == 2
    # as one of two references it takes half of the score, and it scores nothing itself
    alone = Cider([["a dog runs"], *references[1:]]).matrix(["a dog", "red cats"])
    assert torch.allclose(scores[::2], alone * torch.tensor([0.5, 1, 1])) and not scores[1].any() and scores[0, 0] > 0
