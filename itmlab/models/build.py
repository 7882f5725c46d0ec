"""From a configuration to a model, fresh or on pretrained towers."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from itmlab.errors import ItmlabError
from itmlab.text.tokenise import train_wordpiece

from .clip import ClipTowers
from .config import TwoTowerConfig
from .pretrained import pretrained_bert, pretrained_clip, pretrained_vit
from .two_tower import TwoTower
from .vit_bert import ViTBertTowers

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def build_model(
    config: TwoTowerConfig,
    captions_for_vocabulary: "Iterable[str] | PreTrainedTokenizerFast | None" = None,
    *,
    seed: int | None = None,
) -> TwoTower:
    """A model with fresh or pretrained weights, in training mode.

    A text tower from scratch needs captions to make its vocabulary from, or a tokeniser; a pretrained one brings its
    own. Fresh weights come from `seed`, or from torch's global generator when there is none. The model's `config` has
    the sizes that were really used.
    """
    with torch.random.fork_rng(enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        clip = image = text = tokenizer = None
        if config.image_tower == "clip" and config.image_pretrained is not None:
            config, clip, tokenizer = pretrained_clip(config)
        elif config.image_pretrained is not None:
            config, image = pretrained_vit(config)
        if config.image_tower == "vit" and config.text_pretrained is not None:
            config, text, tokenizer = pretrained_bert(config)
        if tokenizer is None:
            tokenizer = _vocabulary(config, captions_for_vocabulary)
            config = replace(config, vocabulary_size=len(tokenizer))
        if config.image_tower == "clip":
            return TwoTower(config, tokenizer, ClipTowers(config, tokenizer, clip)).train()
        return TwoTower(config, tokenizer, ViTBertTowers(config, image, text)).train()


def _vocabulary(
    config: TwoTowerConfig, source: "Iterable[str] | PreTrainedTokenizerFast | None"
) -> "PreTrainedTokenizerFast":
    from transformers import PreTrainedTokenizerFast

    if source is None:
        raise ItmlabError("a text tower from scratch has no vocabulary", remedy="give build_model captions to make one")
    if isinstance(source, PreTrainedTokenizerFast):
        return source
    return train_wordpiece(source, config.vocabulary_size)
