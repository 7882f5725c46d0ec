"""mAP@R and R-Precision (Musgrave et al. 2020): against all that a world calls true, and in ECCV Caption, for COCO.

For a query with R positives, R-Precision is the share of them among its R best; mAP@R = 1/R Σ_i P(i), where P(i) is the
precision at place i ≤ R if a positive stands there, else 0. ECCV Caption (Chun et al. 2022) has several positives for
most queries of COCO's test split, and reports these; Crisscrossed Captions (CxC: Parekh et al. 2021) recall alone.
Where a data set has a world, `truth_retrieval` has the truth in place of people's judgements (METHODS 2.3).
"""

import importlib
import math
import warnings
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import torch
from jaxtyping import Bool, Float, Float64, Int8, Int64
from torch import Tensor

from ..errors import ItmlabError, MissingPart
from .ranking import (
    Mask,
    Numbers,
    Scores,
    check_matrices,
    expected_recalls_of_each,
    marked_pairs,
    measured,
    pools,
    positive_pairs,
    ranks,
    retrieval,
)


def map_at_r(similarity: Scores, positives: Mask) -> float:
    """Return mAP@R in percent, the mean over queries; from text to image with the transposes of both.

    Ties are counted against the model. Errors as `recall`.

    >>> map_at_r(torch.tensor([[0.9, 0.8, 0.7]]), torch.tensor([[True, False, True]]))
    50.0
    """
    similarity, positives = torch.as_tensor(similarity), torch.as_tensor(positives).bool()
    values = at_r_of_each(similarity, *positive_pairs(similarity, positives))
    return 100 * values["map_at_r"].mean().item()


