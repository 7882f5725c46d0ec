"""CLIP's two encoders behind the same face: projected features, pooled and local."""

from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .attention import eager_if
from .config import TwoTowerConfig
from .encoded import Encoded, unit

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


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
