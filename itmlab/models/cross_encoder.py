"""The cross-encoder: tokens and regions of a pair in one transformer (UNITER's and OSCAR's form), with TAGS' heads.

UNITER: Chen et al., ECCV 2020; OSCAR: Li et al., ECCV 2020; the four heads H_MLM, H_ITM, H_WoD and H_WoC: TAGS-DC (Fan
et al., 2022, Sec. 2; METHODS 3).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor, nn
from torch.nn import functional

from ..text.tokens import encode_captions
from .base import ImagePreparation, Model
from .config import CrossEncoderConfig
from .dual_encoder import ConvolutionalStem
from .encoded import evaluating
from .photographs import grid_boxes
from .transformer import FORMS, EmbeddedRegions, Encoder, TextEmbedding, initialise, prepare_regions

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAIR_BATCH_SIZE = 256  # pairs that the transformer reads at a time
Rows = Int64[Tensor, "row"]
Pieces = Int[Tensor, "pair token"]
Real = Bool[Tensor, "pair token"]  # false at padding


class CrossEncoderOutput(NamedTuple):
    """What the heads answer for a batch of pairs; a head that was not asked for is None.

    Attributes:
        itm: the matching logit by which images and sentences are ranked; its sigmoid is the score s of TAGS Eq. (3).
        mlm: logits of the masked words. With `positions`, one row per true position instead of the axes pair and token.
        wod: logits of "replaced" (0) and "kept" (1).
        woc: logits of the corrected words, with `positions` as `mlm`.
    """

    itm: Float[Tensor, "pair"] | None
    mlm: Float[Tensor, "pair token vocabulary"] | None
    wod: Float[Tensor, "pair token 2"] | None
    woc: Float[Tensor, "pair token vocabulary"] | None


class CrossEncoder(Model):
    """A single-stream transformer with the four heads of TAGS-DC.

    In evaluation mode the output for a pair depends on that pair only, never on padding or on the other pairs of a
    batch. With dropout every pair draws its own.
    """

    config_class = CrossEncoderConfig

    def __init__(self, config: CrossEncoderConfig, tokenizer: "PreTrainedTokenizerFast"):
        super().__init__(config, tokenizer)
        self.text, self.encoder = TextEmbedding(config), Encoder(config)
        self.image = FORMS[config.form](config)
        self.pooler, self.heads = nn.Linear(config.hidden, config.hidden), Heads(config)
        self.apply(initialise)
        patches = config.visual == "patches"  # after `initialise`: the stem keeps torch's own starting values
        self.stem = ConvolutionalStem(config.patch_size, config.region_dimension) if patches else None
        self.prepare_pictures = ImagePreparation(config.image_size)

    def prepare_images(self, images: Sequence[Any]) -> dict[str, Tensor]:
        """Return what `embed_regions` takes.

        Args:
            images: pictures for a model of patches, or records with `features` and `boxes`. A model of `object_tags`
                also reads the `tags` of the records; an image may have none.
        """
        if self.stem is not None:
            return {"pixels": self.prepare_pictures(images)}
        prepared, config = prepare_regions(images, self.config), self.config
        if not config.object_tags:
            return prepared
        tags = [" ".join(getattr(image, "tags", None) or ()) for image in images]
        # Tags follow the caption, so their own [CLS] goes and [SEP] stays.
        encoded, _ = encode_captions(self.tokenizer, tags, config.maximum_tokens + 1)
        mask = encoded["attention_mask"][:, 1:].bool() & torch.tensor([bool(tag) for tag in tags])[:, None]
        return prepared | {"tags": encoded["input_ids"][:, 1:], "tag_mask": mask}

    def embed_regions(
        self,
        regions: Float[Tensor, "image region dimension"] | None = None,
        boxes: Float[Tensor, "image region box"] | None = None,
        region_mask: Bool[Tensor, "image region"] | None = None,
        *,
        pixels: Float[Tensor, "image 3 height width"] | None = None,
        tags: Int[Tensor, "image tag"] | None = None,
        tag_mask: Bool[Tensor, "image tag"] | None = None,
    ) -> EmbeddedRegions:
        """Return the image side of the input, computed once per image and shared by all its candidate sentences.

        Args:
            regions: features of the regions.
            boxes: x1, y1, x2, y2, width, height and area as shares of the image; numbers that the form does not read
                are ignored.
            region_mask: false at padding.
            pixels: prepared pictures, instead of regions, for a model of patches.
            tags: pieces of OSCAR's object tags.
            tag_mask: false at the padding of tags.
        """
        if self.stem is not None:
            regions = self.stem(pixels)
            boxes = grid_boxes(*self.patch_grid).to(regions).expand(len(regions), -1, -1)
        mask = regions.new_ones(regions.shape[:2], dtype=torch.bool) if region_mask is None else region_mask.bool()
        values = self.image(regions, boxes[..., : self.config.box_dimension], self.text.types.weight[1])
        return EmbeddedRegions(values, mask, tags, tag_mask)

    def tagged(self, images: EmbeddedRegions, lengths: Int[Tensor, "pair"] | None = None) -> EmbeddedRegions:
        """Return the states of the object tags, then the parts.

        After a caption the tags have the places that it leaves, the last of which takes the closing token (OSCAR's
        `tensorize_example`).

        Args:
            images: the parts, and the tags where there are any.
            lengths: lengths of the captions that the tags follow; without them the tags begin at the first place.
        """
        if images.tags is None:
            return images
        tags, mask = images.tags, images.tag_mask.bool()
        first = torch.zeros_like(tags[:, :1]) if lengths is None else lengths[:, None]
        room = self.config.maximum_tokens - first
        places = torch.arange(tags.shape[1], device=tags.device).expand_as(tags)
        tags, mask = tags.where(places != room - 1, self.tokenizer.sep_token_id), mask & (places < room)
        states = self.text(tags, places=(first + places) * mask, kind=1)
        return EmbeddedRegions(torch.cat([states, images.values], dim=1), torch.cat([mask, images.mask], dim=1))

    def forward(
        self,
        tokens: Pieces,
        token_mask: Real,
        regions: EmbeddedRegions,
        *,
        heads: Sequence[str] = ("itm",),
        positions: Real | None = None,
    ) -> CrossEncoderOutput:
        """Read token row i with image row i.

        Args:
            tokens: numbers of the pieces.
            token_mask: false at padding.
            regions: what `embed_regions` returned, one row per pair (see `EmbeddedRegions.take`).
            heads: the heads that answer: "itm", "mlm", "wod", "woc".
            positions: the places for which the two heads over the vocabulary answer; all of them by default.
        """
        ranks_only = tuple(heads) == ("itm",)  # it reads [CLS] alone
        states = self.states(tokens, token_mask, regions, answered=1 if ranks_only else None)
        hidden, words = states[:, : tokens.shape[1]], self.text.words.weight
        chosen = hidden if positions is None else hidden[positions.bool()]
        return CrossEncoderOutput(
            itm=self.heads.itm(torch.tanh(self.pooler(hidden[:, 0]))).squeeze(-1) if "itm" in heads else None,
            mlm=self.heads.mlm(chosen, words) if "mlm" in heads else None,
            wod=self.heads.wod(hidden) if "wod" in heads else None,
            woc=self.heads.woc(chosen, words) if "woc" in heads else None,
        )

    def score(self, tokens: Pieces, token_mask: Real, regions: EmbeddedRegions) -> Float[Tensor, "pair"]:
        """Return the matching logits of `forward`."""
        return self(tokens, token_mask, regions).itm

    def states(
        self, tokens: Pieces, token_mask: Real, regions: EmbeddedRegions, *, answered: int | None = None
    ) -> Float[Tensor, "pair position hidden"]:
        """Return the last layer's states of the tokens, of the object tags, and of the image's parts.

        Args:
            tokens: numbers of the pieces.
            token_mask: false at padding.
            regions: what `embed_regions` returned, one row per pair.
            answered: compute only so many of the first positions.
        """
        mask = token_mask.bool()
        regions = self.tagged(regions, mask.sum(dim=1))
        states = torch.cat([self.text(tokens), regions.values], dim=1)
        return self.encoder(states, torch.cat([mask, regions.mask], dim=1), answered)

    def similarity(self, images: dict[str, Tensor], captions: dict[str, Tensor]) -> Float[Tensor, "image caption"]:
        """Return the matching logit of every image with every caption, on the CPU; each image is embedded once.

        Args:
            images: what `prepare_images` returned.
            captions: what `prepare_captions` returned.
        """
        device = self.pooler.weight.device
        tokens = Tokens(captions["input_ids"].to(device), captions["attention_mask"].to(device).bool())
        with evaluating(self):
            regions = self.embed_regions(**{name: value.to(device) for name, value in images.items()})
            shape = len(regions.mask), len(tokens.ids)
            rows, columns = torch.cartesian_prod(*(torch.arange(count, device=device) for count in shape)).T
            return pair_logits(self, tokens, columns, regions, rows).cpu().view(shape)


class Tokens(NamedTuple):
    """Sentences as the transformer reads them, padded on the right.

    >>> sentences = Tokens(torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]]), torch.tensor([[1] * 4, [1, 1, 1, 0]]).bool())
    >>> sentences.take(torch.tensor([1])).ids
    tensor([[2, 9, 3]])
    """

    ids: Int[Tensor, "row piece"]
    mask: Bool[Tensor, "row piece"]

    @classmethod
    def of(cls, model: CrossEncoder, sentences: Sequence[str]) -> "Tokens":
        """Return the tokens of at least one sentence, on the model's device."""
        tokens, device = model.prepare_captions(sentences), model.pooler.weight.device
        return cls(tokens["input_ids"].to(device), tokens["attention_mask"].to(device).bool())

    @property
    def lengths(self) -> Rows:
        """Pieces per row."""
        return self.mask.sum(dim=1)

    def take(self, rows: Rows) -> "Tokens":
        """Return these rows without the columns that are padding in all of them."""
        ids, mask = self.ids[rows], self.mask[rows]
        longest = int(mask.sum(dim=1).max()) if len(rows) else 0
        return Tokens(ids[:, :longest].long(), mask[:, :longest])


