"""Search: the nearest of many vectors against a plain sort, and what a run answers."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from itmlab.data.captionset import CaptionSet
from itmlab.train.run import Run
from itmlab.train.scores import largest
from tests.refusals import refused
from tests.train.world import caption_set, small_world


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.integers(0, 5), min_size=9, max_size=9), min_size=1, max_size=4), st.integers(1, 12))
def test_the_largest_are_those_of_a_sort_with_ties_by_place(rows, k):
    scores, places = largest(torch.tensor(rows).float(), k)
    for row, row_scores, row_places in zip(rows, scores.tolist(), places.tolist(), strict=True):
        assert row_places == sorted(range(len(row)), key=lambda place: (-row[place], place))[:k]
        assert row_scores == [row[place] for place in row_places]


def test_a_sentence_finds_pictures_best_first(finished, data):
    hits = finished.search("a red field on the left", k=4, data=data)
    assert (hits.of, len(hits)) == ("images", 4)
    assert hits.scores == sorted(hits.scores, reverse=True)
    assert [data.image_ids.index(name) for name in hits.ids] == hits.image_indices
    assert hits.images[0].tobytes() == data.images[hits.image_indices[0]].tobytes()
    assert hits.captions[0] == data.captions[data.captions_of_image[hits.image_indices[0]][0]]


def test_a_picture_finds_captions(finished, data, tmp_path):
    hits = finished.search(data.images[7], k=3, data=data)
    places = [data.caption_ids.index(name) for name in hits.ids]
    assert hits.captions == [data.captions[place] for place in places]
    assert hits.image_indices == data.image_of_caption[places].tolist()
    data.images[7].save(tmp_path / "seven.png")
    assert finished.search(tmp_path / "seven.png", k=3, data=data).ids == hits.ids


def test_more_than_there_are_is_all_and_wrong_queries_are_refused(finished, data):
    assert len(finished.search("red", k=10**6, data=data)) == len(data)
    for query, options, word in ((" ", {}, "empty"), ("red", {"k": 0}, "k must")):
        refused(word, finished.search, query, data=data, **options)


def copy_of(data, **changes) -> CaptionSet:
    names = ["name", "images", "image_ids", "captions", "caption_ids", "image_of_caption", "splits", "regions"]
    return CaptionSet(**{name: getattr(data, name) for name in names} | changes)


def test_other_pictures_or_features_of_the_same_ids_and_captions_are_searched_anew(finished, data, tmp_path):
    """Issue 44, entry 2: the index belongs to the content of the data."""
    first = finished.search("a red field on the left", data=data)
    other = copy_of(data, images=[picture.rotate(180) for picture in data.images])
    hits = finished.search("a red field on the left", data=other)
    assert hits.places == Run(finished.directory).search("a red field on the left", data=other).places != first.places
    noisy = small_world(regions=2)
    changed = copy_of(noisy, regions=type(noisy.regions)([*noisy.regions[1:], noisy.regions[0]]))
    assert noisy.fingerprint != changed.fingerprint


def test_features_of_one_data_set_are_kept(finished, data):
    """Issue 44, entry 31: searches of many data sets do not fill the memory."""
    for start in range(3):
        finished.search("red", data=data.select(range(start, start + 4)))
    assert finished._searched[0] == (data.select(range(2, 6)).fingerprint, "images")


HOSTILE = '<script>alert("x")</script>\x1b[31m'


@pytest.mark.filterwarnings("ignore::itmlab.models.base.CutCaptions")
def test_hostile_captions_are_shown_as_text(finished, data):
    picture = Image.new("RGB", (300, 20))
    hostile = caption_set([picture], [HOSTILE], [0], image_ids=["<b>id</b>"])
    hits = finished.search(HOSTILE, data=hostile)
    page, text = hits._repr_html_(), repr(hits)
    assert "<script" not in page and "&lt;script&gt;" in page and "<b>id" not in page
    assert "\x1b" not in text and text.count("\n") == 1
    assert page.count("data:image/jpeg;base64,") == 1 and 'width="128"' in page
    assert finished.search(data.images[0], data=hostile)._repr_html_().count("data:image/jpeg") == 1  # the query


def test_an_image_without_captions_is_found_without_one(finished, data):
    """Issue 44, entry 21."""
    bare = copy_of(data, captions=data.captions[:2], caption_ids=["0", "1"], image_of_caption=[0, 0])
    hits = finished.search("red", k=48, data=bare)
    assert sorted(hits.captions) == [""] * 47 + [data.captions[0]] and "picture-40" in repr(hits)


def test_words_that_the_model_does_not_know_are_said(finished, data):
    with pytest.warns(UserWarning, match="xylograph"):
        finished.search("a red xylograph", data=data)