def at_r_of_each(
    similarity: Scores, anchor: Numbers, candidate: Numbers, sought: Int64[Tensor, "anchor"] | None = None
) -> dict[str, Float64[Tensor, "anchor"]]:
    """Return "map_at_r" and "rprecision" of each query, 0 to 1, NaN where R is 0.

    Args:
        similarity: scores of the model.
        anchor: of each positive pair.
        candidate: of each positive pair.
        sought: R, where a query has positives that are not among the candidates.
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
    return {"map_at_r": summed / sought, "rprecision": counted / sought}


# Against everything that is true, where a world knows it.

Truth = Int8[Tensor, "anchor candidate"]  # as `World.truth`: 1 true, 0 false, -1 undecided
PLACES = ("false", "undecided", "unannotated", "annotated")  # what may stand first; among equal scores the earlier does
ORACLES = ("truth", "specific")


def truth_retrieval(
    similarity: Float[Tensor, "image caption"],
    truth: Int8[Tensor, "image caption"],
    positives: Bool[Tensor, "image caption"] | None = None,
    *,
    ks: Sequence[int] = (1, 5, 10),
    folds: int = 1,
) -> dict[str, Any]:
    """Return how good a score matrix is against all that is true (`World.truth`), and its recall beside oracles'.

    By direction, in percent: "map_at_r" and "rprecision", with every true candidate a positive and the undecided
    removed, over the queries with something true ("left_out" counts the others); "first", what stands first in
    the whole ranking: an annotated candidate (which is R@1), one that is true but "unannotated", "undecided" or
    "false". "oracle" has the recall that `oracle_scores` are expected to reach, and "share" that of `similarity` as
    percent of it. The share of "truth" may exceed 100: whoever prefers specific captions finds the annotated ones more
    often than truth alone would. Positives, folds and errors as in `retrieval`.

    >>> table = truth_retrieval(torch.tensor([[0.5, 0.9], [0.1, 0.8]]), torch.tensor([[1, 1], [0, 1]]), ks=(1,))
    >>> table["i2t"]["map_at_r"], table["i2t"]["first"]["unannotated"], table["oracle"]["truth"]["i2t"]
    (100.0, 50.0, {1: 75.0})
    """
    similarity, truth = torch.as_tensor(similarity), torch.as_tensor(truth)
    check_matrices(similarity, truth, "truth", "(image, caption)")
    reached = retrieval(similarity, positives, ks=ks, folds=folds)
    sides: dict[str, list[dict[str, Any]]] = {"i2t": [], "t2i": []}
    oracles = []
    for pool in pools(similarity, positives, folds):
        scores, labels, annotated = pool.of(similarity), pool.of(truth), pool.positives
        sides["i2t"].append(_against_truth(scores, labels, annotated))
        sides["t2i"].append(_against_truth(scores.T, labels.T, annotated.T))
        oracles.append(oracle_recall(labels, annotated, ks=ks))
    table: dict[str, Any] = {"oracle": {}, "share": {}}
    for side, rows in sides.items():
        table[side] = {name: fmean(row[name] for row in rows) for name in ("map_at_r", "rprecision")}
        table[side]["first"] = {name: fmean(row["first"][name] for row in rows) for name in reversed(PLACES)}
        table[side]["left_out"] = sum(row["left_out"] for row in rows)
    for kind in ORACLES:
        means = {side: {k: fmean(fold[kind][side][k] for fold in oracles) for k in ks} for side in sides}
        shares = {side: {k: _percent(reached[side][k], means[side][k]) for k in ks} for side in sides}
        rsum = sum(sum(values.values()) for values in means.values())
        table["oracle"][kind] = means | {"rsum": rsum}
        table["share"][kind] = shares | {"rsum": _percent(reached["rsum"], rsum)}
    return table


def oracle_recall(
    truth: Int8[Tensor, "image caption"], positives: Bool[Tensor, "image caption"], *, ks: Sequence[int] = (1, 5, 10)
) -> dict[str, dict[str, Any]]:
    """Return what the oracles "truth" and "specific" (`oracle_scores`) are expected to reach, as `retrieval` does.

    >>> recalls = oracle_recall(torch.tensor([[1, 1], [0, 1]]), torch.eye(2).bool(), ks=(1,))
    >>> recalls["truth"]["i2t"], recalls["specific"]["i2t"], recalls["truth"]["rsum"]
    ({1: 75.0}, {1: 100.0}, 150.0)
    """
    tables: dict[str, dict[str, Any]] = {kind: {"rsum": 0.0} for kind in ORACLES}
    for side, labels, annotated in (("i2t", truth, positives), ("t2i", truth.T, positives.T)):
        for kind, scores in oracle_scores(labels).items():
            recalls = expected_recalls_of_each(scores, annotated, ks)
            tables[kind][side] = {k: 100 * values.mean().item() for k, values in recalls.items()}
            tables[kind]["rsum"] += sum(tables[kind][side].values())
    return tables


def oracle_scores(truth: Truth) -> dict[str, Scores]:
    """Return the scores of two oracles: what is true before what is undecided before what is false, ties at random.

    "truth" knows truth alone, so that it cannot tell the annotated from the other true ones. "specific" takes, among
    the true, first what is true of the fewest queries: the most specific caption, or the picture that the fewest
    captions fit. Neither knows which candidate is annotated.
    """
    order = torch.tensor([0.0, 2.0, 1.0], device=truth.device)[truth.long()]
    true = truth == 1
    return {"truth": order, "specific": order - true * (true.sum(dim=0) / (len(true) + 1))}


def true_at_r(similarity: Scores, truth: Truth) -> dict[str, Float64[Tensor, "anchor"]]:
    """Return `at_r_of_each` with all that is true as positives and the undecided removed; NaN where nothing is true."""
    anchor, candidate = marked_pairs(similarity, truth == 1)
    if len(anchor) == 0:
        raise ItmlabError("nothing is true of any query", remedy="the labels are: 1 true, 0 false, -1 undecided")
    # behind all others is as good as removed: R never reaches so far
    return at_r_of_each(similarity.masked_fill(truth == -1, -torch.inf), anchor, candidate)


def first_of_each(similarity: Scores, truth: Truth, positives: Mask) -> Int64[Tensor, "anchor"]:
    """Return which of PLACES stands first in each query's whole ranking."""
    place = torch.tensor([0, 2, 1], device=truth.device)[truth.long()].masked_fill(positives, PLACES.index("annotated"))
    return place.masked_fill(similarity < similarity.amax(dim=1, keepdim=True), len(PLACES)).amin(dim=1)


def _against_truth(similarity: Scores, truth: Truth, positives: Mask) -> dict[str, Any]:
    """Return the measures of one direction of one fold."""
    at_r = true_at_r(similarity, truth)
    table: dict[str, Any] = {name: 100 * values.nanmean().item() for name, values in at_r.items()}
    table["left_out"] = int(at_r["map_at_r"].isnan().sum())
    first = first_of_each(similarity, truth, positives)
    return table | {"first": {name: 100 * (first == at).double().mean().item() for at, name in enumerate(PLACES)}}


def _percent(value: float, total: float) -> float:
    return 100 * value / total if total else math.nan


# ECCV Caption: people's judgements of COCO's test split.

Matrix = Float[Tensor, "image caption"]
Places = Mapping[int, int]  # COCO's id of an image or a caption -> its row or column


