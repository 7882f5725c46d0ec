"""Negatives of captions from any generator in one call: their scores, changed words, fluency, truth labels.

TAGS-DC (Fan et al., 2022), Sec. 2.1 and 4, Algorithm 1: mask, refill, leave out false negatives, keep those of the
largest s(I, T⁻). How hard a negative is, s(I, T⁻) − s(I, T) says (Sec. 4.1); of those long gone, a Run's record does.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, Int, Int8, Int64
from numpy import ndarray
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics import CausalModel, fluency
from itmlab.metrics.statistics import Interval, students_t
from itmlab.synthesis import FilteredTopM, Negative
from itmlab.synthesis.negative import Readable
from itmlab.synthesis.tags import Tags, implied_in, vse_c
from itmlab.text import SceneGraph, parse

from .accuracies import TrueNegatives, true_negative_rate
from .retrieved import Retrieved
from .scoring import Match, as_score, matching, model_of, readable_by


@dataclass(frozen=True, eq=False)
class SyntheticNegatives:
    """Negatives of captions `captions[i]` of `data`: `negatives[i]`, best-scoring first where a model scored them.

    `positive[i]` is the matching score of the caption itself. Scores are the scoring model's own numbers: a
    cross-encoder's logit, else a cosine; `scores` and `difficulty` are the paper's (s of Eq. 3, between 0 and 1).
    """

    data: CaptionSet
    generator: str
    captions: tuple[int, ...]
    negatives: list[list[Negative]]
    positive: Float[Tensor, "caption"] | None
    scorer: Any = None

    def __repr__(self) -> str:
        of = f"{len(self.captions)} captions of {self.data.name}"
        return f"SyntheticNegatives({self.generator}: {len(self)} negatives of {of})"

    def __len__(self) -> int:
        """The number of negatives."""
        return sum(map(len, self.negatives))

    def all(self) -> list[Negative]:
        """The negatives one after another."""
        return [negative for row in self.negatives for negative in row]

    @property
    def images(self) -> Int64[Tensor, "negative"]:
        """The number of each negative's image."""
        return torch.tensor([negative.image for negative in self.all()], dtype=torch.int64)

    @property
    def matched(self) -> tuple[Float[Tensor, "negative"], Float[Tensor, "negative"]]:
        """How well the caption that each negative was made of, and the negative itself, match, in the model's numbers.

        An ItmlabError if nothing was scored.
        """
        if self.positive is None:
            raise ItmlabError("these negatives have no scores", remedy="make them with run= or scorer=")
        positive = self.positive.repeat_interleave(torch.tensor([len(row) for row in self.negatives]))
        return positive, torch.tensor([one.score for one in self.all()])

    @property
    def scores(self) -> tuple[Float[Tensor, "negative"], Float[Tensor, "negative"]]:
        """The same as s(I, T) and s(I, T⁻) of Eq. (3): sigmoids of a cross-encoder's logits; cosines as they are."""
        positive, negative = self.matched
        return as_score(self.scorer, positive), as_score(self.scorer, negative)

    @property
    def difficulty(self) -> Float[Tensor, "negative"]:
        """s(I, T⁻) − s(I, T) of each negative (Sec. 4.1): the greater, the harder."""
        positive, negative = self.scores
        return negative - positive

    @property
    def truth_labels(self) -> Int8[Tensor, "negative"]:
        """The world's truth label on each: 1 true (a false negative), 0 false, -1 undecided or not asked."""
        found = [-1 if negative.truth is None else int(negative.truth) for negative in self.all()]
        return torch.tensor(found, dtype=torch.int8)

    @property
    def truth(self) -> TrueNegatives:
        """How many are truly negative by the world's truth label."""
        return true_negative_rate([negative.truth for negative in self.all()], self.images)

    def only(self, at: int) -> "SyntheticNegatives":
        """The same of the `at`-th caption alone."""
        positive = None if self.positive is None else self.positive[at : at + 1]
        return replace(self, captions=(self.captions[at],), negatives=[self.negatives[at]], positive=positive)

    def first(self, number: int = 1) -> "SyntheticNegatives":
        """The same with the first `number` negatives of each caption: the hardest, where they are scored."""
        return replace(self, negatives=[row[:number] for row in self.negatives])

    def at_random(self, number: int = 1, *, seed: int = 0) -> "SyntheticNegatives":
        """The same with `number` negatives of each caption, drawn at random: any that was made, not the hardest."""
        chance = np.random.default_rng(seed)
        rows = [[row[at] for at in sorted(chance.permutation(len(row))[:number])] for row in self.negatives]
        return replace(self, negatives=rows)


# Where negatives of a caption come from: refilled maskings, swaps by rule, captions of other pictures.

Named = Literal["tags", "wm", "vse_c", "in_batch", "whole_set"]
GENERATORS: tuple[Named, ...] = get_args(Named)
REFILLED = ("tags", "wm")  # made, and chosen, by a cross-encoder
BATCH_SIZE = 32  # captions at a time, whose region embeddings and candidates are in memory at once
Generator = Named | Callable[..., list[list[Negative]]]  # a name, or a function called as `FilteredTopM.generate` is
Source = Callable[[Sequence[int], torch.Generator], list[list[Negative]]]  # numbers of captions → negatives of each


