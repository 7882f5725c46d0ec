"""The settings that a recipe is made of: frozen dataclasses that check their ranges, with the papers' defaults."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from ..data.batches import Augmentation
from ..fields import ABOVE_0, BELOW_1, FROM_0, FROM_1, Count, Share, Weight, between, check, check_fields
from ..losses.tags import LossWeights
from ..synthesis.negative import SentenceGenerator


class Settings:
    """Base class of settings, whose fields are checked against their annotations.

    Args:
        at: the field of a recipe that holds these settings, for errors.
    """

    at: ClassVar[str]

    def __init_subclass__(cls, at: str) -> None:
        cls.at = at

    def __post_init__(self) -> None:
        check_fields(self, self.at)


@dataclass(frozen=True)
class MemorySettings(Settings, at="memory"):
    """FNE's momentum memory (Sec. 3.3): K features of each kind, from encoders that follow with momentum m (Eq. 14)."""

    length: Count = 8192
    momentum: Annotated[float, BELOW_1] = 0.995


@dataclass(frozen=True)
class OptimiserSettings(Settings, at="optimiser"):
    """The optimiser and its schedule.

    Args:
        kind: "adam" or "adamw".
        learning_rate: of the schedule's maximum.
        schedule: "constant", "linear", "cosine", or "step", which keeps a tenth of the rate at each milestone.
        milestones: epochs of "step".
        warm_up: epochs in which the rate rises from 0.
        clip: the largest norm of the gradient.
        weight_decay: of AdamW.
        precision: "auto" is bfloat16 on a GPU and float32 on a CPU.
        warm_up_share: the warm-up as a share of all steps, instead of `warm_up`.
        betas: of Adam.
        epsilon: of Adam.
        compile: compiles the encoders of a dual encoder with `torch.compile`; "reduce-overhead" uses CUDA graphs. The
            first step of each shape then takes minutes.
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
    """Batches, length of the training, validation and augmentation.

    Args:
        batch_size: pictures in a batch, over all processes.
        epochs: the number of epochs, unless `steps` is set.
        captions_per_image: "all" makes each caption a pair of its own; a number encodes each picture once with so many
            of its captions.
        warm_up_epochs: epochs with InfoNCE in the batch before the recipe's loss. One negative per anchor cannot lead a
            network that has not learned anything yet.
        accumulate: batches in one step of the optimiser.
        steps: the number of steps of the optimiser, instead of `epochs`.
        validation: how many pictures of the split "val" are evaluated; 0 evaluates none and keeps the last weights.
        validate_every: epochs between two validations. The last epoch is always validated.
        crop: the range of the share of the area that a random crop keeps. Augmentation is for training pictures only.
        flip: the share of pictures that are mirrored. Mirroring makes "left" and "right" in captions wrong; `scenes`
            has neither.
        randaugment: the number of operations and their magnitude (0 to 10); see `data.batches.Augmentation`.
        regions: the option `regions` of `scenes` that the command line uses by default; None for models of pictures.
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
        """The augmentation of training pictures, or None."""
        augmentation = Augmentation(self.crop, self.flip, self.randaugment)
        return None if augmentation == Augmentation() else augmentation


@dataclass(frozen=True)
class TowerSettings(Settings, at="towers"):
    """Pretraining of a ViT by what a world says of each patch, of BERT by `masked` word pieces, unaligned."""

    masked: Annotated[float, between(1e-9, 1)] = 0.15


@dataclass(frozen=True)
class ExtraNegatives(Settings, at="extra_negatives"):
    """Negative sentences from a file that `python -m itmlab negatives` wrote, in addition to the recipe's negatives.

    Args:
        path: the file.
        number: how many of a caption's negatives are drawn in each epoch. A caption without any has none.
    """

    path: Annotated[str, (bool, "the path of a file")]
    number: Count = 1


@dataclass(frozen=True)
class TagsSettings(Settings, at="tags"):
    """One training step of TAGS-DC (Algorithm 1). The defaults are the paper's (appendix A.1, Table 5).

    Args:
        weights: λ of Eq. 10.
        margin: α of Eq. 4.
        candidates: random negatives scored per anchor.
        top_k: the hardest of them, which are trained on.
        masking: "phrase" or "word".
        probability: with which a phrase or word is masked.
        trained_maskings: maskings per caption in the masked language loss (the paper: all K).
        generator: of sentences: "dynamic" is the tower itself, "static" a frozen copy of its start; or a
            SentenceGenerator.
        maskings: K.
        samples: L.
        temperature: τ of refilling.
        hardest: m, the sentences that are trained on.
        implied: whether the filter also uses what words imply; only `scenes` knows that.
        replaced_weight: of replaced words in the discrimination.
        kept_weight: of kept words in the discrimination.
        correction: the positions of the correction: "all" (Eq. 9), "replaced" or "masked".
        word_means: the losses of words are means over all "tokens" of the batch, or over "captions" of the mean over
            each caption's tokens, as in the released code, which counts [CLS] and [SEP] in the discrimination.
        filtered: whether false negatives are dropped (Sec. 2.1.2).
        matching_begins: like `alignment`, `alignment_temperature` and `mining` a number of the shipped run
            `uniter_pretraining`, which an earlier version trained (METHODS 5). This version does not train with them.
    """

    weights: LossWeights = field(default=LossWeights())
    margin: Annotated[float, between(0, 2)] = 0.2
    candidates: Count = 399
    top_k: Count = 31
    matching_begins: Annotated[float, BELOW_1] = 0.0
    alignment: Weight = 0.0
    alignment_temperature: Annotated[float, ABOVE_0] = 0.07
    masking: Literal["phrase", "word"] = "phrase"
    probability: Share = 0.15
    trained_maskings: Count = 1
    generator: Literal["dynamic", "static"] | SentenceGenerator = field(default="dynamic", hash=False)
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
        check(bool(self.weights.wanted), "tags.weights", self.weights.named(), "one of them above 0")
        words = self.replaced_weight + self.kept_weight
        check(words > 0, "tags.kept_weight", self.kept_weight, "more than 0, as tags.replaced_weight is 0")

    @property
    def makes_sentences(self) -> bool:
        """Whether the losses need synthetic sentences."""
        return bool({"synthetic", "discrimination", "correction"} & set(self.weights.wanted))
