"""Batches whose order only seed and epoch decide, prepared ahead."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.data.batches import Augmentation, PairBatches
from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.models import ImagePreparation
from itmlab.scenes import load
from tests.data.picture_files import photograph
from tests.refusals import refused


class Counted:
    """Pictures that count how often each is decoded."""

    def __init__(self, count, faulty=()):
        self.count, self.faulty, self.decoded = count, faulty, []

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.decoded.append(index)
        if index in self.faulty:
            raise ItmlabError("damaged", where=f"{index}.jpg")
        return photograph(index, (8, 8))


def pairs(count=10, captions=3, **more):
    owners = torch.arange(count).repeat_interleave(captions)
    return CaptionSet(
        name="made",
        images=Counted(count, **more),
        image_ids=[str(n) for n in range(count)],
        captions=[f"caption {n}" for n in range(len(owners))],
        caption_ids=[str(n) for n in range(len(owners))],
        image_of_caption=owners,
        splits={},
    )


def order_of(batches, epoch, start=0):
    return [batch.caption_indices.tolist() for batch in batches.epoch(epoch, start_batch=start)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 50), st.integers(1, 12), st.integers(0, 3), st.sampled_from([1, "all"]))
def test_the_order_is_a_function_of_seed_and_epoch(seed, epoch, size, workers, sense):
    data = pairs()
    first = PairBatches(data, batch_size=size, seed=seed, captions_per_image=sense, workers=workers)
    second = PairBatches(data, batch_size=size, seed=seed, captions_per_image=sense)
    order_of(second, epoch + 1)  # whatever was asked for before
    order = order_of(first, epoch)
    assert order == order_of(second, epoch) and order[2:] == order_of(second, epoch, start=2)
    assert len(order) == len(first)


def test_one_takes_each_image_once_and_all_each_caption_once():
    data = pairs(10, 3)
    once = [b for b in PairBatches(data, batch_size=5, seed=0).epoch(0)]
    assert sorted(i for batch in once for i in batch.image_indices.tolist()) == list(range(10))
    every = [b for b in PairBatches(data, batch_size=5, seed=0, captions_per_image="all").epoch(0)]
    assert sorted(c for batch in every for c in batch.caption_indices.tolist()) == list(range(30))
    for batch in once + every:
        assert batch.image_indices.tolist() == [c // 3 for c in batch.caption_indices.tolist()]
        assert batch.captions == [f"caption {c}" for c in batch.caption_indices.tolist()]
        assert all(
            picture.tobytes() == photograph(index, (8, 8)).tobytes()
            for picture, index in zip(batch.images, batch.image_indices.tolist(), strict=True)
        )


def test_a_last_batch_that_is_not_full_is_dropped_unless_it_is_the_only_one():
    assert [len(b) for b in order_of(PairBatches(pairs(10), batch_size=4, seed=0), 0)] == [4, 4]
    assert [len(b) for b in order_of(PairBatches(pairs(3), batch_size=4, seed=0), 0)] == [3]


def test_pictures_are_decoded_once_as_long_as_they_fit(monkeypatch):
    monkeypatch.setattr("itmlab.data.batches.KEPT", 4 * 8 * 8 * 3)
    data = pairs(10)
    batches = PairBatches(data, batch_size=5, seed=0)
    for epoch in range(3):
        order_of(batches, epoch)
    decoded = data.images.decoded
    assert sorted(decoded.count(index) for index in range(10)) == [1] * 4 + [3] * 6


@pytest.mark.parametrize("together", [1, 2, 3, 7])
def test_captions_of_one_picture_come_together_and_it_is_prepared_once(together):
    data = pairs()
    prepared = []
    batches = PairBatches(
        data, batch_size=4, seed=1, captions_per_image=together, prepare_images=lambda some: prepared.append(len(some))
    )
    for batch in batches.epoch(0):
        assert len(batch.caption_indices) == 4 * together
        assert torch.equal(batch.image_rows, torch.arange(4).repeat_interleave(together))
        assert torch.equal(batch.image_indices, data.image_of_caption[batch.caption_indices])
        for row in range(4):
            drawn = batch.caption_indices[batch.image_rows == row]
            available = len(data.captions_of_image[int(data.image_of_caption[drawn[0]])])
            assert len(drawn.unique()) == min(together, available)  # no caption twice while there are others
    assert set(prepared) == {4}


def augmented(data, workers=1, captions="all", seed=3):
    prepare = ImagePreparation(8)
    options = {"prepare_images": prepare, "augmentation": Augmentation((0.5, 1.0), 0.5, (2, 7))}
    return PairBatches(data, batch_size=4, seed=seed, captions_per_image=captions, workers=workers, **options)


@pytest.mark.parametrize("captions", [1, 2, "all"])
def test_pictures_change_by_seed_epoch_and_caption_whoever_prepares_them(captions):
    data = pairs()
    expected = [batch.images for batch in augmented(data, 1, captions).epoch(5)]
    many = [batch.images for batch in augmented(data, 4, captions).epoch(5)]
    resumed = [batch.images for batch in augmented(data, 2, captions).epoch(5, start_batch=1)]
    assert all(map(torch.equal, expected, many)) and all(map(torch.equal, expected[1:], resumed))
    batch = next(augmented(data, 1, captions).epoch(5))
    first = dict(zip(batch.image_rows.tolist()[::-1], batch.caption_indices.tolist()[::-1], strict=True))
    for row, pixels in enumerate(batch.images):
        generator = np.random.default_rng([3, 5, 1 + first[row]])
        change = partial(Augmentation((0.5, 1.0), 0.5, (2, 7)), generator=generator)
        picture = data.images[int(data.image_of_caption[first[row]])]
        assert torch.equal(pixels, ImagePreparation(8)([picture], [change])[0])


def test_regions_are_served_and_data_without_them_are_refused(tmp_path):
    data = load(images=6, cache=tmp_path, regions=True)
    (batch,) = PairBatches(data, batch_size=6, seed=0, images="regions", captions_per_image=2).epoch(0)
    assert len(batch.images) == 6 and len(batch.captions) == 12
    for row, image in zip(batch.images, batch.image_indices[::2].tolist(), strict=True):
        assert row.features.equal(data.regions[image].features)
    data.regions = None
    refused("looks at regions and the data have none", PairBatches, data, batch_size=6, seed=0, images="regions")
