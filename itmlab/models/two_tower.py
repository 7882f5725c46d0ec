"""The two-tower model: pictures and captions each to one vector, compared by cosine."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from jaxtyping import Float
from torch import Tensor, nn

from itmlab.text.tokenise import as_plain_text, caption_words

from .caption_input import ReadsCaptions
from .clip import ClipTowers
from .config import TwoTowerConfig
from .encoded import ComparesPooled, Encoded
from .preparation import ImagePreparation
from .vit_bert import ViTBertTowers

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class TwoTower(ComparesPooled, ReadsCaptions):
    """An image tower and a text tower with a common space (FNE, Sec. 3.1).

    A feature depends on its own picture or caption only, never on the padding or the other members of a batch.
    `captions_cut` counts the captions that were longer than `config.maximum_tokens`.
    """

    config_class = TwoTowerConfig

    def __init__(self, config: TwoTowerConfig, tokenizer: "PreTrainedTokenizerFast", towers: nn.Module | None = None):
        super().__init__()
        self.config, self.tokenizer = config, as_plain_text(tokenizer)
        self.prepare_images = ImagePreparation.of(config)
        self.captions_cut = 0
        if towers is None:
            towers = ClipTowers(config, tokenizer) if config.image_tower == "clip" else ViTBertTowers(config)
        self.towers = towers

    @property
    def patch_grid(self) -> tuple[int, int]:
        """Rows and columns of patches; part i of an image's `local` is patch (i // columns, i % columns)."""
        return (self.config.image_size // self.config.patch_size,) * 2

    def caption_words(self, caption: str) -> list[tuple[str, list[int]]]:
        """The caption's words, each with the positions of its pieces on the part axis of `Encoded.local`."""
        return caption_words(self.tokenizer, caption, self.config.maximum_tokens)

    def encode_images(self, pixels: Float[Tensor, "n 3 height width"], *, attentions: bool = False) -> Encoded:
        """Features of prepared pictures; `attentions=True` adds self-attention maps, position 0 being [CLS]."""
        return self.towers.encode_images(pixels, attentions)

    def encode_captions(self, tokens: dict[str, Tensor], *, attentions: bool = False) -> Encoded:
        """Features of prepared captions; `attentions=True` adds self-attention maps over the token positions."""
        return self.towers.encode_captions(**tokens, attentions=attentions)

    def forward(self, pixels: Float[Tensor, "n 3 height width"], tokens: dict[str, Tensor]) -> tuple[Encoded, Encoded]:
        """Both at once, which is what a distributed wrapper calls."""
        return self.encode_images(pixels), self.encode_captions(tokens)

    def save(self, directory: str | Path, *, dtype: Literal["float32", "float16"] = "float32") -> None:
        """Write config.json, tokenizer.json and model.safetensors, weights last, each file atomically."""
        from .directory import save_model

        save_model(self, directory, dtype=dtype)

    @classmethod
    def load(cls, directory: str | Path, *, attention: Literal["sdpa", "eager"] | None = None) -> "TwoTower":
        """Read a saved model, in evaluation mode; weights that do not fit are an ItmlabError naming them."""
        from .directory import load_model

        return load_model(directory, cls, attention=attention)
