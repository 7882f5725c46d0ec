"""How CIDEr and SPICE agree with people's ratings of pairs, for each reading of a pair's NCS (SAM, Table 1).

The ratings are Crisscrossed Captions: how well a caption describes a picture, 0 to 5.

References:
    Biten et al. (2022), SAM. Parekh et al. (2021), Crisscrossed Captions.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int64
from numpy import ndarray
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.data.faults import Faults, one_line
from itmlab.data.tables import read_rows
from itmlab.errors import ItmlabError
from itmlab.metrics import Cider, Spice, pearson
from itmlab.metrics.statistics import Interval, bootstrap

# Crisscrossed Captions: reading the release.

LARGEST = 5.0
RELEASED = {"caption": "caption_id", "image": "image_id", "agg_score": "score"}  # our names of its columns


@dataclass(frozen=True)
class Ratings:
    """Rated pairs.

    Args:
        captions: the caption of each pair, by index.
        images: the image of each pair, by index.
        scores: the mean rating, from 0 (unrelated) to 5 (describes it fully).
    """

    captions: Int64[Tensor, "pair"]
    images: Int64[Tensor, "pair"]
    scores: Float[Tensor, "pair"]


def crisscrossed(path: str | Path, caption_ids: Sequence[str], image_ids: Sequence[str]) -> Ratings:
    """Read the ratings that are about these captions and images; ratings of others are left out.

    The file is the release (`sits_val.csv`, `sits_test.csv`: caption "COCO_val2014:sentid:770337", image
    "COCO_val2014_000000391895.jpg", `agg_score`) or JSON lines with `caption_id`, `image_id` and `score`; both may be
    gzipped.

    Args:
        path: the file.
        caption_ids: ids of the captions, as in a `CaptionSet` of COCO.
        image_ids: ids of the images.

    Raises:
        ItmlabError: missing columns, a score that is not a number from 0 to 5, or a pair with two different ratings
            (all of them, with their rows); no rating is about these captions and images.
    """
    faults = Faults("crisscrossed")
    caption_of = {str(identifier): index for index, identifier in enumerate(caption_ids)}
    image_of = {str(identifier): index for index, identifier in enumerate(image_ids)}
    ratings: dict[tuple[int, int], float] = {}
    for number, entry in read_rows(Path(path), faults):
        row = {RELEASED.get(name, name): value for name, value in entry.items()}
        caption, image = (re.sub(BARE, r"\1\2", str(row.get(name, ""))) for name in ("caption_id", "image_id"))
        score = pd.to_numeric(str(row.get("score")), errors="coerce")
        if not caption or not image or not 0 <= score <= LARGEST:  # NaN neither
            faults.add(path, number, f"no ids, or no score from 0 to {LARGEST:g}: {one_line(str(entry), 100)}")
        elif caption in caption_of and image in image_of:
            pair = caption_of[caption], image_of[image]
            if ratings.setdefault(pair, score) != score:
                faults.add(path, number, f"caption {caption} and image {image} have another rating before")
    faults.settle(kept=len(ratings))
    if not ratings:
        raise ItmlabError("no rating is about these captions and images", where=str(path), remedy="do the ids fit?")
    captions, images = torch.tensor(list(ratings)).T
    return Ratings(captions, images, torch.tensor(list(ratings.values()), dtype=torch.float64))


# "COCO_val2014:sentid:770337" is caption 770337, "COCO_val2014_000000391895.jpg" image 391895
BARE = r"^COCO_\w+:sentid:(\d+)$|^(?:COCO_\w+_)?0*(\d+)\.jpe?g$"


# The correlations, in each reading of a pair's NCS: the paper gives none (METHODS 2.4).


def rating_rows(data: CaptionSet, ratings: Ratings) -> list[dict[str, Any]]:
    """Return as rows of a result how measures agree with the ratings of pairs, grouped by measure.

    The measures are binary relevance, and NCS by SPICE and by CIDEr. The paper does not say what the NCS of one pair
    is. The readings are φ itself, and φ over the largest of its picture or of its caption, which is NCS@1 of that
    query. In a further reading a caption is compared with the other captions of its picture. Each has Pearson's r of
    all pairs and of those without ground truth, and what it gains over binary relevance at the paper's share of ground
    truth. Pairs of a query to which nothing is relevant are left out.

    Args:
        data: the set that the pairs are of.
        ratings: of pairs.
    """
    captions, images, people = ratings.captions, ratings.images, ratings.scores
    annotated, references = data.positives[images, captions], data.captions_of()
    place = torch.cat(data.captions_of_image).argsort()  # of each caption among the references, image by image
    of_all = pearson(annotated.double(), people, images)
    rows = [_row("binary relevance", "in every reading", "r, all pairs", of_all, len(people))]
    for name, phi in {"NCS with SPICE": Spice(references), "NCS with CIDEr": Cider(references)}.items():
        matrix = phi.matrix(data.captions).double()
        values = matrix[captions, images]
        left_out = phi.matrix(leave_one_out=True)[place].double()
        readings = {
            "φ itself": values,
            "φ / the picture's largest": values / matrix.amax(dim=0)[images],
            "φ / the caption's largest": values / matrix.amax(dim=1)[captions],
            "φ, caption not among its references": left_out[captions, images],
        }
        for reading, measure in readings.items():
            known = ~measure.isnan()
            for label, chosen in {"r, all pairs": known, "r, without ground truth": known & ~annotated}.items():
                correlation = pearson(measure[chosen], people[chosen], images[chosen])
                rows.append(_row(name, reading, label, correlation, int(chosen.sum())))
            columns = (measure, annotated.double(), people, images)
            gain = gain_over_annotation(*(column[known].numpy() for column in columns))
            row = _row(name, reading, "r, 57 % ground truth", gain, int(known.sum()))
            rows.append({**row, "minus": "binary relevance"})
    return rows


def _row(group: str, row: str, measure: str, ends: Interval, pairs: int) -> dict[str, Any]:
    names = {"group": group, "row": row, "measure": measure, "pairs": pairs}
    return {**names, "value": ends.value, "lower": ends.lower, "upper": ends.upper}


PAPER_SHARE = 25 / 44  # of the paper's 44 thousand pairs are 25 thousand ground truth
PerPair = Float[ndarray, "pair"]


def gain_over_annotation(
    measure: PerPair, annotated: PerPair, ratings: PerPair, images: Int64[ndarray, "pair"]
) -> Interval:
    """Return how much better a measure agrees with ratings than the annotation does, with a bootstrap over images.

    Agreement is Pearson's r of weighted pairs: those that are ground truth weigh `PAPER_SHARE` together.

    Args:
        measure: of each pair.
        annotated: 1 for pairs that are ground truth, 0 for others.
        ratings: of each pair.
        images: the image of each pair.
    """
    _, group = np.unique(images, return_inverse=True)
    clusters = group.max() + 1

    def gain(counts: Float[ndarray, "image"]) -> float:
        weights = counts[group].astype(float)
        for chosen, part in ((annotated == 1, PAPER_SHARE), (annotated == 0, 1 - PAPER_SHARE)):
            weights[chosen] *= part / weights[chosen].sum()
        covariance = np.cov([measure, annotated, ratings], aweights=weights, ddof=0)
        of_measure, of_annotation, of_ratings = covariance[2] / np.sqrt(covariance.diagonal())
        return (of_measure - of_annotation) / of_ratings

    return bootstrap(gain(np.ones(clusters)), lambda drawn: [gain(counts) for counts in drawn], clusters, counts=True)
