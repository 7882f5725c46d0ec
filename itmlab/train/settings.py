"""The settings that a recipe is made of: frozen dataclasses that check their ranges, with the papers' defaults."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, get_type_hints

from ..data.batches import Augmentation
from ..fields import ABOVE_0, BELOW_1, FROM_0, FROM_1, between, check, check_ranges
from ..losses.tags import LossWeights
from ..synthesis.negative import SentenceGenerator

Count = Annotated[int, FROM_1]
Share = Annotated[float, between(0, 1)]
Weight = Annotated[float, FROM_0]


class Settings:
    """Base class of settings, which checks the ranges that the annotations of fields name.

    Args:
        at: the field of a recipe that holds these settings, for errors.
    """

    at: ClassVar[str]

    def __init_subclass__(cls, at: str) -> None:
        cls.at = at

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self), include_extras=True)
        ranges = {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}
        check_ranges(self, self.at, **ranges)


@dataclass(frozen=True)
class MemorySettings(Settings, at="memory"):
    """FNE's momentum memory (Sec. 3.3): K features of each kind, from encoders that follow with momentum m (Eq. 14)."""

    length: Count = 8192
    momentum: Annotated[float, BELOW_1] = 0.995


@dataclass(frozen=True)
class OptimiserSettings(Settings, at="optimiser"):
    """How weights move. `milestones` and `warm_up` are in epochs; `step` leaves a tenth of the rate at each.

    `warm_up_share` gives the warm-up as a share of all steps instead. `betas` and `epsilon` are Adam's.

    `compile` compiles the encoders of a dual encoder with `torch.compile`: "default", or "reduce-overhead" for CUDA
    graphs, which launch many kernels at once. The first step of each shape then takes minutes.
    """

    kind: Literal["adam", "adamw"] = "adam"
    learning_rate: Annotated[float, ABOVE_0] = 2e-5
    schedule: Literal["constant", "step", "linear", "cosine"] = "step"
    milestones: Annotated[tuple[int, ...], FROM_1] = (5, 15)
    warm_up: Annotated[float, FROM_0] = 0.0
    clip: Annotated[float, ABOVE_0] = 2.0
    weight_decay: Weight = 0.0
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    warm_up_share: Annotated[float, BELOW_1] = 0.0
    betas: Annotated[tuple[float, float], BELOW_1] = (0.9, 0.999)
    epsilon: Annotated[float, ABOVE_0] = 1e-8
    compile: Literal["off", "default", "reduce-overhead"] = "off"

    def __post_init__(self) -> None:
        super().__post_init__()
        both = self.warm_up > 0 and self.warm_up_share > 0
        check(not both, "optimiser.warm_up_share", self.warm_up_share, "0, as optimiser.warm_up is given")


@dataclass(frozen=True)
class DataSettings(Settings, at="data"):
    """How pairs are served. `batch_size` counts pictures over all processes; `accumulate` batches make one step.

    `captions_per_image=n` encodes a picture once with n of its captions; "all" makes each caption a pair of its own,
    as the field's epochs do. In the first `warm_up_epochs` the loss is InfoNCE in the batch: a network from scratch
    needs it before one negative an anchor can lead it (pretrained encoders do not: 0).

    `steps` ends the run after so many steps of the optimiser instead of `epochs`. `validation` limits what is looked at
    after every `validate_every`-th epoch, and the last, to so many pictures of the split "val" (0: nothing is, and the
    last weights are kept).

    Augmentation, of pictures in training alone: `crop` takes a random box with a share of the area in this range,
    `flip` mirrors this share of the pictures, `randaugment` changes by so many operations of a magnitude 0 to 10
    (`data.batches.Augmentation`). A mirrored picture makes "left" and "right" of a caption wrong; `scenes` has none.

    `regions` is the option of `scenes` that a command loads it with where it is given none (null: the default); a model
    of pictures reads no regions.
    """

    batch_size: Count = 32
    epochs: Count = 25
    captions_per_image: Annotated[int | Literal["all"], between(1, 2**20, "all")] = "all"
    warm_up_epochs: Annotated[int, FROM_0] = 0
    accumulate: Count = 1
    steps: Annotated[int | None, between(1, 2**31)] = None
    validation: Annotated[int | None, FROM_0] = None
    validate_every: Count = 1
    crop: tuple[float, float] | None = None
    flip: Share = 0.0
    randaugment: tuple[int, int] | None = None
    regions: Literal["pixels", "detector"] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.crop or (1, 1)
        check(0 < low <= high <= 1, "data.crop", self.crop, "two shares of the area, such as [0.5, 1.0], or null")
        number, magnitude = self.randaugment or (1, 0)
        wanted = "1 to 100 operations and a magnitude of 0 to 10, such as [2, 7], or null"
        check(1 <= number <= 100 and 0 <= magnitude <= 10, "data.randaugment", self.randaugment, wanted)

    @property
    def augmentation(self) -> Augmentation | None:
        """What changes pictures in training, if anything does."""
        augmentation = Augmentation(self.crop, self.flip, self.randaugment)
        return None if augmentation == Augmentation() else augmentation


