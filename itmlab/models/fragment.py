"""The fragment matchers: regions and words encoded apart, their parts compared pair by pair."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..errors import ItmlabError
from ..text.tokens import as_plain_text
from .base import ReadsCaptions
from .config import FragmentConfig
from .encoded import Encoded, cosine_similarity
from .fragment_encoders import CaptionWriter, RegionEncoder, VsrnImages, WordEncoder
from .matchers import Scan, Sgraf
from .transformer import prepare_regions

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


# Scores of all images with all captions of a fragment matcher: block by block, parts of like number together.


Block = Callable[[Encoded, Encoded], Float[Tensor, "image caption"]]


def all_pairs(
    block: Block, images: Encoded, captions: Encoded, *, chunk: int, progress: bool = False
) -> Float[Tensor, "image caption"]:
    """`block` over all pairs, at most `chunk` at a time; gradients flow."""
    if chunk < 1:
        raise ItmlabError(f"a chunk of {chunk} pairs is none", remedy="give chunk=1 or more")
    tall = min(math.isqrt(chunk), len(images.mask))
    columns = list(_blocks(captions, chunk // max(tall, 1)))
    scores = torch.zeros(len(images.mask), len(captions.mask), device=images.local.device)
    with _bar(progress, len(images.mask)) as bar:
        for row_numbers, some_images in _blocks(images, tall):
            for column_numbers, some_captions in columns:
                scores[row_numbers[:, None], column_numbers] = block(some_images, some_captions)
            bar.update(len(row_numbers))
    return scores


def _blocks(items: Encoded, size: int) -> Iterator[tuple[Int[Tensor, "block"], Encoded]]:
    """Items with like numbers of parts, their row numbers beside them, without the padding that none of them needs."""
    for numbers in torch.argsort(items.mask.sum(dim=1), stable=True).split(max(size, 1)):
        mask = items.mask[numbers]
        used = mask.any(dim=0)
        yield numbers, Encoded(items.pooled[numbers], items.local[numbers][:, used], mask[:, used])


def _bar(progress: bool, count: int):
    from tqdm import tqdm

    return tqdm(total=count, desc="scoring", unit="image", disable=not progress)


class Fragment(ReadsCaptions):
    """SCAN, SGRAF, VSRN or VSE++ over region features, by `config.kind`.

    A feature depends on its own image or caption only, never on padding or the other members of a batch. `pooled` is
    the direction of the mean over parts (SCAN, SGRAF, VSE++'s images) or a network's last state (VSRN, VSE++'s
    captions). SCAN and SGRAF compare the parts, whose `local` have unit length; VSRN and VSE++ compare `pooled`.
    `captions_cut` counts the captions that were longer than `config.maximum_tokens`.
    """

    config_class, reads = FragmentConfig, "regions"

    def __init__(self, config: FragmentConfig, tokenizer: "PreTrainedTokenizerFast"):
        super().__init__()
        if len(tokenizer) != config.vocabulary_size:
            raise ItmlabError(
                f"the tokeniser has {len(tokenizer)} pieces and the model {config.vocabulary_size}",
                remedy="use the tokeniser that the weights were trained with, or set vocabulary_size",
            )
        self.config, self.tokenizer, self.captions_cut = config, as_plain_text(tokenizer), 0
        self.images = VsrnImages(config) if config.kind == "vsrn" else RegionEncoder(config)
        self.captions = WordEncoder(config)
        self.matcher = None
        if config.kind not in ("vsrn", "vsepp"):
            self.matcher = (Scan if config.kind.startswith("scan") else Sgraf)(config)
        self.writer = CaptionWriter(config) if config.kind == "vsrn" else None

    def prepare_images(self, images: Sequence[Any]) -> dict[str, Tensor]:
        """`regions` and `region_mask` (and `boxes`, where they are read) of records with `features` and `boxes`."""
        return prepare_regions(images, self.config)

    def encode_images(self, prepared: dict[str, Tensor]) -> Encoded:
        """Features of prepared images."""
        regions = (prepared["regions"] - self.config.region_mean) / self.config.region_deviation
        if self.config.boxes:
            regions = torch.cat([regions, prepared["boxes"].to(regions)], dim=-1)
        return self.images(regions, prepared["region_mask"].bool())

    def encode_captions(self, tokens: dict[str, Tensor]) -> Encoded:
        """Features of prepared captions."""
        return self.captions(**tokens)

    def caption_nats(self, images: Encoded, tokens: dict[str, Tensor]) -> Float[Tensor, "caption"]:
        """What it costs VSRN to write prepared caption i from image i, in nats (L_G, ICCV 2019, Sec. 3.4)."""
        if self.writer is None:
            raise ItmlabError(f"{self.config.kind} writes no captions", remedy="take a model of kind vsrn")
        return self.writer(images, tokens)

    def forward(self, prepared: dict[str, Tensor], tokens: dict[str, Tensor]) -> tuple[Encoded, Encoded]:
        """Both at once, which is what a distributed wrapper calls."""
        return self.encode_images(prepared), self.encode_captions(tokens)

    def similarity(
        self,
        images: Encoded | Tensor,
        captions: Encoded | Tensor,
        *,
        chunk: int | None = None,
        progress: bool = False,
    ) -> Float[Tensor, "image caption"]:
        """The score of every image with every caption, at most `chunk` pairs at a time (None: what suits the machine).

        With gradients where the features have them. VSRN and VSE++ take pooled features as well.
        """
        if self.matcher is None:
            images, captions = (side.pooled if isinstance(side, Encoded) else side for side in (images, captions))
            chunk = 2**20 if chunk is None else chunk
            return cosine_similarity(images, captions, chunk=-(-chunk // max(len(captions), 1)))
        if not (isinstance(images, Encoded) and isinstance(captions, Encoded)):
            raise ItmlabError(
                f"{self.config.kind} compares parts, which pooled features have not",
                remedy="give what encode_images and encode_captions return",
            )
        device = images.local.device.type
        if chunk is None:
            chunk = self.matcher.pairs_at_once * (1 if device == "cpu" else 16)
        with torch.autocast(device, enabled=False):
            if isinstance(self.matcher, Sgraf):
                images, captions = self.matcher.with_globals(images, captions)
            return all_pairs(self.matcher, images, captions, chunk=chunk, progress=progress)

    def save(self, directory: str | Path, *, dtype: Literal["float32", "float16"] = "float32") -> None:
        """Write config.json, tokenizer.json and model.safetensors, weights last, each file atomically."""
        from .base import save_model

        save_model(self, directory, dtype=dtype)

    @classmethod
    def load(cls, directory: str | Path) -> "Fragment":
        """Read a saved model, in evaluation mode; weights that do not fit are an ItmlabError naming them."""
        from .base import load_model

        return load_model(directory, cls)
