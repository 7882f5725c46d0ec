"""CIDEr-D against its formula, pair by pair, and what it makes of odd and bad input."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.errors import ItmlabError
from itmlab.metrics import Cider, cider_matrix
from itmlab.metrics import cider as cider_module
from itmlab.metrics import ngrams as ngrams_module
from itmlab.metrics.ptb import WordlessCaptions


def ngrams(sentence: str, n: int) -> Counter:
    words = sentence.lower().split()
    return Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))


def formula(caption: str, references: list[str], documents: list[list[str]]) -> float:
    """Vedantam et al. 2015, Eq. 3 and 4 (CIDEr-D), with the logarithm of images per image that has the n-gram."""
    total = 0.0
    for n in (1, 2, 3, 4):
        seen = Counter(gram for mine in documents for gram in set().union(*(ngrams(one, n) for one in mine)))

        def weights(sentence, n=n, seen=seen):
            return {g: c * math.log(len(documents) / max(1, seen[g])) for g, c in ngrams(sentence, n).items()}

        mine = weights(caption)
        for reference in references:
            theirs = weights(reference)
            product = sum(min(mine[gram], theirs[gram]) * theirs[gram] for gram in mine.keys() & theirs.keys())
            norms = math.hypot(*mine.values()) * math.hypot(*theirs.values())
            difference = len(caption.split()) - len(reference.split())
            total += (product / norms if norms else 0.0) * math.exp(-(difference**2) / (2 * 6**2))
    return 10 * total / 4 / len(references)


def by_formula(captions, references, documents=None) -> torch.Tensor:
    return torch.tensor(
        [[formula(caption, mine, documents or references) for mine in references] for caption in captions]
    )


sentences = st.lists(st.sampled_from(["a", "A", "dog", "runs", "red", "ball", "."]), min_size=1, max_size=9).map(
    " ".join
)
spoken = sentences.filter(lambda text: set(text) - set(" ."))
pools = st.lists(st.lists(spoken, min_size=1, max_size=3), min_size=2, max_size=5)


@settings(max_examples=80, deadline=None)
@given(captions=st.lists(spoken, min_size=1, max_size=5), references=pools)
def test_it_is_the_formula(captions, references):
    found = cider_matrix(captions, references)
    assert torch.allclose(found, by_formula(captions, references), atol=1e-5)
    assert found.min() >= 0 and found.max() <= 10 + 1e-5
    everything = [caption for texts in references for caption in texts]
    assert torch.equal(Cider(references).matrix(), cider_matrix(everything, references))


def test_the_chunks_do_not_show(monkeypatch):
    captions = [caption for texts in REFERENCES for caption in texts]
    whole = [cider_matrix(captions, REFERENCES, leave_one_out=left_out) for left_out in (False, True)]
    for module in (ngrams_module, cider_module):
        monkeypatch.setattr(module, "CHUNK", 2)
    parts = [cider_matrix(captions, REFERENCES, leave_one_out=left_out) for left_out in (False, True)]
    assert all(map(torch.equal, whole, parts))


@settings(max_examples=40, deadline=None)
@given(captions=st.lists(spoken, min_size=1, max_size=4), references=pools, seed=st.integers(0, 10**6))
def test_the_order_of_captions_images_and_references_does_not_matter(captions, references, seed):
    source = torch.Generator().manual_seed(seed)
    row = torch.randperm(len(captions), generator=source)
    column = torch.randperm(len(references), generator=source)
    moved = cider_matrix([captions[i] for i in row], [references[i][::-1] for i in column])
    assert torch.allclose(moved, cider_matrix(captions, references)[row][:, column], atol=1e-6)


REFERENCES = [
    ["a dog runs on the beach", "the brown dog runs after a red ball", "a dog at the sea"],
    ["two men ride bikes", "men on two bikes on a road"],
    ["a dog sleeps on a red sofa", "a sleeping dog", "a dog sleeps on a red sofa"],
]


def test_a_caption_is_left_out_of_its_own_references():
    captions = [caption for mine in REFERENCES for caption in mine]
    found = cider_matrix(captions, REFERENCES, leave_one_out=True)
    usual = cider_matrix(captions, REFERENCES)
    own = [(image, number) for image, mine in enumerate(REFERENCES) for number in range(len(mine))]
    for row, (image, number) in enumerate(own):
        others = [text for place, text in enumerate(REFERENCES[image]) if place != number]
        assert found[row, image].item() == pytest.approx(formula(captions[row], others, REFERENCES), abs=1e-5)
        elsewhere = [column for column in range(3) if column != image]
        assert torch.equal(found[row, elsewhere], usual[row, elsewhere])
    # the same captions in another order, with their images, and one that belongs to no image
    order = [4, 0, 7, 2]
    images = [own[row][0] for row in order]
    some = cider_matrix(
        [*(captions[row] for row in order), "a cat"],
        REFERENCES,
        leave_one_out=True,
        image_of_caption=[*images, -1],
    )
    assert torch.equal(some[:4], found[order])
    assert torch.equal(some[4:], cider_matrix(["a cat"], REFERENCES))
    assert torch.equal(Cider(REFERENCES).matrix(leave_one_out=True), found)


def test_a_word_said_often_counts_as_often_as_the_reference_says_it():
    references = [["very very very old", "old"], ["new"], ["very new"]]
    captions = ["very", "very very", "very very very very very old", "old very " * 3000]
    assert torch.allclose(cider_matrix(captions, references), by_formula(captions, references), atol=1e-5)
    heavy = [["the " * 10_000], ["a dog"], ["the dog"]]
    assert cider_matrix(["the " * 10_000], heavy)[0, 0].item() == pytest.approx(10 * 4 / 4)


def test_both_tokenisations():
    references = [["A dog's ball.", "The dog doesn't run!"], ["two men"], ["a dog"]]
    assert cider_matrix(["the dog 's ball"], references, tokenise="penn")[0, 0] > 0
    apart = [["a dog 's ball", "the dog does n't run"], *references[1:]]
    found = cider_matrix(["Two dogs, a ball."], references, tokenise="penn")
    assert torch.equal(found, cider_matrix(["two dogs a ball"], apart))


@pytest.mark.parametrize(
    ("captions", "references", "options", "said"),
    [
        ("a dog", REFERENCES, {}, "captions must be a list of strings, not one string"),
        (["a", math.nan], REFERENCES, {}, "caption 1 is nan, not a string"),
        (["a", None], REFERENCES, {}, "caption 1 is None, not a string"),
        (["a"], "a dog", {}, "references must be a list of captions for each image"),
        (["a"], ["a dog", "a cat"], {}, "references must be a list of captions for each image"),
        (["a"], [["a dog"], []], {}, "image 1 has no reference"),
        (["a"], [["a dog"], None], {}, "references of image 1 are None"),
        (["a"], [["."], ["!"]], {}, "no reference has a word in it"),
        (["a"], [], {}, "there are no references"),
        (["a"], [["a dog"]], {}, "single image"),
        (["a"], REFERENCES, {"tokenise": "bpe"}, "cannot be tokenised by 'bpe'"),
        (["a"], REFERENCES, {"leave_one_out": True}, "needs image_of_caption"),
        (["two men"], REFERENCES, {"leave_one_out": True, "image_of_caption": [1]}, "caption 0 is not among"),
        (["a"], REFERENCES, {"leave_one_out": True, "image_of_caption": [3]}, "one of 3 images"),
        (["a"], REFERENCES, {"leave_one_out": True, "image_of_caption": [1, 2]}, "each of 1 captions"),
        (["a"], REFERENCES, {"leave_one_out": True, "image_of_caption": [0.5]}, "one of 3 images"),
        (["a", "b"], [["a"], ["b"]], {"leave_one_out": True}, "caption 0 is the only reference of image 0"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_scored_is_said(captions, references, options, said):
    with pytest.raises(ItmlabError, match=said):
        cider_matrix(captions, references, **options)


def test_odd_captions_are_scored():
    odd = ["dog", "word " * 10_000, "犬 が 走る", "😀 dog", "<script>alert(1)</script>", "\ud800 dog", "a" * 10_000]
    found = cider_matrix(odd, REFERENCES)
    assert found.isfinite().all() and found[0, 0] > 0 and found[3, 0] > 0 and (found[2] == 0).all()
    assert cider_matrix(odd[:3] + odd[4:], REFERENCES, tokenise="penn").isfinite().all()


@pytest.mark.parametrize("wordless", [".", "", " \n", "?! ..."])
@pytest.mark.parametrize("tokenise", ["whitespace", "penn"])
def test_a_caption_without_words_counts_as_empty_and_is_told(wordless, tokenise):
    references = [["a dog runs", wordless], ["one red cat", "two cats"], ["a dog"]]
    captions = ["a dog", wordless, "red cats"]
    with pytest.warns(WordlessCaptions) as told:
        cider = Cider(references, tokenise=tokenise)
        found = cider.matrix(captions)
    shown = f"({wordless!r}), one of 1 that count as empty"
    assert [str(one.message) for one in told] == [f"no word in {what} 1 {shown}" for what in ("reference", "caption")]
    # as one of two references it takes half of the score, and it scores nothing itself
    alone = Cider([["a dog runs"], *references[1:]], tokenise=tokenise).matrix(captions[::2])
    assert torch.allclose(found[::2], alone * torch.tensor([0.5, 1, 1])) and not found[1].any() and found[0, 0] > 0
