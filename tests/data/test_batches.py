"""Batches whose order only seed and epoch decide, prepared ahead."""

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from itmlab.data.batches import GREY, OPERATIONS, Augmentation, PairBatches, random_box
from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.models import ImagePreparation
from itmlab.scenes import load
from tests.data.picture_files import photograph


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


def pairs(count=10, each=3, **more):
    owners = torch.arange(count).repeat_interleave(each)
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
    one = [b for b in PairBatches(data, batch_size=5, seed=0).epoch(0)]
    assert sorted(i for batch in one for i in batch.image_indices.tolist()) == list(range(10))
    every = [b for b in PairBatches(data, batch_size=5, seed=0, captions_per_image="all").epoch(0)]
    assert sorted(c for batch in every for c in batch.caption_indices.tolist()) == list(range(30))
    for batch in one + every:
        assert batch.image_indices.tolist() == [c // 3 for c in batch.caption_indices.tolist()]
        assert batch.captions == [f"caption {c}" for c in batch.caption_indices.tolist()]
        assert all(
            picture.tobytes() == photograph(index, (8, 8)).tobytes()
            for picture, index in zip(batch.images, batch.image_indices.tolist(), strict=True)
        )


def test_a_last_batch_that_is_not_full_is_dropped_unless_it_is_the_only_one():
    assert [len(b) for b in order_of(PairBatches(pairs(10), batch_size=4, seed=0), 0)] == [4, 4]
    assert [len(b) for b in order_of(PairBatches(pairs(3), batch_size=4, seed=0), 0)] == [3]


def test_pictures_are_decoded_once_as_long_as_they_fit():
    data = pairs(10)
    kept = PairBatches(data, batch_size=5, seed=0, keep_bytes=4 * 8 * 8 * 3)
    for epoch in range(3):
        order_of(kept, epoch)
    decoded = data.images.decoded
    assert sorted(decoded.count(index) for index in range(10)) == [1] * 4 + [3] * 6


def test_preparing_happens_in_the_background_and_ahead():
    threads = set()

    def prepare(pictures):
        threads.add(threading.current_thread().name)
        return torch.ones(len(list(pictures)))

    data = pairs(10)
    batches = PairBatches(data, batch_size=2, seed=0, prepare_images=prepare, prepare_captions=len)
    epoch = batches.epoch(0)
    first = next(epoch)
    deadline = time.monotonic() + 5
    while len(data.images.decoded) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(data.images.decoded) == 6  # this batch and two ahead, nobody asked yet
    assert (first.images.tolist(), first.tokens) == ([1, 1], 2)
    assert threading.current_thread().name not in threads
    assert batches.waited_seconds > 0
    epoch.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("itmlab-batches")]


def test_what_runs_in_the_background_leaves_the_cores_to_the_model():
    before, seen = torch.get_num_threads(), []

    def prepare(captions):
        seen.append(torch.get_num_threads())
        return captions

    torch.set_num_threads(3)
    try:
        batches = PairBatches(pairs(10), batch_size=2, seed=0, workers=2, prepare_captions=prepare)
        assert [torch.get_num_threads() for _ in batches.epoch(0)] == [3] * 5
        assert seen == [1] * 5
        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(torch.get_num_threads).result() == 3
    finally:
        torch.set_num_threads(before)


def test_a_picture_that_cannot_be_read_is_told_where_the_batch_is_used():
    with pytest.raises(ItmlabError, match=r"3.jpg: damaged"):
        order_of(PairBatches(pairs(4, faulty=(3,)), batch_size=2, seed=0), 0)


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
            own = batch.caption_indices[batch.image_rows == row]
            there = len(data.captions_of_image[int(data.image_of_caption[own[0]])])
            assert len(own.unique()) == min(together, there)  # drawn without repetition as long as there are enough
    assert set(prepared) == {4}


WRONG = [{"batch_size": 0}, {"workers": -1}, {"captions_per_image": "two"}, {"augmentation": Augmentation(flip=0.5)}]


@pytest.mark.parametrize("wrong", WRONG)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ItmlabError):
        PairBatches(pairs(), **{"batch_size": 2, "seed": 0, **wrong})


def augmented(data, workers=1, each="all", seed=3):
    prepare = ImagePreparation(8)
    options = {"prepare_images": prepare, "augmentation": Augmentation((0.5, 1.0), 0.5, (2, 7))}
    return PairBatches(data, batch_size=4, seed=seed, captions_per_image=each, workers=workers, **options)


@pytest.mark.parametrize("each", [1, 2, "all"])
def test_pictures_change_by_seed_epoch_and_caption_whoever_prepares_them(each):
    data = pairs()
    whole = [batch.images for batch in augmented(data, 1, each).epoch(5)]
    many = [batch.images for batch in augmented(data, 4, each).epoch(5)]
    taken_up = [batch.images for batch in augmented(data, 2, each).epoch(5, start_batch=1)]
    assert all(map(torch.equal, whole, many)) and all(map(torch.equal, whole[1:], taken_up))
    batch = next(augmented(data, 1, each).epoch(5))
    first = dict(zip(batch.image_rows.tolist()[::-1], batch.caption_indices.tolist()[::-1], strict=True))
    for row, pixels in enumerate(batch.images):
        generator = np.random.default_rng([3, 5, 1 + first[row]])
        change = partial(Augmentation((0.5, 1.0), 0.5, (2, 7)), generator=generator)
        picture = data.images[int(data.image_of_caption[first[row]])]
        assert torch.equal(pixels, ImagePreparation(8)([picture], [change])[0])


