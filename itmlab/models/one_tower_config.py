"""What a one-tower model is made of, as plain values that go to JSON and back."""

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_type_hints

from .plain_config import PlainConfig, is_whole

Form = Literal["uniter", "oscar"]
BOX_NUMBERS = {"uniter": 7, "oscar": 6}  # x1, y1, x2, y2, width, height, and UNITER's area


@dataclass(frozen=True)
class OneTowerConfig(PlainConfig):
    """Sizes of a single-stream transformer over tokens and regions or patches (methods.md, sec. 3 and 5).

    `form` says how the picture enters: "uniter" adds a feature and a box embedding, "oscar" embeds both together and
    reads the object tags as further tokens, placed at positions from `maximum_tokens` on, as OSCAR's fine-tuning does
    (40 there). With `visual="patches"` the regions are patches of a prepared picture and `region_dimension` is the
    width of the patch stem.
    """

    form: Form = "uniter"
    visual: Literal["regions", "patches"] = "regions"
    region_dimension: int = 2048
    hidden: int = 768
    layers: int = 12
    heads: int = 12
    intermediate: int = 3072
    vocabulary_size: int = 28996
    maximum_tokens: int = 64
    maximum_tags: int = 64
    positions: int = 512
    types: int = 2
    dropout: float = 0.1
    normalised_regions: bool = False
    layer_norm_epsilon: float = 1e-12
    image_size: int = 96
    patch_size: int = 12

    def __post_init__(self):
        hints = get_type_hints(type(self))
        for field in fields(self):
            _check(field.name, getattr(self, field.name), hints[field.name])
        if self.hidden % self.heads:
            raise self.refused(f"{self.hidden} dimensions do not divide into {self.heads} attention heads")
        if self.image_size % self.patch_size:
            raise self.refused(f"{self.image_size} px do not divide into patches of {self.patch_size} px")
        if self.positions < self.longest_text:
            raise self.refused(f"{self.positions} positions do not hold {self.longest_text} tokens")
        if self.types < 2:
            raise self.refused("text and picture (or tags) need 2 types")

    @property
    def box_dimension(self) -> int:
        """Numbers of a box that this form reads: 7 (UNITER) or 6 (OSCAR)."""
        return BOX_NUMBERS[self.form]

    @property
    def longest_text(self) -> int:
        """Positions that a caption, and in OSCAR's form the tags behind it, may take."""
        return self.maximum_tokens + (self.maximum_tags if self.form == "oscar" else 0)

    @classmethod
    def tiny(cls, form: Form = "uniter", visual: Literal["regions", "patches"] = "patches") -> "OneTowerConfig":
        """A tower of 4 layers and 96 dimensions that trains from scratch on two CPU cores in minutes."""
        return cls(
            form=form,
            visual=visual,
            region_dimension=96,
            hidden=96,
            layers=4,
            heads=4,
            intermediate=192,
            vocabulary_size=1000,
            maximum_tokens=48,
            maximum_tags=24,
            positions=96,
            dropout=0.0,
        )

    @classmethod
    def base(cls, form: Form = "uniter") -> "OneTowerConfig":
        """The TAGS paper's base size (appendix A.1): 12 layers, 768 dimensions, 12 heads, 2048-number regions."""
        return cls(form=form, vocabulary_size=28996 if form == "uniter" else 30522)

    @classmethod
    def large(cls, form: Form = "uniter") -> "OneTowerConfig":
        """The TAGS paper's large size (appendix A.1): 24 layers, 1024 dimensions, 16 heads."""
        vocabulary_size = 28996 if form == "uniter" else 30522
        return cls(form=form, hidden=1024, layers=24, heads=16, intermediate=4096, vocabulary_size=vocabulary_size)


@dataclass(frozen=True)
class SeparateOneTowerConfig(OneTowerConfig):
    """A one tower's sizes, marked as one that `encodes` images and captions separately."""

    encodes: Literal["separately"] = "separately"


def _check(name: str, value: Any, kind: Any) -> None:
    if kind is bool:
        good = isinstance(value, bool)
    elif kind is int:
        good = is_whole(value)
    elif kind is float:
        good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1
    else:
        good = value in get_args(kind)
    if not good:
        raise OneTowerConfig.refused(f"{name} cannot be {value!r}")
