"""Negatives of captions from any generator, with their scores, changed words, fluency and truth labels.

Algorithm 1 masks, refills, drops false negatives and keeps those with the largest s(I, T⁻). The difficulty of a
negative is s(I, T⁻) − s(I, T) (Sec. 4.1); a Run's history keeps it for the negatives of its training.

References:
    Fan et al. (2022), TAGS-DC, Secs. 2.1 and 4.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from itmlab.synthesis.negative import Generate, best, scored
from itmlab.synthesis.rules import vse_c
from itmlab.synthesis.tags import Tags, graphs_of, implied_in
from itmlab.text import PhraseMasking, WordMasking, parse

from .accuracies import TrueNegatives, true_negative_rate
from .retrieved import Retrieved
from .scoring import Match, as_score, matching, model_of


@dataclass(frozen=True, eq=False)
class SyntheticNegatives:
    """The negatives of some captions of a set.

    Args:
        data: the set.
        generator: the generator's name.
        captions: the numbers of the captions.
        negatives: of each caption, the best-scoring first if a model scored them. Scores are a cross-encoder's logits
            or cosines; `scores` and `difficulty` are on the paper's scale (s of Eq. 3, between 0 and 1).
        positive: the matching score of each caption itself, or None.
        scorer: the Run or model that scored them, or None.
    """

    data: CaptionSet
    generator: str
    captions: tuple[int, ...]
    negatives: list[list[Negative]]
    positive: Float[Tensor, "caption"] | None
    scorer: Any = None

    def __repr__(self) -> str:
        origin = f"{len(self.captions)} captions of {self.data.name}"
        return f"SyntheticNegatives({self.generator}: {len(self)} negatives of {origin})"

    def __len__(self) -> int:
        """The number of negatives."""
        return sum(map(len, self.negatives))

    def all(self) -> list[Negative]:
        """Return all negatives in one list."""
        return [negative for row in self.negatives for negative in row]

    @property
    def images(self) -> Int64[Tensor, "negative"]:
        """The number of each negative's image."""
        return torch.tensor([negative.image for negative in self.all()], dtype=torch.int64)

    @property
    def scores(self) -> tuple[Float[Tensor, "negative"], Float[Tensor, "negative"]]:
        """s(I, T) of each negative's caption and s(I, T⁻) (Eq. 3): sigmoids of a cross-encoder's logits, or cosines.

        Raises:
            ItmlabError: nothing was scored.
        """
        if self.positive is None:
            raise ItmlabError("these negatives have no scores", remedy="make them with run= or scorer=")
        positive = self.positive.repeat_interleave(torch.tensor([len(row) for row in self.negatives]))
        negative = torch.tensor([negative.score for negative in self.all()])
        return as_score(self.scorer, positive), as_score(self.scorer, negative)

    @property
    def difficulty(self) -> Float[Tensor, "negative"]:
        """s(I, T⁻) − s(I, T) of each negative (Sec. 4.1): harder negatives have larger values."""
        positive, negative = self.scores
        return negative - positive

    @property
    def truth_labels(self) -> Int8[Tensor, "negative"]:
        """The world's label of each negative: 1 true (a false negative), 0 false, -1 undecided or not asked."""
        labels = [-1 if negative.truth is None else int(negative.truth) for negative in self.all()]
        return torch.tensor(labels, dtype=torch.int8)

    @property
    def truth(self) -> TrueNegatives:
        """The share that is truly negative by the world's labels."""
        return true_negative_rate([negative.truth for negative in self.all()], self.images)

    def only(self, position: int) -> "SyntheticNegatives":
        """Return the negatives of a single caption, by its position in `captions`."""
        positive = None if self.positive is None else self.positive[position : position + 1]
        captions, negatives = (self.captions[position],), [self.negatives[position]]
        return replace(self, captions=captions, negatives=negatives, positive=positive)

    def first(self, number: int = 1) -> "SyntheticNegatives":
        """Keep the first `number` negatives of each caption: the hardest, if they are scored."""
        return replace(self, negatives=[row[:number] for row in self.negatives])

    def at_random(self, number: int = 1, *, seed: int = 0) -> "SyntheticNegatives":
        """Keep `number` negatives of each caption, drawn at random instead of the hardest."""
        chance = np.random.default_rng(seed)
        drawn = [sorted(chance.permutation(len(row))[:number]) for row in self.negatives]
        rows = [[row[position] for position in positions] for row, positions in zip(self.negatives, drawn, strict=True)]
        return replace(self, negatives=rows)


# Generators: refilled maskings, swaps by rule, captions of other pictures.

