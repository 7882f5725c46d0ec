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

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import did_you_mean
from ..metrics import retrieval, truth_retrieval
from ..metrics.ranking import blocks, check_k, require_positives
from ..models import CrossEncoder, EmbeddedRegions, Encoded, joined
from ..models.encoded import evaluating
from ..models.pairs import chunks, compares_parts, looked_at, on_device
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
    if compares_parts(model):
        return parts_similarity(model, data, between=between, progress=progress)
    if hasattr(model, "encode_images") and hasattr(model, "encode_captions"):
        return model.similarity(*embed(model, data, between=between))
    if isinstance(model, CrossEncoder):
        return cross_encoder_similarity(model, data, between=between, progress=progress)
    prepared = [on_device(model, model.prepare_captions(part)) for part in chunks(data.captions)]
    rows = []
    for part in chunks(data.images):
        pixels = on_device(model, model.prepare_images(part))
        between()
        rows.append(torch.cat([model.similarity(pixels, tokens).float().cpu() for tokens in prepared], dim=1))
    return torch.cat(rows)


@torch.no_grad()
def cross_encoder_similarity(
    model: CrossEncoder,
    data: CaptionSet,
    *,
    between: Between = nothing,
    progress: bool = False,
) -> Float[Tensor, "image caption"]:
    """The matching logit of every image with every caption, each image embedded once.

    With `progress` it is one call of `CrossEncoder.similarity`, else `between` is called every few images.
    """
    regions, tokens = image_side(model, looked_at(model, data)), model.prepare_captions(data.captions)
    if progress:
        return model.similarity(regions, tokens, progress=progress)
    every = torch.arange(len(data)).split(CROSS_ENCODER_IMAGES)
    return torch.cat([model.similarity(regions.take(part), tokens) for part in paused(every, between)])


def image_side(model: CrossEncoder, images: Sequence[Any]) -> EmbeddedRegions:
    """What `embed_regions` makes of all images, on the CPU, padded to the most parts; the model as in evaluation."""
    with evaluating(model):
        found = [model.embed_regions(**on_device(model, model.prepare_images(part))) for part in chunks(images)]
    return joined_regions([EmbeddedRegions(*(None if each is None else each.cpu() for each in one)) for one in found])


def joined_regions(parts: Sequence[EmbeddedRegions]) -> EmbeddedRegions:
    """All rows of several, padded to the most parts and tags."""
    width = max(part.mask.shape[1] for part in parts)
    values = [torch.nn.functional.pad(part.values, (0, 0, 0, width - part.mask.shape[1])) for part in parts]
    masks = [torch.nn.functional.pad(part.mask, (0, width - part.mask.shape[1])) for part in parts]
    none = [part.mask.new_empty((len(part.mask), 0), dtype=torch.int64) for part in parts]
    tags = [empty if part.tags is None else part.tags for part, empty in zip(parts, none, strict=True)]
    longest = max(each.shape[1] for each in tags)
    tags = [torch.nn.functional.pad(each, (0, longest - each.shape[1]), value=-1) for each in tags]
    aligned = None if parts[0].aligned is None else torch.cat([part.aligned for part in parts])
    return EmbeddedRegions(torch.cat(values), torch.cat(masks), torch.cat(tags) if longest else None, aligned)


@torch.no_grad()
def parts_similarity(
    model: nn.Module, data: CaptionSet, *, between: Between = nothing, progress: bool = False
) -> Float[Tensor, "image caption"]:
    """The score of every image with every caption, each encoded once; `between` is called every few images."""
    images = encoded(model, looked_at(model, data), "images", between)
    captions = encoded(model, data.captions, "captions", between)
    if progress:
        return model.similarity(images, captions, progress=True, ready=True).float().cpu()
    every = paused(torch.arange(len(data)).split(PARTS_IMAGES), between)
    taken = (Encoded(images.pooled[part], images.local[part], images.mask[part]) for part in every)
    return torch.cat([model.similarity(some, captions, ready=True).float().cpu() for some in taken])


@torch.no_grad()
def encoded(model: nn.Module, items: Sequence[Any], of: str, between: Between = nothing) -> Encoded:
    """Features and parts of all items, "images" or "captions", where the model is, ready to be compared many times."""
    prepare, encode = getattr(model, f"prepare_{of}"), getattr(model, f"encode_{of}")
    parts = (encode(on_device(model, prepare(part))) for part in paused(chunks(items), between))
    return joined([model.with_globals(part, of) for part in parts])


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
    if not hasattr(model, "encode_images"):
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
