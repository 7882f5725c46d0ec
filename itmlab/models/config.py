"""Configurations of the four kinds of models: frozen dataclasses of plain values, read without loading torch."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from ..components import Component
from ..fields import BELOW_1, MOST, Count, Positive, between, check, check_fields, refusal

Kind = Literal["scan_t2i", "scan_i2t", "sgr", "saf", "sgraf", "vsrn", "vsepp"]
Form = Literal["uniter", "oscar"]

CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)

Depth = Annotated[int, between(1, 256)]  # layers and steps, which are made one by one before any weight is read
Pixels = Annotated[int, between(1, 4096)]  # edges of a picture: memory grows with their square
Rate = Annotated[float, BELOW_1]


class ModelConfig(Component):
    """Base class of model configurations, which are frozen dataclasses of plain values.

    A configuration describes what its model can do, so that the rest of the package need not know the model's class.
    A configuration of your own needs the fields `vocabulary_size`, `maximum_tokens` and `dimension`. A value that does
    not fit its field is an ItmlabError of one line.

    Attributes:
        model: where the class of the model is, "file:Name" within `itmlab.models`; your own class goes into the recipe
            as its `encoder`.
        reads: what the model reads of an image; "regions" come from a detector or a photo encoder.
        encodes_apart: whether images and captions are encoded separately. A model that reads both together is trained
            by the step of TAGS-DC.
        compares_parts: whether `similarity` compares regions with words instead of one feature with one.
        pretrains_towers: whether both encoders can be pretrained before they are aligned.
        photo_encoder: the frozen network that makes regions of pictures.
        adjustable: the fields that may change after training because no weight depends on them.
        maximum_words: clean captions, and cut them to so many words, before they are tokenised.
        word_vectors: where fixed vectors of words come from.
    """

    model: ClassVar[str]
    reads: ClassVar[Literal["pictures", "regions"]] = "pictures"
    encodes_apart: ClassVar[bool] = True
    compares_parts: ClassVar[bool] = False
    pretrains_towers: ClassVar[bool] = False
    photo_encoder: ClassVar[str | None] = None
    adjustable: ClassVar[tuple[str, ...]] = ("dropout",)
    maximum_words: ClassVar[int | None] = None
    word_vectors: ClassVar[str | None] = None

    @property
    def takes_pictures(self) -> bool:
        """Whether the model can read a picture that belongs to no data set."""
        return self.reads == "pictures" or self.photo_encoder is not None

    def __post_init__(self) -> None:
        check_fields(self, "")

    def check_patches(self) -> None:
        """Raise an ItmlabError unless patches of `patch_size` px fill a picture of `image_size` px."""
        wanted = f"a multiple of patch_size, {self.patch_size}"
        check(self.image_size % self.patch_size == 0, "image_size", self.image_size, wanted)


@dataclass(frozen=True)
class DualEncoderConfig(ModelConfig):
    """Sizes of a ViT and a BERT, and the preparation of pictures and captions (METHODS 1 and 5).

    With pretrained towers, sizes and dropout come from the checkpoints. Their own configurations are kept in
    `image_settings` and `text_settings`, so that a saved model needs nothing else.

    Args:
        image_pretrained: hub name or local directory of the image tower's checkpoint; None starts from scratch.
        text_pretrained: the same for the text tower; both towers are pretrained, or neither.
        interpolation: how pictures are resized. This, `mean` and `std` must be those of the image tower's checkpoint.
        projection: "none" compares the towers' own features, both of size `dimension`.
        maximum_words: clean captions, and cut them to so many words, before they are tokenised.
    """

    model: ClassVar[str] = "dual_encoder:DualEncoder"
    pretrains_towers: ClassVar[bool] = True

    image_pretrained: str | None = None
    text_pretrained: str | None = None
    dimension: Count = 96
    image_size: Pixels = 96
    patch_size: Count = 12
    stem: Literal["linear", "convolutional"] = "linear"
    image_hidden: Count = 96
    image_layers: Depth = 3
    image_heads: Count = 4
    image_intermediate: Count = 192
    text_hidden: Count = 96
    text_layers: Depth = 2
    text_heads: Count = 4
    text_intermediate: Count = 192
    vocabulary_size: Count = 1000
    maximum_tokens: Count = 48
    dropout: Rate = 0.0
    interpolation: Literal["bilinear", "bicubic", "lanczos"] = "bilinear"
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    std: tuple[float, float, float] = (0.5, 0.5, 0.5)
    image_settings: dict[str, Any] | None = None
    text_settings: dict[str, Any] | None = None
    projection: Literal["linear", "none"] = "linear"
    maximum_words: Count | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_patches()
        is_fresh = self.image_pretrained is None
        both = is_fresh == (self.text_pretrained is None)
        check(both, "text_pretrained", self.text_pretrained, "given with image_pretrained: both, or neither")
        for_stem = is_fresh and self.patch_size % 4 == 0 and self.patch_size >= 8
        wanted = "linear, unless a ViT is trained from scratch with patches of 8, 12, 16 or 32 px"
        check(self.stem == "linear" or for_stem, "stem", self.stem, wanted)
        for side in ("image", "text"):
            layers, settings = getattr(self, f"{side}_layers"), getattr(self, f"{side}_settings") or {}
            depth = settings.get("num_hidden_layers", layers)
            check(depth == layers, f"{side}_settings.num_hidden_layers", depth, f"{side}_layers, {layers}")

    @classmethod
    def tiny(cls) -> "DualEncoderConfig":
        """Return a ViT and a BERT of 0.6 M parameters at 96 px, which two CPU cores train from scratch in minutes."""
        return cls(stem="convolutional", image_layers=4)

    @classmethod
    def base(cls, preset: Literal["paper", "released"] = "paper") -> "DualEncoderConfig":
        """Return the FNE paper's encoders: vit-base-patch16 and bert-base-uncased (appendix A.2).

        Those of its released code read pictures of 384 px in CLIP's colours and 30 cleaned words, without linear maps.
        """
        paper = cls(
            image_pretrained="google/vit-base-patch16-224-in21k",
            text_pretrained="google-bert/bert-base-uncased",
            dimension=768,
            image_size=224,
            patch_size=16,
            maximum_tokens=64,
        )
        if preset == "paper":
            return paper
        return replace(
            paper,
            image_pretrained="google/vit-base-patch16-384",
            image_size=384,
            maximum_tokens=512,
            maximum_words=30,
            projection="none",
            interpolation="bicubic",
            mean=CLIP_MEAN,
            std=CLIP_STD,
        )

    @classmethod
    def large(cls) -> "DualEncoderConfig":
        """Return the same pair one size up: vit-large-patch16 and bert-large-uncased."""
        image, text = "google/vit-large-patch16-224-in21k", "google-bert/bert-large-uncased"
        return replace(cls.base(), image_pretrained=image, text_pretrained=text, dimension=1024)


@dataclass(frozen=True)
class LateInteractionConfig(ModelConfig):
    """Sizes of a model that compares regions with words (METHODS 5); an image may have any number of regions.

    Args:
        kind: SCAN text-to-image or image-to-text, SGRAF's reasoning, its filtration, the mean of both over shared
            features, VSRN, or VSE++.
        aggregation: SCAN's pooling, log-sum-exp or mean.
        region_mean: regions that are pixels are read as (value - `region_mean`) / `region_std`.
        region_layers: layers of the map of regions; the papers have one.
        boxes: read 7 numbers of a region's box besides its features.
        lambda_softmax: SCAN's lambda 1; None takes its authors', 9 text-to-image and 4 image-to-text.
        lambda_lse: SCAN's lambda 2; None takes its authors' for Flickr30K, 6 text-to-image and 5 image-to-text.
        batch_norm: restore SGRAF's batch normalisation in its filtration, by which a pair's score in training depends
            on the other pairs. Under `preset="released"` it makes VSRN the model of Flickr30K, not of COCO.
        preset: "released" computes what the authors' public code does where their paper says something else.
        region_count: the number of regions of every image that SGR and SAF read under `preset="released"`.
        photo_encoder: the frozen network that makes regions of pictures (`models.photographs`); a share `dropout` of
            them is hidden in training.
        word_vectors: a word is a linear map of WordLlama's vector, which stays fixed, instead of a recurrent network's
            state: few photographs can teach that.

    >>> LateInteractionConfig.base("scan_i2t", preset="released").lambdas
    (4.0, 5.0)
    """

    model: ClassVar[str] = "fragment:LateInteraction"
    reads: ClassVar[Literal["pictures", "regions"]] = "regions"

    kind: Kind = "scan_t2i"
    aggregation: Literal["lse", "mean"] = "lse"
    region_dimension: Count = 2048
    region_mean: float = 0.0
    region_std: Positive = 1.0
    region_layers: Depth = 1
    boxes: bool = False
    dimension: Count = 1024
    word_dimension: Count = 300
    vocabulary_size: Count = 10000
    maximum_tokens: Count = 64
    lambda_softmax: Positive | None = None
    lambda_lse: Positive | None = None
    similarity_dimension: Count = 256
    reasoning_steps: Depth = 3
    graph_layers: Depth = 4
    batch_norm: bool = False
    dropout: Rate = 0.0
    preset: Literal["paper", "released"] = "paper"
    region_count: Count = 36
    photo_encoder: Literal["efficientnet_lite0"] | None = None
    word_vectors: Literal["wordllama"] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.released and self.kind in ("sgraf", "vsepp"):
            remedy = "for the released SGRAF take itmlab.train.ensemble of an sgr and a saf model"
            raise refusal(f"no released {self.kind}", remedy)
        fits = self.word_vectors is None or self.word_dimension == 256
        check(fits, "word_dimension", self.word_dimension, "256, as WordLlama's vectors are")

    @property
    def released(self) -> bool:
        """Whether the model computes what the public code does."""
        return self.preset == "released"

    @property
    def compares_parts(self) -> bool:
        """Whether regions are compared with words, and not one feature with one."""
        return self.kind not in ("vsrn", "vsepp")

    @property
    def box_dimension(self) -> int:
        """Numbers of a box that are read beside its features."""
        return 7 if self.boxes else 0

    @property
    def lambdas(self) -> tuple[float, float]:
        """SCAN's lambdas: those of the fields, or else its authors' (on COCO lambda 2 is 20 image-to-text)."""
        softmax, lse = (4.0, 5.0) if self.kind == "scan_i2t" else (9.0, 6.0)
        return self.lambda_softmax or softmax, self.lambda_lse or lse

    @classmethod
    def tiny(cls, kind: Kind = "scan_t2i", **changes: Any) -> "LateInteractionConfig":
        """Return a model over the pixel regions of `scenes`, which two CPU cores train from scratch in minutes."""
        config = cls(
            kind,
            region_dimension=192,
            region_mean=0.5,
            region_std=0.25,
            region_layers=2,
            boxes=True,
            dimension=96,
            word_dimension=64,
            vocabulary_size=1000,
            maximum_tokens=48,
            similarity_dimension=32,
        )
        return replace(config, **changes)

    @classmethod
    def base(cls, kind: Kind = "scan_t2i", **changes: Any) -> "LateInteractionConfig":
        """Return the papers' sizes over 36 x 2048 region features: 1024 dimensions (VSRN 2048), 300 per word."""
        config = cls(
            kind,
            dimension=2048 if kind == "vsrn" else 1024,
            dropout=0.4 if kind in ("sgr", "saf", "sgraf") else 0.0,
            batch_norm=kind == "vsrn" and changes.get("preset") == "released",
        )
        return replace(config, **changes)


