"""SAM's Table 1 on real ratings: Crisscrossed Captions restricted to the first 1,000 validation images of COCO.

The paper has the whole test split (44 thousand pairs, 19 thousand of them no ground truth), so its numbers are
compared by sign and order. Ours are pinned: binary relevance and CIDEr closely, SPICE as far as a better parser may
move it.
"""

import math

import pytest
from workshop.analysis.human import crisscrossed

from itmlab.metrics import Cider, Spice, pearson
from tests.data.picture_files import load_captions

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore:SPICE"), pytest.mark.filterwarnings("ignore:NCS")]
SPICE, CIDER = "NCS with SPICE", "NCS with CIDEr"


@pytest.fixture(scope="module")
def data(real_data, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ITMLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        return load_captions(real_data("coco/captions_val1k.jsonl.gz"))


@pytest.fixture(scope="module")
def ratings(real_data, data):
    return crisscrossed(real_data("coco/cxc_sits_val1k.jsonl.gz"), data.caption_ids, data.image_ids)


@pytest.fixture(scope="module")
def relevance(data):
    """The matrices of both measures, and CIDEr's with a caption left out of its own references."""
    cider = Cider(data.captions_of())
    inside = {SPICE: Spice(data.captions_of()).matrix(), CIDER: cider.matrix()}
    return {"in": inside, "out": {CIDER: cider.matrix(leave_one_out=True)}}


def agreement(data, ratings, values, pairs="all"):
    """Pearson's r of a value of each rated pair, of all pairs or of those that are no ground truth."""
    chosen = ~values.isnan()
    if pairs == "non-ground-truth":
        chosen &= ~data.positives[ratings.images, ratings.captions]
    return pearson(values[chosen], ratings.scores[chosen], ratings.images[chosen], draws=300)


def test_the_ratings_are_all_read_and_joined(data, ratings):
    truth = data.positives[ratings.images, ratings.captions]
    assert (len(ratings.scores), int(truth.sum())) == (5_785, 5_000)
    assert 0 <= float(ratings.scores.min()) < float(ratings.scores.max()) <= 5
    assert float(ratings.scores[truth].mean()) > 4.5 > 3.5 > float(ratings.scores[~truth].mean())


def test_binary_relevance_agrees_as_in_the_paper_and_not_at_all_beyond_ground_truth(data, ratings):
    binary = data.positives[ratings.images, ratings.captions].double()
    of_all = agreement(data, ratings, binary)
    assert of_all.value == pytest.approx(0.718, abs=0.001) and of_all.lower < 0.711 < of_all.upper
    assert math.isnan(agreement(data, ratings, binary, "non-ground-truth").value)  # the paper prints 0.00


@pytest.mark.parametrize(
    ("measure", "pairs", "pinned", "near"),  # by reading: φ itself, of the picture's largest, of the caption's largest
    [
        (CIDER, "all", [0.654, 0.721, 0.753], 0.002),
        (CIDER, "non-ground-truth", [0.363, 0.391, 0.403], 0.002),
        (SPICE, "all", [0.59, 0.60, 0.76], 0.04),
        (SPICE, "non-ground-truth", [0.42, 0.43, 0.44], 0.05),
    ],
)
def test_it_is_near_the_pinned_value_in_each_reading(data, ratings, relevance, measure, pairs, pinned, near):
    matrix = relevance["in"][measure].double()
    values = matrix[ratings.captions, ratings.images]
    readings = (values, values / matrix.amax(dim=0)[ratings.images], values / matrix.amax(dim=1)[ratings.captions])
    found = [agreement(data, ratings, reading, pairs).value for reading in readings]
    assert found == pytest.approx(pinned, abs=near)


def test_a_caption_among_its_own_references_makes_much_of_the_agreement(data, ratings, relevance):
    matrices = relevance["out"][CIDER], relevance["in"][CIDER]
    left_out, inside = (agreement(data, ratings, m[ratings.captions, ratings.images]).value for m in matrices)
    assert 0.2 < left_out < inside - 0.2
