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
from ...storage import fetched, read_json
from ...text.tokens import cleaned, public_tokenizer, train_wordpiece
from ..base import Model, listed, model_class, outlined
from ..config import CLIP_MEAN, CLIP_STD, DualEncoderConfig, ModelConfig
from ..dual_encoder import SIZES, ClipTowers, DualEncoder, ViTBertTowers
from .word_vectors import begin_with_word_vectors, word_vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    Vocabulary = Iterable[str] | PreTrainedTokenizerFast | None

# Families whose weights need one activation, whatever a copied configuration file says.
FAMILY_ACTIVATION = {"openai/clip-": "quick_gelu", "laion/CLIP-": "gelu"}
PROVENANCE = ("transformers_version", "model_type", "architectures", "dtype", "torch_dtype", "_name_or_path")
VIT_PICTURES = {"size": {"height": 224}, "resample": 2, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
CLIP_PICTURES = {
    "size": {"shortest_edge": 224},
    "do_center_crop": True,
    "resample": 3,
    "image_mean": list(CLIP_MEAN),
    "image_std": list(CLIP_STD),
}
RESAMPLING = {1: "lanczos", 2: "bilinear", 3: "bicubic"}  # Pillow's numbers in preprocessor_config.json


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
        if kind is DualEncoder and (config.image_pretrained or config.text_pretrained):
            return _pretrained_dual_encoder(config, captions)
        tokenizer = _vocabulary(config, captions)
        config = replace(config, vocabulary_size=len(tokenizer))
        outlined(lambda: kind(config, tokenizer))
        model = kind(config, tokenizer).train()
    if getattr(config, "word_vectors", None):
        begin_with_word_vectors(model.captions.embedding, tokenizer)
    return model


@usual_defaults()
def build_from(saved: Model, config: ModelConfig, encoder: str | None = None) -> Model:
    """Build the model of `config` with the weights of a saved one, in training mode.

    A transformer that reads both sides together may become one that reads them separately, and the reverse, with fresh
    heads; a matcher above it may be fresh.

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
    if getattr(config, "word_vectors", None):
        return word_vocabulary(source, config.vocabulary_size)
    words = getattr(config, "maximum_words", None)
    captions = source if words is None else [cleaned(caption, words) for caption in source]
    return train_wordpiece(captions, config.vocabulary_size)


def _pretrained_dual_encoder(config: DualEncoderConfig, captions: "Vocabulary") -> DualEncoder:
    """A dual encoder with towers from checkpoints, whose sizes its configuration takes over."""
    from transformers import BertModel, CLIPModel, ViTModel

    image_name, text_name = config.image_pretrained, config.text_pretrained
    if config.image_tower == "clip":
        clip = _pretrained(CLIPModel, "clip", image_name, config)
        image, text = clip.config.vision_config, clip.config.text_config
        fields = _image_fields(config, image, CLIP_PICTURES) | _text_fields(config, text)
        config = replace(config, **fields, dimension=clip.config.projection_dim)
        tokenizer = public_tokenizer(image_name)
        return DualEncoder(config, tokenizer, ClipTowers(config, tokenizer, clip)).train()
    image_tower = text_tower = None
    if image_name is not None:
        image_tower = _pretrained(ViTModel, "vit", image_name, config, add_pooling_layer=False)
        config = replace(config, **_image_fields(config, image_tower.config, VIT_PICTURES))
    if text_name is not None:
        text_tower = _pretrained(BertModel, "bert", text_name, config, add_pooling_layer=False)
        config, tokenizer = replace(config, **_text_fields(config, text_tower.config)), public_tokenizer(text_name)
    else:
        tokenizer = _vocabulary(config, captions)
        config = replace(config, vocabulary_size=len(tokenizer))
    return DualEncoder(config, tokenizer, ViTBertTowers(config, image_tower, text_tower)).train()


def _pretrained(
    kind: "type[PreTrainedModel]", model_type: str, name: str, config: DualEncoderConfig, **options: Any
) -> Any:
    """A published model of this kind, read from safetensors; its activation is checked before its weights are read."""
    from transformers import AutoConfig

    settings = fetched(name, lambda: AutoConfig.from_pretrained(name, trust_remote_code=False))
    if settings.model_type != model_type:
        raise ItmlabError(f"a {settings.model_type} checkpoint, not a {model_type} one", where=name)
    towers = [settings.vision_config, settings.text_config] if model_type == "clip" else [settings]
    _check_activation(config, name, {tower.hidden_act for tower in towers})
    options |= {"use_safetensors": True, "trust_remote_code": False, "output_loading_info": True}
    model, report = fetched(name, lambda: kind.from_pretrained(name, **options))
    if missing := sorted(report["missing_keys"]):  # transformers would fill them with noise and a warning
        message = f"the checkpoint lacks {listed(missing, most=4)}"
        raise ItmlabError(message, where=name, remedy=f"use a checkpoint that {kind.__name__} was saved to")
    return model.float()


def _check_activation(config: DualEncoderConfig, name: str, stated: set[str]) -> None:
    """Refuse GELU where QuickGELU belongs and the reverse: nothing fails, only every feature is slightly wrong."""
    of_family = next((act for family, act in FAMILY_ACTIVATION.items() if family in name.replace("\\", "/")), None)
    for source, needed in (("the caller asks for", config.activation), ("this family was trained with", of_family)):
        if needed is not None and stated != {needed}:
            message = f"{source} {needed} but the checkpoint says {' and '.join(sorted(stated))}"
            raise ItmlabError(message, where=name, remedy="use the activation that the weights were trained with")
    if len(stated) > 1:
        raise ItmlabError(f"the towers disagree on their activation: {' and '.join(sorted(stated))}", where=name)


def _settings(tower: Any) -> dict[str, Any]:
    """A `transformers` configuration as JSON values that its own class reads back."""
    return {name: value for name, value in tower.to_diff_dict().items() if name not in PROVENANCE}


def _text_fields(config: DualEncoderConfig, tower: Any) -> dict[str, Any]:
    """The fields of our configuration for a published text tower."""
    longest = min(config.maximum_tokens, tower.max_position_embeddings)
    sizes = {f"text_{ours}": getattr(tower, name) for ours, name in SIZES.items()}
    return sizes | {"vocabulary_size": tower.vocab_size, "maximum_tokens": longest, "text_settings": _settings(tower)}


def _image_fields(config: DualEncoderConfig, tower: Any, usual: dict[str, Any]) -> dict[str, Any]:
    """The fields for a published image tower, with the preparation of its preprocessor_config.json or the usual one."""
    from transformers.utils import cached_file

    sizes = {f"image_{ours}": getattr(tower, name) for ours, name in SIZES.items()}
    sizes |= {"image_size": tower.image_size, "patch_size": tower.patch_size, "image_settings": _settings(tower)}
    if config.preparation == "given":
        return sizes
    name, file = config.image_pretrained, "preprocessor_config.json"
    path = fetched(name, lambda: cached_file(name, file, _raise_exceptions_for_missing_entries=False))
    stated = usual | (read_json(path) if path else {})
    if not path and "shortest_edge" in stated["size"]:
        stated["size"] = {"shortest_edge": tower.image_size}
    size = stated["size"] if isinstance(stated["size"], dict) else {"shortest_edge": stated["size"]}
    if not stated.get("do_center_crop") and "height" not in size:
        size = {"height": size["shortest_edge"]}  # old files give one number for a square
    return sizes | {
        "shortest_edge": size.get("shortest_edge"),
        "interpolation": RESAMPLING.get(stated["resample"], "bilinear"),
        "mean": stated["image_mean"],
        "std": stated["image_std"],
    }
