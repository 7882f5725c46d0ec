"""Crisscrossed Captions read in both formats, every fault told at once; each reading of NCS; Table 1 as a figure."""

import gzip
import json
import math

import numpy as np
import pytest
import torch
from workshop.analysis.human import Ratings, correlation_rows, crisscrossed, gain_over_annotation, human_correlation

from itmlab.data.faults import FaultyData
from itmlab.metrics import Cider, cider_matrix, pearson
from itmlab.metrics.statistics import Correlation
from tests.refusals import refused
from tests.workshop.small_world import small_set

CAPTIONS, IMAGES = ["770337", "771687", "152106"], ["391895", "60623"]
RELEASE = """caption,image,agg_score,sampling_method
COCO_val2014:sentid:770337,COCO_val2014_000000391895.jpg,4.97,c2i_original
COCO_val2014:sentid:152106,COCO_val2014_000000391895.jpg,1.8,c2i_intrasim
COCO_val2014:sentid:771687,COCO_val2014_000000060623.jpg,3.0,c2i_intrasim
"""


def write(folder, text, name="sits_val.csv"):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["sits_val.csv", "sits_val.csv.gz"])
def test_the_release_is_read_and_pairs_of_other_sets_are_left_out(tmp_path, name):
    path = write(tmp_path, RELEASE, name)
    ratings = crisscrossed(path, CAPTIONS, IMAGES)
    assert ratings.captions.tolist() == [0, 2, 1] and ratings.images.tolist() == [0, 0, 1]
    assert ratings.scores.tolist() == [4.97, 1.8, 3.0]
    assert crisscrossed(path, CAPTIONS[:1], IMAGES).scores.tolist() == [4.97]
    refused("no rating is about these captions", crisscrossed, path, ["7"], IMAGES)


def test_json_lines_are_read_and_other_ids_stay_as_they_are(tmp_path):
    rows = [{"caption_id": 770337, "image_id": 391895, "score": 4.97}, {"caption_id": "a:1", "image_id": "01.png"}]
    rows[1]["score"] = "0"
    for name in ("cxc.jsonl", "cxc.jsonl.gz"):
        path = write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), name)
        ratings = crisscrossed(path, [*CAPTIONS, "a:1"], [*IMAGES, "01.png"])
        assert (ratings.captions.tolist(), ratings.images.tolist()) == ([0, 3], [0, 2])
        assert ratings.scores.tolist() == [4.97, 0]


def test_all_faults_are_listed_at_once(tmp_path):
    picture = "COCO_val2014_000000391895.jpg"
    rows = [f"COCO_val2014:sentid:770337,{picture},{score},x" for score in ("5.1", "nan", "good")]
    rows += [f",{picture},3,x", f"COCO_val2014:sentid:152106,{picture},2,x"]
    with pytest.raises(FaultyData) as caught:
        crisscrossed(write(tmp_path, RELEASE + "\n".join(rows) + "\n"), CAPTIONS, IMAGES)
    assert [fault.row for fault in caught.value.faults] == list(range(5, 10))
    with pytest.raises(FaultyData, match="score"):
        crisscrossed(write(tmp_path, "caption,image\na,b\n", "sits.csv"), CAPTIONS, IMAGES)


def test_each_reading_is_the_correlation_of_its_own_values():
    data = small_set(6)
    captions, images = torch.arange(12).repeat(2), torch.cat([data.image_of_caption, (data.image_of_caption + 1) % 6])
    scores = torch.linspace(5, 0, 24) + 0.1 * torch.randn(24, generator=torch.Generator().manual_seed(0))
    tables = human_correlation(data, Ratings(captions, images, scores.clamp(0, 5)))
    references = [[data.captions[caption] for caption in own_values.tolist()] for own_values in data.captions_of_image]
    phi = cider_matrix(data.captions, references)
    left_out = Cider(references).matrix(leave_one_out=True)  # the captions of this set are in the order of its images
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


def test_a_gain_over_annotation_weighs_ground_truth_as_the_paper_does() -> None:
    source = np.random.default_rng(0)
    annotated = np.repeat([1.0, 0.0], [6, 19])  # with the paper's share the 6 weigh as much as 25 of 44
    measure, ratings = source.random((2, 25))
    repeated = np.repeat(np.arange(25), np.where(annotated == 1, 25 * 19, 19 * 6))
    of_measure, of_annotation, _ = np.corrcoef(np.array([measure, annotated, ratings])[:, repeated])[2]
    value, lower, upper = gain_over_annotation(measure, annotated, ratings, np.tile(np.arange(5), 5))
    assert value == pytest.approx(of_measure - of_annotation) and lower < value < upper
