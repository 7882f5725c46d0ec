"""From a configuration to a model: fresh weights, or towers from published checkpoints.

Published weights are read from safetensors only and never with remote code; each fault is one line with its remedy.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from ...components import parameters
from ...errors import ItmlabError
from ...session import usual_defaults
from ...storage import fetched
from ...text.tokens import cleaned, public_tokenizer, train_wordpiece
from ..base import Model, listed, model_class, outlined
from ..config import DualEncoderConfig, ModelConfig
from ..dual_encoder import SIZES, DualEncoder
from .word_vectors import begin_with_word_vectors, word_vocabulary

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

    Vocabulary = Iterable[str] | PreTrainedTokenizerFast | None

PROVENANCE = ("transformers_version", "model_type", "architectures", "dtype", "torch_dtype", "_name_or_path")


@usual_defaults()
def build_model(
    config: ModelConfig, captions: "Vocabulary" = None, *, seed: int | None = None, encoder: str | None = None
) -> Model:
    """Build a model with fresh or pretrained weights, in training mode.

    Args:
        config: its configuration; the model's own `config` has the sizes that are used in the end.
        captions: the texts from which a vocabulary of at most `config.vocabulary_size` pieces is made, or a tokeniser;
            not needed for a pretrained text tower, which brings its own.
        seed: of the fresh weights; without a seed torch's global generator makes them.
        encoder: the import path of your own model class.

    Raises:
        ItmlabError: there is nothing to make a vocabulary from, the weights need more memory than the machine has, or a
            checkpoint cannot be used.

    >>> model = build_model(DualEncoderConfig.tiny(), ["a dog runs", "a cat sleeps"] * 2, seed=0)
    >>> model.encode_captions(model.prepare_captions(["a cat"])).pooled.shape
    torch.Size([1, 96])
    """
    kind = model_class(config, encoder)
    with torch.random.fork_rng(enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        if kind is DualEncoder and config.image_pretrained:
            return _pretrained_dual_encoder(config)
        tokenizer = _vocabulary(config, captions)
        config = replace(config, vocabulary_size=len(tokenizer))
        outlined(lambda: kind(config, tokenizer))
        model = kind(config, tokenizer).train()
    if config.word_vectors:
        begin_with_word_vectors(model.captions.embedding, tokenizer)
    return model


@usual_defaults()
def build_from(saved: Model, config: ModelConfig, encoder: str | None = None) -> Model:
    """Build the model of `config` with the weights of a saved one, in training mode.

    A transformer that reads both sides together may become one that reads them separately; a matcher above it may be
    fresh.

    Args:
        saved: the saved model.
        config: the configuration of the new model.
        encoder: the import path of your own model class.

    Raises:
        ItmlabError: the saved model has another configuration; the message names the first field that differs.
    """
    saved = model_class(config, encoder).converted(saved)
    matcher = ("matcher", "similarity_dimension") if getattr(saved, "matcher", True) is None else ()
    free = (*config.adjustable, *matcher)
    wanted, present = parameters(config), parameters(saved.config)
    for name, value in wanted.items():
        if name not in (*free, "vocabulary_size") and value != present[name]:
            message = f"start has {name} {present[name]!r} and the recipe's model {value!r}"
            remedy = "start from a model of the same configuration, or change model of the recipe"
            raise ItmlabError(message, remedy=remedy)
    config = replace(saved.config, **{name: wanted[name] for name in free if name in wanted})
    model = build_model(config, saved.tokenizer, encoder=encoder)
    model.load_state_dict(model.state_dict() | saved.state_dict())
    return model


def _vocabulary(config: ModelConfig, source: "Vocabulary") -> "PreTrainedTokenizerFast":
    from transformers import PreTrainedTokenizerFast

    if source is None:
        raise ItmlabError("a text tower from scratch has no vocabulary", remedy="give build_model captions to make one")
    if isinstance(source, PreTrainedTokenizerFast):
        return source
    if config.word_vectors:
        return word_vocabulary(source, config.vocabulary_size)
    words = config.maximum_words
    captions = source if words is None else [cleaned(caption, words) for caption in source]
    return train_wordpiece(captions, config.vocabulary_size)


def _pretrained_dual_encoder(config: DualEncoderConfig) -> DualEncoder:
    """A dual encoder with towers from checkpoints, whose sizes its configuration takes over."""
    from transformers import BertModel, ViTModel

    image = _pretrained(ViTModel, config.image_pretrained)
    text = _pretrained(BertModel, config.text_pretrained)
    pixels = {"image_size": image.config.image_size, "patch_size": image.config.patch_size}
    longest = min(config.maximum_tokens, text.config.max_position_embeddings)
    places = {"vocabulary_size": text.config.vocab_size, "maximum_tokens": longest}
    config = replace(config, **pixels, **places, **_sizes(image.config, "image"), **_sizes(text.config, "text"))
    model = DualEncoder(config, public_tokenizer(config.text_pretrained))
    model.towers["image"], model.towers["text"] = image, text
    return model.train()


def _pretrained(kind: "type[PreTrainedModel]", name: str) -> "PreTrainedModel":
    """A published model of this kind, read from safetensors."""
    options = {"use_safetensors": True, "trust_remote_code": False, "output_loading_info": True}
    model, report = fetched(name, lambda: kind.from_pretrained(name, add_pooling_layer=False, **options))
    if missing := sorted(report["missing_keys"]):  # transformers would fill them with noise and a warning
        message = f"the checkpoint lacks {listed(missing, most=4)}"
        raise ItmlabError(message, where=name, remedy=f"use a checkpoint that {kind.__name__} was saved to")
    return model.float()


def _sizes(tower: "PretrainedConfig", side: str) -> dict[str, Any]:
    """The sizes of a published tower under our names, and its settings, which its own class reads back."""
    sizes = {f"{side}_{ours}": getattr(tower, name) for ours, name in SIZES.items()}
    settings = {name: value for name, value in tower.to_diff_dict().items() if name not in PROVENANCE}
    return sizes | {f"{side}_settings": settings}
