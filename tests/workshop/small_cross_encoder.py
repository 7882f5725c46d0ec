"""A cross-encoder with fresh weights, all of them large enough to have their say."""

import torch

from itmlab.models import CrossEncoder, CrossEncoderConfig
from itmlab.text.tokens import train_wordpiece


def small_cross_encoder(captions: list[str], seed: int = 0, **changes) -> CrossEncoder:
    tokenizer = train_wordpiece(captions, 200)
    sizes = dict(hidden=24, layers=1, heads=3, intermediate=40, region_dimension=16, maximum_tokens=30, positions=40,
                 image_size=32, patch_size=8)  # fmt: skip
    torch.manual_seed(seed)
    config = CrossEncoderConfig(
        form="uniter", vocabulary_size=len(tokenizer), **({"visual": "patches"} | sizes | changes)
    )
    model = CrossEncoder(config, tokenizer)
    for weights in model.parameters():
        weights.data += 0.3 * torch.randn_like(weights)
    return model.eval()
