"""Negatives of captions from any generator, with their scores, changed words, fluency and truth labels.

Algorithm 1 masks, refills, drops false negatives and keeps those with the largest s(I, T⁻). The difficulty of a
negative is s(I, T⁻) − s(I, T) (Sec. 4.1); a Run's history keeps it for the negatives of its training.

References:
    Fan et al. (2022), TAGS-DC, Secs. 2.1 and 4.
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
    def matched(self) -> tuple[Float[Tensor, "negative"], Float[Tensor, "negative"]]:
        """The matching scores of each negative's caption and of the negative itself, as the model gives them.

        Raises:
            ItmlabError: nothing was scored.
        """
        if self.positive is None:
            raise ItmlabError("these negatives have no scores", remedy="make them with run= or scorer=")
        positive = self.positive.repeat_interleave(torch.tensor([len(row) for row in self.negatives]))
        return positive, torch.tensor([negative.score for negative in self.all()])

    @property
    def scores(self) -> tuple[Float[Tensor, "negative"], Float[Tensor, "negative"]]:
        """`matched` as s(I, T) and s(I, T⁻) of Eq. 3: sigmoids of a cross-encoder's logits, or cosines."""
        positive, negative = self.matched
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
BATCH_SIZE = 32  # captions whose region embeddings and candidates are in memory at once
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
    """Generate negatives of captions, each with its score, its changed places and, on scenes, its truth label.

    Args:
        data: the set.
        captions: the numbers of the captions.
        generator: "tags" (phrases masked and refilled by the cross-encoder `run`), "wm" (the same with single words),
            "vse_c" (swaps by rule), "in_batch" (captions of other images of a batch), "whole_set" (captions of other
            images of the whole set), or a function that is called as `synthesis.FilteredTopM` calls it.
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
        batch: the size of the batches of "in_batch".
        fluent: the causal language model of the perplexities; None computes none.
        truth: whether the world judges the negatives.
        seed: of all draws.
        progress: whether to show a progress bar.

    Raises:
        ItmlabError: a number is not that of a caption, the generator is unknown, or its model is missing.
    """
    from tqdm.auto import tqdm

    numbers = [int(number) for number in captions]
    if not numbers or not 0 <= min(numbers) <= max(numbers) < len(data.captions):
        raise ItmlabError(f"captions must be numbers from 0 to {len(data.captions) - 1}", where=data.name)
    scorer = run if scorer is None else scorer
    match = None if scorer is None else matching(scorer, data)
    choice = {"keep": keep, "filtered": filtered, "implied": implied_in(data) if implied else None}
    drawing = {"maskings": maskings, "samples": samples, "temperature": temperature}
    generate = source(generator, data, run, match, drawn, choice, drawing, readable_by(scorer))
    order = torch.Generator().manual_seed(seed)
    of_caption: dict[int, list[Negative]] = {}
    blocks = _blocks(numbers, generator, batch, order)
    for block in tqdm(blocks, desc="making negatives", unit="block", disable=not progress):
        negatives = generate(block, order)
        if match is not None and scorer is not run and generator in REFILLED:
            negatives = _scored(negatives, data.image_of_caption[block].tolist(), match)
        of_caption |= dict(zip(block, negatives, strict=True))
    images = data.image_of_caption[numbers].tolist()
    rows = [
        [negative.of(image, number) for negative in of_caption[number]]
        for image, number in zip(images, numbers, strict=True)
    ]
    positive = None if match is None else match(images, [data.captions[number] for number in numbers])
    pairs = [(negative.image, negative.sentence) for row in rows for negative in row]
    if fluent is not None:
        rows = _with(rows, "fluency", fluency([sentence for _, sentence in pairs], fluent).perplexity.tolist())
    if truth and data.world is not None:
        labels = truth_labels_of(data, pairs)
        rows = _with(rows, "truth", ({-1: None, 0: False, 1: True}[labels[pair]] for pair in pairs))
    name = generator if isinstance(generator, str) else getattr(generator, "__name__", type(generator).__name__)
    return SyntheticNegatives(data, name, tuple(numbers), rows, positive, scorer)


def _blocks(numbers: list[int], generator: Generator, batch: int, order: torch.Generator) -> list[list[int]]:
    """Split the captions into blocks; captions that are each other's negatives are grouped at random."""
    size = BATCH_SIZE
    if generator == "in_batch":
        numbers = [numbers[position] for position in torch.randperm(len(numbers), generator=order).tolist()]
        size = batch
    if size < 1 or len(set(numbers)) < len(numbers):
        raise ItmlabError("a batch needs captions, each of them once", remedy="give different numbers")
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def _scored(negatives: list[list[Negative]], images: Sequence[int], match: Match) -> list[list[Negative]]:
    """Score the negatives by another model than the one that generated them, and sort them again."""
    image_of = [image for image, row in zip(images, negatives, strict=True) for _ in row]
    scores = match(image_of, [negative.sentence for row in negatives for negative in row]).tolist()
    return [sorted(row, key=lambda negative: -negative.score) for row in _with(negatives, "score", scores)]


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


