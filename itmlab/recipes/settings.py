"""The settings that a recipe is made of: frozen dataclasses that check their ranges, with the papers' defaults."""

import inspect
from dataclasses import dataclass, field
from typing import Any, Literal

from .. import samplers
from ..data.batches import Augmentation
from ..errors import ItmlabError
from ..fields import ABOVE_0, BELOW_1, FROM_0, FROM_1, check, check_ranges, did_you_mean, typed
from ..losses.contrastive import NOISE
from ..losses.tags import LossWeights
from ..synthesis.synhnc import SIGMAS
from .custom import Custom

SAMPLERS = {
    "random": samplers.Random,
    "hardest": samplers.Hardest,
    "semi_hard": samplers.SemiHard,
    "softest": samplers.Softest,
    "oracle": samplers.Oracle,
    "retrieved": samplers.Retrieved,
    "false_negative_eliminating": samplers.FalseNegativeEliminating,
}


@dataclass(frozen=True)
class SamplerSettings:
    """Which negative is taken: a sampler's name and what its constructor is given; "oracle" needs data with a world."""

    kind: Literal["random", "hardest", "semi_hard", "softest", "oracle", "retrieved", "false_negative_eliminating"] = (
        "hardest"
    )
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        known = inspect.signature(SAMPLERS[self.kind]).parameters
        for name, value in self.options.items():
            if name not in known:
                remedy = did_you_mean(name, known) if known else f"{self.kind} has no options"
                raise ItmlabError(f"unknown field sampler.{name}", where="recipe", remedy=remedy)
            typed(known[name].annotation, value, f"sampler.{name}")
        try:
            self.build()  # its own checks of the ranges
        except ItmlabError as error:
            raise ItmlabError(f"sampler: {error}", where="recipe") from None

    def build(self, *, margin: float = 0.2) -> samplers.Sampler:
        """A new sampler with these options; one that knows a margin takes the loss's unless it was given its own."""
        knows = "margin" in inspect.signature(SAMPLERS[self.kind]).parameters
        return SAMPLERS[self.kind](**{**({"margin": margin} if knows else {}), **self.options})


@dataclass(frozen=True)
class LossSettings:
    """What is minimised; only `sampled_triplet` asks the sampler, the others, and an own one, look at the whole pool.

    `info_cmr` is ITContrast's InfoNCE with `noise` Gaussian vectors in the denominator (Z of Eq. 7). A model that
    compares parts learns by its `global_features` too, from the same loss beside, if that is said; it always does so
    where it is given what has no parts: noise, synthetic negatives, negatives of a file. `writing` is the weight of
    VSRN's second loss, the nats that it costs to write a pair's caption from its image, beside the mean over anchors.
    """

    kind: Literal["sum_of_hinges", "max_of_hinges", "sampled_triplet", "info_nce", "info_cmr"] | Custom = (
        "sampled_triplet"
    )
    margin: float = 0.2
    temperature: float = 0.05
    noise: int = NOISE
    global_features: bool = False
    writing: float = 0.0

    def __post_init__(self) -> None:
        check_ranges(self, "loss", margin=FROM_0, temperature=ABOVE_0)
        check_ranges(self, "loss", noise=FROM_0, writing=FROM_0)


@dataclass(frozen=True)
class AdaptiveMarginSettings:
    """SAM's triplets beside the recipe's loss, or instead of it without `with_triplet` (Eq. 7, Tables 4 and 5).

    Their margins are differences of φ over `temperature` τ, at most `ceiling`; φ is `relevance`: CIDEr-D (0 to 10) from
    the document frequencies of what is trained on, SPICE (0 to 1), or the truth where the data have a world (1 true, 0
    false, 0.5 undecided), which is the control. `negatives` of their own: the farthest from the anchor ("SN"), the
    nearest ("HN") or any ("RS"), with `rank` others before it. `weight` is that of their loss beside the recipe's.

    `reading` of Eq. 7, by what is subtracted in a margin: φ of the "pairs" that the hinges hold, φ(G_p, c_m) and
    φ(G_l, c_p); "corrected" φ(G_p, c_m) and φ(G_p, c_l); as "printed", φ(G_p, c_l) and φ(G_p, c_m). The `preset`
    "released" does what the public code does (METHODS 2.5): its own reading, and "softest" and "hardest" are its `soft`
    and `hard`, at rank 1.
    """

    temperature: float = 10.0
    negatives: Literal["softest", "hardest", "random"] = "softest"
    with_triplet: bool = True
    ceiling: float = 1.0
    relevance: Literal["cider", "spice", "truth"] = "cider"
    tokenise: Literal["whitespace", "penn"] = "whitespace"
    weight: float = 1.0
    rank: int | None = None  # the preset's: 0, released 1
    reading: Literal["pairs", "corrected", "printed"] = "pairs"
    preset: Literal["paper", "released"] = "paper"

    def __post_init__(self) -> None:
        check_ranges(self, "adaptive_margin", temperature=ABOVE_0, ceiling=ABOVE_0, weight=ABOVE_0, rank=FROM_0)
        own = self.preset == "paper" or self.reading == "pairs"
        check(own, "adaptive_margin.reading", self.reading, "'pairs', as adaptive_margin.preset has its own")


