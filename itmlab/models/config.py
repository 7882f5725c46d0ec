"""What a two-tower model is made of, as plain values that go to JSON and back."""

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_type_hints

from .plain_config import PlainConfig, is_whole

TOWERS = {"vit": "bert", "clip": "clip"}  # which text tower belongs to which image tower


@dataclass(frozen=True)
class TwoTowerConfig(PlainConfig):
    """Sizes of both towers and how pictures and captions are prepared (methods.md, sec. 1 and 5).

    `image_pretrained` and `text_pretrained` are hub names or local directories; sizes, dropout and picture preparation
    then come from the checkpoint, whose own configuration is kept in `image_settings` and `text_settings` so that a
    saved model needs nothing else. `activation` is taken from a checkpoint unless given, and then the two must agree.
    """

    image_tower: Literal["vit", "clip"] = "vit"
    text_tower: Literal["bert", "clip"] = "bert"
    image_pretrained: str | None = None
    text_pretrained: str | None = None
    dimension: int = 96
    image_size: int = 96
    patch_size: int = 12
    stem: Literal["linear", "convolutional"] = "linear"
    image_hidden: int = 96
    image_layers: int = 3
    image_heads: int = 4
    image_intermediate: int = 192
    text_hidden: int = 96
    text_layers: int = 2
    text_heads: int = 4
    text_intermediate: int = 192
    vocabulary_size: int = 1000
    maximum_tokens: int = 48
    dropout: float = 0.0
    activation: Literal["gelu", "quick_gelu", "relu"] | None = None
    attention: Literal["sdpa", "eager"] = "sdpa"
    shortest_edge: int | None = None
    interpolation: Literal["bilinear", "bicubic", "lanczos"] = "bilinear"
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    deviation: tuple[float, float, float] = (0.5, 0.5, 0.5)
    image_settings: dict[str, Any] | None = None
    text_settings: dict[str, Any] | None = None

    def __post_init__(self):
        hints = get_type_hints(type(self))
        for field in fields(self):
            object.__setattr__(self, field.name, _checked(field.name, getattr(self, field.name), hints[field.name]))
        if TOWERS[self.image_tower] != self.text_tower:
            raise self.refused(f"a {self.image_tower} image tower goes with a {TOWERS[self.image_tower]} text tower")
        if self.image_tower == "clip" and self.image_pretrained != self.text_pretrained:
            raise self.refused("both CLIP towers come from one checkpoint, so both names must be the same")
        if self.stem != "linear" and (self.image_tower == "clip" or self.image_pretrained is not None):
            raise self.refused("a convolutional stem is for a ViT trained from scratch")
        if self.image_size % self.patch_size:
            raise self.refused(f"{self.image_size} px do not divide into patches of {self.patch_size} px")

    @classmethod
    def tiny(cls) -> "TwoTowerConfig":
        """A ViT and a BERT of 0.6 M parameters at 96 px that train from scratch on two CPU cores in minutes."""
        return cls(stem="convolutional", image_layers=4)

    @classmethod
    def base(cls) -> "TwoTowerConfig":
        """The FNE paper's encoders: vit-base-patch16 and bert-base-uncased (appendix A.2)."""
        return cls(
            image_pretrained="google/vit-base-patch16-224-in21k",
            text_pretrained="google-bert/bert-base-uncased",
            dimension=768,
            image_size=224,
            patch_size=16,
            maximum_tokens=64,
        )

    @classmethod
    def large(cls) -> "TwoTowerConfig":
        """The same pair one size up: vit-large-patch16 and bert-large-uncased."""
        return cls(
            image_pretrained="google/vit-large-patch16-224-in21k",
            text_pretrained="google-bert/bert-large-uncased",
            dimension=1024,
            image_size=224,
            patch_size=16,
            maximum_tokens=64,
        )

    @classmethod
    def clip(cls, name: str = "openai/clip-vit-base-patch32") -> "TwoTowerConfig":
        """Both towers of one CLIP checkpoint, by hub name or local directory."""
        return cls(
            image_tower="clip",
            text_tower="clip",
            image_pretrained=name,
            text_pretrained=name,
            image_size=224,
            patch_size=32,
            maximum_tokens=77,
        )


def _checked(name: str, value: Any, kind: Any) -> Any:
    """`value` if it fits the annotation `kind`, with JSON's lists made tuples; an ItmlabError otherwise."""
    options = [part for part in get_args(kind) if part is not type(None)]
    if type(None) in get_args(kind):
        if value is None:
            return None
        kind, options = options[0], get_args(options[0])
    if options and all(isinstance(option, str) for option in options):  # Literal
        if value in options:
            return value
        raise TwoTowerConfig.refused(f"{name} is {value!r}, not one of {', '.join(map(repr, options))}")
    if name in ("mean", "deviation"):
        if isinstance(value, list | tuple) and len(value) == 3 and all(_number(one) for one in value):
            return tuple(float(one) for one in value)
        raise TwoTowerConfig.refused(f"{name} is {value!r}, not three numbers")
    if kind is int and is_whole(value):
        return value
    if kind is float and _number(value) and 0 <= value < 1:  # dropout
        return float(value)
    if (kind is str and isinstance(value, str)) or (kind == dict[str, Any] and isinstance(value, dict)):
        return value
    raise TwoTowerConfig.refused(f"{name} cannot be {value!r}")


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
