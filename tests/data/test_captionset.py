"""The one shape of all data: pairs, selections, splits and shares that never lose or mix up a caption."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itmlab.data.captionset import CaptionSet, proportional_splits
from tests.data.picture_files import photograph
from tests.refusals import refused


def caption_set(owners, image_count, splits=None, **more):
    """A set whose i-th caption belongs to image owners[i]."""
    return CaptionSet(
        name="made",
        images=[photograph(number, (8, 8)) for number in range(image_count)],
        image_ids=[f"image {number}" for number in range(image_count)],
        captions=[f"caption {number}" for number in range(len(owners))],
        caption_ids=[f"id {number}" for number in range(len(owners))],
        image_of_caption=torch.tensor(owners, dtype=torch.int64),
        splits=splits or {},
        **more,
    )


@st.composite
def owners_and_count(draw):
    count = draw(st.integers(1, 6))
    return draw(st.lists(st.integers(0, count - 1), max_size=15)), count


@given(owners_and_count(), st.data())
def test_select_keeps_every_pair_and_nothing_else(owned, data):
    owners, count = owned
    data_set = caption_set(owners, count, {"all": torch.arange(count)})
    chosen = data.draw(st.permutations(range(count)))[: data.draw(st.integers(0, count))]
    part = data_set.select(chosen)
    pairs = {(data_set.image_ids[owner], data_set.captions[caption]) for caption, owner in enumerate(owners)}
    wanted = {pair for pair in pairs if pair[0] in {data_set.image_ids[image] for image in chosen}}
    pairs_left = {(part.image_ids[i], part.captions[c]) for i, c in part.positives.nonzero().tolist()}
    assert pairs_left == wanted
    assert part.image_ids == [data_set.image_ids[image] for image in chosen]
    if chosen:  # a split keeps its own order, whatever the order of the selection
        assert part.split("all").image_ids == [data_set.image_ids[image] for image in sorted(chosen)]


def test_a_split_is_renumbered_with_its_world_and_regions():
    class Chosen:
        def select(self, *indices):
            return [index.tolist() for index in indices]

    splits = {"train": torch.tensor([0, 2]), "test": torch.tensor([1])}
    data = caption_set([0, 1, 1, 2], 3, splits, world=Chosen(), regions=Chosen())
    refused(r"no split 'tset'.*'test'", data.split, "tset")
    test = data.split("test")
    assert (test.image_ids, test.captions) == (["image 1"], ["caption 1", "caption 2"])
    assert (test.world, test.regions) == ([[1], [1, 2]], [[1]])
    assert list(test.splits) == ["test"]
    assert test.images[0].tobytes() == data.images[1].tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_ids": ["a", "a"]}, "image id 'a' occurs twice"),
        ({"caption_ids": ["x", "x"]}, "caption id 'x' occurs twice"),
        ({"caption_ids": ["x"]}, "do not fit together"),
        ({"image_ids": ["a"]}, "2 images but 1 image ids"),
        ({"image_of_caption": torch.tensor([0, 2])}, "outside 0…1"),
        ({"splits": {"test": torch.tensor([2])}}, "test names images outside 0…1"),
    ],
)
def test_parts_that_contradict_each_other_are_refused(change, message):
    data_set = {
        "name": "made",
        "images": [photograph(), photograph()],
        "image_ids": ["a", "b"],
        "captions": ["one", "two"],
        "caption_ids": ["x", "y"],
        "image_of_caption": torch.tensor([0, 1]),
        "splits": {},
    }
    refused(message, CaptionSet, **{**data_set, **change})


@settings(max_examples=40, deadline=None)
@given(owners_and_count(), st.data())
def test_a_reduced_set_loses_training_images_and_nothing_else(owned, data):
    owners, count = owned
    where = data.draw(st.lists(st.sampled_from(["train", "val", "both", "none"]), min_size=count, max_size=count))
    splits = {
        name: torch.tensor([i for i, place in enumerate(where) if place in (name, "both")], dtype=torch.int64)
        for name in ("train", "val")
    }
    data_set = caption_set(owners, count, splits)
    share = data.draw(st.floats(0.01, 1))
    part = data_set.reduced(share)
    training = [f"image {i}" for i in splits["train"].tolist()]
    remaining = part.split("train").image_ids if len(splits["train"]) else []
    assert len(remaining) == (max(1, round(share * len(training))) if training else 0)
    assert remaining == [name for name in training if name in remaining], "in their old order"
    held_out = [f"image {i}" for i in splits["val"].tolist()]
    assert (part.split("val").image_ids if held_out else []) == held_out
    gone = set(training) - set(remaining) - set(held_out)
    assert part.image_ids == [name for name in data_set.image_ids if name not in gone]
    smaller = data_set.reduced(share / 2)
    assert not remaining or set(smaller.split("train").image_ids) <= set(remaining)


shares = st.tuples(*[st.floats(0, 1)] * 3).filter(lambda three: sum(three) > 0.01)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 200), shares)
def test_every_image_is_in_exactly_one_split(count, proportions):
    parts = proportional_splits(count, proportions)
    assert sorted(index for part in parts.values() for index in part.tolist()) == list(range(count))
    assert all(part.tolist() == sorted(part.tolist()) and len(part) for part in parts.values())
    wanted = [name for name, share in zip(("train", "val", "test"), proportions, strict=True) if share > 0]
    assert set(parts) <= set(wanted)
    if count >= len(wanted):
        assert set(parts) == set(wanted)