Named = Literal["tags", "wm", "vse_c", "in_batch", "whole_set"]
GENERATORS: tuple[Named, ...] = get_args(Named)
REFILLED = ("tags", "wm")  # written and chosen by a cross-encoder
BATCH_SIZE = 32  # captions whose region embeddings and candidates are in memory at once, and of "in_batch"
Generator = Named | Generate


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
    fluent: str | CausalModel | None = None,
    truth: bool = True,
    seed: int = 0,
) -> SyntheticNegatives:
    """Generate negatives of captions, each with its score, its changed places and, on scenes, its truth label.

    Args:
        data: the set.
        captions: the numbers of the captions, each once.
        generator: "tags" (phrases masked and refilled by the cross-encoder `run`), "wm" (the same with single words),
            "vse_c" (swaps by rule), "in_batch" (captions of other images of a batch of 32), "whole_set" (captions of
            other images of the whole set), or a function that is called as `synthesis.FilteredTopM` calls it.
        run: the cross-encoder that generates.
        scorer: the Run or model that scores; by default `run`. Without either nothing is scored.
        keep: the number of best-scoring negatives to keep per caption; None keeps all.
        filtered: whether false negatives are dropped. Copies and duplicates always are.
        implied: whether the filter also uses what the words of the captions imply, where a world knows it. The paper's
            filter does not.
        maskings: K of Algorithm 1.
        samples: L of Algorithm 1.
        temperature: τ of Algorithm 1.
        drawn: how many captions "whole_set" draws per caption; None takes all.
        fluent: the causal language model of the perplexities; None computes none.
        truth: whether the world judges the negatives.
        seed: of all draws.

    Raises:
        ItmlabError: a number is not that of a caption, the generator is unknown, or its model is missing.
    """
    numbers, count = [int(number) for number in captions], len(data.captions)
    if not numbers or not set(numbers) <= set(range(count)) or len(set(numbers)) < len(numbers):
        raise ItmlabError(f"captions must be different numbers from 0 to {count - 1}", where=data.name)
    scorer = run if scorer is None else scorer
    match = None if scorer is None else matching(scorer, data)
    choice = {"keep": keep, "filtered": filtered, "implied": implied_in(data) if implied else None}
    drawing = {"maskings": maskings, "samples": samples, "temperature": temperature}
    generate = _source(generator, data, run, drawn, None if match else keep, choice, drawing)
    order, of_caption = torch.Generator().manual_seed(seed), {}
    for block in _blocks(numbers, order if generator == "in_batch" else None):
        images = data.image_of_caption[block]
        inputs = [data.captions[number] for number in block], graphs_of(data, block), data.captions_of(images.tolist())
        score = None if match is None else partial(_score, match, images)
        if isinstance(generate, Tags):
            negatives = generate(*inputs, generator=order, numbers=block)
            if scorer is not run:
                negatives = [best(row, len(row)) for row in scored(negatives, score)]
        else:
            negatives = FilteredTopM(generate, **choice, score=score)(*inputs, generator=order)
        for number, image, row in zip(block, images.tolist(), negatives, strict=True):
            of_caption[number] = [negative.of(image, number) for negative in row]
    rows = [of_caption[number] for number in numbers]
    positive = None
    if match is not None:
        positive = match(data.image_of_caption[numbers].tolist(), [data.captions[number] for number in numbers])
    pairs = [(negative.image, negative.sentence) for row in rows for negative in row]
    if fluent is not None:
        rows = _with(rows, "fluency", fluency([sentence for _, sentence in pairs], fluent).perplexity.tolist())
    if truth and data.world is not None:
        labels = truth_labels_of(data, pairs)
        rows = _with(rows, "truth", ({-1: None, 0: False, 1: True}[labels[pair]] for pair in pairs))
    name = generator if isinstance(generator, str) else getattr(generator, "__name__", type(generator).__name__)
    return SyntheticNegatives(data, name, tuple(numbers), rows, positive, scorer)


def _source(
    generator: Generator,
    data: CaptionSet,
    run: Any,
    drawn: int | None,
    number: int | None,
    choice: dict[str, Any],
    drawing: dict[str, float],
) -> Tags | Generate:
    """Return what makes the candidates; `number` are made by rule for each caption (None: all)."""
    if callable(generator):
        return generator
    if generator in REFILLED:
        cross_encoder = model_of(run)
        if cross_encoder is None or cross_encoder.encodes_apart:
            raise ItmlabError(f"{generator} needs a cross-encoder to refill with", remedy="give run=, a trained `tags`")
        masking = WordMasking() if generator == "wm" else PhraseMasking()
        return Tags(cross_encoder, data, masking=masking, **choice, **drawing)
    if generator == "vse_c":
        return vse_c(data, number, filtered=choice["filtered"])
    if generator in ("in_batch", "whole_set"):
        every = len(data.captions)
        return Retrieved(number=every) if generator == "in_batch" else Retrieved(data.captions, number=drawn or every)
    raise ItmlabError(f"no generator {generator!r}", remedy=f"choose from {', '.join(GENERATORS)}")


