"""How well sentences match pictures by any model, in the model's own numbers and as the score s of TAGS Eq. (3)."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ..data.captionset import CaptionSet
from ..models import OneTower
from ..training.evaluation import embed_captions, embed_images
from ..training.generators import tower_score
from .attention import evaluating

Match = Callable[[Sequence[int], Sequence[str]], Float[Tensor, "sentence"]]  # image numbers and a sentence for each


def model_of(run: Any) -> Any:
    """The model of a Run, or the model itself."""
    return getattr(run, "model", run)


def matching(run: Any, data: CaptionSet) -> Match:
    """A function of image numbers and sentences: the logit of a one tower, the cosine of a model that encodes apart."""
    model = model_of(run)
    if isinstance(model, OneTower):
        return tower_score(model, data)

    def match(images: Sequence[int], sentences: Sequence[str]) -> Float[Tensor, "sentence"]:
        if not len(sentences):
            return torch.zeros(0)
        different, image_of = torch.tensor(images).unique(return_inverse=True)
        said, sentence_of = _distinct(sentences)
        with evaluating(model):
            pictures = embed_images(model, [data.images[image] for image in different.tolist()])
            return (pictures[image_of] * embed_captions(model, said)[sentence_of]).sum(dim=1)

    return match


def as_score(run: Any, matched: Float[Tensor, "sentence"]) -> Float[Tensor, "sentence"]:
    """What `matching` gives on the paper's scale: a one tower's sigmoid, between 0 and 1; cosines as they are."""
    return matched.sigmoid() if isinstance(model_of(run), OneTower) else matched


def _distinct(sentences: Sequence[str]) -> tuple[list[str], Tensor]:
    place = {sentence: at for at, sentence in enumerate(dict.fromkeys(sentences))}
    return list(place), torch.tensor([place[sentence] for sentence in sentences])
