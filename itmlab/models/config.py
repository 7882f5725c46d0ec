"""What the four kinds of models are made of, as plain values that go to JSON and back without loading torch."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self

from ..components import Component
from ..errors import ItmlabError
from ..fields import ABOVE_0, BELOW_1, FINITE, Range, check_ranges, hints_of, to_plain, typed

Kind = Literal["scan_t2i", "scan_i2t", "sgr", "saf", "sgraf", "vsrn", "vsepp"]
Form = Literal["uniter", "oscar"]

TOWERS = {"vit": "bert", "clip": "clip"}  # which text tower belongs to which image tower
BOX_NUMBERS = {"uniter": 7, "oscar": 6}  # x1, y1, x2, y2, width, height, and UNITER's area
CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
VOCABULARY = {"uniter": 28996, "oscar": 30522}  # pieces of bert-base-cased and of bert-base-uncased

# What SCAN's authors take image-to-text on Flickr30K (their README; λ₂ = 20 on COCO).
IMAGE_TO_TEXT = {"lambda_softmax": 4.0, "lambda_lse": 5.0}
# What the released code sets besides: VSRN's writer, and the batch normalisation of its Flickr30K model.
RELEASED_VSRN = {"dropout": 0.2, "writer_dimension": 512, "batch_norm": True}

# What a number may be unless its field's metadata say otherwise: whole ones are sizes, others shares, such as dropout.
RANGES: dict[type, Range] = {int: ((lambda value: 1 <= value <= 2**20), "1 to 1048576"), float: BELOW_1}
# Layers and steps, of which each is made before any weight is seen.
DEPTH: Range = (lambda value: 1 <= value <= 256), "1 to 256"


class ModelConfig(Component):
    """Base class of model configurations, which are frozen dataclasses of plain values.

    A configuration says what its model can do, so that the rest of the package need not know the model's class. One of
    your own needs the fields `vocabulary_size`, `maximum_tokens` and `dimension`. A value that does not fit its field
    is an ItmlabError of one line.

    Attributes:
        model: where the class of the model is, "file:Name" within `itmlab.models`; your own class goes into the recipe
            as its `encoder`.
        reads: what of an image the model reads; "regions" are what a detector or a photo encoder found in it.
        encodes_apart: whether images and captions are encoded apart. A model that reads both together is trained by
            the step of TAGS-DC.
        compares_parts: whether `similarity` compares regions with words instead of one feature with one.
        writes_captions: whether the model also learns to write the caption from the image.
        pretrains_towers: whether both encoders can be pretrained before they are aligned.
        photo_encoder: the frozen network that makes regions of pictures.
        shortest_edge: the edge to which a picture is resized before its centre is cut out; None keeps the whole.
        adjustable: the fields that may change after training because no weight depends on them.
    """

    model: ClassVar[str]
    reads: ClassVar[Literal["pictures", "regions"]] = "pictures"
    encodes_apart: ClassVar[bool] = True
    compares_parts: ClassVar[bool] = False
    writes_captions: ClassVar[bool] = False
    pretrains_towers: ClassVar[bool] = False
    photo_encoder: ClassVar[str | None] = None
    shortest_edge: ClassVar[int | None] = None
    adjustable: ClassVar[tuple[str, ...]] = ("dropout",)

    @property
    def takes_pictures(self) -> bool:
        """Whether the model can be shown a picture that belongs to no data set."""
        return self.reads == "pictures" or self.photo_encoder is not None

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for item in fields(self):
            value = typed(hints[item.name], getattr(self, item.name), item.name)
            object.__setattr__(self, item.name, value)  # the dataclass is frozen
            kind = type(value[0] if isinstance(value, tuple) else value)
            if kind in RANGES:
                usual = DEPTH if item.name.endswith(("layers", "steps")) else RANGES[kind]
                check_ranges(self, "", **{item.name: item.metadata.get("range", usual)})

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return to_plain(self)

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """The inverse of `to_dict`; unknown names and values of the wrong type are an ItmlabError.

        >>> LateInteractionConfig.from_dict({"kind": "sgraf", "dropout": 0.4}).dropout
        0.4
        """
        return typed(cls, values, "model")

    def require(self, condition: bool, what: str, remedy: str | None = None) -> None:
        """Raise an ItmlabError that says `what` is wrong unless `condition` holds."""
        if not condition:
            remedy = remedy or f"see itmlab.models.{type(self).__name__}"
            raise ItmlabError(what, where="model configuration", remedy=remedy)


@dataclass(frozen=True)
class DualEncoderConfig(ModelConfig):
    """Sizes of both towers and how pictures and captions are prepared (METHODS 1 and 5).

    `image_pretrained` and `text_pretrained` are hub names or local directories; sizes, dropout and picture preparation
    then come from the checkpoint, whose own configuration is kept in `image_settings` and `text_settings` so that a
    saved model needs nothing else. `activation` is taken from a checkpoint unless given, and then the two must agree.
    `preparation="given"` prepares pictures for a checkpoint by `shortest_edge`, `interpolation`, `mean` and `std` of
    this configuration. With `maximum_words` captions are cleaned, and cut to so many words, before they are tokenised.
    Without a `projection` the towers' own features are compared, both of size `dimension`.
    """

    model: ClassVar[str] = "dual_encoder:DualEncoder"

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
    shortest_edge: int | None = None
    interpolation: Literal["bilinear", "bicubic", "lanczos"] = "bilinear"
    mean: tuple[float, float, float] = field(default=(0.5, 0.5, 0.5), metadata={"range": FINITE})
    std: tuple[float, float, float] = field(default=(0.5, 0.5, 0.5), metadata={"range": FINITE})
    image_settings: dict[str, Any] | None = None
    text_settings: dict[str, Any] | None = None
    projection: Literal["linear", "none"] = "linear"
    preparation: Literal["checkpoint", "given"] = "checkpoint"
    maximum_words: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        is_clip, text = self.image_tower == "clip", TOWERS[self.image_tower]
        self.require(self.text_tower == text, f"a {self.image_tower} image tower goes with a {text} text tower")
        same = self.image_pretrained == self.text_pretrained
        self.require(same or not is_clip, "both CLIP towers come from one checkpoint, so both names must be the same")
        from_scratch = self.image_pretrained is None and not is_clip
        self.require(self.stem == "linear" or from_scratch, "a convolutional stem is for a ViT trained from scratch")
        whole = self.image_size % self.patch_size == 0
        self.require(whole, f"{self.image_size} px do not divide into patches of {self.patch_size} px")
        if self.projection == "none":
            self.require(not is_clip, "CLIP's towers have projections of their own")
        for side in ("image", "text"):
            layers, settings = getattr(self, f"{side}_layers"), getattr(self, f"{side}_settings")
            stated = (settings or {}).get("num_hidden_layers", layers)
            self.require(stated == layers, f"{side}_settings have another number of layers than the {layers} stated")
            # The width of a checkpoint is known once its settings are.
            known = settings is not None or getattr(self, f"{side}_pretrained") is None
            width = getattr(self, f"{side}_hidden")
            fits = self.projection == "linear" or not known or width == self.dimension
            self.require(fits, f"without a projection {side}_hidden must equal dimension, got {width} dimensions")

    @property
    def pretrains_towers(self) -> bool:
        """Whether the towers are two, a ViT and a BERT."""
        return self.image_tower == "vit"

    @classmethod
    def tiny(cls) -> "DualEncoderConfig":
        """A ViT and a BERT of 0.6 M parameters at 96 px that train from scratch on two CPU cores in minutes."""
        return cls(stem="convolutional", image_layers=4)

    @classmethod
    def base(cls, preset: Literal["paper", "released"] = "paper") -> "DualEncoderConfig":
        """The FNE paper's encoders: vit-base-patch16 and bert-base-uncased (appendix A.2).

        Those of its released code see 384 px in CLIP's colours, read 30 cleaned words, and have no linear maps.
        """
        image, text = "google/vit-base-patch16-224-in21k", "google-bert/bert-base-uncased"
        sizes = {"dimension": 768, "image_size": 224, "patch_size": 16, "maximum_tokens": 64}
        paper = cls(image_pretrained=image, text_pretrained=text, **sizes)
        if preset == "paper":
            return paper
        read = {"image_size": 384, "maximum_tokens": 512, "maximum_words": 30, "projection": "none"}
        colours = {"preparation": "given", "interpolation": "bicubic", "mean": CLIP_MEAN, "std": CLIP_STD}
        return replace(paper, image_pretrained="google/vit-base-patch16-384", **read, **colours)

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
class LateInteractionConfig(ModelConfig):
    """Sizes of a matcher of regions with words (METHODS 5); an image may have any number of regions.

    `kind`: SCAN text-to-image or image-to-text (`aggregation` log-sum-exp or mean), SGRAF's reasoning, its filtration
    or the mean of both over shared features, VSRN, VSE++. `lambda_softmax` and `lambda_lse` are SCAN's λ₁ and λ₂; its
    authors take 9 and 6 text-to-image, 4 and 5 image-to-text. For regions that are pixels: (value − `region_mean`) /
    `region_std`, `region_layers` above the papers' one linear map, and `boxes` as 7 further numbers.
    `batch_norm=True` restores SGRAF's batch normalisation in its filtration, by which a pair's score in training
    depends on the other pairs.

    `preset="released"` computes what the authors' public code does where that is not what their paper says (METHODS 5);
    SGR and SAF then read at most `region_count` regions, and VSRN's `batch_norm` makes it the model of Flickr30K, not
    of COCO. `writer_dimension` is the width of VSRN's caption writer, the matcher's own unless given.

    `photo_encoder` names the frozen network that makes regions of pictures (`models.photographs`), of which a share
    `dropout` is hidden in training. With `word_vectors` words are a linear map of WordLlama's vectors, which stay as
    they are, in place of the recurrent network: what a thousand photographs can teach.

    >>> LateInteractionConfig.base("scan_i2t", preset="released").lambda_softmax
    4.0
    """

    model: ClassVar[str] = "fragment:LateInteraction"
    reads: ClassVar[Literal["pictures", "regions"]] = "regions"

    kind: Kind = "scan_t2i"
    aggregation: Literal["lse", "mean"] = "lse"
    region_dimension: int = 2048
    region_mean: float = field(default=0.0, metadata={"range": FINITE})
    region_std: float = field(default=1.0, metadata={"range": ABOVE_0})
    region_layers: int = 1
    boxes: bool = False
    dimension: int = 1024
    word_dimension: int = 300
    vocabulary_size: int = 10000
    maximum_tokens: int = 64
    lambda_softmax: float = field(default=9.0, metadata={"range": ABOVE_0})
    lambda_lse: float = field(default=6.0, metadata={"range": ABOVE_0})
    similarity_dimension: int = 256
    reasoning_steps: int = 3
    graph_layers: int = 4
    batch_norm: bool = False
    dropout: float = 0.0
    preset: Literal["paper", "released"] = "paper"
    region_count: int = 36
    writer_dimension: int | None = None
    photo_encoder: Literal["efficientnet_lite0"] | None = None
    word_vectors: Literal["wordllama"] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        apart = "train sgr and saf, and take itmlab.train.ensemble of both runs"
        self.require(not self.released or self.kind != "sgraf", "the released SGRAF is two models trained apart", apart)
        kinds = "there are scan_t2i, scan_i2t, sgr, saf and vsrn"
        self.require(not self.released or self.kind != "vsepp", "vsepp has no preset 'released'", kinds)
        fits = self.word_vectors is None or self.word_dimension == 256
        self.require(fits, f"word vectors of {self.word_dimension} numbers", "WordLlama's have 256")

    @property
    def released(self) -> bool:
        """Whether it computes what the public code does."""
        return self.preset == "released"

    @property
    def compares_parts(self) -> bool:
        """Whether regions are compared with words, and not one feature with one."""
        return self.kind not in ("vsrn", "vsepp")

    @property
    def writes_captions(self) -> bool:
        """Whether it is VSRN, which learns to write captions as well."""
        return self.kind == "vsrn"

    @property
    def box_dimension(self) -> int:
        """Numbers of a box that are read beside its features."""
        return 7 if self.boxes else 0

    def of_kind(self, kind: str) -> dict[str, float]:
        """The λ that another kind wants instead, as far as this one's are its authors' own."""
        usual = {"lambda_softmax": 9.0, "lambda_lse": 6.0}
        ours, theirs = (usual | (IMAGE_TO_TEXT if each == "scan_i2t" else {}) for each in (self.kind, kind))
        return {name: theirs[name] for name in usual if getattr(self, name) == ours[name]}

    @classmethod
    def tiny(cls, kind: Kind = "scan_t2i", **changes: Any) -> "LateInteractionConfig":
        """Over the pixel regions of `scenes`, from scratch on two CPU cores in minutes."""
        regions = {"region_dimension": 192, "region_mean": 0.5, "region_std": 0.25, "region_layers": 2}
        words = {"word_dimension": 64, "vocabulary_size": 1000, "maximum_tokens": 48}
        sizes = {"boxes": True, "dimension": 96, "similarity_dimension": 32}
        own = IMAGE_TO_TEXT if kind == "scan_i2t" else {}
        return cls(**({"kind": kind} | own | regions | words | sizes | changes))

    @classmethod
    def base(cls, kind: Kind = "scan_t2i", **changes: Any) -> "LateInteractionConfig":
        """The papers' sizes over 36 × 2048 region features: 1024 dimensions, 300 a word, VSRN's 2048."""
        own = {"vsrn": {"dimension": 2048}, "scan_i2t": IMAGE_TO_TEXT}
        own |= {each: {"dropout": 0.4} for each in ("sgr", "saf", "sgraf")}
        released = RELEASED_VSRN if kind == "vsrn" and changes.get("preset") == "released" else {}
        return cls(**({"kind": kind} | own.get(kind, {}) | released | changes))


@dataclass(frozen=True)
class CrossEncoderConfig(ModelConfig):
    """Sizes of a single-stream transformer over tokens and regions or patches (METHODS 3 and 5).

    `form` says how the picture enters: "uniter" adds a feature and a box embedding, "oscar" embeds both together and
    reads object tags as further tokens; with `object_tags` those of the regions, else only tags that are given. By
    `tag_positions` they stand "after_caption", sharing its `maximum_tokens` places (OSCAR's retrieval: 70), or "padded"
    on `maximum_tags` places of their own from `maximum_tokens` on (its captioning: 30 from 40 on). With
    `visual="patches"` the regions are patches of a prepared picture and `region_dimension` is the width of the patch
    stem. `photo_encoder` is the frozen network that makes regions of pictures; with `word_vectors` a fresh model begins
    with WordLlama's, narrowed to its width. `aligned` is the dual encoder, kind "vsepp" with word vectors, by whose
    cosine its matching begins, and whose regions and words it reads besides its own (METHODS 3.11).

    >>> CrossEncoderConfig.tiny("oscar").box_dimension
    6
    """

    model: ClassVar[str] = "cross_encoder:CrossEncoder"
    encodes_apart: ClassVar[bool] = False
    adjustable: ClassVar[tuple[str, ...]] = ("dropout", "object_tags", "tag_positions")

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
    object_tags: bool = False
    tag_positions: Literal["after_caption", "padded"] = "after_caption"
    photo_encoder: Literal["efficientnet_lite0"] | None = None
    word_vectors: Literal["wordllama"] | None = None
    aligned: LateInteractionConfig | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (aligned := self.aligned) is not None:
            fits = aligned.kind == "vsepp" and aligned.word_vectors and self.word_vectors and not aligned.boxes
            self.require(fits, "an aligned start is of kind 'vsepp', with word_vectors and without boxes")
            same = self.visual == "regions" and aligned.region_dimension == self.region_dimension
            self.require(same, "an aligned start reads other regions than the model", "give both the same")
        divides = self.hidden % self.heads == 0
        self.require(divides, f"{self.hidden} dimensions do not divide into {self.heads} attention heads")
        whole = self.image_size % self.patch_size == 0
        self.require(whole, f"{self.image_size} px do not divide into patches of {self.patch_size} px")
        fits = self.positions >= self.longest_text
        self.require(fits, f"{self.positions} positions do not hold {self.longest_text} tokens")
        self.require(self.types >= 2, "text and picture (or tags) need 2 types")
        regions = self.visual == "regions" or not self.photo_encoder
        self.require(regions, "a photo_encoder makes regions, and the model reads patches")
        self.require(self.form == "oscar" or not self.object_tags, "only the OSCAR form reads object tags")

    @property
    def reads(self) -> Literal["pictures", "regions"]:
        """What of an image the model reads: patches are parts of a picture."""
        return "regions" if self.visual == "regions" else "pictures"

    @property
    def box_dimension(self) -> int:
        """Numbers of a box that this form reads: 7 (UNITER) or 6 (OSCAR)."""
        return BOX_NUMBERS[self.form]

    @property
    def longest_text(self) -> int:
        """Positions that a caption, and in OSCAR's form the tags behind it, may take."""
        apart = self.form == "oscar" and self.tag_positions == "padded"
        return self.maximum_tokens + (self.maximum_tags if apart else 0)

    @classmethod
    def tiny(cls, form: Form = "uniter", visual: Literal["regions", "patches"] = "patches") -> "CrossEncoderConfig":
        """A tower of 4 layers and 96 dimensions that trains from scratch on two CPU cores in minutes."""
        tower = {"hidden": 96, "layers": 4, "heads": 4, "intermediate": 192, "region_dimension": 96, "dropout": 0.0}
        text = {"vocabulary_size": 1000, "maximum_tokens": 48, "maximum_tags": 24, "positions": 96}
        return cls(form, visual, **tower, **text, object_tags=form == "oscar")

    @classmethod
    def base(cls, form: Form = "uniter") -> "CrossEncoderConfig":
        """The TAGS paper's base size (appendix A.1): 12 layers, 768 dimensions, 12 heads, 2048-number regions.

        In OSCAR's form with its tags, and the 70 places that its retrieval has for caption and tags.
        """
        oscar = {"maximum_tokens": 70, "object_tags": True} if form == "oscar" else {}
        return cls(form, vocabulary_size=VOCABULARY[form], **oscar)

    @classmethod
    def large(cls, form: Form = "uniter") -> "CrossEncoderConfig":
        """The TAGS paper's large size (appendix A.1): 24 layers, 1024 dimensions, 16 heads."""
        return replace(cls.base(form), hidden=1024, layers=24, heads=16, intermediate=4096)


@dataclass(frozen=True)
class OscarDualEncoderConfig(CrossEncoderConfig):
    """Sizes of OSCAR's transformer as a dual encoder, which are a cross-encoder's.

    A `matcher` of SGRAF compares its regions with its word pieces (ITContrast, Table 1, "Ours (SGRAF)"), of
    `similarity_dimension` numbers a likeness and with a dropout of its own; else it is one feature with one.
    """

    model: ClassVar[str] = "oscar:OscarDualEncoder"
    encodes_apart: ClassVar[bool] = True
    pretrains_towers: ClassVar[bool] = True
    adjustable: ClassVar[tuple[str, ...]] = (*CrossEncoderConfig.adjustable, "matcher_dropout")

    matcher: Literal["sgr", "saf", "sgraf"] | None = None
    similarity_dimension: int = 256
    matcher_dropout: float = 0.4

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
