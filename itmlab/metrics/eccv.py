"""ECCV Caption (Chun et al. 2022): people's judgements of COCO's test split."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ..errors import ItmlabError, MissingPart
from .ranking import recalls_at
from .truth import at_r_of_each


def eccv_caption(
    similarity: Float[Tensor, "image caption"], image_ids: Sequence[int | str], caption_ids: Sequence[int | str]
) -> dict[str, dict[str, float]]:
    """Return ECCV Caption's measures of Karpathy's COCO test split: {measure: {"i2t": percent, "t2i": ...}}.

    The measures have the names of the package `eccv_caption`: `eccv_map_at_r`, `eccv_rprecision`, `eccv_r1`. The
    relevant pairs are read from the package's own files (JSON and one plain array); nothing is downloaded. Ties are
    counted against the model.

    Args:
        similarity: scores of the model, of all 5,000 images and 25,000 captions in any order.
        image_ids: COCO's ids of the images.
        caption_ids: COCO's ids of the captions.

    Raises:
        MissingPart: the package is not installed.
        ItmlabError: ids that are not the test split's (how many match is in the message), NaN, or another shape.
    """
    try:
        judgements = importlib.import_module("eccv_caption").Metrics()
    except ImportError:
        raise MissingPart("eccv_caption", "pip install eccv_caption", needed_for="ECCV Caption") from None
    image_of = _places(image_ids, judgements.coco_gts["i2t"], "image")
    caption_of = _places(caption_ids, judgements.coco_gts["t2i"], "caption")
    similarity = torch.as_tensor(similarity)
    if similarity.shape != (len(image_of), len(caption_of)):
        message = f"{len(image_of)} images and {len(caption_of)} captions with {tuple(similarity.shape)} scores"
        raise ItmlabError(message, remedy="similarity must be (image, caption)")
    table: dict[str, dict[str, float]] = {"eccv_r1": {}, "eccv_map_at_r": {}, "eccv_rprecision": {}}
    sides = {"i2t": (similarity, image_of, caption_of), "t2i": (similarity.T, caption_of, image_of)}
    for side, (scores, query_of, item_of) in sides.items():
        relevant = judgements.eccv_gts[side]
        queries = sorted(relevant.keys() & query_of.keys(), key=query_of.__getitem__)
        items = [[item_of[item] for item in relevant[query] if item in item_of] for query in queries]
        anchor = torch.arange(len(items)).repeat_interleave(torch.tensor([len(places) for places in items]))
        candidate = torch.tensor([place for places in items for place in places])
        rows = scores[[query_of[query] for query in queries]]
        # two of its captions are not among the 25,000: they count in R, as in the package, and are never found
        sought = torch.tensor([len(relevant[query]) for query in queries])
        table["eccv_r1"][side] = recalls_at(rows, (anchor, candidate), (1,))[1]
        for kind, values in at_r_of_each(rows, anchor, candidate, sought).items():
            table[f"eccv_{kind}"][side] = 100 * values.mean().item()
    return table


def _places(ids: Sequence[int | str], expected: Mapping[int, Any], kind: str) -> dict[int, int]:
    """Return the place of each id; an ItmlabError unless they are those of the test split, once each."""
    places = {int(name): place for place, name in enumerate(ids) if str(name).isdigit()}
    matched = len(expected.keys() & places.keys())
    if not matched == len(expected) == len(places) == len(ids):
        message = f"{matched} of {len(ids)} {kind} ids match the {len(expected)} of COCO's test split"
        raise ItmlabError(message, remedy="give the whole of Karpathy's test split, with COCO's own ids once each")
    return places
