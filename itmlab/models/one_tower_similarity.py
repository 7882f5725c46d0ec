"""Scores of all images with all captions of a one-tower model: streamed, in buckets of length, resumable."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.storage import read_json, write_json

from .one_tower_embedding import EmbeddedRegions

if TYPE_CHECKING:
    from tqdm import tqdm

    from .one_tower import OneTower


@torch.no_grad()
def all_pairs(
    model: "OneTower",
    images: dict[str, Tensor] | EmbeddedRegions,
    captions: dict[str, Tensor],
    *,
    chunk: int = 256,
    progress: bool = False,
    resume: str | Path | None = None,
) -> Float[Tensor, "image caption"]:
    """See `OneTower.similarity`. Only one block of images is embedded at a time, and each image once."""
    if chunk < 1:
        raise ItmlabError(f"a chunk of {chunk} pairs is none", remedy="give chunk=1 or more")
    count = len(next(iter(images.values())) if isinstance(images, dict) else images.values)
    sentences = len(captions["input_ids"])
    at_once = max(1, chunk // max(sentences, 1))  # few sentences: several images share a forward pass
    scores = _Rows(count, sentences, resume, lambda: _fingerprint(model, images, captions, chunk))
    buckets = list(_buckets(captions, min(chunk, max(sentences, 1))))
    was_training = model.training
    model.eval()
    try:
        with _bar(progress, count, scores.known()) as bar:
            for start in range(0, count, at_once):
                rows = slice(start, min(start + at_once, count))
                if scores.has(rows):
                    continue
                scores.put(rows, _block(model, _embedded(model, images, rows), captions, buckets))
                bar.update(rows.stop - rows.start)
    finally:
        model.train(was_training)
    return scores.all()


def _embedded(model: "OneTower", images: dict[str, Tensor] | EmbeddedRegions, rows: slice) -> EmbeddedRegions:
    device = model.pooler.weight.device
    if isinstance(images, EmbeddedRegions):
        return EmbeddedRegions(images.values[rows].to(device), images.mask[rows].to(device)).trimmed()
    return model.embed_regions(**{name: value[rows].to(device) for name, value in images.items()}).trimmed()


def _buckets(captions: dict[str, Tensor], size: int) -> Iterator[tuple[Int[Tensor, "bucket"], int]]:
    """Caption numbers of similar length, shortest first, and the length that holds them all."""
    lengths = captions["attention_mask"].sum(dim=1).cpu()
    for numbers in torch.argsort(lengths, stable=True).split(size):
        yield numbers, int(lengths[numbers[-1]])


def _block(
    model: "OneTower",
    embedded: EmbeddedRegions,
    captions: dict[str, Tensor],
    buckets: list[tuple[Int[Tensor, "bucket"], int]],
) -> Float[Tensor, "image caption"]:
    count, device = len(embedded.values), embedded.values.device
    scores = torch.empty(count, len(captions["input_ids"]))
    for numbers, length in buckets:
        tokens, mask = (captions[name][numbers, :length].to(device) for name in ("input_ids", "attention_mask"))
        pairs = embedded.take(torch.arange(count, device=device).repeat_interleave(len(numbers)))
        said = model.score(tokens.repeat(count, 1), mask.repeat(count, 1), pairs)
        scores[:, numbers] = said.float().cpu().view(count, -1)
    return scores


class _Rows:
    """The matrix of scores, in memory or in a file that keeps finished rows; a row not yet computed is NaN."""

    def __init__(self, images: int, captions: int, path: str | Path | None, fingerprint: Callable[[], str]):
        self.values = np.full((images, captions), np.nan, np.float32)
        if path is None:
            return
        path = Path(path)
        note, expected = path.with_name(path.name + ".json"), {"made_from": fingerprint()}
        if note.exists() and path.exists() and path.stat().st_size == self.values.nbytes:
            if read_json(note) != expected:
                raise ItmlabError(
                    "these scores are of another model or other data", where=str(path), remedy="remove it"
                )
            self.values = np.memmap(path, np.float32, "r+", shape=(images, captions))
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        note.unlink(missing_ok=True)
        empty, self.values = self.values, np.memmap(path, np.float32, "w+", shape=(images, captions))
        self.values[:] = empty
        self.values.flush()
        write_json(note, expected)  # last: without it the file is begun anew

    def known(self) -> int:
        return int((~np.isnan(self.values).any(axis=1)).sum())

    def has(self, rows: slice) -> bool:
        return not np.isnan(self.values[rows]).any()

    def put(self, rows: slice, block: Float[Tensor, "image caption"]) -> None:
        if not block.isfinite().all():
            raise ItmlabError("the model gives scores that are not finite", remedy="check its weights and the regions")
        self.values[rows] = block.numpy()
        if isinstance(self.values, np.memmap):
            self.values.flush()

    def all(self) -> Float[Tensor, "image caption"]:
        return torch.from_numpy(np.array(self.values))


def _fingerprint(
    model: "OneTower", images: dict[str, Tensor] | EmbeddedRegions, captions: dict[str, Tensor], chunk: int
) -> str:
    """What the scores are made from: weights, pictures, sentences and the size of a block, which decides rounding."""
    digest = hashlib.sha256(f"{chunk} {model.config.to_dict()}".encode())
    given = images if isinstance(images, dict) else images._asdict()
    for part in (model.state_dict(), given, captions):
        for name in sorted(part):
            value = part[name].detach().cpu().contiguous()
            digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
            digest.update(value.view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def _bar(progress: bool, count: int, done: int) -> "tqdm":
    from tqdm import tqdm

    return tqdm(total=count, initial=done, desc="scoring", unit="image", disable=not progress)
