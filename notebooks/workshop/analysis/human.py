"""How CIDEr and SPICE agree with people's ratings of pairs, for each reading of a pair's NCS (SAM, Table 1).

The ratings are Crisscrossed Captions: how well a caption describes a picture, 0 to 5.

References:
    Biten et al. (2022), SAM. Parekh et al. (2021), Crisscrossed Captions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.data.faults import Fault, Faults, one_line
from itmlab.data.tables import read_rows
from itmlab.errors import ItmlabError
from itmlab.metrics import Cider, Spice, human_judgement
from itmlab.metrics.statistics import Correlation

# Crisscrossed Captions: reading the release.

COLUMNS = ("caption", "caption_id"), ("image", "image_id"), ("agg_score", "score")
LARGEST = 5.0
POSITIVE = 3.0  # "describes the picture" from here on: the rule by which CxC extends the positives of COCO


@dataclass(frozen=True)
class Ratings:
    """Rated pairs.

    Args:
        captions: the caption of each pair, by index.
        images: the image of each pair, by index.
        scores: the mean rating, from 0 (unrelated) to 5 (describes it fully).
        skipped: faults of the file that were skipped.
    """

    captions: Int64[Tensor, "pair"]
    images: Int64[Tensor, "pair"]
    scores: Float[Tensor, "pair"]
    skipped: list[Fault] = field(default_factory=list)

    def __len__(self) -> int:
        """The number of rated pairs."""
        return len(self.scores)

    def positives(
        self,
        ground_truth: Bool[Tensor, "image caption"],
        *,
        threshold: float = POSITIVE,
        keep_ground_truth: bool = False,
    ) -> Bool[Tensor, "image caption"]:
        """Return the ground truth extended by pairs rated at least `threshold`.

        As in CxC, a ground-truth pair rated below the threshold is not a positive, so that a caption can be left with
        none.

        Args:
            ground_truth: the annotated pairs. Those without a rating stay.
            threshold: the lowest rating of a positive.
            keep_ground_truth: keep all ground-truth pairs.

        Raises:
            ItmlabError: the ratings do not fit the shape of the ground truth.
        """
        image, caption = (int(rows.max()) if len(self) else -1 for rows in (self.images, self.captions))
        if image >= ground_truth.shape[0] or caption >= ground_truth.shape[1]:
            shape = tuple(ground_truth.shape)
            fault = f"ratings of image {image} and caption {caption} do not fit ground truth of shape {shape}"
            raise ItmlabError(fault, remedy="ground_truth must be (image, caption)")
        extended = ground_truth.clone()
        extended[self.images, self.captions] = self.scores >= threshold
        return extended | ground_truth if keep_ground_truth else extended


def crisscrossed(
    path: str | Path,
    caption_ids: Sequence[str],
    image_ids: Sequence[str],
    *,
    outside: Literal["fault", "drop"] = "fault",
    on_fault: Literal["error", "skip"] = "error",
) -> Ratings:
    """Read the ratings that are about these captions and images.

    The file is the release (`sits_val.csv`, `sits_test.csv`: caption "COCO_val2014:sentid:770337", image
    "COCO_val2014_000000391895.jpg", `agg_score`) or JSON lines with `caption_id`, `image_id` and `score`; both may be
    gzipped. A missing value, a score that is not a number from 0 to 5, and a pair with two different ratings are
    faults.

    Args:
        path: the file.
        caption_ids: ids of the captions, as in a `CaptionSet` of COCO.
        image_ids: ids of the images.
        outside: whether a rating of another caption or image is a fault or is dropped.
        on_fault: "error" lists all faults with their rows, "skip" leaves these rows out.
    """
    if outside not in ("fault", "drop"):
        raise ItmlabError(f"outside={outside!r} is neither of the two choices", remedy='use "fault" or "drop"')
    path = Path(path)
    faults = Faults("crisscrossed", on_fault=on_fault, source=str(path))
    caption_of = {str(identifier): index for index, identifier in enumerate(caption_ids)}
    image_of = {str(identifier): index for index, identifier in enumerate(image_ids)}
    ratings: dict[tuple[int, int], tuple[float, int]] = {}
    for number, row in read_rows(path, faults):
        try:
            caption, image, score = _rating(row, f"{path}:{number}")
        except ValueError as fault:
            faults.add(path, number, str(fault))
            continue
        if caption not in caption_of or image not in image_of:
            side, name = ("caption", caption) if caption not in caption_of else ("image", image)
            if outside == "fault":
                faults.add(path, number, f"no {side} has the id {one_line(repr(name), 60)}")
            continue
        pair = caption_of[caption], image_of[image]
        known, where = ratings.setdefault(pair, (score, number))
        if known != score:
            faults.add(path, number, f"caption {caption} and image {image} are rated otherwise in row {where}")
    skipped = faults.settle(kept=len({image for _, image in ratings}))
    if not ratings:
        raise ItmlabError("no rating is about these captions and images", where=str(path), remedy="do the ids fit?")
    captions, images = torch.tensor(list(ratings)).T
    return Ratings(
        captions, images, torch.tensor([score for score, _ in ratings.values()], dtype=torch.float64), skipped
    )


def _rating(row: dict[str, Any], where: str) -> tuple[str, str, float]:
    """Return caption id, image id and score of a row.

    Raises:
        ValueError: what is wrong with the row.
    """
    cells = []
    for columns in COLUMNS:
        column = next((name for name in columns if name in row), None)
        if column is None:
            wanted, names = " or ".join(map(repr, columns)), one_line(", ".join(map(repr, row)), 200)
            raise ItmlabError(f"there is no column {wanted}; the columns are {names}", where=where)
        cells.append(row[column])
    caption, image, score = cells
    for name, cell in (("caption", caption), ("image", image)):
        if isinstance(cell, bool) or not isinstance(cell, str | int) or not str(cell).strip():
            raise ValueError(f"the {name} id is {one_line(repr(cell), 60)}")
    try:
        value = float("nan" if isinstance(score, bool) else score)
    except (TypeError, ValueError):
        value = float("nan")
    if not 0 <= value <= LARGEST:  # NaN neither
        raise ValueError(f"the score is {one_line(repr(score), 60)}, not a number from 0 to {LARGEST:g}")
    return _bare(SENTENCE, str(caption).strip()), _bare(PICTURE, str(image).strip()), value


# "COCO_val2014:sentid:770337" is caption 770337, "COCO_val2014_000000391895.jpg" image 391895
SENTENCE, PICTURE = r"COCO_\w+:sentid:(\d+)", r"(?:COCO_\w+_)?0*(\d+)\.jpe?g"


def _bare(pattern: str, name: str) -> str:
    """Return the number in an id of the release; other ids are unchanged."""
    match = re.fullmatch(pattern, name)
    return match.group(1) if match else name


# The correlations, in each reading of a pair's NCS: the paper gives none (METHODS 2.4).

Readings = Mapping[str, Mapping[str, Mapping[str, Correlation]]]  # [reading][measure]["all" | "non-ground-truth"]
READINGS = {"φ itself": "none", "φ / the picture's largest": "image", "φ / the caption's largest": "caption"}
LEFT_OUT = "φ, caption not among its references"


def human_correlation(data: CaptionSet, ratings: Ratings, *, parser: str = "english") -> Readings:
    """Return Pearson's r with the ratings of pairs: `[reading][measure]["all" | "non-ground-truth"]`.

    The paper does not say what the NCS of one pair is. The readings are φ itself, and φ over the largest of its picture
    or of its caption, which is NCS@1 of that query. In a further reading a caption is compared with the other captions
    of its picture.

    Args:
        data: the set that the pairs are of.
        ratings: of pairs.
        parser: of SPICE.
    """
    references = data.captions_of()
    fitted = {"NCS with SPICE": Spice(references, parser=parser), "NCS with CIDEr": Cider(references)}
    relevance = {name: phi.matrix(data.captions) for name, phi in fitted.items()}
    rated = (data.positives, ratings.captions, ratings.images, ratings.scores)
    tables = {reading: human_judgement(relevance, *rated, normalised=divisor) for reading, divisor in READINGS.items()}
    others = {"image_of_caption": data.image_of_caption.tolist(), "leave_one_out": True}
    left_out = {name: phi.matrix(data.captions, **others) for name, phi in fitted.items()}
    return {**tables, LEFT_OUT: human_judgement(left_out, *rated)}


# Table 1 of the paper, and our correlations as rows of a result.

TABLE_1: Mapping[str, Mapping[str, float]] = {  # Biten et al., Table 1: the CxC test split, 44 thousand pairs
    "binary relevance": {"all": 0.711, "non-ground-truth": 0.0},
    "NCS with SPICE": {"all": 0.729, "non-ground-truth": 0.536},
    "NCS with CIDEr": {"all": 0.734, "non-ground-truth": 0.453},
}
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
                ends = {"value": correlation.value, "lower": correlation.lower, "upper": correlation.upper}
                cell = {"group": measure, "row": reading, "measure": PAIRS[pairs], "pairs": correlation.pairs}
                rows.append({**cell, **ends})
    return rows
