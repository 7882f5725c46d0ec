"""The two-tower model: pictures and captions each to one vector, compared by cosine."""

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..errors import ItmlabError
from ..text.tokens import as_plain_text, caption_words
from .base import ImagePreparation, ReadsCaptions
from .config import TwoTowerConfig
from .encoded import ComparesPooled, Encoded, eager_if, masked_mean, unit

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


# CLIP's two encoders behind the same face: projected features, pooled and local.


class ClipTowers(nn.Module):
    """CLIP with its own pooling ([CLS] of the picture, end of the text) and its own projections (methods.md, sec. 5).

    Local features are patches and tokens sent through the same final normalisation and projection as the pooled one.
    """

    def __init__(
        self, config: TwoTowerConfig, tokenizer: "PreTrainedTokenizerFast | None" = None, clip: nn.Module | None = None
    ):
        super().__init__()
        self.clip = clip if clip is not None else _clip(config, tokenizer)
        self.clip.logit_scale.requires_grad_(False)  # cosine similarity has no use for it; an idle parameter stops DDP

    def encode_images(self, pixels: Float[Tensor, "n 3 height width"], attentions: bool) -> Encoded:
        tower = self.clip.vision_model
        with eager_if(attentions, tower):
            output = tower(pixel_values=pixels, output_attentions=attentions)
        pooled = self.clip.visual_projection(output.pooler_output)
        local = self.clip.visual_projection(tower.post_layernorm(output.last_hidden_state[:, 1:])).float()
        mask = torch.ones(local.shape[:2], dtype=torch.bool, device=local.device)
        return Encoded(unit(pooled), local, mask, output.attentions if attentions else None)

    def encode_captions(
        self,
        input_ids: Int[Tensor, "n token"],
        attention_mask: Int[Tensor, "n token"],
        word_mask: Bool[Tensor, "n token"],
        attentions: bool,
    ) -> Encoded:
        tower = self.clip.text_model
        with eager_if(attentions, tower):
            output = tower(input_ids=input_ids, attention_mask=attention_mask, output_attentions=attentions)
        pooled = self.clip.text_projection(output.pooler_output)
        local = self.clip.text_projection(output.last_hidden_state).float()
        return Encoded(unit(pooled), local, word_mask, output.attentions if attentions else None)


def _clip(config: TwoTowerConfig, tokenizer: "PreTrainedTokenizerFast | None") -> nn.Module:
    from transformers import CLIPConfig, CLIPModel

    text, image = config.text_settings, config.image_settings
    if text is None or image is None:
        text, image = _text_settings(config, tokenizer), _image_settings(config)
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=image, projection_dim=config.dimension))
    model.set_attn_implementation(config.attention)
    return model


def _image_settings(config: TwoTowerConfig) -> dict[str, Any]:
    return {
        "hidden_size": config.image_hidden,
        "intermediate_size": config.image_intermediate,
        "num_hidden_layers": config.image_layers,
        "num_attention_heads": config.image_heads,
        "image_size": config.image_size,
        "patch_size": config.patch_size,
        "hidden_act": config.activation or "quick_gelu",
        "attention_dropout": config.dropout,
        "projection_dim": config.dimension,
    }


def _text_settings(config: TwoTowerConfig, tokenizer: "PreTrainedTokenizerFast") -> dict[str, Any]:
    return {
        "vocab_size": config.vocabulary_size,
        "hidden_size": config.text_hidden,
        "intermediate_size": config.text_intermediate,
        "num_hidden_layers": config.text_layers,
        "num_attention_heads": config.text_heads,
        "max_position_embeddings": config.maximum_tokens,
        "hidden_act": config.activation or "quick_gelu",
        "attention_dropout": config.dropout,
        "projection_dim": config.dimension,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,  # where the text is pooled
    }


# A convolutional patch stem: small vision transformers train better from scratch on early convolutions.


