"""What the four kinds of models are made of, as plain values that go to JSON and back without loading torch."""

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

from ..errors import ItmlabError

Kind = Literal["scan_t2i", "scan_i2t", "sgr", "saf", "sgraf", "vsrn", "vsepp"]
Form = Literal["uniter", "oscar"]
Good = Callable[[float], bool]

TOWERS = {"vit": "bert", "clip": "clip"}  # which text tower belongs to which image tower
BOX_NUMBERS = {"uniter": 7, "oscar": 6}  # x1, y1, x2, y2, width, height, and UNITER's area
VOCABULARY = {"uniter": 28996, "oscar": 30522}  # pieces of bert-base-cased and of bert-base-uncased

# What a number that is not whole may be: a share in [0, 1), such as dropout, unless its field says otherwise.
SHARE: dict[str, Good] = {"good": lambda number: 0 <= number < 1}
ANY: dict[str, Good] = {"good": lambda number: True}
POSITIVE: dict[str, Good] = {"good": lambda number: number > 0}

# Fields whose name changed after files had been published: in files they keep the name that they had.
PUBLISHED = {"std": "deviation", "region_std": "region_deviation"}


class PlainConfig:
    """Base of a frozen dataclass of plain values; a value that does not fit its field is an ItmlabError of one line."""

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for item in fields(self):
            try:
                value = _fitting(hints[item.name], getattr(self, item.name), (item.metadata or SHARE)["good"])
            except ValueError as fault:
                raise self.refused(f"{item.name} {fault}") from None
            object.__setattr__(self, item.name, value)  # the dataclass is frozen

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {PUBLISHED.get(name, name): value for name, value in plain.items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The inverse of `to_dict`; unknown names and values of the wrong type are an ItmlabError.

        >>> LateInteractionConfig.from_dict({"kind": "sgraf", "dropout": 0.4}).dropout
        0.4
        """
        names = {PUBLISHED.get(item.name, item.name): item.name for item in fields(cls)}
        names |= {item.name: item.name for item in fields(cls)}
        unknown = sorted(set(values) - set(names))
        if unknown:
            raise cls.refused(f"unknown setting {', '.join(map(repr, unknown))}")
        return cls(**{names[name]: value for name, value in values.items()})

    @classmethod
    def refused(cls, what: str) -> ItmlabError:
        """The error that says what is wrong with a configuration of this class."""
        return ItmlabError(what, where="model configuration", remedy=f"see itmlab.models.{cls.__name__}")


def _fitting(hint: Any, value: Any, good: Good) -> Any:
    """`value` if it fits the annotation `hint`, int made float and list made tuple where that says so; or ValueError.

    Whole numbers are sizes, so they begin at 1; others are finite and `good`.
    """
    kind, options = get_origin(hint) or hint, get_args(hint)
    if type(None) in options:
        return None if value is None else _fitting(options[0], value, good)
    if kind is Literal:
        if value not in options:
            raise ValueError(f"is {value!r}, not one of {', '.join(map(repr, options))}")
        return value
    if kind is tuple:
        three = value if isinstance(value, list | tuple) else ()
        try:
            return tuple(_fitting(one, item, good) for one, item in zip(options, three, strict=True))
        except ValueError:
            raise ValueError(f"is {value!r}, not three numbers") from None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float and number and abs(value) <= sys.float_info.max and good(value):  # no NaN, no 10**400
        return float(value)
    whole = kind is int and number and isinstance(value, int) and value > 0
    if whole or (kind in (bool, str, dict) and isinstance(value, kind)):
        return value
    raise ValueError(f"cannot be {value!r}")


@dataclass(frozen=True)
class DualEncoderConfig(PlainConfig):
    """Sizes of both towers and how pictures and captions are prepared (METHODS 1 and 5).

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
    mean: tuple[float, float, float] = field(default=(0.5, 0.5, 0.5), metadata=ANY)
    std: tuple[float, float, float] = field(default=(0.5, 0.5, 0.5), metadata=ANY)
    image_settings: dict[str, Any] | None = None
    text_settings: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if TOWERS[self.image_tower] != self.text_tower:
            raise self.refused(f"a {self.image_tower} image tower goes with a {TOWERS[self.image_tower]} text tower")
        if self.image_tower == "clip" and self.image_pretrained != self.text_pretrained:
            raise self.refused("both CLIP towers come from one checkpoint, so both names must be the same")
        if self.stem != "linear" and (self.image_tower == "clip" or self.image_pretrained is not None):
            raise self.refused("a convolutional stem is for a ViT trained from scratch")
        if self.image_size % self.patch_size:
            raise self.refused(f"{self.image_size} px do not divide into patches of {self.patch_size} px")

    @classmethod
    def tiny(cls) -> "DualEncoderConfig":
        """A ViT and a BERT of 0.6 M parameters at 96 px that train from scratch on two CPU cores in minutes."""
        return cls(stem="convolutional", image_layers=4)

    @classmethod
    def base(cls) -> "DualEncoderConfig":
        """The FNE paper's encoders: vit-base-patch16 and bert-base-uncased (appendix A.2)."""
        image, text = "google/vit-base-patch16-224-in21k", "google-bert/bert-base-uncased"
        sizes = {"dimension": 768, "image_size": 224, "patch_size": 16, "maximum_tokens": 64}
        return cls(image_pretrained=image, text_pretrained=text, **sizes)

    @classmethod
    def large(cls) -> "DualEncoderConfig":
        """The same pair one size up: vit-large-patch16 and bert-large-uncased."""
        image, text = "google/vit-large-patch16-224-in21k", "google-bert/bert-large-uncased"
        return replace(cls.base(), image_pretrained=image, text_pretrained=text, dimension=1024)

    @classmethod
    def clip(cls, name: str = "openai/clip-vit-base-patch32") -> "DualEncoderConfig":
        """Both towers of one CLIP checkpoint, by hub name or local directory."""
        sizes = {"image_size": 224, "patch_size": 32, "maximum_tokens": 77}
        return cls(image_tower="clip", text_tower="clip", image_pretrained=name, text_pretrained=name, **sizes)


@dataclass(frozen=True)
class LateInteractionConfig(PlainConfig):
    """Sizes of a matcher of regions with words (METHODS 5); an image may have any number of regions.

    `kind`: SCAN text-to-image or image-to-text (`aggregation` log-sum-exp or mean), SGRAF's reasoning, its filtration
    or the mean of both over shared features, VSRN, VSE++. `lambda_softmax` and `lambda_lse` are SCAN's λ₁ and λ₂; its
    authors take 9 and 6 text-to-image, 4 and 5 image-to-text. For regions that are pixels: (value − `region_mean`) /
    `region_std`, `region_layers` above the papers' one linear map, and `boxes` as 7 further numbers.
    `batch_norm=True` restores SGRAF's batch normalisation in its filtration, by which a pair's score in training
    depends on the other pairs.
    """

    visual: ClassVar[str] = "regions"  # what it looks at, as a cross-encoder's configuration says it

    kind: Kind = "scan_t2i"
    aggregation: Literal["lse", "mean"] = "lse"
    region_dimension: int = 2048
    region_mean: float = field(default=0.0, metadata=ANY)
    region_std: float = field(default=1.0, metadata=POSITIVE)
    region_layers: int = 1
    boxes: bool = False
    dimension: int = 1024
    word_dimension: int = 300
    vocabulary_size: int = 10000
    maximum_tokens: int = 64
    lambda_softmax: float = field(default=9.0, metadata=POSITIVE)
    lambda_lse: float = field(default=6.0, metadata=POSITIVE)
    similarity_dimension: int = 256
    reasoning_steps: int = 3
    graph_layers: int = 4
    batch_norm: bool = False
    dropout: float = 0.0

    @property
    def box_dimension(self) -> int:
        """Numbers of a box that are read beside its features."""
        return 7 if self.boxes else 0

    @classmethod
    def tiny(cls, kind: Kind = "scan_t2i", **changes: Any) -> "LateInteractionConfig":
        """Over the pixel regions of `scenes`, from scratch on two CPU cores in minutes."""
        regions = {"region_dimension": 192, "region_mean": 0.5, "region_std": 0.25, "region_layers": 2}
        words = {"word_dimension": 64, "vocabulary_size": 1000, "maximum_tokens": 48}
        sizes = {"boxes": True, "dimension": 96, "similarity_dimension": 32}
        return cls(**({"kind": kind} | regions | words | sizes | changes))

    @classmethod
    def base(cls, kind: Kind = "scan_t2i", **changes: Any) -> "LateInteractionConfig":
        """The papers' sizes over 36 × 2048 region features: 1024 dimensions, 300 a word, VSRN's 2048."""
        own = {"vsrn": {"dimension": 2048}, "sgr": {"dropout": 0.4}, "saf": {"dropout": 0.4}, "sgraf": {"dropout": 0.4}}
        return cls(**({"kind": kind} | own.get(kind, {}) | changes))


@dataclass(frozen=True)
class CrossEncoderConfig(PlainConfig):
    """Sizes of a single-stream transformer over tokens and regions or patches (METHODS 3 and 5).

    `form` says how the picture enters: "uniter" adds a feature and a box embedding, "oscar" embeds both together and
    reads the object tags as further tokens, placed at positions from `maximum_tokens` on, as OSCAR's fine-tuning does
    (40 there). With `visual="patches"` the regions are patches of a prepared picture and `region_dimension` is the
    width of the patch stem.

    >>> CrossEncoderConfig.tiny("oscar").box_dimension
    6
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

    def __post_init__(self) -> None:
        super().__post_init__()
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
    def tiny(cls, form: Form = "uniter", visual: Literal["regions", "patches"] = "patches") -> "CrossEncoderConfig":
        """A tower of 4 layers and 96 dimensions that trains from scratch on two CPU cores in minutes."""
        tower = {"hidden": 96, "layers": 4, "heads": 4, "intermediate": 192, "region_dimension": 96, "dropout": 0.0}
        text = {"vocabulary_size": 1000, "maximum_tokens": 48, "maximum_tags": 24, "positions": 96}
        return cls(form, visual, **tower, **text)

    @classmethod
    def base(cls, form: Form = "uniter") -> "CrossEncoderConfig":
        """The TAGS paper's base size (appendix A.1): 12 layers, 768 dimensions, 12 heads, 2048-number regions."""
        return cls(form, vocabulary_size=VOCABULARY[form])

    @classmethod
    def large(cls, form: Form = "uniter") -> "CrossEncoderConfig":
        """The TAGS paper's large size (appendix A.1): 24 layers, 1024 dimensions, 16 heads."""
        return replace(cls.base(form), hidden=1024, layers=24, heads=16, intermediate=4096)


@dataclass(frozen=True)
class OscarDualEncoderConfig(CrossEncoderConfig):
    """A cross-encoder's sizes, marked as one that `encodes` images and captions separately."""

    encodes: Literal["separately"] = "separately"
