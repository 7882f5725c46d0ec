"""Negatives that are drawn in the batch: never of the same image, each by how near it comes."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from itmlab.train import step_cross
from itmlab.train.step_cross import negatives_in_batch
from tests.train.test_tags import Slow, first_batch, task_of
from tests.train.towers import tower


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9), st.integers(1, 5), st.integers(0, 2**31))
def test_they_are_different_and_of_other_images_and_as_many_as_there_are(owners, top_k, seed) -> None:
    images, generator = torch.tensor(owners), torch.Generator().manual_seed(seed)
    positives = images[:, None] == images
    near = torch.randn(len(owners), len(owners), generator=generator)
    for drawn in negatives_in_batch(near, positives, top_k, generator=generator):
        assert drawn.shape == (len(owners), min(top_k, len(owners)))
        for row, columns in enumerate(drawn.tolist()):
            taken = [column for column in columns if column >= 0]
            assert len(set(taken)) == len(taken) == min(top_k, sum(owner != owners[row] for owner in owners))
            assert all(owners[column] != owners[row] for column in taken)


@pytest.mark.parametrize("top_k", [1, 2])
def test_the_matching_of_a_step_is_with_those_drawn(top_k, data, monkeypatch) -> None:
    training = data.split("train")
    changes = {"mining": "batch", "top_k": top_k, "matching_begins": 0.0, "matching": "binary"}
    recipe = tower(
        "uniter_pretraining", model__dropout=0.0, **{f"tags__{name}": value for name, value in changes.items()}
    )
    task, batch, drawn = task_of(recipe, training), first_batch(training), []

    def kept(near, positives, top_k, *, generator):
        drawn.append(negatives_in_batch(near, positives, top_k, generator=generator))
        return drawn[-1]

    monkeypatch.setattr(step_cross, "negatives_in_batch", kept)
    result, slow = task(batch, epoch=0), Slow(task)
    ((captions, images),) = drawn
    texts = [training.captions[at] for at in batch.caption_indices.tolist()]
    total = 0.0
    for row, image in enumerate(batch.image_indices.tolist()):
        match = slow.logit(image, texts[row])
        ways = (
            [slow.logit(image, texts[at]) for at in captions[row].tolist()],
            [slow.logit(int(batch.image_indices[at]), texts[row]) for at in images[row].tolist()],
        )
        for way in ways:
            wrong = sum(torch.nn.functional.softplus(logit) for logit in way) / top_k
            total = total + (torch.nn.functional.softplus(-match) + wrong) / 2 / len(texts)
    assert result.losses["retrieved"] == pytest.approx(total.item(), rel=1e-4)
