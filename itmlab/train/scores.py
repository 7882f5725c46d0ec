"""How good a model is on a data set, whatever kind of model: similarities always, embeddings where it has them.

Read `evaluate` and `similarity` first. Below them are what each kind of model does for `similarity`, how relevant
captions are to images (SAM, Sec. 3), and the features themselves.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from safetensors.torch import save
from torch import Tensor, nn
from tqdm import tqdm

from .. import metrics
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import did_you_mean
from ..metrics.by_image import CUTOFFS
from ..metrics.ranking import Pairs, blocks, check_k, require_positives
from ..models import Encoded, Model, joined
from ..models.encoded import evaluating
from ..models.pairs import chunks, looked_at, on_device
from ..storage import refuse_foreign, usable, write_bytes, write_json

MATRIX = 1 << 30  # scores that are held at once: 4 GB
IMAGES_AT_A_TIME = 50  # scored with all captions before anything may interrupt
RELEVANCES = ("cider", "spice")
Kind = Literal["cider", "spice"]
Between = Callable[[], None]
Features = Float[Tensor, "n dimension"]


def nothing() -> None:
    """Called between two parts of an evaluation that cannot be interrupted."""


def evaluate(
    run: Any,
    data: CaptionSet,
    *,
    folds: int = 1,
    ks: Sequence[int] = CUTOFFS,
    relevance: Kind | None = None,
    truth: bool = False,
    protocol: str = "field",
    between: Between = nothing,
) -> dict[str, Any]:
    """Recall in percent, both directions, and their sum.

    Args:
        run: a run, an ensemble, or a model of any kind.
        data: the images and captions that are ranked.
        folds: number of consecutive blocks of images, each ranked by itself; their recalls are averaged.
        ks: cut-offs of the recalls. The largest is also the number of relevant candidates.
        relevance: adds "semantic": SR, NCS and their sums, as `metrics.semantic_retrieval`.
        truth: adds "truth": measures against everything that is true, as `metrics.truth_retrieval`.
        protocol: what counts as right, as `metrics.positives_by`: "field", or "corrected" where captions of other
            images that are the same word for word count too.
        between: called after every few images or captions of a model; it may raise to stop.

    Raises:
        ItmlabError: before scoring, as `check_pools`; or more pairs than a matrix can hold, where the model or the
            measures need one. Models with one feature per image and caption are otherwise ranked in blocks.
    """
    check_pools(data, ks, folds=folds, relevance=relevance, truth=truth)
    positives = metrics.positives_by(protocol, data, folds)
    if len(data) * len(data.captions) > MATRIX:
        model = run if isinstance(run, nn.Module) else getattr(run, "model", None)
        if model is None or not has_one_feature(model) or relevance or truth or folds > 1:
            message = f"the scores of {len(data):,} images × {len(data.captions):,} captions would not fit into memory"
            raise ItmlabError(message, where=data.name, remedy="take a split or select(…), or one model's recall alone")
        return _ranked_in_blocks(model, data, positives, ks, between)
    scores = similarity(run, data, between=between) if isinstance(run, nn.Module) else run.similarity(data)
    table = metrics.retrieval(scores, positives, ks=ks, folds=folds)
    if truth:
        labels = data.world.truth()
        table["truth"] = metrics.truth_retrieval(scores, labels, positives, ks=ks, folds=folds)
    if relevance is not None:
        gains = relevance_matrix(data, relevance)
        semantic = metrics.semantic_retrieval(scores, gains, positives, ks=ks, relevant=max(ks), folds=folds)
        table["semantic"] = {"relevance": relevance, **semantic}
    return table


def _ranked_in_blocks(
    model: Model, data: CaptionSet, positives: Pairs, ks: Sequence[int], between: Between
) -> dict[str, Any]:
    """Recall of a model with one feature per image and caption, without the matrix of all scores."""
    with evaluating(model):
        images = image_side(model, looked_at(model, data), between)
        captions = caption_side(model, data.captions, between)

        def score(rows: slice, columns: slice) -> Float[Tensor, "image caption"]:
            between()
            return compared(model, images[rows], captions[columns])

        return metrics.retrieval_in_blocks(score, positives, (len(data), len(data.captions)), ks=ks)


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
    """Refuse what cannot be evaluated (METHODS 2.3).

    Raises:
        ItmlabError: a k above the images or captions of a block, an image without a caption, an unknown relevance,
            truth of data without a world. With a `relevance`, a query's ground truth is not among the candidates.
    """
    if truth and data.world is None:
        message = "the data has no world, so that nothing says everything that is true of these images"
        raise ItmlabError(message, remedy='leave truth out, or use load("scenes")')
    require_positives(data.image_of_caption, len(data), "image")
    if relevance not in (None, *RELEVANCES):
        raise ItmlabError(f"no relevance {relevance!r}", remedy=did_you_mean(relevance, RELEVANCES))
    most = max(map(len, data.captions_of_image), default=0) if relevance else 0
    for pool in blocks(data.image_of_caption, torch.arange(len(data.captions)), len(data), folds):
        images, captions = pool.images.stop - pool.images.start, len(pool.captions)
        for k in ks:
            check_k(k, min(images - bool(relevance), captions - most), where=where, remedy=remedy)


# Similarities of each kind of model.


def similarity(
    model: Model, data: CaptionSet, *, between: Between = nothing, progress: bool = False
) -> Float[Tensor, "image caption"]:
    """Every image against every caption, each encoded once where the model can.

    `between` is called after every few images or captions, so that a long evaluation can be interrupted. `progress`
    shows a bar for a model that has more than one feature of each.
    """
    shows = progress and not has_one_feature(model)
    with evaluating(model), tqdm(total=len(data), desc="scoring", unit="image", disable=not shows) as bar:
        images, captions = looked_at(model, data), caption_side(model, data.captions, between)
        if has_one_feature(model):
            return model.similarity(image_side(model, images, between), captions)
        blocks = prepared_images(model, images)
        if model.encodes_apart:
            features = image_side(model, images, between)
            blocks = (features.take(part) for part in torch.arange(len(data)).split(IMAGES_AT_A_TIME))
        rows = []
        for block in paused(blocks, between):
            rows.append(compared(model, block, captions))
            bar.update(len(rows[-1]))
    return torch.cat(rows)


def prepared_images(model: Model, images: Sequence[Any]) -> Iterator[Any]:
    """What `similarity` of a model that reads both sides together takes, a few images at a time."""
    for part in chunks(images, 8):
        yield on_device(model, model.prepare_images(part))


def has_one_feature(model: Model) -> bool:
    """Whether a model compares images and captions by one feature of each, not by their parts."""
    return model.encodes_apart and not model.compares_parts


@torch.no_grad()
def compared(model: Model, images: Any, captions: Any) -> Float[Tensor, "image caption"]:
    """The scores of what `image_side` and `caption_side` returned, on the CPU."""
    blocks = images if isinstance(images, list) else [images]
    return torch.cat([model.similarity(block, captions).float().cpu() for block in blocks])


@torch.no_grad()
def image_side(model: Model, images: Sequence[Any], between: Between = nothing) -> Any:
    """All images as a model compares them: features, features and parts, or prepared images, a few at a time."""
    if not model.encodes_apart:
        return list(paused(prepared_images(model, images), between))
    encode = _pooled if has_one_feature(model) else encoded
    return encode(model, images, "images", between)


@torch.no_grad()
def caption_side(model: Model, captions: Sequence[str], between: Between = nothing) -> Any:
    """All captions as a model compares them."""
    if not model.encodes_apart:
        return model.prepare_captions(captions)
    encode = _pooled if has_one_feature(model) else encoded
    return encode(model, captions, "captions", between)


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

    Raises:
        ItmlabError: another kind, or an image without captions.
    """
    if kind not in RELEVANCES:
        raise ItmlabError(f"no relevance {kind!r}", remedy=did_you_mean(kind, RELEVANCES))
    matrix = metrics.cider_matrix if kind == "cider" else metrics.spice_matrix
    return matrix(data.captions, data.captions_of())