def synthetic_negatives(
    data: CaptionSet,
    captions: Sequence[int],
    generator: Generator = "tags",
    *,
    run: Any = None,
    scorer: Any = None,
    keep: int | None = 31,
    filtered: bool = True,
    implied: bool = True,
    maskings: int = 20,
    samples: int = 20,
    temperature: float = 1.5,
    drawn: int | None = 399,
    batch: int = 32,
    fluent: str | CausalModel | None = None,
    truth: bool = True,
    seed: int = 0,
    progress: bool = False,
) -> SyntheticNegatives:
    """Negatives of the captions with these numbers, each with score, changed places and, on `scenes`, truth label.

    `generator`: "tags" (phrases masked and refilled by the cross-encoder `run`: K = `maskings`, L = `samples`, τ =
    `temperature`), "wm" (the same with single words), "vse_c" (swaps by rule), "in_batch" and "whole_set" (captions of
    other images: of `batch` of these captions, or of `drawn` of the whole set, None: all), or a function of your own
    that is called as `synthesis.FilteredTopM` calls. Copies, duplicates and, if `filtered`, false negatives go;
    `implied` counts what said words imply as said too, where a world knows (the paper's filter does not). The `keep`
    best by the generating model stay, or by `scorer` if no model generates. `scorer` (default: `run`) scores what
    stays, Run or model of any kind; without both nothing is scored. `fluent` names the causal model of the perplexities
    (None: not asked).
    """
    from tqdm.auto import tqdm

    numbers = [int(number) for number in captions]
    if not numbers or not 0 <= min(numbers) <= max(numbers) < len(data.captions):
        raise ItmlabError(f"captions must be numbers from 0 to {len(data.captions) - 1}", where=data.name)
    scorer = run if scorer is None else scorer
    match = None if scorer is None else matching(scorer, data)
    left = {"keep": keep, "filtered": filtered, "implied": implied_in(data) if implied else None}
    drawing = {"maskings": maskings, "samples": samples, "temperature": temperature}
    make = source(generator, data, run, match, drawn, left, drawing, readable_by(scorer))
    order = torch.Generator().manual_seed(seed)
    of_caption: dict[int, list[Negative]] = {}
    blocks = _blocks(numbers, generator, batch, order)
    for block in tqdm(blocks, desc="making negatives", unit="block", disable=not progress):
        made = make(block, order)
        if match is not None and scorer is not run and generator in REFILLED:
            made = _scored(made, data.image_of_caption[block].tolist(), match)
        of_caption |= dict(zip(block, made, strict=True))
    images = data.image_of_caption[numbers].tolist()
    rows = [[one.of(image, at) for one in of_caption[at]] for image, at in zip(images, numbers, strict=True)]
    positive = None if match is None else match(images, [data.captions[number] for number in numbers])
    asked = [(one.image, one.sentence) for row in rows for one in row]
    if fluent is not None:
        rows = _with(rows, "fluency", fluency([sentence for _, sentence in asked], fluent).perplexity.tolist())
    if truth and data.world is not None:
        truth_label = truth_labels_of(data, asked)
        rows = _with(rows, "truth", ({-1: None, 0: False, 1: True}[truth_label[each]] for each in asked))
    name = generator if isinstance(generator, str) else getattr(generator, "__name__", type(generator).__name__)
    return SyntheticNegatives(data, name, tuple(numbers), rows, positive, scorer)


def _blocks(numbers: list[int], generator: Generator, batch: int, order: torch.Generator) -> list[list[int]]:
    """Captions at a time; those that are each other's negatives stand together by chance."""
    size = BATCH_SIZE
    if generator == "in_batch":
        numbers, size = [numbers[at] for at in torch.randperm(len(numbers), generator=order).tolist()], batch
    if size < 1 or len(set(numbers)) < len(numbers):
        raise ItmlabError("a batch must have captions and each of them once", remedy="give different numbers")
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def _scored(made: list[list[Negative]], images: Sequence[int], match: Match) -> list[list[Negative]]:
    """By a model other than the one that made them; best first again."""
    given = [image for image, row in zip(images, made, strict=True) for _ in row]
    scores = match(given, [one.sentence for row in made for one in row]).tolist()
    return [sorted(row, key=lambda one: -one.score) for row in _with(made, "score", scores)]


def _with(rows: list[list[Negative]], name: str, values: Iterable[Any]) -> list[list[Negative]]:
    """The negatives with one field set anew, values in their order."""
    found = iter(values)
    return [[replace(one, **{name: next(found)}) for one in row] for row in rows]


