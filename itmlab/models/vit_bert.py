"""FNE's two encoders: ViT over pixels and BERT over tokens, each mapped linearly to a common space."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .attention import eager_if
from .config import TwoTowerConfig
from .encoded import Encoded, masked_mean, unit
from .stem import ConvolutionalStem


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