def pair_logits(
    model: CrossEncoder, tokens: Tokens, sentences: Rows, regions: EmbeddedRegions, images: Rows
) -> Float[Tensor, "pair"]:
    """Return the matching logit of each pair; pairs of like length are read together.

    Args:
        model: the cross-encoder.
        tokens: all sentences.
        sentences: for each pair a row of `tokens`.
        regions: all images.
        images: for each pair a row of `regions`.
    """
    if not len(sentences):
        return regions.values.new_zeros(0)
    logits, order = [], tokens.lengths[sentences].argsort(stable=True)
    for rows in order.split(PAIR_BATCH_SIZE):
        part = tokens.take(sentences[rows])
        logits.append(model.score(part.ids, part.mask, regions.take(images[rows])).float())
    return torch.cat(logits)[order.argsort()]


class Heads(nn.Module):
    """H_ITM gives one matching logit a pair, H_WoD two logits a token, the other two the vocabulary's logits."""

    def __init__(self, config: CrossEncoderConfig):
        super().__init__()
        self.itm, self.wod = nn.Linear(config.hidden, 1), nn.Linear(config.hidden, 2)
        self.mlm, self.woc = WordHead(config), WordHead(config)


class WordHead(nn.Module):
    """A two-layer network to the vocabulary (TAGS, Sec. 2.1.1), its second layer tied to the word embeddings (BERT)."""

    def __init__(self, config: CrossEncoderConfig):
        super().__init__()
        self.transform = nn.Linear(config.hidden, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.layer_norm_epsilon)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary_size))

    def forward(
        self, states: Float[Tensor, "*place hidden"], words: Float[Tensor, "vocabulary hidden"]
    ) -> Float[Tensor, "*place vocabulary"]:
        """Return the vocabulary's logits of some states; `words` are the word embeddings."""
        return functional.linear(self.norm(functional.gelu(self.transform(states))), words, self.bias)
