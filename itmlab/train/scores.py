"""How good a model is on a data set, whatever kind of model: similarities always, embeddings where it has them.

Read `evaluate` and `similarity` first. Below them are what each kind of model does for `similarity`, how relevant
captions are to images (SAM, Sec. 3), and the features themselves.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import psutil
import torch
from jaxtyping import Float, Int64
from safetensors.torch import save
from torch import Tensor, nn

from .. import metrics
from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import check_known
from ..metrics.by_image import CUTOFFS
from ..metrics.ranking import blocks, check_k, over_folds, require_positives
from ..models import Encoded, Model, joined
from ..models.encoded import evaluating
from ..models.pairs import chunks, looked_at, on_device
from ..session import usual_defaults
from ..storage import refuse_foreign, write_bytes

Kind = Literal["cider", "spice"]
Protocol = Literal["field", "corrected"]
Side = Literal["images", "captions"]
Features = Float[Tensor, "n dimension"]


@usual_defaults()
def evaluate(
    run: Any,
    data: CaptionSet,
    *,
    folds: int = 1,
    ks: Sequence[int] = CUTOFFS,
    relevance: Kind | None = None,
    truth: bool = False,
    protocol: Protocol = "field",
) -> dict[str, Any]:
    """Recall in percent, both directions, and their sum.

    Args:
        run: a run, an ensemble, or a model of any kind.
        data: the images and captions that are ranked.
        folds: number of consecutive blocks of images, each ranked by itself; measures are averaged and counts added.
        ks: cut-offs of the recalls. The largest is also the number of relevant candidates.
        relevance: adds "semantic": SR, NCS and their sums, as `metrics.semantic_retrieval`.
        truth: adds "truth": measures against everything that is true, as `metrics.truth_retrieval`.
        protocol: what counts as right. "field" takes the captions written for an image, as published tables do.
            "corrected" also takes captions that other images have word for word (`metrics.positives_by`).

    Raises:
        ItmlabError: before scoring, as `check_pools`.
    """
    check_pools(data, ks, folds=folds, relevance=relevance, truth=truth)
    positives = metrics.positives_by(protocol, data)
    scores = similarity(run, data) if isinstance(run, nn.Module) else run.similarity(data)
    gains = None if relevance is None else relevance_matrix(data, relevance)
    known = data.world.truth() if truth else None
    tables = []
    for pool in blocks(data.image_of_caption, len(data), folds):
        part, right = pool.of(scores), pool.of(positives)
        table = metrics.retrieval(part, right, ks=ks)
        if known is not None:
            table["truth"] = metrics.truth_retrieval(part, pool.of(known), right, ks=ks)
        if gains is not None:
            phi = pool.of(gains.T).T
            table["semantic"] = metrics.semantic_retrieval(part, phi, right, ks=ks, relevant=max(ks))
        tables.append(table)
    table = over_folds(tables)
    if relevance is not None:
        table["semantic"] = {"relevance": relevance, **table["semantic"]}
    return table


def check_pools(
    data: CaptionSet, ks: Sequence[int] = CUTOFFS, *, folds: int = 1, relevance: Kind | None = None, truth: bool = False
) -> None:
    """Refuse what cannot be evaluated (METHODS 2.3).

    Raises:
        ItmlabError: a k above the images or captions of a block, an image without a caption, an unknown relevance,
            truth of data without a world, more pairs than fit into memory. With a `relevance`, a query's ground truth
            is not among the candidates.
    """
    if truth and data.world is None:
        message = "the data has no world, so that nothing says everything that is true of these images"
        raise ItmlabError(message, remedy='leave truth out, or use load("scenes")')
    require_positives(data.image_of_caption, len(data), "image")
    check_known(relevance or "cider", get_args(Kind), "relevance")
    most = max(map(len, data.captions_of_image), default=0) if relevance else 0
    for pool in blocks(data.image_of_caption, len(data), folds):
        images, captions = pool.images.stop - pool.images.start, len(pool.captions)
        for k in ks:
            check_k(k, min(images - bool(relevance), captions - most))
    require_memory(data, BYTES_A_PAIR * (1 + (relevance is not None) + truth))


# Memory: a matrix that does not fit is refused before anything is scored.

BYTES_A_PAIR = 6  # of recall: a score (4), a positive (1), and what ranking needs; as much again for other measures


def require_memory(data: CaptionSet, bytes_a_pair: int) -> None:
    """Refuse a data set with more pairs than fit into memory."""
    needed, free = len(data) * len(data.captions) * bytes_a_pair, free_memory()
    if needed > free:
        pairs = f"{len(data):,} images × {len(data.captions):,} captions"
        message = f"the scores of {pairs} need {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free"
        raise ItmlabError(message, where=data.name, remedy="score fewer images at once: data.select(range(5000))")


def free_memory() -> int:
    """The bytes that this process may still use: of the machine, and of its container."""
    free = psutil.virtual_memory().available
    try:
        home = Path("/sys/fs/cgroup")
        used = re.search(r"^anon (\d+)$", (home / "memory.stat").read_text(), re.MULTILINE)
        return max(min(free, int((home / "memory.max").read_text()) - int(used[1])), 0)
    except (OSError, ValueError, TypeError):  # no container, or one without a limit
        return free


# Similarities of each kind of model.


@usual_defaults()
def similarity(model: Model, data: CaptionSet) -> Float[Tensor, "image caption"]:
    """Every image against every caption, each encoded once where the model can.

    Args:
        model: a model of any kind.
        data: the images and captions.

    Raises:
        ItmlabError: more pairs than fit into memory.
    """
    require_memory(data, 4)
    with evaluating(model):
        images, captions = looked_at(model, data), side_of(model, data.captions, "captions")
        if has_one_feature(model):
            return model.similarity(side_of(model, images, "images"), captions)
        parts = chunks(images, 64 if model.encodes_apart else 8)
        return torch.cat([compared(model, side_of(model, part, "images"), captions) for part in parts])


def has_one_feature(model: Model) -> bool:
    """Whether a model compares images and captions by one feature of each, not by their parts."""
    return model.encodes_apart and not model.compares_parts


@torch.no_grad()
def compared(model: Model, images: Any, captions: Any) -> Float[Tensor, "image caption"]:
    """The scores of two results of `side_of`, on the CPU."""
    parts = images if isinstance(images, list) else [images]
    return torch.cat([model.similarity(part, captions).float().cpu() for part in parts])


@torch.no_grad()
def side_of(model: Model, items: Sequence[Any], of: Side) -> Any:
    """All images or captions as a model compares them: features, features and parts, or prepared inputs."""
    if has_one_feature(model):
        return features_of(model, items, of)
    if model.encodes_apart:
        return joined(list(_encodings(model, items, of)))
    if of == "captions":
        return model.prepare_captions(items)
    return [on_device(model, model.prepare_images(part)) for part in chunks(items, 8)]


@usual_defaults()
@torch.no_grad()
def features_of(model: Model, items: Sequence[Any], of: Side) -> Features:
    """Unit-length features of a sequence of images or captions, on the CPU, by a model that encodes them apart."""
    return torch.cat([part.pooled.float().cpu() for part in _encodings(model, items, of)])


def _encodings(model: Model, items: Sequence[Any], of: Side) -> Iterator[Encoded]:
    prepare, encode = getattr(model, f"prepare_{of}"), getattr(model, f"encode_{of}")
    return (encode(on_device(model, prepare(part))) for part in chunks(items))


def largest(scores: Float[Tensor, "query item"], k: int) -> tuple[Float[Tensor, "query k"], Int64[Tensor, "query k"]]:
    """The scores and places of the `k` largest of each row (at most all), in order; ties go to the lowest place.

    >>> import torch
    >>> largest(torch.tensor([[0.0, 2.0, 1.0, 2.0]]), 3)[1]
    tensor([[1, 3, 2]])
    """
    if k < 1:
        raise ItmlabError(f"k must be at least 1, got {k}")
    best = scores.topk(min(k + 1, scores.shape[1]), dim=1)  # one more, to see whether the last is tied with it
    tied = (best.values[:, 1:] == best.values[:, :-1]).any(dim=1)
    places = best.indices[:, :k].clone()
    places[tied] = scores[tied].sort(dim=1, descending=True, stable=True).indices[:, :k]
    return scores.gather(1, places), places


def relevance_matrix(data: CaptionSet, kind: Kind = "cider") -> Float[Tensor, "caption image"]:
    """CIDEr-D (document frequencies of `data`) or SPICE of every caption of `data` to the captions of every image.

    Raises:
        ItmlabError: an image without captions.
    """
    matrix = metrics.cider_matrix if kind == "cider" else metrics.spice_matrix
    return matrix(data.captions, data.captions_of())


# Features of each image and each caption.


class Embeddings(NamedTuple):
    """Unit-length features, on the CPU."""

    images: Float[Tensor, "image dimension"]
    captions: Float[Tensor, "caption dimension"]


def embed(model: Model, data: CaptionSet) -> Embeddings:
    """Features of all images and all captions of a data set.

    Raises:
        ItmlabError: a model that reads both sides together has no features of either.
    """
    if not model.encodes_apart:
        message = f"{type(model).__name__} reads a picture and a sentence together and has no features of either"
        raise ItmlabError(message, remedy="use a model that encodes them apart")
    images = features_of(model, looked_at(model, data), "images")
    return Embeddings(images, features_of(model, data.captions, "captions"))


FEATURES = "itmlab_features"  # in the metadata of a file of features; nothing else is overwritten


def write_embeddings(run: Any, data: CaptionSet, path: str | Path, *, force: bool = False) -> tuple[int, int]:
    """Write the features of `data` and their ids as one safetensors file.

    The ids are JSON in the file's metadata:
    `json.loads(safetensors.safe_open(path, "pt").metadata()["itmlab_features"])["images"]`.

    Args:
        run: a run whose model encodes images and captions apart.
        data: the images and captions.
        path: the file.
        force: overwrite a file that itmlab did not write.

    Returns:
        The number of images and of captions.
    """
    refuse_foreign(path, FEATURES, force=force)
    images, captions = embed(run.model, data)
    features = {"images": images, "captions": captions, "image_of_caption": data.image_of_caption.clone()}
    ids = json.dumps({"images": data.image_ids, "captions": data.caption_ids})
    write_bytes(path, save(features, metadata={FEATURES: ids}))  # one entry, as several have no fixed order
    return len(images), len(captions)