def _blocks(numbers: list[int], order: torch.Generator | None) -> list[list[int]]:
    """Split captions into blocks, at random where captions of a block are each other's negatives."""
    if order is not None:
        numbers = [numbers[position] for position in torch.randperm(len(numbers), generator=order).tolist()]
    return [numbers[start : start + BATCH_SIZE] for start in range(0, len(numbers), BATCH_SIZE)]


def _score(
    match: Match, images: Int64[Tensor, "caption"], sentences: list[str], of: Int[Tensor, "sentence"]
) -> Float[Tensor, "sentence"]:
    return match(images[of].tolist(), sentences)


def _with(rows: list[list[Negative]], name: str, values: Iterable[Any]) -> list[list[Negative]]:
    """Return the negatives with one field replaced by the values in their order."""
    remaining = iter(values)
    return [[replace(negative, **{name: next(remaining)}) for negative in row] for row in rows]


def truth_labels_of(data: CaptionSet, pairs: Sequence[tuple[int, str]]) -> dict[tuple[int, str], int]:
    """Return the world's label (1, 0, −1 undecided) of each pair of image and sentence."""
    by_image: dict[int, dict[str, None]] = {}
    for image, sentence in pairs:
        by_image.setdefault(image, {})[sentence] = None
    if by_image:
        parse(list(dict.fromkeys(sentence for _, sentence in pairs)))  # fills the cache that the world reads
    return {
        (image, sentence): label
        for image, sentences in by_image.items()
        for sentence, label in zip(sentences, data.world.truth([image], list(sentences))[0].tolist(), strict=True)
    }


# The difficulty of negatives during training: s(I, T⁻) − s(I, T) over the steps of a run (Figure 3).


@dataclass(frozen=True, eq=False)
class DifficultyHistory:
    """The number of negatives in each bin of difficulty at each recorded step. Bins are equally wide over [-1, 1].

    >>> history = DifficultyHistory(np.array([10]), np.array([[1, 0, 2, 1]]))
    >>> history.quantile(0.5).tolist()
    [0.25]
    """

    steps: Int[ndarray, "step"]
    counts: Int[ndarray, "step bin"]

    def quantile(self, share: float) -> Float[ndarray, "step"]:
        """Return the difficulty below which this share of a step's negatives lies.

        Negatives are taken as spread evenly within their bin.
        """
        edges, sums = np.linspace(-1, 1, self.counts.shape[1] + 1), self.counts.cumsum(axis=1)
        return np.array([np.interp(share * row[-1], [0, *row], edges) for row in sums])

    def late_mean(self) -> float:
        """Return the mean difficulty over the second half of the steps."""
        late, edges = self.counts[len(self.counts) // 2 :].sum(axis=0), np.linspace(-1, 1, self.counts.shape[1] + 1)
        return late @ (edges[:-1] + edges[1:]) / 2 / late.sum()


def difficulty_history(run: Any) -> DifficultyHistory:
    """Return the difficulty of a Run's synthetic negatives during training.

    Raises:
        ItmlabError: the run recorded none.
    """
    records = [record for record in run.history if "synthetic" in record.get("difficulty", {})]
    if not records:
        message, remedy = "no difficulty of synthetic negatives recorded", "take a run of `tags`, `tags_dc` or `sg`"
        raise ItmlabError(message, where=str(run.directory), remedy=remedy)
    counts = np.array([record["difficulty"]["synthetic"] for record in records])
    return DifficultyHistory(np.array([record["step"] for record in records]), counts)


def difficulty_gap(runs: Sequence[Any], others: Sequence[Any]) -> Interval:
    """Return how much more difficult the negatives of `runs` are than those of `others`, in hundredths of s.

    The difficulty is the mean of s(I, T⁻) − s(I, T) over the second half of each run's history. Runs are paired by
    position (seed). The interval is Student's over the pairs, because a bootstrap over few seeds is too narrow.
    """
    first, second = (np.array([difficulty_history(run).late_mean() for run in group]) for group in (runs, others))
    return students_t(100 * (first - second))