@dataclass(frozen=True)
class CrossEncoderConfig(ModelConfig):
    """Sizes of a single-stream transformer over tokens and regions or patches (METHODS 3 and 5).

    Args:
        form: how an image enters. "uniter" adds an embedding of the feature and one of the box; "oscar" embeds both
            together and reads object tags behind the caption, within its `maximum_tokens` places.
        visual: "patches" reads patches of a prepared picture as regions.
        region_dimension: numbers per region, or the width of the patch stem.
        positions: rows of the table of positions.
        types: rows of the table of types: text, and image or tags.
        normalised_regions: whether the image embedding ends in a LayerNorm, as in VinVL's checkpoints.
        object_tags: whether the tags of the regions are read; otherwise only tags that are given.

    >>> CrossEncoderConfig.base("oscar").box_dimension
    6
    """

    model: ClassVar[str] = "cross_encoder:CrossEncoder"
    encodes_apart: ClassVar[bool] = False
    adjustable: ClassVar[tuple[str, ...]] = ("dropout", "object_tags")

    form: Form = "uniter"
    visual: Literal["regions", "patches"] = "regions"
    region_dimension: Count = 2048
    hidden: Count = 768
    layers: Depth = 12
    heads: Count = 12
    intermediate: Count = 3072
    vocabulary_size: Count = 28996  # pieces of bert-base-cased
    maximum_tokens: Count = 64
    positions: Count = 512
    types: Annotated[int, between(2, MOST)] = 2
    dropout: Rate = 0.1
    normalised_regions: bool = False
    layer_norm_epsilon: Rate = 1e-12
    image_size: Pixels = 96
    patch_size: Count = 12
    object_tags: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_patches()
        check(self.hidden % self.heads == 0, "hidden", self.hidden, f"a multiple of heads, {self.heads}")
        enough = f"maximum_tokens, {self.maximum_tokens}, or more"
        check(self.positions >= self.maximum_tokens, "positions", self.positions, enough)
        check(self.form == "oscar" or not self.object_tags, "form", self.form, "oscar, as only that reads object_tags")

    @property
    def reads(self) -> Literal["pictures", "regions"]:
        """What the model reads of an image: patches are parts of a picture."""
        return "regions" if self.visual == "regions" else "pictures"

    @property
    def box_dimension(self) -> int:
        """Numbers of a box that this form reads: x1, y1, x2, y2, width, height, and UNITER's area."""
        return 7 if self.form == "uniter" else 6

    @classmethod
    def base(cls, form: Form = "uniter") -> "CrossEncoderConfig":
        """Return the TAGS paper's base size (appendix A.1): 12 layers, 768 dimensions, regions of 2048 numbers.

        OSCAR's form has its tags, and the 70 places that its retrieval has for caption and tags.
        """
        if form == "uniter":
            return cls()
        return cls(form, vocabulary_size=30522, maximum_tokens=70, object_tags=True)  # pieces of bert-base-uncased

    @classmethod
    def large(cls, form: Form = "uniter") -> "CrossEncoderConfig":
        """Return the TAGS paper's large size (appendix A.1): 24 layers, 1024 dimensions, 16 heads."""
        return replace(cls.base(form), hidden=1024, layers=24, heads=16, intermediate=4096)