@dataclass(frozen=True)
class MemorySettings:
    """FNE's momentum memory (Sec. 3.3): K features of each kind, from encoders that follow with momentum m (Eq. 14)."""

    length: int = 8192
    momentum: float = 0.995

    def __post_init__(self) -> None:
        check_ranges(self, "memory", length=FROM_1, momentum=BELOW_1)


@dataclass(frozen=True)
class OptimiserSettings:
    """How weights move. `milestones` and `warm_up` are in epochs; `step` leaves a tenth of the rate at each.

    `warm_up_share` gives the warm-up as a share of all steps instead. `betas` and `epsilon` are Adam's.
    """

    kind: Literal["adam", "adamw"] = "adam"
    learning_rate: float = 2e-5
    schedule: Literal["constant", "step", "linear", "cosine"] = "step"
    milestones: tuple[int, ...] = (5, 15)
    warm_up: float = 0.0
    clip: float = 2.0
    weight_decay: float = 0.0
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    warm_up_share: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        check_ranges(self, "optimiser", learning_rate=ABOVE_0, warm_up_share=BELOW_1, clip=ABOVE_0)
        check(all(item > 0 for item in self.milestones), "optimiser.milestones", self.milestones, "epochs from 1 on")
        check_ranges(self, "optimiser", warm_up=(FROM_0[0], "0 or more epochs"))
        both = self.warm_up > 0 and self.warm_up_share > 0
        check(not both, "optimiser.warm_up_share", self.warm_up_share, "0, as optimiser.warm_up is given")
        check(all(0 <= beta < 1 for beta in self.betas), "optimiser.betas", self.betas, "numbers from 0 to below 1")
        check_ranges(self, "optimiser", weight_decay=FROM_0, epsilon=ABOVE_0)


@dataclass(frozen=True)
class DataSettings:
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

    batch_size: int = 32
    epochs: int = 25
    captions_per_image: int | Literal["all"] = "all"
    warm_up_epochs: int = 0
    accumulate: int = 1
    steps: int | None = None
    validation: int | None = None
    validate_every: int = 1
    crop: tuple[float, float] | None = None
    flip: float = 0.0
    randaugment: tuple[int, int] | None = None
    regions: Literal["pixels", "detector"] | None = None

    def __post_init__(self) -> None:
        check_ranges(self, "data", batch_size=FROM_1, epochs=FROM_1, warm_up_epochs=FROM_0, accumulate=FROM_1)
        many = self.captions_per_image == "all" or self.captions_per_image >= 1
        check(many, "data.captions_per_image", self.captions_per_image, "1 or more, or 'all'")
        check_ranges(self, "data", validate_every=FROM_1, steps=(FROM_1[0], "1 or more, or null"))
        check_ranges(self, "data", validation=(FROM_0[0], "0 or more, or null"))
        check_ranges(self, "data", flip=((lambda share: 0 <= share <= 1), "0 to 1"))
        low, high = self.crop or (1, 1)
        check(0 < low <= high <= 1, "data.crop", self.crop, "two shares of the area, such as [0.5, 1.0], or null")
        number, magnitude = self.randaugment or (1, 0)
        wanted = "how many operations and a magnitude of 0 to 10, such as [2, 7], or null"
        check(number >= 1 and 0 <= magnitude <= 10, "data.randaugment", self.randaugment, wanted)

    @property
    def augmentation(self) -> Augmentation | None:
        """What changes pictures in training, if anything does."""
        found = Augmentation(self.crop, self.flip, self.randaugment)
        return None if found == Augmentation() else found


