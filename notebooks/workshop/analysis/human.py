"""How CIDEr and SPICE agree with people's ratings of pairs, for each reading of a pair's NCS (SAM, Table 1).

The ratings are Crisscrossed Captions: how well a caption describes a picture, 0 to 5.

References:
    Biten et al. (2022), SAM. Parekh et al. (2021), Crisscrossed Captions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy import ndarray
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.data.faults import Faults, one_line
from itmlab.data.tables import read_rows
from itmlab.errors import ItmlabError
from itmlab.metrics import Cider, Spice, human_judgement
from itmlab.metrics.statistics import Correlation, Interval, bootstrap

# Crisscrossed Captions: reading the release.

LARGEST = 5.0
COLUMNS = {"agg_score": ("caption", "image"), "score": ("caption_id", "image_id")}  # by the score's column


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
    faults = Faults("crisscrossed", source=str(path))
    caption_of = {str(identifier): index for index, identifier in enumerate(caption_ids)}
    image_of = {str(identifier): index for index, identifier in enumerate(image_ids)}
    ratings: dict[tuple[int, int], float] = {}
    for number, row in read_rows(Path(path), faults):
        column = next((name for name in COLUMNS if name in row), "score")
        caption, image = (re.sub(BARE, r"\1\2", str(row.get(name, ""))) for name in COLUMNS[column])
        try:
            score = float(row[column])
        except (KeyError, TypeError, ValueError):
            score = float("nan")
        if not caption or not image or not 0 <= score <= LARGEST:  # NaN neither
            content = one_line(str(row), 100)
            faults.add(path, number, f"no ids, or no {column} from 0 to {LARGEST:g}: {content}")
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

Readings = Mapping[str, Mapping[str, Mapping[str, Correlation]]]  # [reading][measure]["all" | "non-ground-truth"]
READINGS = {"φ itself": "none", "φ / the picture's largest": "image", "φ / the caption's largest": "caption"}
LEFT_OUT = "φ, caption not among its references"


def human_correlation(data: CaptionSet, ratings: Ratings) -> Readings:
    """Return Pearson's r with the ratings of pairs: `[reading][measure]["all" | "non-ground-truth"]`.

    The paper does not say what the NCS of one pair is. The readings are φ itself, and φ over the largest of its picture
    or of its caption, which is NCS@1 of that query. In a further reading a caption is compared with the other captions
    of its picture.

    Args:
        data: the set that the pairs are of.
        ratings: of pairs.
    """
    fitted = _fitted(data)
    relevance = {name: phi.matrix(data.captions) for name, phi in fitted.items()}
    rated = (data.positives, ratings.captions, ratings.images, ratings.scores)
    tables = {reading: human_judgement(relevance, *rated, normalised=divisor) for reading, divisor in READINGS.items()}
    place = torch.cat(data.captions_of_image).argsort()  # of each caption among the references, image by image
    left_out = {name: phi.matrix(leave_one_out=True)[place] for name, phi in fitted.items()}
    return {**tables, LEFT_OUT: human_judgement(left_out, *rated)}


def _fitted(data: CaptionSet) -> dict[str, Cider | Spice]:
    references = data.captions_of()
    return {"NCS with SPICE": Spice(references), "NCS with CIDEr": Cider(references)}


# The correlations as rows of a result.

PAIRS = {"all": "r, all pairs", "non-ground-truth": "r, without ground truth"}


def correlation_rows(readings: Readings) -> list[dict[str, Any]]:
    """Return the correlations as rows of a result, grouped by measure, one row per reading.

    A measure that is the same in every reading has one row.
    """
    rows = []
    for measure in dict.fromkeys(measure for table in readings.values() for measure in table):
        tables = {reading: table[measure] for reading, table in readings.items() if measure in table}
        first, *others = tables.values()
        if others and all(table == first for table in others):
            tables = {"in every reading": first}
        for reading, table in tables.items():
            for pairs, correlation in table.items():
                if isnan(correlation.value):  # a measure that is the same for all pairs
                    continue
                row = {"group": measure, "row": reading, "measure": PAIRS[pairs], **vars(correlation)}
                row.pop("images")
                rows.append(row)
    return rows


# The same pairs, weighted to the paper's share of ground truth.

PAPER_SHARE = 25 / 44  # of the paper's 44 thousand pairs are 25 thousand ground truth
REWEIGHTED = "r, 57 % ground truth"


def gain_over_annotation(
    measure: Float[ndarray, "pair"],
    annotated: Float[ndarray, "pair"],
    ratings: Float[ndarray, "pair"],
    images: Int64[ndarray, "pair"],
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

    def of_draws(drawn: Int64[ndarray, "draw image"]) -> Float[ndarray, "draw"]:
        return np.array([gain(counts) for counts in drawn])

    return bootstrap(gain(np.ones(clusters)), of_draws, clusters, counts=True)


def reweighted_rows(data: CaptionSet, ratings: Ratings) -> list[dict[str, Any]]:
    """Return as rows of a result what SPICE and CIDEr gain over annotation at the paper's share of ground truth."""
    annotated = data.positives[ratings.images, ratings.captions].double()
    rows = []
    for name, phi in _fitted(data).items():
        matrix = phi.matrix(data.captions).double()
        values = matrix[ratings.captions, ratings.images]
        largest = matrix.amax(dim=0)[ratings.images], matrix.amax(dim=1)[ratings.captions]
        for reading, divisor in zip(READINGS, (torch.ones_like(values), *largest), strict=True):
            known = divisor > 0
            pairs = (values / divisor, annotated, ratings.scores, ratings.images)
            gain = gain_over_annotation(*(column[known].numpy() for column in pairs))
            place = {"group": name, "row": reading, "minus": "binary relevance", "measure": REWEIGHTED}
            rows.append({**place, **gain._asdict(), "pairs": int(known.sum())})
    return rows