@dataclass(frozen=True)
class TowerSettings(Settings, at="towers"):
    """Pretraining of a ViT by what a world says of each patch, of BERT by `masked` word pieces, unaligned."""

    masked: Annotated[float, between(1e-9, 1)] = 0.15


@dataclass(frozen=True)
class ExtraNegatives(Settings, at="extra_negatives"):
    """Negatives of each caption from a file that `python -m itmlab negatives` wrote, beside the recipe's own.

    `number` of a caption's are drawn at random each time it comes; captions without any go without.
    """

    path: Annotated[str, (bool, "the path of a file")]
    number: Count = 1


@dataclass(frozen=True)
class TagsSettings(Settings, at="tags"):
    """The settings of a training step of TAGS-DC (Algorithm 1); the defaults are the paper's (appendix A.1, Table 5).

    `weights` are λ of Eq. 10. Matching is the triplet of Eq. 4 with `margin` α, a `binary` cross-entropy, or a
    `contrast` of the match with its negatives by softmax. The hardest `top_k` of `candidates` random negatives are
    mined for each anchor (all at random where there are not more candidates). It joins in when the share
    `matching_begins` of all steps is done.

    With `mining` "batch" they are the batch's own, drawn by how near the two sides come that the alignment reads apart
    (ALBEF: Li et al., 2021): no image is embedded for them, and `candidates` says nothing.

    `alignment` weighs InfoNCE in the batch, at `alignment_temperature`, of pictures and captions that the tower reads
    apart: a network from scratch learns nothing from matching alone. The paper begins from pretrained weights.

    A caption's `masking` hides phrases or words with `probability`; the masked language loss looks at
    `trained_maskings` of them (the paper: at all K). Sentences come from `maskings` (K) × `samples` (L) fillings at
    `temperature` (τ) by the tower itself ("dynamic") or a frozen copy of where it started ("static"), from VSE-C's
    rules, from the file of the recipe's `extra_negatives`, or by an own generator; the `hardest` (m) are trained on.
    Those that are made are `filtered` of false negatives (Sec. 2.1.2), to which `implied` adds what words imply, where
    the data are `scenes` (other data have no such lexicon: there it changes nothing).

    Words count by `replaced_weight` and `kept_weight` in the discrimination, and at `correction` positions in the
    correction. The three losses of words are means over the `word_means` of a batch: its tokens, by their weights, or,
    as in the released code, its captions, of each the mean over its tokens, [CLS] and [SEP] too in the discrimination.
    """

    weights: LossWeights = field(default=LossWeights())
    matching: Literal["triplet", "binary", "contrast"] = "triplet"
    margin: Annotated[float, between(0, 2)] = 0.2
    candidates: Count = 399
    top_k: Count = 31
    matching_begins: Annotated[float, BELOW_1] = 0.0
    alignment: Weight = 0.0
    alignment_temperature: Annotated[float, ABOVE_0] = 0.07
    masking: Literal["phrase", "word"] = "phrase"
    probability: Share = 0.15
    trained_maskings: Count = 1
    generator: Literal["dynamic", "static", "vse_c", "file"] | SentenceGenerator = field(default="dynamic", hash=False)
    maskings: Count = 20
    samples: Count = 20
    temperature: Annotated[float, between(1e-6, 1e6)] = 1.5
    hardest: Count = 31
    implied: bool = False
    replaced_weight: Weight = 1.0
    kept_weight: Weight = 1.0
    correction: Literal["all", "replaced", "masked"] = "all"
    word_means: Literal["tokens", "captions"] = "tokens"
    filtered: bool = True
    mining: Literal["set", "batch"] = "set"

    def __post_init__(self) -> None:
        super().__post_init__()
        aligned = self.mining == "set" or self.alignment > 0
        check(aligned, "tags.mining", self.mining, "'set', as tags.alignment is 0")
        check(bool(self.weights.wanted), "tags.weights", self.weights.named(), "one of them above 0")
        before = not self.matching_begins or self.alignment or self.weights.masked_language
        check(bool(before), "tags.matching_begins", self.matching_begins, "0, as nothing else is learnt before")
        words = self.replaced_weight + self.kept_weight
        check(words > 0, "tags.kept_weight", self.kept_weight, "more than 0, as tags.replaced_weight is 0")

    @property
    def makes_sentences(self) -> bool:
        """Whether synthetic sentences are needed at all."""
        return bool({"synthetic", "discrimination", "correction"} & set(self.weights.wanted))
