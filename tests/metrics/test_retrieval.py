"""The retrieval table against the field's loop, over one pool and over folds."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from itmlab.errors import ItmlabError
from itmlab.metrics import ranks, retrieval


def fields_loop(similarity: np.ndarray, captions: int, ks) -> dict:
    """One argsort a query, the best rank among an image's captions, the rank of a caption's image."""
    first = [
        min(np.flatnonzero(np.argsort(-row, kind="stable") // captions == image))
        for image, row in enumerate(similarity)
    ]
    second = [
        int(np.flatnonzero(np.argsort(-row, kind="stable") == caption // captions)[0])
        for caption, row in enumerate(similarity.T)
    ]
    table = {
        name: {k: 100 * float(np.mean(np.array(ranks) < k)) for k in ks}
        for name, ranks in (("i2t", first), ("t2i", second))
    }
    return {**table, "rsum": sum(table["i2t"].values()) + sum(table["t2i"].values())}


def close(table: dict, other: dict) -> bool:
    return all(table[name] == pytest.approx(other[name]) for name in ("i2t", "t2i", "rsum"))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), images=st.integers(5, 12), captions=st.integers(1, 5))
def test_it_is_the_fields_loop(seed, images, captions):
    similarity = np.random.default_rng(seed).permutation(images * images * captions).astype(np.float32)
    similarity = similarity.reshape(images, images * captions)
    expected = fields_loop(similarity, captions, (1, 5))
    positives = torch.arange(images * captions) // captions == torch.arange(images)[:, None]
    assert close(retrieval(torch.tensor(similarity), ks=(1, 5)), expected)
    assert close(retrieval(torch.tensor(similarity), positives, ks=(1, 5)), expected)


def test_five_folds_are_consecutive_blocks_averaged():
    similarity = np.random.default_rng(0).permutation(20 * 60).astype(np.float32).reshape(20, 60)
    blocks = [fields_loop(similarity[4 * i : 4 * i + 4, 12 * i : 12 * i + 12], 3, (1, 2)) for i in range(5)]
    table = retrieval(torch.tensor(similarity), ks=(1, 2), folds=5)
    assert table["rsum"] == pytest.approx(np.mean([block["rsum"] for block in blocks]))
    assert table["t2i"] == pytest.approx({k: np.mean([block["t2i"][k] for block in blocks]) for k in (1, 2)})


def test_captions_in_any_order_and_number_are_folded_with_their_images():
    image_of_caption = torch.tensor([3, 0, 1, 2, 0, 3, 1, 1, 2, 0])
    positives = image_of_caption == torch.arange(4)[:, None]
    source = torch.Generator().manual_seed(0)
    similarity = torch.rand(4, 10, generator=source)
    order = image_of_caption.argsort(stable=True)
    assert retrieval(similarity, positives, ks=(1, 2), folds=2) == retrieval(
        similarity[:, order], positives[:, order], ks=(1, 2), folds=2
    )
    first = retrieval(similarity[:2][:, positives[:2].any(0)], positives[:2][:, positives[:2].any(0)], ks=(1, 2))
    second = retrieval(similarity[2:][:, positives[2:].any(0)], positives[2:][:, positives[2:].any(0)], ks=(1, 2))
    both = retrieval(similarity, positives, ks=(1, 2), folds=2)
    assert both["rsum"] == pytest.approx((first["rsum"] + second["rsum"]) / 2)


def test_a_perfect_model_has_600_and_the_other_sense_says_less():
    similarity = torch.eye(12).repeat_interleave(5, dim=1)
    assert retrieval(similarity)["rsum"] == 600
    share = retrieval(similarity, sense="share")
    assert share["i2t"][1] == pytest.approx(20) and share["i2t"][5] == 100 and share["t2i"][1] == 100


class LargestTensor(TorchDispatchMode):
    """Remembers the elements of the largest tensor that any operation made, views aside."""

    elements = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        made = function(*arguments, **(options or {}))
        given = {item.untyped_storage().data_ptr() for item in arguments if isinstance(item, torch.Tensor)}
        for item in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(item, torch.Tensor) and item.untyped_storage().data_ptr() not in given:
                self.elements = max(self.elements, item.numel())
        return made


@pytest.mark.parametrize("folds", [1, 5])
@pytest.mark.parametrize("masked", [False, True])
def test_no_copy_of_the_matrix_is_made_not_even_of_a_comparison(folds, masked):
    similarity = torch.rand(1000, 5000, generator=torch.Generator().manual_seed(0))
    positives = torch.arange(5000) // 5 == torch.arange(1000)[:, None] if masked else None
    with LargestTensor() as largest:
        retrieval(similarity, positives, folds=folds)
    assert 0 < largest.elements <= max(ranks.BLOCK, similarity.numel() / folds**2 if folds > 1 else 0)


def test_nothing_is_written_to_the_matrix():
    similarity = torch.rand(10, 20)
    before = similarity.clone()
    retrieval(similarity, folds=2, ks=(1, 5))
    assert torch.equal(similarity, before)


@pytest.mark.parametrize(
    ("similarity", "options", "said"),
    [
        (torch.rand(3, 7), {"ks": (1,)}, "7 captions are not the same number for each of 3 images"),
        (torch.rand(0, 0), {"ks": (1,)}, "not the same number"),
        (torch.rand(4), {"ks": (1,)}, r"must be \(image, caption\)"),
        (torch.rand(4, 8), {}, "k=5 of 4 candidates"),
        (torch.rand(4, 8), {"ks": (1,), "folds": 3}, "4 images cannot be cut into folds=3 equal blocks"),
        (torch.rand(4, 8), {"ks": (1,), "folds": 0}, "folds=0"),
        (torch.rand(4, 8), {"ks": (1,), "positives": torch.eye(4).bool()}, r"\(4, 8\) and \(4, 4\)"),
        (torch.rand(4, 5), {"ks": (1,), "positives": torch.eye(4, 5).bool()}, "first is caption 4"),
        (torch.full((4, 8), torch.nan), {"ks": (1,)}, "NaN"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_answered_is_said(similarity, options, said):
    with pytest.raises(ItmlabError, match=said):
        retrieval(similarity, **options)
