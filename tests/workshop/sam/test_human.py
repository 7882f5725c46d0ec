"""Crisscrossed Captions read in both formats, every fault told at once; each reading of NCS; Table 1 as a figure."""

import gzip
import json
import math

import pytest
import torch
from workshop.analysis.human import Ratings, correlation_rows, crisscrossed, human_correlation

from itmlab.data.faults import FaultyData
from itmlab.errors import ItmlabError
from itmlab.metrics import cider_matrix, pearson
from itmlab.metrics.statistics import Correlation
from tests.refusals import refused
from tests.workshop.small_world import small_set

CAPTIONS, IMAGES = ["770337", "771687", "152106"], ["391895", "60623"]
RELEASE = """caption,image,agg_score,sampling_method
COCO_val2014:sentid:770337,COCO_val2014_000000391895.jpg,4.97,c2i_original
COCO_val2014:sentid:152106,COCO_val2014_000000391895.jpg,1.8,c2i_intrasim
COCO_val2014:sentid:771687,COCO_val2014_000000060623.jpg,3.0,c2i_intrasim
"""
GROUND_TRUTH = torch.tensor([[True, True, False], [False, False, True]])


def write(folder, text, name="sits_val.csv"):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def as_lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("name", ["sits_val.csv", "sits_val.csv.gz"])
def test_the_release_is_read(tmp_path, name):
    ratings = crisscrossed(write(tmp_path, RELEASE, name), CAPTIONS, IMAGES)
    assert ratings.captions.tolist() == [0, 2, 1]
    assert ratings.images.tolist() == [0, 0, 1]
    assert ratings.scores.tolist() == [4.97, 1.8, 3.0]
    assert len(ratings) == 3 and ratings.skipped == []


def test_json_lines_are_read(tmp_path):
    rows = [
        {"caption_id": 770337, "image_id": 391895, "score": 4.97},
        {"caption_id": "152106", "image_id": "391895", "score": "0"},
    ]
    for name in ("cxc.jsonl", "cxc.jsonl.gz"):
        ratings = crisscrossed(write(tmp_path, as_lines(rows), name), CAPTIONS, IMAGES)
        assert (ratings.captions.tolist(), ratings.images.tolist()) == ([0, 2], [0, 0])
        assert ratings.scores.tolist() == [4.97, 0]


def test_other_ids_stay_as_they_are(tmp_path):
    row = {"caption": "a:1", "image": "0012.png", "score": 2}
    ratings = crisscrossed(write(tmp_path, as_lines([row]), "x.jsonl"), ["a:1"], ["0012.png"])
    assert len(ratings) == 1


def test_all_faults_are_told_at_once(tmp_path):
    rows = [
        "COCO_val2014:sentid:770337,COCO_val2014_000000391895.jpg,5.1,x",
        "COCO_val2014:sentid:770337,COCO_val2014_000000391895.jpg,nan,x",
        "COCO_val2014:sentid:770337,COCO_val2014_000000391895.jpg,good,x",
        "COCO_val2014:sentid:770337,COCO_val2014_000000391895.jpg",
        "COCO_val2014:sentid:1,COCO_val2014_000000391895.jpg,3,x",
        "COCO_val2014:sentid:770337,COCO_val2014_000000000001.jpg,3,x",
        ",COCO_val2014_000000391895.jpg,3,x",
        "COCO_val2014:sentid:152106,COCO_val2014_000000391895.jpg,2,x",
    ]
    path = write(tmp_path, RELEASE + "\n".join(rows) + "\n")
    with pytest.raises(FaultyData) as caught:
        crisscrossed(path, CAPTIONS, IMAGES)
    told = {fault.row: fault.what for fault in caught.value.faults}
    assert sorted(told) == list(range(5, 13))
    assert [told[row].startswith("the score is '") for row in (5, 6, 7)] == [True] * 3
    assert "3 cells" in told[8] or "2 cells" in told[8]
    assert told[9] == "no caption has the id '1'" and told[10] == "no image has the id '1'"
    assert told[11] == "the caption id is ''"
    assert told[12] == "caption 152106 and image 391895 are rated otherwise in row 3"
    with pytest.warns(UserWarning, match=r"skipped 8 faults, 2 images are left"):
        ratings = crisscrossed(path, CAPTIONS, IMAGES, on_fault="skip")
    assert ratings.scores.tolist() == [4.97, 1.8, 3.0] and len(ratings.skipped) == 8


def test_a_subset_takes_what_it_needs(tmp_path):
    ratings = crisscrossed(write(tmp_path, RELEASE), CAPTIONS[:1], IMAGES, outside="drop")
    assert ratings.scores.tolist() == [4.97]
    refused("no rating is about these captions", crisscrossed, write(tmp_path, RELEASE), ["7"], IMAGES, outside="drop")


