"""From a configuration to a model: fresh weights, or towers from published checkpoints.

Published weights are read from safetensors only and never with remote code; each fault is one line with its remedy.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from ...components import parameters
from ...errors import ItmlabError
from ...storage import fetched, read_json
from ...text.tokens import cleaned, train_wordpiece
from ..base import Model, listed, model_class
from ..config import CLIP_MEAN, CLIP_STD, DualEncoderConfig, ModelConfig
from ..dual_encoder import SIZES, ClipTowers, DualEncoder, ViTBertTowers
from .word_vectors import begin_with_word_vectors, word_vocabulary

if TYPE_CHECKING:
    from transformers import BertModel, CLIPModel, PreTrainedModel, PreTrainedTokenizerFast, ViTModel

    Vocabulary = Iterable[str] | PreTrainedTokenizerFast | None

# Families whose weights are known to need one activation, whatever a copied configuration file says.
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


def build_model(
    config: ModelConfig, captions: "Vocabulary" = None, *, seed: int | None = None, encoder: str | None = None
) -> Model:
    """Build a model with fresh or pretrained weights, in training mode.

    Args:
        config: its configuration; the model's own `config` has the sizes that were really used.
        captions: the texts from which a vocabulary of at most `config.vocabulary_size` pieces is made, or a tokeniser;
            not needed for a pretrained text tower, which brings its own.
        seed: of the fresh weights; torch's global generator makes them if there is none.
        encoder: the import path of your own model class.

    Raises:
        ItmlabError: there is nothing to make a vocabulary from, or a checkpoint cannot be used.

    >>> model = build_model(DualEncoderConfig.tiny(), ["a dog runs", "a cat sleeps"] * 2, seed=0)
    >>> model.encode_captions(model.prepare_captions(["a cat"])).pooled.shape
    torch.Size([1, 96])
    """
    kind = model_class(config, encoder)
    with torch.random.fork_rng(enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        if kind is DualEncoder:
            return _dual_encoder(config, captions)
        tokenizer = _vocabulary(config, captions)
        model = kind(replace(config, vocabulary_size=len(tokenizer)), tokenizer).train()
    if getattr(config, "word_vectors", None):
        for embedding in model.word_embeddings():
            begin_with_word_vectors(embedding, tokenizer)
    return model


def build_from(saved: Model, config: ModelConfig, encoder: str | None = None) -> Model:
    """Build the model of `config` with the weights of a saved one, in training mode.

    The transformer of a model that reads both sides together may become one that reads them apart, and the reverse,
    with fresh heads; a matcher above it may be fresh.

    Raises:
        ItmlabError: the saved model has another configuration; the first field that differs is named.
    """
    saved = model_class(config, encoder).converted(saved)
    matcher = ("matcher", "similarity_dimension") if getattr(saved, "matcher", True) is None else ()
    free = (*config.adjustable, *matcher)
    wanted, present = parameters(config), parameters(saved.config)
    for name, value in wanted.items():
        if name not in (*free, "vocabulary_size") and value != present[name]:
            what = f"start has {name} {present[name]!r} and the recipe's model {value!r}"
            remedy = "start from a model of the same configuration, or change model of the recipe"
            raise ItmlabError(what, remedy=remedy)
    config = replace(saved.config, **{name: wanted[name] for name in free if name in wanted})
    model = build_model(config, saved.tokenizer, encoder=encoder)
    model.load_state_dict(model.state_dict() | saved.state_dict())
    return model


def _dual_encoder(config: DualEncoderConfig, captions: "Vocabulary") -> DualEncoder:
    clip = image = text = tokenizer = None
    if config.image_tower == "clip" and config.image_pretrained is not None:
        config, clip, tokenizer = pretrained_clip(config)
    elif config.image_pretrained is not None:
        config, image = pretrained_vit(config)
    if config.image_tower == "vit" and config.text_pretrained is not None:
        config, text, tokenizer = pretrained_bert(config)
    if tokenizer is None:
        tokenizer = _vocabulary(config, captions)
        config = replace(config, vocabulary_size=len(tokenizer))
    is_clip = config.image_tower == "clip"
    towers = ClipTowers(config, tokenizer, clip) if is_clip else ViTBertTowers(config, image, text)
    return DualEncoder(config, tokenizer, towers).train()


def _vocabulary(config: ModelConfig, source: "Vocabulary") -> "PreTrainedTokenizerFast":
    from transformers import PreTrainedTokenizerFast

    if source is None:
        raise ItmlabError("a text tower from scratch has no vocabulary", remedy="give build_model captions to make one")
    if isinstance(source, PreTrainedTokenizerFast):
        return source
    if getattr(config, "word_vectors", None):
        return word_vocabulary(source, config.vocabulary_size)
    words = getattr(config, "maximum_words", None)
    read = source if words is None else [cleaned(caption, words) for caption in source]
    return train_wordpiece(read, config.vocabulary_size)


def pretrained_vit(config: DualEncoderConfig) -> "tuple[DualEncoderConfig, ViTModel]":
    """The ViT named by `image_pretrained`, and the configuration with its sizes."""
    from transformers import ViTModel

    tower = _pretrained(ViTModel, "vit", config.image_pretrained, config, add_pooling_layer=False)
    return replace(config, **_image(config, tower.config, VIT_PICTURES), image_settings=_known(tower.config)), tower


def pretrained_bert(config: DualEncoderConfig) -> "tuple[DualEncoderConfig, BertModel, PreTrainedTokenizerFast]":
    """The BERT named by `text_pretrained` with its tokeniser, and the configuration with its sizes."""
    from transformers import BertModel

    tower = _pretrained(BertModel, "bert", config.text_pretrained, config, add_pooling_layer=False)
    tokenizer = _tokenizer(config.text_pretrained)
    return replace(config, **_text(config, tower.config), text_settings=_known(tower.config)), tower, tokenizer


def pretrained_clip(config: DualEncoderConfig) -> "tuple[DualEncoderConfig, CLIPModel, PreTrainedTokenizerFast]":
    """The CLIP named by both `…_pretrained` with its tokeniser, and the configuration with its sizes."""
    from transformers import CLIPModel

    model = _pretrained(CLIPModel, "clip", config.image_pretrained, config)
    image, text = model.config.vision_config, model.config.text_config
    sizes = _image(config, image, CLIP_PICTURES) | _text(config, text) | {"dimension": model.config.projection_dim}
    config = replace(config, **sizes, image_settings=_known(image), text_settings=_known(text))
    return config, model, _tokenizer(config.image_pretrained)


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
    lacking = sorted(report["missing_keys"])
    if lacking:  # transformers would fill them with noise and a warning
        what = f"the checkpoint lacks {listed(lacking, most=4)}"
        raise ItmlabError(what, where=name, remedy=f"use a checkpoint that {kind.__name__} was saved to")
    return model.float()


def _check_activation(config: DualEncoderConfig, name: str, stated: set[str]) -> None:
    """Refuse GELU where QuickGELU belongs and the reverse: nothing fails, only every feature is slightly wrong."""
    known = next((act for family, act in FAMILY_ACTIVATION.items() if family in name.replace("\\", "/")), None)
    for source, needed in (("the caller asks for", config.activation), ("this family was trained with", known)):
        if needed is not None and stated != {needed}:
            what = f"{source} {needed} but the checkpoint says {' and '.join(sorted(stated))}"
            raise ItmlabError(what, where=name, remedy="use the activation that the weights were trained with")
    if len(stated) > 1:
        raise ItmlabError(f"the towers disagree on their activation: {' and '.join(sorted(stated))}", where=name)


def _tokenizer(name: str) -> "PreTrainedTokenizerFast":
    from transformers import AutoTokenizer

    return fetched(name, lambda: AutoTokenizer.from_pretrained(name, trust_remote_code=False, use_fast=True))


def _known(settings: Any) -> dict[str, Any]:
    """A `transformers` configuration as JSON values that its own class takes back."""
    return {name: value for name, value in settings.to_diff_dict().items() if name not in PROVENANCE}


def _text(config: DualEncoderConfig, known: Any) -> dict[str, Any]:
    """Our settings of a published text tower."""
    longest = min(config.maximum_tokens, known.max_position_embeddings)
    sizes = {f"text_{ours}": getattr(known, theirs) for ours, theirs in SIZES.items()}
    return sizes | {"vocabulary_size": known.vocab_size, "maximum_tokens": longest}


def _image(config: DualEncoderConfig, known: Any, usual: dict[str, Any]) -> dict[str, Any]:
    """Our settings of a published image tower, pictures prepared by its preprocessor_config.json where it has one."""
    from transformers.utils import cached_file

    sizes = {f"image_{ours}": getattr(known, theirs) for ours, theirs in SIZES.items()}
    sizes |= {"image_size": known.image_size, "patch_size": known.patch_size}
    if config.preparation == "given":
        return sizes
    name, file = config.image_pretrained, "preprocessor_config.json"
    path = fetched(name, lambda: cached_file(name, file, _raise_exceptions_for_missing_entries=False))
    stated = usual | (read_json(path) if path else {})
    if not path and "shortest_edge" in stated["size"]:
        stated["size"] = {"shortest_edge": known.image_size}
    size = stated["size"] if isinstance(stated["size"], dict) else {"shortest_edge": stated["size"]}
    if not stated.get("do_center_crop") and "height" not in size:
        size = {"height": size["shortest_edge"]}  # old files give one number for a square
    return sizes | {
        "shortest_edge": size.get("shortest_edge"),
        "interpolation": RESAMPLING.get(stated["resample"], "bilinear"),
        "mean": stated["image_mean"],
        "std": stated["image_std"],
    }
