"""Towers from published checkpoints: safetensors only, never remote code, each fault one line with its remedy."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import ItmlabError
from ...storage import fetched, read_json
from ..config import TwoTowerConfig

if TYPE_CHECKING:
    from transformers import BertModel, CLIPModel, PreTrainedModel, PreTrainedTokenizerFast, ViTModel


# Families whose weights are known to need one activation, whatever a copied configuration file says.
FAMILY_ACTIVATION = {"openai/clip-": "quick_gelu", "laion/CLIP-": "gelu"}
PROVENANCE = ("transformers_version", "model_type", "architectures", "dtype", "torch_dtype", "_name_or_path")
VIT_PICTURES = {"size": {"height": 224}, "resample": 2, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
CLIP_PICTURES = {
    "size": {"shortest_edge": 224},
    "do_center_crop": True,
    "resample": 3,
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
}
RESAMPLING = {1: "lanczos", 2: "bilinear", 3: "bicubic"}  # Pillow's numbers in preprocessor_config.json


def pretrained_vit(config: TwoTowerConfig) -> "tuple[TwoTowerConfig, ViTModel]":
    """The ViT named by `image_pretrained`, and the configuration with its sizes."""
    from transformers import ViTModel

    name = config.image_pretrained
    settings = _settings(name, "vit")
    _check_activation(config, name, {"image tower": settings.hidden_act})
    tower = _weights(ViTModel, name, config, add_pooling_layer=False)
    known = tower.config
    return replace(
        config,
        **_sizes("image", known),
        **_preparation(name, known.image_size, VIT_PICTURES),
        patch_size=known.patch_size,
        image_settings=_known(known),
    ), tower


def pretrained_bert(config: TwoTowerConfig) -> "tuple[TwoTowerConfig, BertModel, PreTrainedTokenizerFast]":
    """The BERT named by `text_pretrained` with its tokeniser, and the configuration with its sizes."""
    from transformers import BertModel

    name = config.text_pretrained
    settings = _settings(name, "bert")
    _check_activation(config, name, {"text tower": settings.hidden_act})
    tower = _weights(BertModel, name, config, add_pooling_layer=False)
    known = tower.config
    config = replace(
        config,
        **_sizes("text", known),
        vocabulary_size=known.vocab_size,
        maximum_tokens=min(config.maximum_tokens, known.max_position_embeddings),
        text_settings=_known(known),
    )
    return config, tower, _tokenizer(name)


def pretrained_clip(config: TwoTowerConfig) -> "tuple[TwoTowerConfig, CLIPModel, PreTrainedTokenizerFast]":
    """The CLIP named by both `…_pretrained` with its tokeniser, and the configuration with its sizes."""
    from transformers import CLIPModel

    name = config.image_pretrained
    settings = _settings(name, "clip")
    image, text = settings.vision_config, settings.text_config
    _check_activation(config, name, {"image tower": image.hidden_act, "text tower": text.hidden_act})
    model = _weights(CLIPModel, name, config)
    config = replace(
        config,
        **_sizes("image", image),
        **_sizes("text", text),
        **_preparation(name, image.image_size, CLIP_PICTURES),
        dimension=model.config.projection_dim,
        patch_size=image.patch_size,
        vocabulary_size=text.vocab_size,
        maximum_tokens=min(config.maximum_tokens, text.max_position_embeddings),
        image_settings=_known(model.config.vision_config),
        text_settings=_known(model.config.text_config),
    )
    return config, model, _tokenizer(name)


def _settings(name: str, kind: str) -> Any:
    from transformers import AutoConfig

    settings = fetched(name, lambda: AutoConfig.from_pretrained(name, trust_remote_code=False))
    if settings.model_type != kind:
        raise ItmlabError(f"a {settings.model_type} checkpoint, not a {kind} one", where=name)
    return settings


def _weights(kind: "type[PreTrainedModel]", name: str, config: TwoTowerConfig, **options: Any) -> Any:
    def load() -> "tuple[PreTrainedModel, dict[str, Any]]":
        return kind.from_pretrained(
            name,
            use_safetensors=True,
            trust_remote_code=False,
            attn_implementation=config.attention,
            output_loading_info=True,
            **options,
        )

    model, report = fetched(name, load)
    lacking = sorted(report["missing_keys"])
    if lacking:  # transformers would fill them with noise and a warning
        raise ItmlabError(
            f"the checkpoint lacks {', '.join(lacking[:4])}{' and more' if len(lacking) > 4 else ''}",
            where=name,
            remedy=f"use a checkpoint that {kind.__name__} was saved to",
        )
    return model.float()


def _tokenizer(name: str) -> "PreTrainedTokenizerFast":
    from transformers import AutoTokenizer

    return fetched(name, lambda: AutoTokenizer.from_pretrained(name, trust_remote_code=False, use_fast=True))


def _check_activation(config: TwoTowerConfig, name: str, stated: dict[str, str]) -> None:
    """Refuse GELU where QuickGELU belongs and the reverse: nothing fails, only every feature is slightly wrong."""
    known = next((act for family, act in FAMILY_ACTIVATION.items() if family in name.replace("\\", "/")), None)
    for source, needed in (("the caller asks for", config.activation), ("this family was trained with", known)):
        for tower, found in stated.items():
            if needed is not None and found != needed:
                raise ItmlabError(
                    f"{source} {needed} but the {tower} of the checkpoint says {found}",
                    where=name,
                    remedy="use the activation that the weights were trained with",
                )
    if len(set(stated.values())) > 1:
        raise ItmlabError(f"the towers disagree on their activation: {stated}", where=name)


def _sizes(side: str, known: Any) -> dict[str, int]:
    return {
        f"{side}_hidden": known.hidden_size,
        f"{side}_layers": known.num_hidden_layers,
        f"{side}_heads": known.num_attention_heads,
        f"{side}_intermediate": known.intermediate_size,
    }


def _known(settings: Any) -> dict[str, Any]:
    """A `transformers` configuration as JSON values that its own class takes back."""
    return {name: value for name, value in settings.to_diff_dict().items() if name not in PROVENANCE}


def _preparation(name: str, image_size: int, usual: dict[str, Any]) -> dict[str, Any]:
    """How the checkpoint wants its pictures: by its preprocessor_config.json where it has one."""
    from transformers.utils import cached_file

    def find() -> str | None:
        return cached_file(name, "preprocessor_config.json", _raise_exceptions_for_missing_entries=False)

    path = fetched(name, find)
    stated = usual | (read_json(path) if path else {})
    if not path and "shortest_edge" in stated["size"]:
        stated["size"] = {"shortest_edge": image_size}
    size = stated["size"] if isinstance(stated["size"], dict) else {"shortest_edge": stated["size"]}
    if not stated.get("do_center_crop") and "height" not in size:
        size = {"height": size["shortest_edge"]}  # old files give one number for a square
    return {
        "image_size": image_size,
        "shortest_edge": size.get("shortest_edge"),
        "interpolation": RESAMPLING.get(stated["resample"], "bilinear"),
        "mean": stated["image_mean"],
        "deviation": stated["image_std"],
    }
