"""A batch as one anchor sees it: its positives, the few hard negatives, the many easy ones, and synthesised ones."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..synthesis import SynHNC
from ..training.evaluation import Embeddings, embed
from .attention import evaluating
from .embedded import Embedded, features_apart
from .false_negatives import Direction
from .projections import Method, project_together
from .projectors import Plane


@dataclass(frozen=True, eq=False)
class Surroundings:
    """One anchor and the candidates of the other modality that its batch holds, with `index` their numbers in the data.

    `hard` marks the negatives that a triplet loss would learn from: above the positives' mean score less the margin
    (`threshold`). `true` marks the negatives that the world calls true of the anchor, None without a world. Scores
    are cosines. The map holds the anchor, all candidates and what was synthesised.
    """

    anchor: int
    direction: Direction
    index: Int64[Tensor, "candidate"]
    positives: Bool[Tensor, "candidate"]
    hard: Bool[Tensor, "candidate"]
    true: Bool[Tensor, "candidate"] | None
    scores: Float[Tensor, "candidate"]
    synthetic_scores: Float[Tensor, "synthetic"]
    threshold: float
    anchor_place: Plane
    places: Plane
    synthetic_places: Plane


def surroundings(
    model: Any,
    data: CaptionSet,
    anchor: int,
    direction: Direction = "image",
    *,
    pictures: int = 128,
    margin: float = 0.2,
    synthesis: SynHNC | None = None,
    method: Method = "tsne",
    seed: int = 0,
    **options: Any,
) -> Surroundings:
    """The anchor's own picture with all its captions, and `pictures` - 1 others with one caption each, drawn by `seed`.

    `model` is a Run or model, or the Embedded or Embeddings of `data` made before. `synthesis` makes further negatives
    out of the batch's. Options are those of `project`. An anchor that is not there is an ItmlabError.
    """
    anchors = len(data) if direction == "image" else len(data.captions)
    if not 0 <= anchor < anchors:
        raise ItmlabError(f"there is no {direction} number {anchor}", where=data.name, remedy=f"0 to {anchors - 1}")
    features = _features(model, data)
    generator = torch.Generator().manual_seed(seed)
    own = anchor if direction == "image" else int(data.image_of_caption[anchor])
    images, captions = _members(data, own, pictures, generator)
    if direction == "image":
        query, index, pool = features.images[anchor], captions, features.captions
        positives = data.image_of_caption[index] == anchor
    else:
        query, index, pool = features.captions[anchor], images, features.images
        positives = index == own
    candidates = pool[index]
    scores = candidates @ query
    threshold = float(scores[positives].mean()) - margin
    made = query.new_zeros(0, len(query))
    if synthesis is not None:
        found = synthesis(query[None], candidates, positives[None], generator=generator)
        made = found.features[found.allowed]
    groups = {"anchor": query[None], "candidates": candidates, "synthetic": made}
    planes = project_together(groups, method, seed=seed, **options)
    return Surroundings(
        anchor=anchor,
        direction=direction,
        index=index,
        positives=positives,
        hard=~positives & (scores > threshold),
        true=_true(data, anchor, direction, index, positives),
        scores=scores,
        synthetic_scores=made @ query,
        threshold=threshold,
        anchor_place=planes["anchor"],
        places=planes["candidates"],
        synthetic_places=planes["synthetic"],
    )


def _features(model: Any, data: CaptionSet) -> Embeddings:
    if isinstance(model, Embedded):
        return model.features
    if isinstance(model, Embeddings):
        return model
    encoder = features_apart(model)
    with evaluating(encoder):
        return embed(encoder, data)


def _members(
    data: CaptionSet, own: int, pictures: int, generator: torch.Generator
) -> tuple[Int64[Tensor, "image"], Int64[Tensor, "caption"]]:
    """The pictures of a batch, the anchor's first, and their captions: all of the first, one drawn of each other."""
    described = torch.tensor([len(captions) > 0 for captions in data.captions_of_image])
    if not described[own]:
        raise ItmlabError(f"image {data.image_ids[own]} has no caption", where=data.name)
    described[own] = False
    others = described.nonzero().flatten()
    others = others[torch.randperm(len(others), generator=generator)[: max(pictures - 1, 0)]]
    drawn = []
    for image in others.tolist():
        captions = data.captions_of_image[image]
        drawn.append(captions[torch.randint(len(captions), (1,), generator=generator)])
    return torch.cat([torch.tensor([own]), others]), torch.cat([data.captions_of_image[own], *drawn])


def _true(
    data: CaptionSet,
    anchor: int,
    direction: str,
    index: Int64[Tensor, "candidate"],
    positives: Bool[Tensor, "candidate"],
) -> Bool[Tensor, "candidate"] | None:
    if data.world is None:
        return None
    truth = data.world.truth(None, None)
    return ((truth[anchor] if direction == "image" else truth[:, anchor])[index] == 1) & ~positives
