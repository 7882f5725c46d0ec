"""From a configuration and captions to a fresh one-tower model."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from .build import _vocabulary
from .one_tower import OneTower
from .one_tower_config import OneTowerConfig

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


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
    tokenizer = _vocabulary(config, captions_for_vocabulary)
    with torch.random.fork_rng(enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        return OneTower(replace(config, vocabulary_size=len(tokenizer)), tokenizer).train()
