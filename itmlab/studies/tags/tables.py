"""What each choice of masking and refilling does to its negatives: how hard, how fluent, how surely false they are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from ...data.captionset import CaptionSet
from ...errors import ItmlabError
from ...metrics import CausalModel, Fluency, TrueNegatives, discrimination, fluency
from ...metrics.statistics import Interval, Share, interval
from ...synthesis import Negative
from ...synthesis.negative import Implied, without_false_negatives
from ...synthesis.tags import implied_in
from ..kit.scoring import matching
from .negatives import Made, own_captions, synthetic_negatives
from .words import corrections

PAPER_SWEEP = {"maskings": 20, "samples": 20, "temperature": 1.5, "masking": "phrase"}  # appendix A.1


@dataclass(frozen=True)
class Setting:
    """The negatives at one value of a knob: mean difficulty s(I, T⁻) − s(I, T), median perplexity, truth."""

    value: float | str
    difficulty: Interval
    fluency: Interval
    truth: TrueNegatives
    negatives: int


def synthesis_sweep(
    run: Any,
    data: CaptionSet,
    captions: Sequence[int],
    *,
    maskings: Sequence[int] = (2, 5, 10, 20),
    samples: Sequence[int] = (2, 5, 10, 20),
    temperature: Sequence[float] = (0.5, 1.0, 1.5, 2.0),
    masking: Sequence[str] = ("phrase", "word"),
    keep: int = 5,
    fluent: str | CausalModel = "scenes",
    **options: Any,
) -> dict[str, list[Setting]]:
    """`[knob]` in "maskings" (K), "samples" (L), "temperature" (τ), "masking": a Setting for each of its values.

    One knob is moved at a time, the others stay as in the paper (20, 20, 1.5, phrase). Measured are the `keep` best of
    each caption; `options` are `synthetic_negatives`'. The settings that several knobs share are made once.
    """
    values = {"maskings": maskings, "samples": samples, "temperature": temperature, "masking": masking}
    known: dict[tuple[Any, ...], Made] = {}

    def made(**changed: Any) -> Made:
        drawing = PAPER_SWEEP | changed
        key = tuple(drawing.values())
        if key not in known:
            generator = {"phrase": "tags", "word": "wm"}[drawing.pop("masking")]
            settings = options | drawing | {"run": run, "keep": keep, "fluent": fluent}
            known[key] = synthetic_negatives(data, captions, generator, **settings)
        return known[key]

    return {knob: [_measured(value, made(**{knob: value})) for value in some] for knob, some in values.items()}


def _measured(value: float | str, made: Made) -> Setting:
    images = made.images.numpy()
    perplexities = np.array([one.fluency for one in made.all()])
    known = ~np.isnan(perplexities)
    return Setting(
        value,
        interval(made.difficulty.numpy(), images),
        interval(perplexities[known], images[known], np.median),
        made.truth,
        len(made),
    )


# How fluent captions, negatives made of them and corrected negatives are (TAGS-DC, Table 3).


POSITIVE, CORRECTED = "positive", "corrected"


@dataclass(frozen=True)
class Perplexity:
    """Of sentences of one kind: the mean perplexity, as the paper prints it, and the median, which no few rule."""

    mean: Interval
    median: Interval
    sentences: int


def fluency_table(
    made: Mapping[str, Made], *, model: str | CausalModel = "scenes", corrected_by: Any = None
) -> dict[str, Perplexity]:
    """The perplexity of the captions ("positive"), of each generator's negatives, and of the first ones corrected.

    The captions are those of the first of `made`, whose negatives `corrected_by` (a one tower with H_WoC) also
    rewrites ("corrected", behind them). `model` is a causal language model by name, folder or in memory. A sentence
    without words counts nowhere.
    """
    first = next(iter(made.values()))
    images = first.data.image_of_caption[list(first.captions)].tolist()
    table = {POSITIVE: _perplexity([first.data.captions[number] for number in first.captions], images, model)}
    for name, one in made.items():
        sentences, images = [negative.sentence for negative in one.all()], one.images.tolist()
        table[name] = _perplexity(sentences, images, model)
        if one is first and corrected_by is not None:
            table[CORRECTED] = _perplexity(corrections(corrected_by, one.data, images, sentences), images, model)
    return table


def _perplexity(sentences: Sequence[str], images: Sequence[int], model: str | CausalModel) -> Perplexity:
    found: Fluency = fluency(sentences, model)
    known = (found.tokens > 0).numpy()
    values, owners = found.perplexity.numpy()[known], np.asarray(images)[known]
    return Perplexity(interval(values, owners), interval(values, owners, np.median), int(known.sum()))


# What the filter of false negatives does: the share of made sentences that are truly false before and after it.


BEFORE, AFTER, IMPLIED = "before the filter", "after the filter", "with implied words"
PAPER_FILTER = 96.5  # percent of 200 sentences, judged by two people (Sec. 4.2)


def truth_by_filter(made: Made, *, keep: int | None = 31, implied: Implied | None = None) -> dict[str, TrueNegatives]:
    """The true negatives among the `keep` best of each caption, with each form of the filter (Sec. 2.1.2).

    `made` holds all candidates (`filtered=False, keep=None`), so that each form chooses from the same ones: none, the
    paper's, and the one that counts what said words imply as said too (`implied`, by default what the world's lexicon
    says; empty: left out). Negatives without verdicts are an ItmlabError.
    """
    if made.data.world is None:
        raise ItmlabError("nobody says what is true of these pictures", where=made.data.name, remedy="take scenes")
    implied = implied_in(made.data) if implied is None else implied
    said = own_captions(made.data, made.data.image_of_caption[list(made.captions)])

    def after(words: Implied | None) -> Callable[[list[Negative], list[str]], list[Negative]]:
        return lambda row, captions: without_false_negatives(row, captions, words)

    forms = {BEFORE: lambda row, captions: row, AFTER: after(None)} | ({IMPLIED: after(implied)} if implied else {})
    return {
        name: replace(
            made, negatives=[form(row, own)[:keep] for row, own in zip(made.negatives, said, strict=True)]
        ).truth
        for name, form in forms.items()
    }


# Who tells captions from sentences made of them: each model on each generator's negatives (TAGS-DC, Table 4).


def discriminated(made: Mapping[str, Made], models: Mapping[str, Any]) -> dict[str, dict[str, Share]]:
    """`[generator][model]`: the share of pairs (T, T⁻) of a generator in which the model matches T better.

    Every negative that `made` holds is a pair with the caption that it was made of; `Made.first(1)` leaves the hardest
    of each. Models are Runs or models of any kind, asked for logits or cosines, so that nothing ties by saturating.
    """
    table: dict[str, dict[str, Share]] = {}
    for generator, one in made.items():
        images = one.images
        captions = [one.data.captions[number] for number in one.captions]
        of_caption = one.data.image_of_caption[list(one.captions)].tolist()
        repeated = [at for at, row in enumerate(one.negatives) for _ in row]
        table[generator] = {}
        for name, model in models.items():
            match = matching(model, one.data)
            positive = match(of_caption, captions)[repeated]
            negative = match(images.tolist(), [negative.sentence for negative in one.all()])
            table[generator][name] = discrimination(positive, negative, images)
    return table


# How difficult negatives were while a model learnt: s(I, T-) - s(I, T+) over the steps of a run (TAGS-DC, Fig. 3).


@dataclass(frozen=True, eq=False)
class DifficultyHistory:
    """How many negatives of each recorded step fell into each bin of difficulty, all equally wide over [-1, 1]."""

    steps: Int[ndarray, "step"]
    counts: Int[ndarray, "step bin"]

    @property
    def edges(self) -> Float[ndarray, "edge"]:
        """Where the bins begin and end."""
        return np.linspace(-1, 1, self.counts.shape[1] + 1)

    def quantile(self, share: float) -> Float[ndarray, "step"]:
        """The difficulty below which this share of a step's negatives lies, even within a bin; NaN for none."""
        totals = self.counts.sum(axis=1)
        found = np.full(len(totals), np.nan)
        for row in totals.nonzero()[0]:
            below = np.concatenate([[0], np.cumsum(self.counts[row])]) / totals[row]
            bin_of = max(int(np.searchsorted(below, share)) - 1, 0)
            within = (share - below[bin_of]) / max(below[bin_of + 1] - below[bin_of], 1e-12)
            found[row] = self.edges[bin_of] + within * (self.edges[bin_of + 1] - self.edges[bin_of])
        return found

    def as_hard(self) -> Float[ndarray, "step"]:
        """The share of a step's negatives that scored at least as high as the caption; NaN where there was none."""
        totals, above = self.counts.sum(axis=1), self.counts[:, self.counts.shape[1] // 2 :].sum(axis=1)
        return np.where(totals > 0, above / np.maximum(totals, 1), np.nan)

    def grouped(self, groups: int) -> "DifficultyHistory":
        """At most so many columns: neighbouring steps added up, each group at its mean step."""
        parts = np.array_split(np.arange(len(self.steps)), min(groups, len(self.steps)))
        steps = np.array([self.steps[part].mean() for part in parts])
        return DifficultyHistory(steps, np.stack([self.counts[part].sum(axis=0) for part in parts]))


def difficulty_history(run: Any, negatives: str = "synthetic") -> DifficultyHistory:
    """The record of a Run's training, of its "synthetic" or "retrieved" negatives.

    A run that kept none is an ItmlabError.
    """
    records = [record for record in run.history if negatives in record.get("difficulty", {})]
    if not records:
        kept = sorted({name for record in run.history for name in record.get("difficulty", {})})
        raise ItmlabError(
            f"the run's record has no difficulty of {negatives!r} negatives",
            where=str(run.directory),
            remedy=f"there are {', '.join(kept)}" if kept else "take a run of `tags`, `tags_dc` or `sg`",
        )
    counts = np.array([record["difficulty"][negatives] for record in records])
    return DifficultyHistory(np.array([record["step"] for record in records]), counts)