def truth_labels_of(data: CaptionSet, asked: Sequence[tuple[int, str]]) -> dict[tuple[int, str], int]:
    """The world's truth label (1, 0, −1) on each sentence on its image, all sentences of an image at once."""
    by_image: dict[int, dict[str, None]] = {}
    for image, sentence in asked:
        by_image.setdefault(image, {})[sentence] = None
    if by_image:
        parse(list(dict.fromkeys(sentence for _, sentence in asked)))  # all into the cache that the world reads
    return {
        (image, sentence): said
        for image, some in by_image.items()
        for sentence, said in zip(some, data.world.truth([image], list(some))[0].tolist(), strict=True)
    }


def source(
    generator: Generator,
    data: CaptionSet,
    run: Any,
    match: Match | None,
    drawn: int | None,
    left: dict[str, Any],
    drawing: dict[str, float],
    readable: Readable | None = None,
) -> Source:
    """A generator over captions of `data`, with Algorithm 1's filter and choice (see `synthetic_negatives`)."""
    if callable(generator):
        generate = generator
    elif generator in REFILLED:
        cross_encoder = model_of(run)
        if cross_encoder is None or cross_encoder.encodes_apart:
            raise ItmlabError(f"{generator} needs a cross-encoder to refill with", remedy="give run=, a trained `tags`")
        generate = Tags(cross_encoder, data, words=generator == "wm", **left, **drawing)
    elif generator in GENERATORS:
        number = left["keep"] if match is None else None  # without scores a few at random
        generate = {
            "vse_c": lambda: vse_c(data, number, filtered=left["filtered"]),
            "in_batch": lambda: Retrieved(number=len(data.captions)),
            "whole_set": lambda: Retrieved(data.captions, number=len(data.captions) if drawn is None else drawn),
        }[generator]()
    else:
        raise ItmlabError(f"there is no generator {generator!r}", remedy=f"choose from {', '.join(GENERATORS)}")

    def made(numbers: Sequence[int], order: torch.Generator) -> list[list[Negative]]:
        images = data.image_of_caption[list(numbers)]
        given = [data.captions[number] for number in numbers], graphs(data, numbers), data.captions_of(images.tolist())
        if isinstance(generate, Tags):
            return generate(*given, generator=order, numbers=numbers)

        def score(sentences: list[str], of: Int[Tensor, "sentence"]) -> Float[Tensor, "sentence"]:
            return match(images[of].tolist(), sentences)

        choice = {**left, "score": score if match else None, "readable": readable}
        return FilteredTopM(generate, **choice)(*given, generator=order)

    return made


def graphs(data: CaptionSet, numbers: Sequence[int]) -> list[SceneGraph]:
    """The scene graphs of captions: the world's own, else parsed."""
    if data.world is not None:
        return [data.world.graphs[number] for number in numbers]
    return parse([data.captions[number] for number in numbers])


# How difficult negatives were while a model learnt: s(I, T⁻) − s(I, T) over the steps of a run (Figure 3).


@dataclass(frozen=True, eq=False)
class DifficultyHistory:
    """How many negatives of each recorded step fell into each bin of difficulty, all equally wide over [-1, 1].

    >>> history = DifficultyHistory(np.array([10]), np.array([[1, 0, 2, 1]]))
    >>> history.quantile(0.5).tolist()
    [0.25]
    """

    steps: Int[ndarray, "step"]
    counts: Int[ndarray, "step bin"]

    @property
    def edges(self) -> Float[ndarray, "edge"]:
        """Where the bins begin and end."""
        return np.linspace(-1, 1, self.counts.shape[1] + 1)

    @property
    def middles(self) -> Float[ndarray, "bin"]:
        """The difficulty in the middle of each bin."""
        return (self.edges[:-1] + self.edges[1:]) / 2

    def quantile(self, share: float) -> Float[ndarray, "step"]:
        """Return the difficulty below which this share of a step's negatives lies; NaN for a step without any.

        Negatives count as spread evenly within their bin.
        """
        quantiles = np.full(len(self.counts), np.nan)
        for row in self.counts.sum(axis=1).nonzero()[0]:
            below = np.concatenate([[0], np.cumsum(self.counts[row])]) / self.counts[row].sum()
            quantiles[row] = np.interp(share, below, self.edges)
        return quantiles


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


def difficulty_gap(runs: Sequence[Any], others: Sequence[Any], negatives: str = "synthetic") -> Interval:
    """How much more difficult the negatives of `runs` are than those of `others`, in hundredths of s.

    The mean of s(I, T⁻) − s(I, T) over the second half of what each run recorded, as its histograms have it; paired by
    place (seed), with Student's 95 % interval over the pairs: seeds are few, and a bootstrap over few is too narrow.
    """
    if len(runs) != len(others) or len(runs) < 2:
        what = f"{len(runs)} runs beside {len(others)}, wanted two pairs or more"
        raise ItmlabError(what, where="difficulty_gap", remedy="train both with the same seeds")
    means = []
    for group in (runs, others):
        histories = [difficulty_history(run, negatives) for run in group]
        late = [one.counts[len(one.counts) // 2 :].sum(axis=0) for one in histories]
        means.append([each @ one.middles / each.sum() for each, one in zip(late, histories, strict=True)])
    return students_t(100 * (np.array(means[0]) - np.array(means[1])))
