"""How good a model is on a data set, whatever kind of model: similarities always, embeddings where it has them.

Read `evaluate` and `similarity`; below them stands what each kind of model does for these, then how relevant captions
are to images (SAM, Sec. 3) and the features themselves.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from safetensors.torch import save
from torch import Tensor, nn
from tqdm import tqdm

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import did_you_mean
from ..metrics import retrieval, truth_retrieval
from ..metrics.ranking import blocks, check_k, require_positives
from ..models import Encoded, joined
from ..models.encoded import evaluating
from ..models.pairs import BATCH_SIZE, chunks, looked_at, on_device
from ..storage import refuse_foreign, usable, write_bytes, write_json

CROSS_ENCODER_IMAGES, PARTS_IMAGES = 8, 50  # scored with all captions before anything may interrupt
CUTOFFS = (1, 5, 10)  # of the recalls that the field reports, and of their sum
RELEVANCES = ("cider", "spice")
Kind = Literal["cider", "spice"]
Between = Callable[[], None]
Features = Float[Tensor, "n dimension"]


def nothing() -> None:
    """What is done between two parts of an evaluation unless it may be left there."""


def evaluate(
    model: nn.Module,
    data: CaptionSet,
    *,
    folds: int = 1,
    ks: Sequence[int] = CUTOFFS,
    relevance: Kind | None = None,
    truth: bool = False,
    between: Between = nothing,
    progress: bool = False,
) -> dict[str, Any]:
    """Recall in percent, both directions, and their sum; `folds` consecutive blocks of images are averaged.

    With a `relevance` also "semantic": SR, NCS and their sums by CIDEr-D or SPICE, as `metrics.semantic_retrieval`,
    where the largest of `ks` is also the number of relevant candidates. With `truth` also "truth", against all that is
    true of the pictures, as `metrics.truth_retrieval`. ItmlabError, before scoring: as `check_pools`, truth without a
    world.
    """
    check_pools(data, ks, folds=folds, relevance=relevance, truth=truth)
    with evaluating(model):
        scores = similarity(model, data, between=between, progress=progress)
    return tables(scores, data, folds=folds, ks=ks, relevance=relevance, truth=truth)


def tables(
    scores: Float[Tensor, "image caption"],
    data: CaptionSet,
    *,
    folds: int = 1,
    ks: Sequence[int] = CUTOFFS,
    relevance: Kind | None = None,
    truth: bool = False,
) -> dict[str, Any]:
    """What `evaluate` says, of scores that are there."""
    table = retrieval(scores, data.positives, ks=ks, folds=folds)
    if truth:
        table["truth"] = truth_retrieval(scores, data.world.truth(), data.positives, ks=ks, folds=folds)
    if relevance is None:
        return table
    from ..metrics.semantic import semantic_retrieval

    gains = relevance_matrix(data, relevance)
    semantic = semantic_retrieval(scores, gains, data.positives, ks=ks, relevant=max(ks), folds=folds)
    return table | {"semantic": {"relevance": relevance, **semantic}}


def check_pools(
    data: CaptionSet,
    ks: Sequence[int] = CUTOFFS,
    *,
    folds: int = 1,
    relevance: Kind | None = None,
    truth: bool = False,
    where: str | None = None,
    remedy: str | None = None,
) -> None:
    """An ItmlabError where a k is above the images or captions of a pool, or an image has no caption (METHODS 2.3).

    With a `relevance` the k candidates are those that are left without a query's ground truth, which NCS(N) leaves out;
    `truth` asks for a world.
    """
    if truth and data.world is None:
        told = 'leave truth out, or take data with a world: load("scenes")'
        raise ItmlabError("nobody knows all that is true of these pictures, the data has no world", remedy=told)
    require_positives(data.image_of_caption, len(data), "image")
    if relevance not in (None, *RELEVANCES):
        raise ItmlabError(f"no relevance {relevance!r}", remedy=did_you_mean(relevance, RELEVANCES))
    most = max(map(len, data.captions_of_image), default=0) if relevance else 0
    for pool in blocks(data.image_of_caption, torch.arange(len(data.captions)), len(data), folds):
        images, captions = pool.images.stop - pool.images.start, len(pool.captions)
        for k in ks:
            check_k(k, min(images - bool(relevance), captions - most), where=where, remedy=remedy)


@torch.no_grad()
def similarity(
    model: nn.Module,
    data: CaptionSet,
    *,
    between: Between = nothing,
    progress: bool = False,
) -> Float[Tensor, "image caption"]:
    """Every image against every caption: from embeddings if the model encodes apart, else block by block.

    `between` is called after every few pictures or captions, so that a long evaluation can be left. A cross-encoder
    can show its `progress`.
    """
    if model.encodes_apart and not model.compares_parts:
        return model.similarity(*embed(model, data, between=between))
    images: Any = looked_at(model, data)
    if model.encodes_apart:
        images, captions = encoded(model, images, "images", between), encoded(model, data.captions, "captions", between)
        blocks_of_images = (images.take(part) for part in torch.arange(len(data)).split(PARTS_IMAGES))
    else:
        captions = on_device(model, model.prepare_captions(data.captions))
        blocks_of_images = prepared_images(model, images, CROSS_ENCODER_IMAGES)
    rows = []
    with tqdm(total=len(data), desc="scoring", unit="image", disable=not progress) as bar:
        for block in paused(blocks_of_images, between):
            rows.append(model.similarity(block, captions).float().cpu())
            bar.update(len(rows[-1]))
    return torch.cat(rows)


def prepared_images(model: nn.Module, images: Any, count: int = BATCH_SIZE) -> Iterator[Any]:
    """What `similarity` of a model that reads both sides together takes, `count` images at a time."""
    for part in chunks(images, count):
        yield on_device(model, model.prepare_images(part))


@torch.no_grad()
def encoded(model: nn.Module, items: Sequence[Any], of: str, between: Between = nothing) -> Encoded:
    """Features and parts of all items, "images" or "captions", where the model is, ready to be compared many times."""
    prepare, encode = getattr(model, f"prepare_{of}"), getattr(model, f"encode_{of}")
    parts = (encode(on_device(model, prepare(part))) for part in paused(chunks(items), between))
    return joined(list(parts))


def paused(parts: Iterable[Any], between: Between) -> Iterator[Any]:
    """The parts one after the other, with a call of `between` before each."""
    for part in parts:
        between()
        yield part


def relevance_matrix(data: CaptionSet, kind: Kind = "cider") -> Float[Tensor, "caption image"]:
    """CIDEr-D (document frequencies of `data`) or SPICE of every caption of `data` to the captions of every image.

    An image without captions, and another kind, are an ItmlabError.
    """
    references = data.captions_of()
    if kind == "cider":
        from ..metrics import cider_matrix

        return cider_matrix(data.captions, references)
    if kind == "spice":
        from ..metrics.spice import spice_matrix

        return spice_matrix(data.captions, references)
    raise ItmlabError(f"no relevance {kind!r}", remedy=did_you_mean(kind, RELEVANCES))


class Embeddings(NamedTuple):
    """Unit-length features, on the CPU."""

    images: Float[Tensor, "image dimension"]
    captions: Float[Tensor, "caption dimension"]


def embed(model: nn.Module, data: CaptionSet, *, between: Between = nothing) -> Embeddings:
    """Features of all images and all captions of a data set; of a model without features an ItmlabError."""
    if not model.encodes_apart:
        raise ItmlabError(
            f"{type(model).__name__} reads a picture and a sentence together and has no features of either",
            remedy="use a model that encodes them apart",
        )
    images = embed_images(model, looked_at(model, data), between=between)
    return Embeddings(images, embed_captions(model, data.captions, between=between))


def embed_images(model: nn.Module, pictures: Any, *, between: Between = nothing) -> Features:
    """Unit-length features of a sequence of pictures, on the CPU."""
    return _pooled(model, pictures, "images", between)


def embed_captions(model: nn.Module, captions: list[str], *, between: Between = nothing) -> Features:
    """Unit-length features of captions, on the CPU."""
    return _pooled(model, captions, "captions", between)


@torch.no_grad()
def _pooled(model: nn.Module, items: Any, of: str, between: Between) -> Features:
    prepare, encode = getattr(model, f"prepare_{of}"), getattr(model, f"encode_{of}")
    parts = paused(chunks(items), between)
    return torch.cat([encode(on_device(model, prepare(part))).pooled.float().cpu() for part in parts])


FEATURES = "itmlab_features"  # in the metadata and the ids of features, which alone are overwritten


def write_embeddings(run: Any, data: CaptionSet, path: str | Path, *, force: bool = False) -> tuple[int, int]:
    """Write the features of `data` as safetensors, their ids beside it as JSON; counts of images and captions.

    Another file that lies at either place is an ItmlabError unless `force`.
    """
    path = Path(path)
    refuse_foreign(path, FEATURES, force=force)
    beside = path.with_name(f"{path.name.removesuffix('.safetensors')}.ids.json")  # "a.test" has others than "a.val"
    refuse_foreign(beside, FEATURES, force=force)
    images, captions = embed(run.model, data)
    features = {"images": images, "captions": captions, "image_of_caption": data.image_of_caption.clone()}
    write_bytes(path, save(features, metadata={FEATURES: "1"}))
    with usable(kept=path):
        write_json(beside, {FEATURES: 1, "images": data.image_ids, "captions": data.caption_ids})
    return len(images), len(captions)