def test_records_of_regions_are_served_and_kept_like_pictures(tmp_path):
    data = load(images=6, cache=tmp_path, regions=True)
    regions = data.regions
    data.regions = Recorded(regions)
    batches = PairBatches(data, batch_size=6, seed=0, images="regions", captions_per_image=2)
    for epoch in (0, 1):
        (batch,) = batches.epoch(epoch)
        assert len(batch.images) == 6 and len(batch.captions) == 12
        for row, image in zip(batch.images, batch.image_indices[::2].tolist(), strict=True):
            assert row.features.equal(regions[image].features)
    assert sorted(data.regions.asked) == list(range(6))
    data.regions = None
    with pytest.raises(ItmlabError, match="looks at regions and the data have none"):
        PairBatches(data, batch_size=6, seed=0, images="regions")


class Recorded:
    """Regions that remember which were asked for."""

    def __init__(self, regions):
        self.regions, self.asked = regions, []

    def __getitem__(self, index):
        self.asked.append(index)
        return self.regions[index]


# Augmentation: movements against their definition; Pillow has the other operations.


def noise(width=24, height=16, low=0, high=256, seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(low, high, (height, width, 3), np.uint8))


def values(picture):
    return np.asarray(picture).astype(int)


def warped(picture, across, down):
    """Bilinear values at a x + b y + c of each pixel's middle; GREY where that lies outside."""
    source, found = values(picture), np.empty_like(values(picture))
    height, width = source.shape[:2]
    for y in range(height):
        for x in range(width):
            u, v = (a * (x + 0.5) + b * (y + 0.5) + c for a, b, c in (across, down))
            if not (0 <= u < width and 0 <= v < height):
                found[y, x] = GREY
                continue
            columns, rows = (np.clip([math.floor(at - 0.5) + n for n in (0, 1)], 0, most - 1)
                             for at, most in ((u, width), (v, height)))  # fmt: skip
            right, below = ((at - 0.5) % 1 for at in (u, v))
            top, bottom = (source[row, columns[0]] * (1 - right) + source[row, columns[1]] * right for row in rows)
            found[y, x] = np.rint(top * (1 - below) + bottom * below)
    return found


def turned(picture, degrees):
    (width, height), angle = picture.size, math.radians(degrees)
    cosine, sine, x, y = math.cos(angle), math.sin(angle), width / 2, height / 2
    across = cosine, -sine, x - cosine * x + sine * y
    return warped(picture, across, (sine, cosine, y - sine * x - cosine * y))


MOVEMENTS = {
    "shear_x": lambda picture, s: warped(picture, (1, 0.3 * s, 0), (0, 1, 0)),
    "shear_y": lambda picture, s: warped(picture, (1, 0, 0), (0.3 * s, 1, 0)),
    "translate_x": lambda picture, s: warped(picture, (1, 0, 10 * s), (0, 1, 0)),
    "translate_y": lambda picture, s: warped(picture, (1, 0, 0), (0, 1, 10 * s)),
    "rotate": lambda picture, s: turned(picture, 30 * s),
}


@pytest.mark.parametrize("strength", [-1.0, -0.7, 0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("name", MOVEMENTS)
def test_each_movement_is_its_definition(name, strength):
    picture = noise(64, 40, 20, 230)
    found = values(OPERATIONS[name](picture, strength))
    assert np.abs(found - MOVEMENTS[name](picture, strength)).max() <= 1  # of 255, rounding


@pytest.mark.parametrize(("width", "height"), [(40, 30), (30, 40), (640, 480), (3, 2), (1, 1)])
def test_a_random_box_lies_inside_and_has_the_area_and_shape_asked_for(width, height):
    generator = np.random.default_rng(0)
    areas, shapes = [], []
    for _ in range(400):
        left, top, right, bottom = random_box(width, height, (0.5, 1.0), generator)
        assert 0 <= left < right <= width and 0 <= top < bottom <= height
        areas.append((right - left) * (bottom - top) / (width * height))
        shapes.append((right - left) / (bottom - top))
    if width * height > 100:
        slack = 1 / min(width, height) + 1e-9
        assert 0.5 - 2 * slack <= min(areas) < 0.55 and 0.95 < max(areas) <= 1.0
        assert 0.75 / (1 + 2 * slack) <= min(shapes) and max(shapes) <= 4 / 3 * (1 + 2 * slack)


def test_half_of_the_pictures_are_mirrored_and_otherwise_as_they_were():
    picture, drawn = noise(), [Augmentation(flip=0.5)(noise(), generator=np.random.default_rng(n)) for n in range(400)]
    mirrored = [(values(one) == values(picture)[:, ::-1]).all() for one in drawn]
    assert all(flipped or (values(one) == values(picture)).all() for one, flipped in zip(drawn, mirrored, strict=True))
    assert 160 < sum(mirrored) < 240
    always, never = (Augmentation(flip=share)(picture, generator=np.random.default_rng(0)) for share in (1.0, 0.0))
    assert (values(always) == values(picture)[:, ::-1]).all() and (values(never) == values(picture)).all()


def test_randaugment_takes_each_operation_alike_half_of_the_time_and_both_ways(monkeypatch):
    seen = []
    for name in OPERATIONS:
        recorded = lambda picture, strength, name=name: seen.append((name, strength)) or picture  # noqa: E731
        monkeypatch.setitem(OPERATIONS, name, recorded)
    generator = np.random.default_rng(0)
    for _ in range(2000):
        Augmentation(randaugment=(2, 7))(noise(2, 2), generator=generator)
    assert {strength for _, strength in seen} == {0.7, -0.7}
    assert abs(len(seen) / 4000 - 0.5) < 0.03
    counts = [sum(name == one for one, _ in seen) for name in OPERATIONS]
    assert all(abs(count / len(seen) - 0.1) < 0.02 for count in counts)
    assert abs(sum(strength > 0 for _, strength in seen) / len(seen) - 0.5) < 0.05
