"""mAP@R and R-Precision (Musgrave et al. 2020), and the ECCV Caption benchmark for COCO with CxC and COCO recall.

For a query with R positives, R-Precision is the share of them among its R best; mAP@R = 1/R Σ_i P(i), where P(i) is the
precision at place i ≤ R if a positive stands there, else 0. ECCV Caption (Chun et al. 2022) has several positives for
most queries of COCO's test split, and reports these; Crisscrossed Captions (CxC: Parekh et al. 2021) recall alone.
"""

import importlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from ..errors import ItmlabError, MissingPart
from .ranking import Mask, Numbers, Scores, positive_pairs, ranks, recalls


def map_at_r(similarity: Scores, positives: Mask) -> float:
    """mAP@R in percent, the mean over queries; from text to image with the transposes of both.

    Ties are counted against the model. ItmlabError: as `recall`.

    >>> map_at_r(torch.tensor([[0.9, 0.8, 0.7]]), torch.tensor([[True, False, True]]))
    50.0
    """
    similarity, positives = torch.as_tensor(similarity), torch.as_tensor(positives).bool()
    return at_r(similarity, *positive_pairs(similarity, positives))["map_at_r"]


def r_precision(similarity: Scores, positives: Mask) -> float:
    """R-Precision in percent, the mean over queries; all else as `map_at_r`."""
    similarity, positives = torch.as_tensor(similarity), torch.as_tensor(positives).bool()
    return at_r(similarity, *positive_pairs(similarity, positives))["rprecision"]


def at_r(
    similarity: Scores, anchor: Numbers, candidate: Numbers, sought: Int64[Tensor, "anchor"] | None = None
) -> dict[str, float]:
    """`map_at_r` and `rprecision` in percent, of positives given as index pairs.

    `sought` is R, where a query has positives that are not among the candidates; else R is how many pairs it has.
    """
    owner, rank = ranks(similarity, anchor, candidate, best_only=False)
    order = owner.sort(stable=True).indices  # `ranks` gives each owner's from its best on
    owner, rank = owner[order], rank[order]
    held = torch.bincount(owner, minlength=len(similarity))
    sought = held if sought is None else sought
    before = torch.arange(len(owner), device=owner.device) - (held.cumsum(0) - held)[owner]  # positives, in its ranking
    inside = rank < sought[owner]
    precision = torch.where(inside, (before + 1).double() / (rank + 1), 0.0)
    summed = torch.zeros(len(similarity), dtype=torch.float64, device=owner.device).index_add(0, owner, precision)
    counted = torch.bincount(owner[inside], minlength=len(similarity)).double()
    return {"map_at_r": 100 * (summed / sought).mean().item(), "rprecision": 100 * (counted / sought).mean().item()}


FOLDS = 5
Matrix = Float[Tensor, "image caption"]
Rows = Mapping[int, int]  # COCO's id of an image or a caption -> its row or column


