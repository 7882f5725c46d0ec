"""A split's pictures and captions on one map, by several models: what training did to the common space."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..models import TwoTowerConfig, build_model
from ..training.evaluation import Embeddings, embed
from .attention import evaluating
from .projections import Method, neighbours_kept, project_together
from .projectors import Plane

ROWS = 1024  # of a similarity matrix at once


@dataclass(frozen=True, eq=False)
class Embedded:
    """One model's features of a split, and where they lie on a map that pictures and captions share."""

    features: Embeddings
    images: Plane
    captions: Plane

    def kept(self, k: int = 10) -> float:
        """The share of each point's `k` nearest that are among its nearest on the map too."""
        return neighbours_kept(torch.cat(self.features), np.concatenate([self.images, self.captions]), k)

    def mixed(self) -> float:
        """The share of pictures and captions whose nearest other feature is of the other kind; 0: they lie apart."""
        both = torch.cat(self.features)
        caption = torch.arange(len(both)) >= len(self.features.images)
        other = []
        for start in range(0, len(both), ROWS):
            scores = both[start : start + ROWS] @ both.T
            scores[:, start : start + ROWS].fill_diagonal_(-torch.inf)
            other.append(scores.argmax(dim=1))
        return float((caption[torch.cat(other)] != caption).double().mean())


def embedded(
    models: Mapping[str, Any], data: CaptionSet, method: Method = "tsne", **options: Any
) -> dict[str, Embedded]:
    """The map of each named Run or model over all pictures and captions of a split; options as for `project`.

    Each model has a map of its own, so what lies beside what can be compared, and where it lies cannot. A model that
    does not encode both sides apart is an ItmlabError.
    """
    maps = {}
    for name, run in models.items():
        model = features_apart(run, name)
        with evaluating(model):
            features = embed(model, data)
        planes = project_together(features._asdict(), method, **options)
        maps[name] = Embedded(features, **planes)
    return maps


def features_apart(run: Any, name: str | None = None) -> nn.Module:
    """The model of a Run, or the model itself, if it encodes pictures and captions apart; else an ItmlabError."""
    model = getattr(run, "model", run)
    if not hasattr(model, "encode_images") or not hasattr(model, "encode_captions"):
        raise ItmlabError(
            f"{type(model).__name__} has no features of pictures alone", where=name, remedy="take a two-tower model"
        )
    return model


def untrained(run: Any) -> nn.Module:
    """The model that a two-tower Run began from: its configuration, tokeniser and seed, in evaluation mode."""
    if not isinstance(run.recipe.model, TwoTowerConfig):
        raise ItmlabError(f"{run.recipe.name} is no two-tower model's recipe", where=str(run.directory))
    return build_model(run.recipe.model, run.model.tokenizer, seed=run.recipe.seed).eval()
