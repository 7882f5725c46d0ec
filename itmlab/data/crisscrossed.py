"""Crisscrossed Captions (Parekh et al., EACL 2021): how well people say that a caption describes a picture, 0 to 5."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from ..errors import ItmlabError
from .faults import Fault, Faults, one_line
from .tables import read_rows

CAPTION_COLUMNS, IMAGE_COLUMNS, SCORE_COLUMNS = ("caption", "caption_id"), ("image", "image_id"), ("agg_score", "score")
LARGEST = 5.0
POSITIVE = 3.0  # "describes the picture" from here on: the rule by which CxC extends the positives of COCO


@dataclass(frozen=True)
class Ratings:
    """Rated pairs as indices of captions and images, with the mean rating (0 unrelated … 5 describes it fully)."""

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
        """The truth mask extended by people: pairs rated at least `threshold`, and ground truth that nobody rated.

        As in CxC a ground-truth pair rated below the threshold is no positive, so that a caption can be left with
        none; `keep_ground_truth=True` leaves all of them in.
        """
        if len(self) and (
            int(self.images.max()) >= ground_truth.shape[0] or int(self.captions.max()) >= ground_truth.shape[1]
        ):
            raise ItmlabError(
                f"ratings of image {int(self.images.max())} and caption {int(self.captions.max())} do not fit ground "
                f"truth of shape {tuple(ground_truth.shape)}",
                remedy="ground_truth must be (image, caption)",
            )
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
    """The ratings of `path` that are about these captions and images, ids as in a `CaptionSet` of COCO.

    Reads the release (`sits_val.csv`, `sits_test.csv`: caption "COCO_val2014:sentid:770337", image
    "COCO_val2014_000000391895.jpg", `agg_score`) and JSON lines with `caption_id`, `image_id`, `score`; both also
    gzipped. All faults are listed at once with their row, or with `on_fault="skip"` left out: a missing value, a score
    that is no number from 0 to 5, a pair rated twice and differently, and a pair of which caption or image is not given
    (with `outside="drop"` that is none: a subset takes what it needs).
    """
    if outside not in ("fault", "drop"):
        raise ItmlabError(f"outside={outside!r} is neither of the two choices", remedy='use "fault" or "drop"')
    path = Path(path)
    faults = Faults("crisscrossed", on_fault=on_fault, source=str(path))
    caption_of = {str(each): index for index, each in enumerate(caption_ids)}
    image_of = {str(each): index for index, each in enumerate(image_ids)}
    found: dict[tuple[int, int], tuple[float, int]] = {}
    for number, row in read_rows(path, faults):
        try:
            caption, image, score = _rating(row, f"{path}:{number}")
        except _Fault as fault:
            faults.add(path, number, str(fault))
            continue
        if caption not in caption_of or image not in image_of:
            what, name = ("caption", caption) if caption not in caption_of else ("image", image)
            if outside == "fault":
                faults.add(path, number, f"no {what} has the id {one_line(repr(name), 60)}")
            continue
        pair = caption_of[caption], image_of[image]
        known, where = found.setdefault(pair, (score, number))
        if known != score:
            faults.add(path, number, f"caption {caption} and image {image} are rated otherwise in row {where}")
    skipped = faults.settle(kept=len({image for _, image in found}))
    if not found:
        raise ItmlabError("no rating is about these captions and images", where=str(path), remedy="do the ids fit?")
    captions, images = torch.tensor(list(found)).T
    return Ratings(captions, images, torch.tensor([score for score, _ in found.values()], dtype=torch.float64), skipped)


class _Fault(Exception):
    """What is wrong with a row."""


def _rating(row: dict[str, Any], where: str) -> tuple[str, str, float]:
    cells = []
    for columns in (CAPTION_COLUMNS, IMAGE_COLUMNS, SCORE_COLUMNS):
        column = next((name for name in columns if name in row), None)
        if column is None:
            names = one_line(", ".join(map(repr, row)), 200)
            raise ItmlabError(
                f"there is no column {' or '.join(map(repr, columns))}; the columns are {names}", where=where
            )
        cells.append(row[column])
    caption, image, score = cells
    for what, cell in (("caption", caption), ("image", image)):
        if isinstance(cell, bool) or not isinstance(cell, str | int) or not str(cell).strip():
            raise _Fault(f"the {what} id is {one_line(repr(cell), 60)}")
    try:
        value = float("nan" if isinstance(score, bool) else score)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value <= LARGEST:  # NaN neither
        raise _Fault(f"the score is {one_line(repr(score), 60)}, not a number from 0 to {LARGEST:g}")
    return _caption_id(str(caption).strip()), _image_id(str(image).strip()), value


def _caption_id(name: str) -> str:
    """ "COCO_val2014:sentid:770337" is caption 770337; other ids stay as they are."""
    coco = re.fullmatch(r"COCO_\w+:sentid:(\d+)", name)
    return coco.group(1) if coco else name


def _image_id(name: str) -> str:
    """ "COCO_val2014_000000391895.jpg" is image 391895; other ids stay as they are."""
    coco = re.fullmatch(r"(?:COCO_\w+_)?0*(\d+)\.jpe?g", name)
    return coco.group(1) if coco else name
