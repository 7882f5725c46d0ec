"""OSCAR as a dual encoder (ITContrast: Wu et al., 2023, Sec. 3.1; METHODS 4): one transformer reads each side alone.

The paper has one OSCAR transformer (Li et al., ECCV 2020) for text and image, with global features that are the means
of the local ones. If it read both together, the caption would leak into the image's feature, so here both go through
the same layers separately. A matcher of SGRAF above it compares regions with word pieces: "Ours (SGRAF)" of Tables 1
and 2, "applying the OSCAR model to learn the feature embedding instead of bi-directional GRU and CNN" (Sec. 4.2).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from torch import Tensor

from ..components import parameters
from .base import Model
from .config import OscarDualEncoderConfig
from .cross_encoder import CrossEncoder
from .encoded import Encoded, Mask, Parts, masked_mean, unit
from .fragment import masked_units
from .matchers import ComparesParts, Sgraf

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class OscarDualEncoder(ComparesParts):
    """A single-stream transformer over the captions alone and over the images alone (ITContrast, Sec. 3.1).

    A global feature is the mean over word pieces, or over regions and tags, at length one. The heads that judge pairs
    are left out. With a matcher, the `local` features have length one too.
    """

    config_class = OscarDualEncoderConfig

    def __init__(self, config: OscarDualEncoderConfig, tokenizer: "PreTrainedTokenizerFast"):
        super().__init__(config, tokenizer)
        self.tower = CrossEncoder(config, tokenizer)
        del self.tower.heads, self.tower.pooler
        self.matcher = None if config.matcher is None else Sgraf(config.matching)

    @classmethod
    def converted(cls, saved: Model) -> "OscarDualEncoder":
        """Copy the transformer of a cross-encoder, such as a public OSCAR checkpoint's."""
        if not isinstance(saved, CrossEncoder):
            return super().converted(saved)
        model = cls(OscarDualEncoderConfig(**parameters(saved.config)), saved.tokenizer)
        weights = saved.state_dict()
        model.tower.load_state_dict({name: weights[name] for name in model.tower.state_dict()})
        return model.train(saved.training)

    def prepare_images(self, images: Sequence[Any]) -> dict[str, Tensor]:
        """Return what `encode_images` takes, as `CrossEncoder.prepare_images` does."""
        return self.tower.prepare_images(images)

    def encode_images(self, prepared: dict[str, Tensor]) -> Encoded:
        """Return the features of prepared images; the parts are tags, then regions or patches."""
        parts = self.tower.tagged(self.tower.embed_regions(**prepared))
        return self._encoded(parts.values, parts.mask, parts.mask, "of_images")

    def encode_captions(self, tokens: dict[str, Tensor]) -> Encoded:
        """Return the features of prepared captions."""
        frame = tokens["attention_mask"].bool()
        return self._encoded(self.tower.text(tokens["input_ids"]), frame, tokens["word_mask"], "of_captions")

    def _encoded(self, states: Parts, frame: Mask, mask: Mask, side: Literal["of_images", "of_captions"]) -> Encoded:
        """Read one side alone; for the matcher parts have unit length, and the frame of "" takes the place of words.

        Args:
            states: the embedded positions.
            frame: false at padding.
            mask: the positions that are parts.
            side: which side it is.
        """
        local = self.tower.encoder(states, frame).float()
        items = Encoded(unit(masked_mean(local, mask, otherwise=frame)), local, mask)
        if self.matcher is None:
            return items
        mask = mask.clone()
        mask[:, 0] |= ~mask.any(dim=1)
        return self.with_whole(items._replace(local=masked_units(local, mask), mask=mask), side)
