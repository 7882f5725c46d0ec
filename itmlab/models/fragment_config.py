"""What a fragment matcher is made of, as plain values that go to JSON and back."""

import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, get_args, get_type_hints

from .plain_config import PlainConfig, is_whole

Kind = Literal["scan_t2i", "scan_i2t", "sgr", "saf", "sgraf", "vsrn", "vsepp"]


@dataclass(frozen=True)
class FragmentConfig(PlainConfig):
    """Sizes of a matcher of regions with words (methods.md, sec. 5); an image may have any number of regions.

    `kind`: SCAN text-to-image or image-to-text (`aggregation` log-sum-exp or mean), SGRAF's reasoning, its filtration
    or the mean of both over shared features, VSRN, VSE++. `lambda_softmax` and `lambda_lse` are SCAN's λ₁ and λ₂; its
    authors take 9 and 6 text-to-image, 4 and 5 image-to-text. For regions that are pixels: (value − `region_mean`) /
    `region_deviation`, `region_layers` above the papers' one linear map, and `boxes` as 7 further numbers.
    `batch_norm=True` restores SGRAF's batch normalisation in its filtration, by which a pair's score in training
    depends on the other pairs.
    """

    visual: ClassVar[str] = "regions"  # what it looks at, as a one tower's configuration says it

    kind: Kind = "scan_t2i"
    aggregation: Literal["lse", "mean"] = "lse"
    region_dimension: int = 2048
    region_mean: float = 0.0
    region_deviation: float = 1.0
    region_layers: int = 1
    boxes: bool = False
    dimension: int = 1024
    word_dimension: int = 300
    vocabulary_size: int = 10000
    maximum_tokens: int = 64
    lambda_softmax: float = 9.0
    lambda_lse: float = 6.0
    similarity_dimension: int = 256
    reasoning_steps: int = 3
    graph_layers: int = 4
    batch_norm: bool = False
    dropout: float = 0.0

    def __post_init__(self):
        hints = get_type_hints(type(self))
        for field in fields(self):
            _check(field.name, getattr(self, field.name), hints[field.name])

    @property
    def box_dimension(self) -> int:
        """Numbers of a box that are read beside its features."""
        return 7 if self.boxes else 0

    @classmethod
    def tiny(cls, kind: Kind = "scan_t2i", **changes: Any) -> "FragmentConfig":
        """Over the pixel regions of `scenes`, from scratch on two CPU cores in minutes."""
        sizes = cls(
            kind=kind,
            region_dimension=192,
            region_mean=0.5,
            region_deviation=0.25,
            region_layers=2,
            boxes=True,
            dimension=96,
            word_dimension=64,
            vocabulary_size=1000,
            maximum_tokens=48,
            similarity_dimension=32,
        )
        return replace(sizes, **changes)

    @classmethod
    def base(cls, kind: Kind = "scan_t2i", **changes: Any) -> "FragmentConfig":
        """The papers' sizes over 36 × 2048 region features: 1024 dimensions, 300 a word, VSRN's 2048."""
        own = {"vsrn": {"dimension": 2048}, "sgr": {"dropout": 0.4}, "saf": {"dropout": 0.4}, "sgraf": {"dropout": 0.4}}
        return replace(cls(kind=kind, **own.get(kind, {})), **changes)


def _check(name: str, value: Any, kind: Any) -> None:
    if kind is bool:
        good = isinstance(value, bool)
    elif kind is int:
        good = is_whole(value)
    elif kind is float:
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        good = number and (name == "region_mean" or (0 <= value < 1 if name == "dropout" else value > 0))
    else:
        good = value in get_args(kind)
    if not good:
        raise FragmentConfig.refused(f"{name} cannot be {value!r}")
