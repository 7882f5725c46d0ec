"""From a configuration to a model, fresh or on pretrained towers."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ...errors import ItmlabError
from ...text.tokens import train_wordpiece
from ..config import FragmentConfig, OneTowerConfig, SeparateOneTowerConfig, TwoTowerConfig
from ..cross_encoder import OneTower
from ..dual_encoder import ClipTowers, TwoTower, ViTBertTowers
from ..fragment import Fragment
from ..oscar import SeparateOneTower
from .hub import pretrained_bert, pretrained_clip, pretrained_vit

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


# From a configuration and captions to a fresh one-tower model or fragment matcher.


def build_one_tower(
    config: OneTowerConfig,
    captions_for_vocabulary: "Iterable[str] | PreTrainedTokenizerFast | None" = None,
    *,
    seed: int | None = None,
) -> OneTower:
    """A model with fresh weights, in training mode; its `config` has the size of the vocabulary that was made.

    The vocabulary comes from captions (at most `config.vocabulary_size` pieces) or is a given tokeniser's. Weights come
    from `seed`, or from torch's global generator when there is none. `load_public` is for published weights.
    """
    return _fresh(OneTower, config, captions_for_vocabulary, seed)


def build_separate_one_tower(
    config: SeparateOneTowerConfig,
    captions_for_vocabulary: "Iterable[str] | PreTrainedTokenizerFast | None" = None,
    *,
    seed: int | None = None,
) -> SeparateOneTower:
    """As `build_one_tower`; for published weights take `SeparateOneTower.of` what `load_public` gives."""
    return _fresh(SeparateOneTower, config, captions_for_vocabulary, seed)


def build_fragment(
    config: FragmentConfig,
    captions_for_vocabulary: "Iterable[str] | PreTrainedTokenizerFast | None" = None,
    *,
    seed: int | None = None,
) -> Fragment:
    """As `build_one_tower`."""
    return _fresh(Fragment, config, captions_for_vocabulary, seed)


def _fresh(
    kind: type[nn.Module], config: Any, captions: "Iterable[str] | PreTrainedTokenizerFast | None", seed: int | None
) -> nn.Module:
    tokenizer = _vocabulary(config, captions)
    with torch.random.fork_rng(enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        return kind(replace(config, vocabulary_size=len(tokenizer)), tokenizer).train()
