"""How good a model is on a data set, whatever kind of model: embeddings where it has them, similarities always."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from safetensors.torch import save
from torch import Tensor, nn

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..metrics import retrieval
from ..models import OneTower
from ..storage import write_bytes, write_json
from .one_tower_scores import one_tower_similarity
from .parts_scores import parts_similarity
from .reading import chunks, compares_parts, looked_at, on_device
from .semantics import Kind, relevance_matrix


class Embeddings(NamedTuple):
    """Unit-length features, on the CPU."""

    images: Float[Tensor, "image dimension"]
    captions: Float[Tensor, "caption dimension"]


@torch.no_grad()
def embed_images(
    model: nn.Module, pictures: Any, *, between: Callable[[], None] = lambda: None
) -> Float[Tensor, "n dimension"]:
    """Unit-length features of a sequence of pictures, on the CPU."""
    parts = []
    for part in chunks(pictures):
        between()
        parts.append(model.encode_images(on_device(model, model.prepare_images(part))).pooled.float().cpu())
    return torch.cat(parts)


@torch.no_grad()
def embed_captions(
    model: nn.Module, captions: list[str], *, between: Callable[[], None] = lambda: None
) -> Float[Tensor, "n dimension"]:
    """Unit-length features of captions, on the CPU."""
    parts = []
    for part in chunks(captions):
        between()
        parts.append(model.encode_captions(on_device(model, model.prepare_captions(part))).pooled.float().cpu())
    return torch.cat(parts)


def embed(model: nn.Module, data: CaptionSet, *, between: Callable[[], None] = lambda: None) -> Embeddings:
    """Features of all images and all captions of a data set; of a model without features an ItmlabError."""
    if not hasattr(model, "encode_images"):
        raise ItmlabError(
            f"{type(model).__name__} reads a picture and a sentence together and has no features of either",
            remedy="use a model that encodes them apart",
        )
    images = embed_images(model, looked_at(model, data), between=between)
    return Embeddings(images, embed_captions(model, data.captions, between=between))


@torch.no_grad()
def similarity(
    model: nn.Module,
    data: CaptionSet,
    *,
    between: Callable[[], None] = lambda: None,
    progress: bool = False,
    resume: str | Path | None = None,
) -> Float[Tensor, "image caption"]:
    """Every image against every caption: from embeddings if the model encodes apart, else block by block.

    `between` is called after every few pictures or captions, so that a long evaluation can be left. A one-tower model
    can show its `progress`, and `resume` from the file of rows that it keeps.
    """
    if compares_parts(model):
        return parts_similarity(model, data, between=between, progress=progress)
    if hasattr(model, "encode_images") and hasattr(model, "encode_captions"):
        return model.similarity(*embed(model, data, between=between))
    if isinstance(model, OneTower):
        return one_tower_similarity(model, data, between=between, progress=progress, resume=resume)
    prepared = [on_device(model, model.prepare_captions(part)) for part in chunks(data.captions)]
    rows = []
    for part in chunks(data.images):
        pixels = on_device(model, model.prepare_images(part))
        between()
        rows.append(torch.cat([model.similarity(pixels, tokens).float().cpu() for tokens in prepared], dim=1))
    return torch.cat(rows)


def evaluate(
    model: nn.Module,
    data: CaptionSet,
    *,
    folds: int = 1,
    relevance: Kind | None = None,
    between: Callable[[], None] = lambda: None,
    progress: bool = False,
    resume: str | Path | None = None,
) -> dict[str, Any]:
    """Recall in percent, both directions, and their sum; `folds` consecutive blocks of images are averaged.

    With a `relevance` also "semantic": SR, NCS and their sums by CIDEr-D or SPICE, as `metrics.semantic_retrieval`.
    """
    was_training = model.training
    model.eval()
    try:
        scores = similarity(model, data, between=between, progress=progress, resume=resume)
    finally:
        model.train(was_training)
    table = recall_table(scores, data, folds=folds)
    return table if relevance is None else table | {"semantic": semantic_table(scores, data, relevance, folds=folds)}


def recall_table(scores: Float[Tensor, "image caption"], data: CaptionSet, *, folds: int = 1) -> dict[str, Any]:
    """`metrics.retrieval` at 1, 5 and 10, without those cut-offs that a very small set has not enough images for."""
    ks = cutoffs(min(len(data), len(data.captions)) // max(folds, 1))
    return retrieval(scores, data.positives, ks=ks, folds=folds)


def semantic_table(
    scores: Float[Tensor, "image caption"], data: CaptionSet, relevance: Kind, *, folds: int = 1
) -> dict[str, Any]:
    """`metrics.semantic_retrieval` at 1, 5 and 10 and among the 10 most relevant, or less in a very small set."""
    from ..metrics.semantic import semantic_retrieval

    most = max(len(own) for own in data.captions_of_image)  # taken away with the ground truth
    left = min(len(data) // max(folds, 1) - 1, len(data.captions) // max(folds, 1) - most)
    gains, ks = relevance_matrix(data, relevance), cutoffs(left)
    table = semantic_retrieval(scores, gains, data.positives, ks=ks, relevant=ks[-1], folds=folds)
    return {"relevance": relevance, **table}


def cutoffs(candidates: int) -> list[int]:
    """1, 5 and 10, as far as there are so many candidates."""
    return [k for k in (1, 5, 10) if k <= max(candidates, 1)]


def write_embeddings(run: Any, data: CaptionSet, path: str | Path) -> tuple[int, int]:
    """Write the features of `data` as safetensors, their ids beside it as JSON; counts of images and captions."""
    path = Path(path)
    images, captions = embed(run.model, data)
    image_of_caption = data.image_of_caption.clone()
    write_bytes(path, save({"images": images, "captions": captions, "image_of_caption": image_of_caption}))
    write_json(path.with_suffix(".ids.json"), {"images": data.image_ids, "captions": data.caption_ids})
    return len(images), len(captions)