def eccv_caption(
    similarity: Matrix,
    image_ids: Sequence[int | str],
    caption_ids: Sequence[int | str],
    *,
    ks: Sequence[int] = (1, 5, 10),
) -> dict[str, dict[str, float]]:
    """ECCV Caption, CxC and COCO recall of Karpathy's COCO test split, `{measure: {"i2t": percent, "t2i": percent}}`.

    The measures are those of the package `eccv_caption` under its names: `eccv_map_at_r`, `eccv_rprecision`, `eccv_r1`,
    and `cxc_r{k}`, `coco_5k_r{k}`, `coco_1k_r{k}` for each k. The relevant pairs are read from the package's own files
    (JSON and one plain array); nothing is downloaded. Images and captions come in any order with their COCO ids, all
    5,000 and 25,000 of them. Ties are counted against the model. MissingPart without the package; ItmlabError: ids that
    are not the test split's, NaN, a shape that does not fit the ids.
    """
    truth = _package()
    image_of, caption_of = _numbered(image_ids, "image"), _numbered(caption_ids, "caption")
    similarity = torch.as_tensor(similarity)
    if similarity.shape != (len(image_of), len(caption_of)):
        raise ItmlabError(
            f"similarity of shape {tuple(similarity.shape)} for {len(image_of)} images and {len(caption_of)} captions",
            remedy="similarity must be (image, caption)",
        )
    _check_ids(set(image_of), set(truth.coco_gts["i2t"]), "images")
    _check_ids(set(caption_of), set(truth.coco_gts["t2i"]), "captions")
    if bool(similarity.isnan().any()):
        row, column = similarity.isnan().nonzero()[0].tolist()
        raise ItmlabError(f"similarity is NaN between image {row} and caption {column}")
    table: dict[str, dict[str, float]] = {}
    for side, places in {"i2t": (image_of, caption_of), "t2i": (caption_of, image_of)}.items():
        *pairs, sought = _asked(similarity, side, truth.eccv_gts[side], *places)
        # two of its captions are not among the 25,000: they count in R, as in the package, and nobody finds them
        found = at_r(*pairs, sought) | {"r1": recalls(*pairs, (1,))[1]}
        for name in ("map_at_r", "rprecision", "r1"):
            table.setdefault(f"eccv_{name}", {})[side] = found[name]
        for name, relevant in (("cxc", truth.cxc_gts[side]), ("coco_5k", truth.coco_gts[side])):
            for k, percent in recalls(*_asked(similarity, side, relevant, *places)[:3], tuple(ks)).items():
                table.setdefault(f"{name}_r{k}", {})[side] = percent
    captions = truth.coco_ids.tolist()  # in the published order: a fold is 5,000 of them and their images
    for start in range(0, len(captions), size := len(captions) // FOLDS):
        own = captions[start : start + size]
        images = list(dict.fromkeys(truth.coco_gts["t2i"][caption][0] for caption in own))
        rows, columns = torch.tensor([image_of[i] for i in images]), torch.tensor([caption_of[c] for c in own])
        block = similarity.index_select(0, rows).index_select(1, columns)
        both = _numbered(images, "image"), _numbered(own, "caption")
        for side, places in {"i2t": both, "t2i": both[::-1]}.items():
            for k, percent in recalls(*_asked(block, side, truth.coco_gts[side], *places)[:3], tuple(ks)).items():
                fold = table.setdefault(f"coco_1k_r{k}", {})
                fold[side] = fold.get(side, 0) + percent / FOLDS
    return table


def _asked(
    similarity: Matrix, side: str, relevant: Mapping[int, Sequence[int]], query_of: Rows, item_of: Rows
) -> tuple[Scores, Numbers, Numbers, Int64[Tensor, "anchor"]]:
    """The queries that have relevant items: their scores, the relevant pairs, and how many each has."""
    queries = sorted(relevant.keys() & query_of.keys(), key=query_of.__getitem__)
    held = [[item_of[item] for item in relevant[query] if item in item_of] for query in queries]
    anchor = torch.arange(len(held)).repeat_interleave(torch.tensor([len(items) for items in held]))
    if len(queries) < len(query_of):
        index = torch.tensor([query_of[query] for query in queries])
        similarity = similarity.index_select(0 if side == "i2t" else 1, index)
    candidate = torch.tensor([item for items in held for item in items])
    sought = torch.tensor([len(relevant[query]) for query in queries])
    return similarity if side == "i2t" else similarity.T, anchor, candidate, sought


def _package() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it advises to install a faster JSON reader
            return importlib.import_module("eccv_caption").Metrics()
    except ImportError:
        raise MissingPart("eccv_caption", "pip install eccv_caption", needed_for="ECCV Caption") from None


def _numbered(ids: Sequence[int | str], what: str) -> dict[int, int]:
    try:
        numbered = {int(each): index for index, each in enumerate(ids)}
    except (TypeError, ValueError):
        wrong = next(each for each in ids if not str(each).strip().isdigit())
        raise ItmlabError(f"the {what} id {str(wrong)[:60]!r} is no COCO id", remedy="COCO's ids are numbers") from None
    if len(numbered) != len(ids):
        raise ItmlabError(f"{len(ids) - len(numbered)} {what} ids occur twice")
    return numbered


def _check_ids(given: set[int], wanted: set[int], what: str) -> None:
    missing, foreign = sorted(wanted - given), sorted(given - wanted)
    if missing or foreign:
        parts = ((missing, f"of its {len(wanted):,} {what} are missing"), (foreign, f"of these {what} are not in it"))
        told = [f"{len(ids)} {verdict} (as {ids[0]})" for ids, verdict in parts if ids]
        raise ItmlabError(
            f"ECCV Caption judges the whole of Karpathy's COCO test split: {', '.join(told)}",
            remedy="give that split with COCO's own ids",
        )
