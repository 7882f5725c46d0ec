"""From a configuration and captions to a fresh one-tower model or fragment matcher."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from .build import _vocabulary
from .fragment import Fragment
from .fragment_config import FragmentConfig
from .one_tower import OneTower
from .one_tower_config import OneTowerConfig, SeparateOneTowerConfig
from .separate_one_tower import SeparateOneTower

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    Captions = Iterable[str] | PreTrainedTokenizerFast | None


def build_one_tower(
    config: OneTowerConfig, captions_for_vocabulary: "Captions" = None, *, seed: int | None = None
) -> OneTower:
    """A model with fresh weights, in training mode; its `config` has the size of the vocabulary that was made.

    The vocabulary comes from captions (at most `config.vocabulary_size` pieces) or is a given tokeniser's. Weights come
    from `seed`, or from torch's global generator when there is none. `load_public` is for published weights.
    """
    return _fresh(OneTower, config, captions_for_vocabulary, seed)


def build_separate_one_tower(
    config: SeparateOneTowerConfig, captions_for_vocabulary: "Captions" = None, *, seed: int | None = None
) -> SeparateOneTower:
    """As `build_one_tower`; for published weights take `SeparateOneTower.of` what `load_public` gives."""
    return _fresh(SeparateOneTower, config, captions_for_vocabulary, seed)


def build_fragment(
    config: FragmentConfig, captions_for_vocabulary: "Captions" = None, *, seed: int | None = None
) -> Fragment:
    """As `build_one_tower`."""
    return _fresh(Fragment, config, captions_for_vocabulary, seed)


def _fresh(kind: type[nn.Module], config: Any, captions: "Captions", seed: int | None) -> nn.Module:
    tokenizer = _vocabulary(config, captions)
    with torch.random.fork_rng(enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        return kind(replace(config, vocabulary_size=len(tokenizer)), tokenizer).train()