def test_the_same_rating_twice_is_one(tmp_path):
    again = RELEASE.splitlines()[1] + "\n"
    assert len(crisscrossed(write(tmp_path, RELEASE + again), CAPTIONS, IMAGES)) == 3


def test_what_is_no_table_of_ratings_is_said(tmp_path):
    with pytest.raises(ItmlabError, match=r"sits\.csv:2: there is no column 'agg_score' or 'score'; .* 'caption', 'im"):
        crisscrossed(write(tmp_path, "caption,image\na,b\n", "sits.csv"), CAPTIONS, IMAGES)
    refused("no such file", crisscrossed, tmp_path / "none.csv", CAPTIONS, IMAGES)
    refused("neither JSON lines nor CSV", crisscrossed, write(tmp_path, RELEASE, "sits.txt"), CAPTIONS, IMAGES)
    refused("outside='keep'", crisscrossed, write(tmp_path, RELEASE), CAPTIONS, IMAGES, outside="keep")


def test_positives_follow_the_ratings(tmp_path):
    low = "COCO_val2014:sentid:771687,COCO_val2014_000000391895.jpg,2.99,c2i_original\n"
    ratings = crisscrossed(write(tmp_path, RELEASE + low), CAPTIONS, IMAGES)
    # rated 3.0 is a positive, the ground-truth pair rated 2.99 is none, the one that nobody rated stays
    assert ratings.positives(GROUND_TRUTH).tolist() == [[True, False, False], [False, True, True]]
    assert ratings.positives(GROUND_TRUTH, keep_ground_truth=True).tolist() == [
        [True, True, False],
        [False, True, True],
    ]
    assert ratings.positives(GROUND_TRUTH, threshold=1.5).tolist() == [[True, True, True], [False, True, True]]
    assert int(GROUND_TRUTH.sum()) == 3  # left as it was
    refused(r"must be \(image, caption\)", ratings.positives, GROUND_TRUTH[:1])


def test_each_reading_is_the_correlation_of_its_own_values():
    data = small_set(6)
    captions, images = torch.arange(12).repeat(2), torch.cat([data.image_of_caption, (data.image_of_caption + 1) % 6])
    scores = torch.linspace(5, 0, 24) + 0.1 * torch.randn(24, generator=torch.Generator().manual_seed(0))
    tables = human_correlation(data, Ratings(captions, images, scores.clamp(0, 5)))
    references = [[data.captions[caption] for caption in own.tolist()] for own in data.captions_of_image]
    phi = cider_matrix(data.captions, references)
    left_out = cider_matrix(
        data.captions, references, image_of_caption=data.image_of_caption.tolist(), leave_one_out=True
    )
    wanted = {
        "φ itself": phi,
        "φ / the picture's largest": phi / phi.amax(dim=0, keepdim=True),
        "φ / the caption's largest": phi / phi.amax(dim=1, keepdim=True),
        "φ, caption not among its references": left_out,
    }
    assert list(tables) == list(wanted)
    for reading, matrix in wanted.items():
        expected = pearson(matrix[captions, images], scores.clamp(0, 5), images)
        assert abs(tables[reading]["NCS with CIDEr"]["all"].value - expected.value) < 1e-6
        assert tables[reading]["NCS with SPICE"]["all"].pairs == 24
        assert tables[reading]["NCS with CIDEr"]["non-ground-truth"].pairs == 12


def correlation(value: float, pairs: int = 5785) -> Correlation:
    return Correlation(value, value - 0.02, value + 0.03, pairs, 1000)


def table(value: float) -> dict:
    return {
        "binary relevance": {
            "all": correlation(0.7),
            "non-ground-truth": Correlation(math.nan, math.nan, math.nan, 785, 444),
        },
        "NCS with CIDEr": {"all": correlation(value), "non-ground-truth": correlation(value / 2, 785)},
    }


READINGS = {"φ itself": table(0.6), "φ / best of the <caption>": table(0.8)}


def test_a_reading_becomes_rows_and_a_measure_without_correlation_none() -> None:
    rows = correlation_rows(READINGS)
    names = [(row["group"], row["row"], row["value"]) for row in rows if row["measure"] == "r, all pairs"]
    cider = "NCS with CIDEr"
    assert names == [
        ("binary relevance", "in every reading", 0.7),
        (cider, "φ itself", 0.6),
        (cider, "φ / best of the <caption>", 0.8),
    ]
    assert len(rows) == 5 and rows[0]["upper"] == pytest.approx(0.73)
