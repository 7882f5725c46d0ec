"""The dual encoder of FNE (Li et al., 2023, Sec. 3.1; METHODS 1): one vector per picture and per caption.

A picture becomes patch features v_i and a caption word features w_j, both in a common space. Eq. 1 pools them,
v = 1/m Σ_i v_i and w = 1/l Σ_j w_j; Eq. 2 compares them, s(v, w) = cos(v, w). The towers are ViT and BERT.
`Momentum` is the slowly moving copy that fills FNE's memory (Sec. 3.3).
"""

import copy
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from .base import ImagePreparation, Model
from .config import DualEncoderConfig
from .encoded import Encoded, masked_mean, unit

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Pixels = Float[Tensor, "n 3 height width"]
# Our names of a tower's sizes and those of `transformers`.
SIZES = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
}


class DualEncoder(Model):
    """An image tower and a text tower with a common space (FNE, Sec. 3.1).

    A feature depends on its own picture or caption only, never on the padding or the other members of a batch. Pooling
    is the mean over patches and over word pieces. It leaves out [CLS] and [SEP] like padding, because FNE defines the
    mean over the patches and the words of a sentence.

    Args:
        config: sizes and preparation.
        tokenizer: the tokeniser of captions.
    """

    config_class = DualEncoderConfig

    def __init__(self, config: DualEncoderConfig, tokenizer: "PreTrainedTokenizerFast"):
        super().__init__(config, tokenizer)
        self.prepare_images = ImagePreparation(config.image_size, config.interpolation, config.mean, config.std)
        self.towers = _towers(config)

    @property
    def image_tower(self) -> nn.Module:
        """The transformer through which gradients reach the patches of a picture."""
        return self.towers.image

    def encode_images(self, pixels: Pixels) -> Encoded:
        """Return the features of prepared pictures; the parts are patches."""
        output = self.towers.image(pixel_values=pixels)
        local = self.towers.image_projection(output.last_hidden_state[:, 1:]).float()  # without [CLS]
        mask = torch.ones(local.shape[:2], dtype=torch.bool, device=local.device)
        return Encoded(unit(local.mean(dim=1)), local, mask)

    def encode_captions(self, tokens: dict[str, Tensor]) -> Encoded:
        """Return the features of prepared captions; the parts are tokens."""
        frame, words = tokens["attention_mask"], tokens["word_mask"]
        output = self.towers.text(input_ids=tokens["input_ids"], attention_mask=frame)
        local = self.towers.text_projection(output.last_hidden_state).float()
        return Encoded(unit(masked_mean(local, words, otherwise=frame.bool())), local, words)


def _towers(config: DualEncoderConfig) -> nn.ModuleDict:
    """ViT (Dosovitskiy et al., 2021) and BERT (Devlin et al., 2019) with a linear map each, or none (FNE, Sec. 3.1)."""
    from transformers import BertConfig, BertModel, ViTConfig, ViTModel

    image = ViTModel(ViTConfig(**(config.image_settings or _fresh(config, "image"))), add_pooling_layer=False)
    if config.stem == "convolutional":
        image.embeddings.patch_embeddings = ConvolutionalStem(config.patch_size, config.image_hidden)
    text = BertModel(BertConfig(**(config.text_settings or _fresh(config, "text"))), add_pooling_layer=False)
    towers = nn.ModuleDict({"image": image, "text": text})
    for side, size in (("image", image.config.hidden_size), ("text", text.config.hidden_size)):
        linear = config.projection == "linear"
        towers[f"{side}_projection"] = nn.Linear(size, config.dimension) if linear else nn.Identity()
    return towers


def _fresh(config: DualEncoderConfig, side: str) -> dict[str, Any]:
    """The settings of a fresh tower, under the names of `transformers`."""
    sizes = {name: getattr(config, f"{side}_{ours}") for ours, name in SIZES.items()}
    sizes |= dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), config.dropout)
    if side == "image":
        return sizes | {"image_size": config.image_size, "patch_size": config.patch_size}
    return sizes | {"vocab_size": config.vocabulary_size, "max_position_embeddings": config.maximum_tokens}


class ConvolutionalStem(nn.Module):
    """Three strided convolutions in place of ViT's one linear map per patch; the patch grid stays the same.

    Small vision transformers train better from scratch on it. Normalisation is over each picture's own channels instead
    of the paper's batch normalisation, so that a feature never depends on the other pictures in its batch.

    Args:
        patch_size: edge of a patch in pixels, a multiple of 4 and at least 8.
        hidden: width of the patch features.

    References:
        Xiao, Singh, Mintun, Darrell, Dollár, Girshick: "Early Convolutions Help Transformers See Better", NeurIPS 2021.

    >>> ConvolutionalStem(8, 16)(torch.zeros(2, 3, 32, 32)).shape  # pictures, patches, hidden
    torch.Size([2, 16, 16])
    """

    def __init__(self, patch_size: int, hidden: int):
        super().__init__()
        narrow, middle = hidden // 4, hidden // 2
        self.convolutions = nn.Sequential(
            _dividing(3, narrow, patch_size // 4), nn.GroupNorm(1, narrow), nn.ReLU(),
            _dividing(narrow, middle, 2), nn.GroupNorm(1, middle), nn.ReLU(),
        )  # fmt: skip
        self.projection = _dividing(middle, hidden, 2)  # ViTModel looks here for its number type

    def forward(self, pixels: Pixels) -> Float[Tensor, "n patch hidden"]:
        """Return the features of the patches, in rows from the top."""
        return self.projection(self.convolutions(pixels)).flatten(2).transpose(1, 2)


def _dividing(inputs: int, outputs: int, stride: int) -> nn.Conv2d:
    """A convolution that divides height and width exactly by `stride`, each window reaching one pixel further."""
    return nn.Conv2d(inputs, outputs, kernel_size=stride + 2, stride=stride, padding=1)


class Momentum(nn.Module):
    """A slowly moving copy of a model, θ_k ← m θ_k + (1 − m) θ_q, in evaluation mode and without gradients.

    Args:
        model: the model to copy and follow.
        m: the momentum, at least 0 and below 1.

    References:
        FNE, Eq. 14, m = 0.995 (METHODS 1.4).
    """

    def __init__(self, model: Model, m: float = 0.995):
        super().__init__()
        self.m = m
        self.model = copy.deepcopy(model, {id(model.tokenizer): model.tokenizer})  # one tokeniser serves both
        self.model.requires_grad_(False)
        self.train(False)

    def train(self, mode: bool = True) -> "Momentum":
        """Stay in evaluation mode: features computed with dropout would stay in the memory as noise."""
        return super().train(False)

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Move towards `model` once, also inside a distributed wrapper; buffers are copied."""
        model = getattr(model, "module", model)
        slow, fast = list(self.model.parameters()), list(model.parameters())
        torch._foreach_lerp_(slow, [weights.detach() for weights in fast], 1 - self.m)  # all weights in a few kernels
        for copied, current in zip(self.model.buffers(), model.buffers(), strict=True):
            copied.copy_(current)