def eccv_caption(
    similarity: Matrix,
    image_ids: Sequence[int | str],
    caption_ids: Sequence[int | str],
    *,
    ks: Sequence[int] = (1, 5, 10),
) -> dict[str, dict[str, float]]:
    """Return ECCV Caption, CxC and COCO recall of Karpathy's COCO test split: {measure: {"i2t": percent, "t2i": ...}}.

    The measures have the names of the package `eccv_caption`: `eccv_map_at_r`, `eccv_rprecision`, `eccv_r1`, and
    `cxc_r{k}`, `coco_5k_r{k}` for each k. The relevant pairs are read from the package's own files (JSON and one plain
    array); nothing is downloaded. Ties are counted against the model.

    Args:
        similarity: scores of the model, of all 5,000 images and 25,000 captions in any order.
        image_ids: COCO's ids of the images.
        caption_ids: COCO's ids of the captions.
        ks: the cut-offs.

    Raises:
        MissingPart: the package is not installed.
        ItmlabError: ids that are not the test split's, NaN, or a shape that does not fit the ids.
    """
    truth = _package()
    image_of = _places(image_ids, truth.coco_gts["i2t"], "image")
    caption_of = _places(caption_ids, truth.coco_gts["t2i"], "caption")
    similarity = torch.as_tensor(similarity)
    if similarity.shape != (len(image_of), len(caption_of)) or bool(similarity.isnan().any()):
        message = f"{len(image_of)} images and {len(caption_of)} captions with {tuple(similarity.shape)} scores"
        raise ItmlabError(message, remedy="similarity must be (image, caption), without NaN")
    table: dict[str, dict[str, float]] = {}
    for side, places in {"i2t": (image_of, caption_of), "t2i": (caption_of, image_of)}.items():
        *pairs, sought = _queries(similarity, side, truth.eccv_gts[side], *places)
        # two of its captions are not among the 25,000: they count in R, as in the package, and are never found
        measures = {name: 100 * values.mean().item() for name, values in at_r_of_each(*pairs, sought).items()}
        measures["r1"] = measured(*pairs, (1,))[0][1]
        for name in ("map_at_r", "rprecision", "r1"):
            table.setdefault(f"eccv_{name}", {})[side] = measures[name]
        for name, relevant in (("cxc", truth.cxc_gts[side]), ("coco_5k", truth.coco_gts[side])):
            for k, percent in measured(*_queries(similarity, side, relevant, *places)[:3], tuple(ks))[0].items():
                table.setdefault(f"{name}_r{k}", {})[side] = percent
    return table


def _queries(
    similarity: Matrix, side: str, relevant: Mapping[int, Sequence[int]], query_of: Places, item_of: Places
) -> tuple[Scores, Numbers, Numbers, Int64[Tensor, "anchor"]]:
    """Return the queries with relevant items: their scores, the relevant pairs, and how many items each query has."""
    queries = sorted(relevant.keys() & query_of.keys(), key=query_of.__getitem__)
    items = [[item_of[item] for item in relevant[query] if item in item_of] for query in queries]
    anchor = torch.arange(len(items)).repeat_interleave(torch.tensor([len(places) for places in items]))
    candidate = torch.tensor([place for places in items for place in places])
    scores = similarity if side == "i2t" else similarity.T
    if len(queries) < len(query_of):
        scores = scores[torch.tensor([query_of[query] for query in queries])]
    return scores, anchor, candidate, torch.tensor([len(relevant[query]) for query in queries])


def _package() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it advises to install a faster JSON reader
            return importlib.import_module("eccv_caption").Metrics()
    except ImportError:
        raise MissingPart("eccv_caption", "pip install eccv_caption", needed_for="ECCV Caption") from None


def _places(ids: Sequence[int | str], expected: Mapping[int, Any], kind: str) -> dict[int, int]:
    """Return the place of each id; an ItmlabError unless they are those of the test split, once each."""
    try:
        places = {int(identifier): place for place, identifier in enumerate(ids)}
    except (TypeError, ValueError) as error:
        raise ItmlabError(f"an {kind} id is not a number ({error})", remedy="give COCO's own ids") from None
    missing, foreign = sorted(expected.keys() - places), sorted(places.keys() - set(expected))
    if missing or foreign or len(places) != len(ids):
        counts = f"{len(missing)} missing {missing[:1]}, {len(foreign)} foreign {foreign[:1]}"
        message = f"{len(ids)} {kind} ids, {len(ids) - len(places)} twice; of the test split's {len(expected)} {counts}"
        raise ItmlabError(message, remedy="give the whole of Karpathy's COCO test split with COCO's own ids")
    return places