def source(
    generator: Generator,
    data: CaptionSet,
    run: Any,
    match: Match | None,
    drawn: int | None,
    choice: dict[str, Any],
    drawing: dict[str, float],
    readable: Readable | None = None,
) -> Source:
    """Return a generator over captions of `data`, with Algorithm 1's filter and choice (see `synthetic_negatives`)."""
    if callable(generator):
        generate = generator
    elif generator in REFILLED:
        cross_encoder = model_of(run)
        if cross_encoder is None or cross_encoder.encodes_apart:
            raise ItmlabError(f"{generator} needs a cross-encoder to refill with", remedy="give run=, a trained `tags`")
        generate = Tags(cross_encoder, data, words=generator == "wm", **choice, **drawing)
    elif generator in GENERATORS:
        number = choice["keep"] if match is None else None  # without scores a few at random
        generate = {
            "vse_c": lambda: vse_c(data, number, filtered=choice["filtered"]),
            "in_batch": lambda: Retrieved(number=len(data.captions)),
            "whole_set": lambda: Retrieved(data.captions, number=len(data.captions) if drawn is None else drawn),
        }[generator]()
    else:
        raise ItmlabError(f"no generator {generator!r}", remedy=f"choose from {', '.join(GENERATORS)}")

    def generated(numbers: Sequence[int], order: torch.Generator) -> list[list[Negative]]:
        images = data.image_of_caption[list(numbers)]
        captions, references = [data.captions[number] for number in numbers], data.captions_of(images.tolist())
        inputs = captions, graphs(data, numbers), references
        if isinstance(generate, Tags):
            return generate(*inputs, generator=order, numbers=numbers)

        def score(sentences: list[str], of: Int[Tensor, "sentence"]) -> Float[Tensor, "sentence"]:
            return match(images[of].tolist(), sentences)

        filtered = FilteredTopM(generate, **choice, score=score if match else None, readable=readable)
        return filtered(*inputs, generator=order)

    return generated


def graphs(data: CaptionSet, numbers: Sequence[int]) -> list[SceneGraph]:
    """Return the scene graphs of captions: the world's own, or parsed ones."""
    if data.world is not None:
        return [data.world.graphs[number] for number in numbers]
    return parse([data.captions[number] for number in numbers])


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

    @property
    def edges(self) -> Float[ndarray, "edge"]:
        """The edges of the bins."""
        return np.linspace(-1, 1, self.counts.shape[1] + 1)

    @property
    def middles(self) -> Float[ndarray, "bin"]:
        """The centre of each bin."""
        return (self.edges[:-1] + self.edges[1:]) / 2

    def quantile(self, share: float) -> Float[ndarray, "step"]:
        """Return the difficulty below which this share of a step's negatives lies; NaN for a step without any.

        Negatives are taken as spread evenly within their bin.
        """
        quantiles = np.full(len(self.counts), np.nan)
        for row in self.counts.sum(axis=1).nonzero()[0]:
            below = np.concatenate([[0], np.cumsum(self.counts[row])]) / self.counts[row].sum()
            quantiles[row] = np.interp(share, below, self.edges)
        return quantiles


def difficulty_history(run: Any, negatives: str = "synthetic") -> DifficultyHistory:
    """Return the difficulty of a Run's "synthetic" or "retrieved" negatives during training.

    Raises:
        ItmlabError: the run recorded none.
    """
    records = [record for record in run.history if negatives in record.get("difficulty", {})]
    if not records:
        recorded = sorted({name for record in run.history for name in record.get("difficulty", {})})
        remedy = f"there are {', '.join(recorded)}" if recorded else "take a run of `tags`, `tags_dc` or `sg`"
        raise ItmlabError(f"no difficulty of {negatives!r} negatives recorded", where=str(run.directory), remedy=remedy)
    counts = np.array([record["difficulty"][negatives] for record in records])
    return DifficultyHistory(np.array([record["step"] for record in records]), counts)


def difficulty_gap(runs: Sequence[Any], others: Sequence[Any], negatives: str = "synthetic") -> Interval:
    """Return how much more difficult the negatives of `runs` are than those of `others`, in hundredths of s.

    The difficulty is the mean of s(I, T⁻) − s(I, T) over the second half of each run's history. Runs are paired by
    position (seed). The interval is Student's over the pairs, because a bootstrap over few seeds is too narrow.
    """
    if len(runs) != len(others) or len(runs) < 2:
        message = f"expected two or more pairs of runs, got {len(runs)} and {len(others)}"
        raise ItmlabError(message, where="difficulty_gap", remedy="train both with the same seeds")
    means = []
    for group in (runs, others):
        histories = [difficulty_history(run, negatives) for run in group]
        late = [history.counts[len(history.counts) // 2 :].sum(axis=0) for history in histories]
        means.append([count @ history.middles / count.sum() for count, history in zip(late, histories, strict=True)])
    return students_t(100 * (np.array(means[0]) - np.array(means[1])))
