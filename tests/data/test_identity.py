"""Identity by content: what changes the fingerprint, and which images and captions are the same under other ids."""

import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from itmlab.data.captionset import CaptionSet
from itmlab.data.identity import content_groups, digest_of, file_digest
from itmlab.data.pictures import Pictures


def picture(number):
    return Image.new("RGB", (4, 4), (number, 0, 0))


def data_of(images, captions, owners, **changes):
    values = {
        "name": "made",
        "images": images,
        "image_ids": [f"image {number}" for number in range(len(images))],
        "captions": captions,
        "caption_ids": [f"caption {number}" for number in range(len(captions))],
        "image_of_caption": owners,
        "splits": {"train": [0], "test": range(1, len(images))},
    }
    return CaptionSet(**(values | changes))


class Features(list):
    def select(self, indices):
        return Features(self[int(index)] for index in indices)


def regions(shift):
    return Features((torch.full((2, 3), number + shift), None, None) for number in range(3))


BASE = {"images": [picture(number) for number in range(3)], "captions": ["a", "b", "c"], "owners": [0, 1, 2]}


@pytest.mark.parametrize(
    "changes",
    [
        {"images": [picture(0), picture(1), picture(9)]},
        {"captions": ["a", "b", "d"]},
        {"owners": [0, 1, 1]},
        {"splits": {"train": [0, 1], "test": [2]}},
        {"splits": {"test": [0], "train": [1, 2]}},
        {"regions": regions(0.0)},
        {"image_ids": ["image 0", "image 1", "x"]},
    ],
)
def test_data_of_other_content_have_another_fingerprint(changes):
    assert data_of(**BASE).fingerprint == data_of(**BASE).fingerprint != data_of(**(BASE | changes)).fingerprint


@pytest.mark.parametrize("same_times", [False, True])
def test_a_picture_replaced_by_one_of_equal_size_has_another_digest(tmp_path, same_times):
    path = tmp_path / "a.bmp"
    picture(1).save(path)
    times, before = os.stat(path), file_digest(path)
    picture(2).save(path)
    if same_times:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert file_digest(path) != before


def test_the_content_of_files_counts_and_not_their_names(tmp_path):
    for name, number in (("a", 1), ("b", 2), ("c", 1), ("d", 2)):
        picture(number).save(tmp_path / f"{name}.bmp")
    paths = [tmp_path / f"{name}.bmp" for name in "abcd"]
    assert content_groups(Pictures.from_paths(paths)).tolist() == [0, 1, 0, 1]
    assert content_groups([picture(1), picture(2), picture(1)]).tolist() == [0, 1, 0]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=3), st.text(max_size=3)), max_size=4))
def test_digests_of_equal_content_are_equal_and_shape_and_dtype_count(items):
    assert digest_of(items) == digest_of(tuple(items)) != digest_of([*items, b""])
    arrays = [np.zeros(4, "f4"), np.zeros((2, 2), "f4"), np.zeros(2, "f8"), torch.zeros(4, dtype=torch.bfloat16)]
    assert len({digest_of(array) for array in arrays}) == 4


@st.composite
def repetitive(draw):
    images = draw(st.lists(st.integers(0, 3), min_size=1, max_size=6))
    pairs = st.tuples(st.integers(0, len(images) - 1), st.sampled_from(["a dog", "A  Dog .", "a cat", "two", "x"]))
    pairs = draw(st.lists(pairs, min_size=1, max_size=12))
    return data_of(list(map(picture, images)), [text for _, text in pairs], [owner for owner, _ in pairs], splits={})


@settings(max_examples=40, deadline=None)
@given(repetitive(), st.data())
def test_a_caption_belongs_to_every_picture_that_is_the_same_or_has_it_word_for_word(data, chosen):
    """Against a slow loop over all annotated pairs."""
    pixels = [image.tobytes() for image in data.images]
    owners = data.image_of_caption.tolist()
    texts = [" ".join(caption.lower().replace(".", "").split()) for caption in data.captions]
    annotated = {(pixels[owner], text) for owner, text in zip(owners, texts, strict=True)}
    rows = chosen.draw(st.lists(st.integers(0, len(data) - 1), max_size=5))
    columns = chosen.draw(st.lists(st.integers(0, len(texts) - 1), max_size=5))
    expected = [[(pixels[row], texts[column]) in annotated for column in columns] for row in rows]
    assert data.matches(torch.tensor(rows).long(), torch.tensor(columns).long()).tolist() == expected
    same = [[pixels[row] == pixels[owner] for owner in owners] for row in range(len(data))]
    assert data.positives.tolist() == same
    assert (data.matches() | ~data.positives).all()