# Features of each image and each caption.


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


def embed_images(model: nn.Module, images: Any, *, between: Between = nothing) -> Features:
    """Unit-length features of a sequence of images, on the CPU."""
    return _pooled(model, images, "images", between)


def embed_captions(model: nn.Module, captions: list[str], *, between: Between = nothing) -> Features:
    """Unit-length features of captions, on the CPU."""
    return _pooled(model, captions, "captions", between)


@torch.no_grad()
def _pooled(model: nn.Module, items: Any, of: str, between: Between) -> Features:
    prepare, encode = getattr(model, f"prepare_{of}"), getattr(model, f"encode_{of}")
    parts = paused(chunks(items), between)
    return torch.cat([encode(on_device(model, prepare(part))).pooled.float().cpu() for part in parts])


FEATURES = "itmlab_features"  # in the metadata and the ids of features; nothing else is overwritten


def write_embeddings(run: Any, data: CaptionSet, path: str | Path, *, force: bool = False) -> tuple[int, int]:
    """Write the features of `data` as safetensors, and their ids beside it as JSON; return the counts.

    Raises:
        ItmlabError: another file is at either place, unless `force`.
    """
    path = Path(path)
    ids_path = path.with_name(f"{path.name.removesuffix('.safetensors')}.ids.json")  # "a.test" has others than "a.val"
    for place in (path, ids_path):
        refuse_foreign(place, FEATURES, force=force)
    images, captions = embed(run.model, data)
    features = {"images": images, "captions": captions, "image_of_caption": data.image_of_caption.clone()}
    write_bytes(path, save(features, metadata={FEATURES: "1"}))
    with usable(kept=path):
        write_json(ids_path, {FEATURES: 1, "images": data.image_ids, "captions": data.caption_ids})
    return len(images), len(captions)
