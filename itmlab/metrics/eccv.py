"""The ECCV Caption benchmark for COCO, with CxC and COCO recall, of a score matrix with COCO's ids."""

import importlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from ..errors import ItmlabError, MissingPart
from .ranking import positive_pairs, ranks, recalls

# Retrieval by extended relevance, any number of positives for a query: mAP@R and R-Precision.


def map_at_r(similarity: Float[Tensor, "anchor candidate"], positives: Bool[Tensor, "anchor candidate"]) -> float:
    """mAP@R in percent (Musgrave et al., ECCV 2020): for a query with R positives, the precision at each of the first
    R places that holds one, summed and divided by R; the mean over queries.

    From text to image with the transposes of both. Ties are counted against the model. ItmlabError: as `recall`.
    """
    similarity, positives = torch.as_tensor(similarity), torch.as_tensor(positives).bool()
    return at_r(similarity, *positive_pairs(similarity, positives))["map_at_r"]


def r_precision(similarity: Float[Tensor, "anchor candidate"], positives: Bool[Tensor, "anchor candidate"]) -> float:
    """R-Precision in percent: the share of positives among a query's R best, R being how many it has; the mean.

    From text to image with the transposes of both. Ties are counted against the model. ItmlabError: as `recall`.
    """
    similarity, positives = torch.as_tensor(similarity), torch.as_tensor(positives).bool()
    return at_r(similarity, *positive_pairs(similarity, positives))["rprecision"]


def at_r(
    similarity: Float[Tensor, "anchor candidate"],
    anchor: Int64[Tensor, "pair"],
    candidate: Int64[Tensor, "pair"],
    sought: Int64[Tensor, "anchor"] | None = None,
) -> dict[str, float]:
    """`map_at_r` and `rprecision` in percent, of positives given as index pairs.

    `sought` is R, where a query has positives that are not among the candidates; else R is how many pairs it has.
    """
    owner, rank = ranks(similarity, anchor, candidate, best_only=False)
    order = rank.sort(stable=True).indices
    order = order[owner[order].sort(stable=True).indices]
    owner, rank = owner[order], rank[order]
    held = torch.bincount(owner, minlength=len(similarity))
    sought = held if sought is None else sought
    before = torch.arange(len(owner), device=owner.device) - (held.cumsum(0) - held)[owner]  # positives, in its ranking
    inside = rank < sought[owner]
    precision = torch.where(inside, (before + 1).double() / (rank + 1), 0.0)
    summed = torch.zeros(len(similarity), dtype=torch.float64, device=owner.device).index_add(0, owner, precision)
    counted = torch.bincount(owner[inside], minlength=len(similarity))
    return {
        "map_at_r": 100 * (summed / sought).mean().item(),
        "rprecision": 100 * (counted.double() / sought).mean().item(),
    }


FOLDS = 5


def eccv_caption(
    similarity: Float[Tensor, "image caption"],
    image_ids: Sequence[int | str],
    caption_ids: Sequence[int | str],
    *,
    ks: Sequence[int] = (1, 5, 10),
) -> dict[str, dict[str, float]]:
    """ECCV Caption, CxC and COCO recall of Karpathy's COCO test split, `{measure: {"i2t": percent, "t2i": percent}}`.

    The measures are those of the package `eccv_caption` under its names (Chun et al., ECCV 2022): `eccv_map_at_r`,
    `eccv_rprecision`, `eccv_r1`, and `cxc_r{k}`, `coco_5k_r{k}`, `coco_1k_r{k}` for each k. The relevant pairs are read
    from the package's own files (JSON and one plain array); nothing is downloaded. Images and captions come in any
    order with their COCO ids, all 5,000 and 25,000 of them. Ties are counted against the model. MissingPart without
    the package; ItmlabError: ids that are not the test split's, NaN, a shape that does not fit the ids.
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
    for side, (query_of, item_of) in {"i2t": (image_of, caption_of), "t2i": (caption_of, image_of)}.items():
        asked = _Asked(similarity, side, truth.eccv_gts[side], query_of, item_of)
        # two of its captions are not among the 25,000: they count in R, as in the package, and nobody finds them
        found = at_r(asked.scores, asked.anchor, asked.candidate, asked.sought)
        found["r1"] = asked.recalls((1,))[1]
        for name in ("map_at_r", "rprecision", "r1"):
            table.setdefault(f"eccv_{name}", {})[side] = found[name]
        for name, relevant in (("cxc", truth.cxc_gts[side]), ("coco_5k", truth.coco_gts[side])):
            asked = _Asked(similarity, side, relevant, query_of, item_of)
            for k, percent in asked.recalls(ks).items():
                table.setdefault(f"{name}_r{k}", {})[side] = percent
    captions = truth.coco_ids.tolist()  # in the published order: a fold is 5,000 of them and their images
    for start in range(0, len(captions), size := len(captions) // FOLDS):
        own = captions[start : start + size]
        images = list(dict.fromkeys(truth.coco_gts["t2i"][caption][0] for caption in own))
        rows, columns = torch.tensor([image_of[i] for i in images]), torch.tensor([caption_of[c] for c in own])
        block = similarity.index_select(0, rows).index_select(1, columns)
        places = {"i2t": (_numbered(images, "image"), _numbered(own, "caption"))}
        places["t2i"] = places["i2t"][::-1]
        for side, (query_of, item_of) in places.items():
            relevant = {query: truth.coco_gts[side][query] for query in query_of}
            for k, percent in _Asked(block, side, relevant, query_of, item_of).recalls(ks).items():
                fold = table.setdefault(f"coco_1k_r{k}", {})
                fold[side] = fold.get(side, 0) + percent / FOLDS
    return table


class _Asked:
    """The queries that have relevant items: their scores, the relevant pairs, and how many each has."""

    def __init__(
        self,
        similarity: Float[Tensor, "image caption"],
        side: str,
        relevant: Mapping[int, Sequence[int]],
        query_of: Mapping[int, int],
        item_of: Mapping[int, int],
    ):
        queries = sorted(relevant, key=query_of.__getitem__)
        held = [[item_of[item] for item in relevant[query] if item in item_of] for query in queries]
        self.sought = torch.tensor([len(relevant[query]) for query in queries])
        self.anchor = torch.arange(len(held)).repeat_interleave(torch.tensor([len(items) for items in held]))
        self.candidate = torch.tensor([item for items in held for item in items])
        if len(queries) < len(query_of):
            index = torch.tensor([query_of[query] for query in queries])
            similarity = similarity.index_select(0 if side == "i2t" else 1, index)
        self.scores = similarity if side == "i2t" else similarity.T

    def recalls(self, ks: Sequence[int]) -> dict[int, float]:
        """Recall in percent at each k."""
        return recalls(self.scores, self.anchor, self.candidate, tuple(ks))


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
