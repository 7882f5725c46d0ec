"""What a one-tower recipe minimises, and how its negatives are mined and made (TAGS-DC)."""

from dataclasses import dataclass, field
from typing import Literal

from ..losses.weighted_sum import LossWeights
from .fields import check

Generator = Literal["dynamic", "static", "vse_c", "file"]


@dataclass(frozen=True)
class TagsSettings:
    """The settings of a training step of TAGS-DC (Algorithm 1); the defaults are the paper's (appendix A.1, Table 5).

    `weights` are λ of Eq. 10. Matching is the triplet of Eq. 4 with `margin` α, a `binary` cross-entropy, or a
    `contrast` of the match with its negatives by softmax. `kept` negatives an anchor are mined from `drawn` random ones
    (all `kept` at random where `drawn` is not more). It joins in when the share `matching_begins` of all steps is done.

    `alignment` weighs InfoNCE in the batch, at `alignment_temperature`, of pictures and captions that the tower reads
    apart: a network from scratch learns nothing from matching alone. The paper begins from pretrained weights.

    A caption's `masking` hides phrases or words with `probability`; the masked language loss looks at
    `trained_maskings` of them. Sentences come from `maskings` (K) × `samples` (L) fillings at `temperature` (τ) by the
    tower itself ("dynamic") or a frozen copy of where it started ("static"), from VSE-C's rules, or from the file of
    the recipe's `extra_negatives`; the `hardest` (m) are trained on. `implied` adds to the filter of false negatives
    what words imply, where the data are `scenes` (other data have no such lexicon: there it changes nothing).

    Words count by `replaced_weight` and `kept_weight` in the discrimination, and at `correction` positions in the
    correction.
    """

    weights: LossWeights = field(default=LossWeights())
    matching: Literal["triplet", "binary", "contrast"] = "triplet"
    margin: float = 0.2
    drawn: int = 399
    kept: int = 31
    matching_begins: float = 0.0
    alignment: float = 0.0
    alignment_temperature: float = 0.07
    masking: Literal["phrase", "word"] = "phrase"
    probability: float = 0.15
    trained_maskings: int = 1
    generator: Generator = "dynamic"
    maskings: int = 20
    samples: int = 20
    temperature: float = 1.5
    hardest: int = 31
    implied: bool = False
    replaced_weight: float = 1.0
    kept_weight: float = 1.0
    correction: Literal["all", "replaced"] = "all"

    def __post_init__(self) -> None:
        check(bool(self.weights.wanted), "tags.weights", self.weights.named(), "one of them above 0")
        for name in ("drawn", "kept", "trained_maskings", "maskings", "samples", "hardest"):
            check(getattr(self, name) >= 1, f"tags.{name}", getattr(self, name), "1 or more")
        for name, least, most in (("margin", 0, 2), ("probability", 0, 1), ("temperature", 1e-6, 1e6)):
            value = getattr(self, name)
            check(least <= value <= most, f"tags.{name}", value, f"{least} to {most}")
        check(self.alignment_temperature > 0, "tags.alignment_temperature", self.alignment_temperature, "more than 0")
        check(0 <= self.matching_begins < 1, "tags.matching_begins", self.matching_begins, "0 to below 1")
        before = not self.matching_begins or self.alignment or self.weights.masked_language
        check(bool(before), "tags.matching_begins", self.matching_begins, "0, as nothing else is learnt before")
        for name in ("alignment", "replaced_weight", "kept_weight"):
            check(getattr(self, name) >= 0, f"tags.{name}", getattr(self, name), "0 or more")
        words = self.replaced_weight + self.kept_weight
        check(words > 0, "tags.kept_weight", self.kept_weight, "more than 0, as tags.replaced_weight is 0")

    @property
    def makes_sentences(self) -> bool:
        """Whether synthetic sentences are needed at all."""
        return bool({"synthetic", "discrimination", "correction"} & set(self.weights.wanted))
