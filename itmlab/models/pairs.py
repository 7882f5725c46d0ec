"""What the other floors do with any model: what it reads of a data set, and pairs of sentences and images by number."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor, nn
from torch.nn.functional import pad

from ..data.batches import Cached, shown
from ..data.captionset import CaptionSet
from ..data.pictures import Pictures, Unread
from .base import CutCaptions
from .cross_encoder import CrossEncoder
from .photographs import as_seen_by
from .transformer import EmbeddedRegions

BATCH_SIZE = 64  # pictures or captions through an encoder
PAIR_BATCH_SIZE = 256  # rows that the tower reads at a time
KEPT_BYTES = 2**29  # of pictures or regions kept in memory
Rows = Int64[Tensor, "row"]


def chunks(items: Any) -> Iterator[Sequence]:
    """`items` at most BATCH_SIZE at a time, taken when they are needed, and pictures when each is looked at.

    >>> [len(some) for some in chunks(range(100))]
    [64, 36]
    """
    for start in range(0, len(items), BATCH_SIZE):
        part = Unread(items, range(start, min(start + BATCH_SIZE, len(items))))
        yield part if isinstance(items, Pictures | Unread) else list(part)


def looked_at(model: nn.Module, data: CaptionSet) -> Sequence[Any]:
    """The pictures of `data`, or its regions where the model reads those; data without are an ItmlabError.

    A model with a `photo_encoder` is shown that one's regions.
    """
    return shown(as_seen_by(model, data), model.reads)


def on_device(model: nn.Module, prepared: Any) -> Any:
    """A tensor, or a dictionary of tensors, where the model is."""
    device = next(iter(model.parameters()), torch.empty(0)).device
    if isinstance(prepared, dict):
        return {name: value.to(device) for name, value in prepared.items()}
    return prepared.to(device)


class ImageInputs:
    """Images of a data set by number, prepared for a model and where it is; each is decoded once if all fit."""

    def __init__(self, model: nn.Module, data: CaptionSet, keep_bytes: int = KEPT_BYTES):
        self.model, self._images = model, Cached(looked_at(model, data), keep_bytes)

    def __call__(self, images: Sequence[int], change: Callable[[int], Any] | None = None) -> dict[str, Tensor]:
        """What `embed_regions` of the model takes; `change` gives what is changed in a picture (`Changes`)."""
        changes = {} if change is None else {"changes": [change(image) for image in images]}
        chosen = Unread(self._images, images)
        if self.model.reads == "regions":
            chosen = list(chosen)
        return on_device(self.model, self.model.prepare_images(chosen, **changes))


def pieces_read(model: nn.Module, sentences: Sequence[str]) -> list[tuple[int, ...]]:
    """The pieces that a model reads of each sentence, up to its cut; what is cut is neither counted nor warned of."""
    before = model.captions_cut
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutCaptions)
        tokens = model.prepare_captions(sentences)
    model.captions_cut = before
    rows = zip(tokens["input_ids"].tolist(), tokens["attention_mask"].tolist(), strict=True)
    return [tuple(piece for piece, read in zip(*row, strict=True) if read) for row in rows]


class Tokens(NamedTuple):
    """Sentences as the tower reads them, right-padded.

    >>> some = Tokens(torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]).bool())
    >>> some.take(torch.tensor([1])).ids
    tensor([[2, 9, 3]])
    """

    ids: Int[Tensor, "row piece"]
    mask: Bool[Tensor, "row piece"]

    @classmethod
    def of(cls, model: CrossEncoder, sentences: Sequence[str]) -> "Tokens":
        """The tokens of at least one sentence, where the model is."""
        tokens, device = model.prepare_captions(sentences), model.pooler.weight.device
        return cls(tokens["input_ids"].to(device), tokens["attention_mask"].to(device).bool())

    @property
    def lengths(self) -> Rows:
        return self.mask.sum(dim=1)

    def take(self, rows: Rows) -> "Tokens":
        """These rows, without the columns that are padding in all of them."""
        ids, mask = self.ids[rows], self.mask[rows]
        longest = int(mask.sum(dim=1).max()) if len(rows) else 0
        return Tokens(ids[:, :longest].long(), mask[:, :longest])

    def joined(self, *others: "Tokens") -> "Tokens":
        """These rows, then the others'."""
        parts = (self, *others)
        width = max(part.ids.shape[1] for part in parts)
        return Tokens(
            *(torch.cat([pad(one, (0, width - one.shape[1])) for one in side]) for side in zip(*parts, strict=True))
        )


def all_captions(model: CrossEncoder, data: CaptionSet) -> Tokens:
    """The tokens of every caption of a data set, made once and kept in 32 bits, half of what the tower takes."""
    parts = (Tokens.of(model, some) for some in chunks(data.captions))
    first, *rest = (part._replace(ids=part.ids.int()) for part in parts)
    return first.joined(*rest)


def pair_logits(
    model: CrossEncoder, tokens: Tokens, sentences: Rows, regions: EmbeddedRegions, images: Rows
) -> Float[Tensor, "pair"]:
    """The matching logit of each pair of a row of `tokens` and a row of `regions`, read with others of its length."""
    if not len(sentences):
        return regions.values.new_zeros(0)
    found, places = [], []
    for rows in by_length(tokens.lengths[sentences]):
        part = tokens.take(sentences[rows])
        found.append(model.score(part.ids, part.mask, regions.take(images[rows])).float())
        places.append(rows)
    return torch.cat(found)[torch.cat(places).argsort()]


def by_length(lengths: Rows, together: int = PAIR_BATCH_SIZE) -> Iterator[Rows]:
    """Row numbers in parts of at most `together`, shortest first.

    >>> list(by_length(torch.tensor([5, 3, 4]), together=2))
    [tensor([1, 2]), tensor([0])]
    """
    yield from torch.argsort(lengths, stable=True).split(together)