@dataclass(frozen=True)
class OscarDualEncoderConfig(CrossEncoderConfig):
    """Sizes of OSCAR's transformer as a dual encoder, which are a cross-encoder's.

    Args:
        matcher: SGRAF's comparison of regions with word pieces (ITContrast, Table 1, "Ours (SGRAF)"); None compares one
            feature with one.
        similarity_dimension: numbers per likeness of two parts in the matcher.
        matcher_dropout: the matcher's own dropout.
    """

    model: ClassVar[str] = "oscar:OscarDualEncoder"
    encodes_apart: ClassVar[bool] = True
    pretrains_towers: ClassVar[bool] = True
    adjustable: ClassVar[tuple[str, ...]] = (*CrossEncoderConfig.adjustable, "matcher_dropout")

    matcher: Literal["sgr", "saf", "sgraf"] | None = None
    similarity_dimension: Count = 256
    matcher_dropout: Rate = 0.4

    @property
    def dimension(self) -> int:
        """The length of its global features, which a memory holds."""
        return self.hidden

    @property
    def compares_parts(self) -> bool:
        """Whether regions are compared with words, and not one feature with one."""
        return self.matcher is not None

    @property
    def matching(self) -> LateInteractionConfig:
        """The configuration of its matcher."""
        sizes = {"dimension": self.hidden, "similarity_dimension": self.similarity_dimension}
        return LateInteractionConfig(self.matcher, **sizes, dropout=self.matcher_dropout)
