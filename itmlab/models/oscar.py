"""OSCAR as a dual encoder (ITContrast: Wu et al., 2023, Sec. 3.1; METHODS 4): one transformer, each side apart.

The paper has one OSCAR transformer (Li et al., ECCV 2020) for text and image, whose global features are the means of
the local ones. Read together, the caption would leak into the image's feature, so here both go through the same layers
separately.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from torch import Tensor

from .config import OscarDualEncoderConfig
from .cross_encoder import CrossEncoder
from .encoded import Encoded, EncodesApart, masked_mean, unit
from .transformer import EmbeddedRegions

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class OscarDualEncoder(EncodesApart):
    """A single-stream transformer over the captions alone and over the images alone (ITContrast, Sec. 3.1).

    A global feature is the mean over word pieces, or over regions and tags, at length one. The heads that judge pairs
    are left out.
    """

    config_class = OscarDualEncoderConfig

    def __init__(self, config: OscarDualEncoderConfig, tokenizer: "PreTrainedTokenizerFast"):
        super().__init__(config, tokenizer)
        self.tower = CrossEncoder(config, tokenizer)
        del self.tower.heads, self.tower.pooler

    @classmethod
    def of(cls, tower: CrossEncoder) -> "OscarDualEncoder":
        """The transformer of `tower`, such as a public OSCAR checkpoint's; its weights are copied."""
        model = cls(OscarDualEncoderConfig(**tower.config.to_dict()), tower.tokenizer)
        weights = tower.state_dict()
        model.tower.load_state_dict({name: weights[name] for name in model.tower.state_dict()})
        return model.train(tower.training)

    @property
    def reads(self) -> Literal["regions", "pictures"]:
        """What of a data set `prepare_images` takes."""
        return "regions" if self.tower.stem is None else "pictures"

    @property
    def patch_grid(self) -> tuple[int, int]:
        """Rows and columns of patches; part i of an image's `local` is patch (i // columns, i % columns)."""
        return self.tower.patch_grid

    def prepare_images(self, images: Sequence[Any], tags: Sequence[str] | None = None) -> dict[str, Tensor]:
        """As `CrossEncoder.prepare_images`."""
        return self.tower.prepare_images(images, tags)

    def encode_images(self, prepared: dict[str, Tensor], *, attentions: bool = False) -> Encoded:
        """Features of prepared images; parts are tags, then regions or patches."""
        return images_apart(self.tower, self.tower.embed_regions(**prepared), attentions=attentions)

    def encode_captions(self, tokens: dict[str, Tensor], *, attentions: bool = False) -> Encoded:
        """Features of prepared captions."""
        return captions_apart(self.tower, tokens, attentions=attentions)


def images_apart(tower: CrossEncoder, parts: EmbeddedRegions, *, attentions: bool = False) -> Encoded:
    """Features of images that `tower.embed_regions` took; the pooled one is the mean of tags and regions or patches."""
    states, maps = tower.encoder(parts.values, parts.mask, attentions)
    local = states.float()
    return Encoded(unit(masked_mean(local, parts.mask, otherwise=parts.mask)), local, parts.mask, maps)


def captions_apart(tower: CrossEncoder, tokens: dict[str, Tensor], *, attentions: bool = False) -> Encoded:
    """Features of captions that `tower.prepare_captions` took; the pooled one is the mean of their word pieces."""
    frame, words = tokens["attention_mask"].bool(), tokens["word_mask"]
    states, maps = tower.encoder(tower.text(tokens["input_ids"]), frame, attentions)
    local = states.float()
    return Encoded(unit(masked_mean(local, words, otherwise=frame)), local, words, maps)