@dataclass(frozen=True)
class TowerSettings:
    """Pretraining of a ViT by what a world says of each patch, of BERT by `masked` word pieces, unaligned."""

    masked: float = 0.15

    def __post_init__(self) -> None:
        check_ranges(self, "towers", masked=BELOW_1)
        check(self.masked > 0, "towers.masked", self.masked, "more than 0")


@dataclass(frozen=True)
class SynthesisSettings:
    """SynHNC (ITContrast, Sec. 3.2): a negative of each anchor from each of the `clusters` of the batch's negatives.

    `sigma` is σ of the Gaussian kernel; the paper does not say how many clusters. `weights` are least squares or the
    identity; without `detach` a gradient goes through the synthesis. `oracle` is a control, for data with a world: what
    that calls true, or does not decide, is no prototype of an anchor's negatives.
    """

    clusters: int = 8
    sigma: float = 0.1
    weights: Literal["least_squares", "identity"] = "least_squares"
    detach: bool = True
    oracle: bool = False

    def __post_init__(self) -> None:
        check_ranges(self, "synthesis", clusters=FROM_1, sigma=ABOVE_0)
        least, most = SIGMAS
        check(least <= self.sigma <= most, "synthesis.sigma", self.sigma, f"{least:g} to {most:g}")


@dataclass(frozen=True)
class ExtraNegatives:
    """Negatives of each caption from a file that `python -m itmlab negatives` wrote, beside the recipe's own.

    `number` of a caption's are taken anew each time it comes, drawn at random; captions without any go without.
    """

    path: str
    number: int = 1

    def __post_init__(self) -> None:
        check(bool(self.path), "extra_negatives.path", self.path, "the path of a file")
        check_ranges(self, "extra_negatives", number=FROM_1)


@dataclass(frozen=True)
class TagsSettings:
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
    margin: float = 0.2
    candidates: int = 399
    top_k: int = 31
    matching_begins: float = 0.0
    alignment: float = 0.0
    alignment_temperature: float = 0.07
    masking: Literal["phrase", "word"] = "phrase"
    probability: float = 0.15
    trained_maskings: int = 1
    generator: Literal["dynamic", "static", "vse_c", "file"] | Custom = "dynamic"
    maskings: int = 20
    samples: int = 20
    temperature: float = 1.5
    hardest: int = 31
    implied: bool = False
    replaced_weight: float = 1.0
    kept_weight: float = 1.0
    correction: Literal["all", "replaced", "masked"] = "all"
    word_means: Literal["tokens", "captions"] = "tokens"
    filtered: bool = True
    mining: Literal["set", "batch"] = "set"

    def __post_init__(self) -> None:
        aligned = self.mining == "set" or self.alignment > 0
        check(aligned, "tags.mining", self.mining, "'set', as tags.alignment is 0")
        check(bool(self.weights.wanted), "tags.weights", self.weights.named(), "one of them above 0")
        counts = ("candidates", "top_k", "trained_maskings", "maskings", "samples", "hardest")
        check_ranges(self, "tags", **dict.fromkeys(counts, FROM_1))
        for name, least, most in (("margin", 0, 2), ("probability", 0, 1), ("temperature", 1e-6, 1e6)):
            value = getattr(self, name)
            check(least <= value <= most, f"tags.{name}", value, f"{least} to {most}")
        check_ranges(self, "tags", alignment_temperature=ABOVE_0, matching_begins=BELOW_1)
        before = not self.matching_begins or self.alignment or self.weights.masked_language
        check(bool(before), "tags.matching_begins", self.matching_begins, "0, as nothing else is learnt before")
        check_ranges(self, "tags", alignment=FROM_0, replaced_weight=FROM_0, kept_weight=FROM_0)
        words = self.replaced_weight + self.kept_weight
        check(words > 0, "tags.kept_weight", self.kept_weight, "more than 0, as tags.replaced_weight is 0")

    @property
    def makes_sentences(self) -> bool:
        """Whether synthetic sentences are needed at all."""
        return bool({"synthetic", "discrimination", "correction"} & set(self.weights.wanted))