class ConvolutionalStem(nn.Module):
    """Three strided convolutions in place of ViT's one linear map per patch; the patch grid stays the same.

    Source: Xiao, Singh, Mintun, Darrell, Dollár, Girshick, "Early Convolutions Help Transformers See Better",
    NeurIPS 2021. Normalisation is over each picture's own channels instead of their batch normalisation, so that a
    feature never depends on the other pictures in its batch.
    """

    def __init__(self, patch_size: int, hidden: int):
        super().__init__()
        if patch_size % 4 or patch_size < 8:
            raise ItmlabError(
                f"a convolutional stem cannot make patches of {patch_size} px", remedy="use 8, 12, 16 or 32 px"
            )
        narrow, middle = hidden // 4, hidden // 2
        self.convolutions = nn.Sequential(
            _halving(3, narrow, patch_size // 4), nn.GroupNorm(1, narrow), nn.ReLU(),
            _halving(narrow, middle, 2), nn.GroupNorm(1, middle), nn.ReLU(),
        )  # fmt: skip
        self.projection = _halving(middle, hidden, 2)  # ViTModel looks here for its number type

    def forward(self, pixels: Float[Tensor, "n 3 height width"]) -> Float[Tensor, "n patch hidden"]:
        return self.projection(self.convolutions(pixels)).flatten(2).transpose(1, 2)


def _halving(inputs: int, outputs: int, stride: int) -> nn.Conv2d:
    """A convolution that divides height and width exactly by `stride`, each window reaching one pixel further."""
    return nn.Conv2d(inputs, outputs, kernel_size=stride + 2, stride=stride, padding=1)


# FNE's two encoders: ViT over pixels and BERT over tokens, each mapped linearly to a common space.


class ViTBertTowers(nn.Module):
    """ViT and BERT with a linear map each (FNE, Sec. 3.1; methods.md, sec. 1).

    Pooling is the mean over patches and over word pieces. [CLS] and [SEP] are left out of it like padding: FNE defines
    the mean over the patches and the words of a sentence, and they are neither.
    """

    def __init__(self, config: TwoTowerConfig, image: nn.Module | None = None, text: nn.Module | None = None):
        super().__init__()
        self.image = image if image is not None else _vit(config)
        self.text = text if text is not None else _bert(config)
        self.image_projection = nn.Linear(self.image.config.hidden_size, config.dimension)
        self.text_projection = nn.Linear(self.text.config.hidden_size, config.dimension)

    def encode_images(self, pixels: Float[Tensor, "n 3 height width"], attentions: bool) -> Encoded:
        with eager_if(attentions, self.image):
            output = self.image(pixel_values=pixels, output_attentions=attentions)
        local = self.image_projection(output.last_hidden_state[:, 1:]).float()
        mask = torch.ones(local.shape[:2], dtype=torch.bool, device=local.device)
        return Encoded(unit(local.mean(dim=1)), local, mask, output.attentions if attentions else None)

    def encode_captions(
        self,
        input_ids: Int[Tensor, "n token"],
        attention_mask: Int[Tensor, "n token"],
        word_mask: Bool[Tensor, "n token"],
        attentions: bool,
    ) -> Encoded:
        with eager_if(attentions, self.text):
            output = self.text(input_ids=input_ids, attention_mask=attention_mask, output_attentions=attentions)
        local = self.text_projection(output.last_hidden_state).float()
        pooled = unit(masked_mean(local, word_mask, otherwise=attention_mask.bool()))
        return Encoded(pooled, local, word_mask, output.attentions if attentions else None)


def _vit(config: TwoTowerConfig) -> nn.Module:
    from transformers import ViTConfig, ViTModel

    settings = config.image_settings or {
        "hidden_size": config.image_hidden,
        "num_hidden_layers": config.image_layers,
        "num_attention_heads": config.image_heads,
        "intermediate_size": config.image_intermediate,
        "image_size": config.image_size,
        "patch_size": config.patch_size,
        "hidden_act": config.activation or "gelu",
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout,
    }
    tower = ViTModel(ViTConfig(**settings), add_pooling_layer=False)
    tower.set_attn_implementation(config.attention)
    if config.stem == "convolutional":
        tower.embeddings.patch_embeddings = ConvolutionalStem(config.patch_size, config.image_hidden)
    return tower


def _bert(config: TwoTowerConfig) -> nn.Module:
    from transformers import BertConfig, BertModel

    settings = config.text_settings or {
        "vocab_size": config.vocabulary_size,
        "hidden_size": config.text_hidden,
        "num_hidden_layers": config.text_layers,
        "num_attention_heads": config.text_heads,
        "intermediate_size": config.text_intermediate,
        "max_position_embeddings": config.maximum_tokens,
        "hidden_act": config.activation or "gelu",
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout,
    }
    tower = BertModel(BertConfig(**settings), add_pooling_layer=False)
    tower.set_attn_implementation(config.attention)
    return tower


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
        from .base import save_model

        save_model(self, directory, dtype=dtype)

    @classmethod
    def load(cls, directory: str | Path, *, attention: Literal["sdpa", "eager"] | None = None) -> "TwoTower":
        """Read a saved model, in evaluation mode; weights that do not fit are an ItmlabError naming them."""
        from .base import load_model

        return load_model(directory, cls, attention=attention)


# The slowly moving copy of a model that fills the momentum memory.


class Momentum(nn.Module):
    """θ_k ← m·θ_k + (1 − m)·θ_q, always in evaluation mode and without gradients (FNE, Sec. 3.3, m = 0.995).

    `state_dict` and `load_state_dict` carry the copy's weights for resuming.
    """

    def __init__(self, model: TwoTower, m: float = 0.995):
        super().__init__()
        if not 0 <= m < 1:
            raise ItmlabError(f"a momentum of {m} never follows the model", remedy="use 0 ≤ m < 1, such as 0.995")
        self.m = m
        self.model = copy.deepcopy(model, {id(model.tokenizer): model.tokenizer})  # one tokeniser serves both
        self.model.requires_grad_(False)
        self.train(False)

    def train(self, mode: bool = True) -> "Momentum":
        """Stay in evaluation mode: a memory filled through dropout would be noise that the queue keeps."""
        return super().train(False)

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Move towards `model` (also inside a distributed wrapper) once; buffers, which hold no slope, are copied."""
        model = getattr(model, "module", model)
        slow, fast = list(self.model.parameters()), list(model.parameters())
        torch._foreach_lerp_(slow, [one.detach() for one in fast], 1 - self.m)
        for kept, current in zip(self.model.buffers(), model.buffers(), strict=True):
            kept.copy_(current)

    @torch.no_grad()
    def encode_images(self, pixels: Tensor) -> Encoded:
        """`TwoTower.encode_images` of the copy."""
        return self.model.encode_images(pixels)

    @torch.no_grad()
    def encode_captions(self, tokens: dict[str, Tensor]) -> Encoded:
        """`TwoTower.encode_captions` of the copy."""
        return self.model.encode_captions(tokens)
