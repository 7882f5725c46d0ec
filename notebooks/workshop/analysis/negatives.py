"""Negatives of captions from any generator, with their scores, changed words, fluency and truth labels.

Algorithm 1 masks, refills, drops false negatives and keeps those with the largest s(I, T⁻). The difficulty of a
negative is s(I, T⁻) − s(I, T) (Sec. 4.1); a Run's history keeps it for the negatives of its training.

References:
    Fan et al. (2022), TAGS-DC, Secs. 2.1 and 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Int8, Int64
from numpy import ndarray
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics import CausalModel, fluency
from itmlab.metrics.statistics import Share, share
from itmlab.models import CrossEncoder
from itmlab.models.pairs import chunks
from itmlab.synthesis import FilteredTopM, Negative
from itmlab.synthesis.negative import Generate, best, scored, without_false_negatives
from itmlab.synthesis.rules import vse_c
from itmlab.synthesis.tags import Tags, graphs_of, implied_in
from itmlab.text import PhraseMasking, WordMasking, parse

from .retrieved import Retrieved
from .scoring import as_score, matching, model_of, require_truth

TRUTH_LABELS = {True: 1, False: 0, None: -1}


@dataclass(frozen=True)
class TrueNegatives:
    """The share of decided sentences that are false of their picture, and the number of undecided sentences."""

    share: Share
    undecided: int

    def __str__(self) -> str:
        return f"{self.share} decided; {self.undecided:,} undecided"


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
        return torch.tensor([TRUTH_LABELS[negative.truth] for negative in self.all()], dtype=torch.int8)

    @property
    def truth(self) -> TrueNegatives:
        """The share that is truly negative by the world's labels, with its 95 % interval.

        References:
            Fan et al. (2022), Sec. 4.2: 96.5 % of 200 sentences, judged by two people.
        """
        labels = self.truth_labels
        is_decided = labels >= 0
        return TrueNegatives(share(labels[is_decided] == 0, self.images[is_decided]), int((~is_decided).sum()))

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
        rows = [[row[at] for at in sorted(chance.permutation(len(row))[:number])] for row in self.negatives]
        return replace(self, negatives=rows)


# Generators: refilled maskings, swaps by rule, captions of other pictures.

GENERATORS = ("tags", "wm", "vse_c", "in_batch", "whole_set")
REFILLED = {"tags": PhraseMasking, "wm": WordMasking}  # written and chosen by a cross-encoder
BATCH_SIZE = 32  # captions whose region embeddings and candidates are in memory at once, and of "in_batch"


def cross_encoder_of(run: Any) -> CrossEncoder:
    """Return the model itself, or the model of a Run.

    Raises:
        ItmlabError: it does not read words and picture together.
    """
    model = model_of(run)
    if model is None or model.encodes_apart:
        fault = f"this needs a cross-encoder, got {type(model).__name__}"
        raise ItmlabError(fault, remedy="give a run of one, such as the shipped `tags_dc`")
    return model


def synthetic_negatives(
    data: CaptionSet,
    captions: Sequence[int],
    generator: str | Generate = "tags",
    *,
    run: Any = None,
    scorer: Any = None,
    keep: int | None = 31,
    filtered: bool = True,
    implied: bool = True,
    maskings: int = 20,
    samples: int = 20,
    temperature: float = 1.5,
    drawn: int = 399,
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
        drawn: how many captions "whole_set" draws per caption.
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
    if callable(generator):
        generate = generator
    elif generator in REFILLED:
        drawing = {"maskings": maskings, "samples": samples, "temperature": temperature}
        generate = Tags(cross_encoder_of(run), data, masking=REFILLED[generator](), **choice, **drawing)
    elif generator == "vse_c":
        generate = vse_c(data, None if match else keep, filtered=filtered)
    elif generator == "in_batch":
        generate = Retrieved(number=len(data.captions))
    elif generator == "whole_set":
        generate = Retrieved(data.captions, number=drawn)
    else:
        raise ItmlabError(f"no generator {generator!r}", remedy=f"choose from {', '.join(GENERATORS)}")
    order, of_caption, shuffled = torch.Generator().manual_seed(seed), {}, numbers
    if generator == "in_batch":  # captions of a block are each other's negatives
        shuffled = [numbers[position] for position in torch.randperm(len(numbers), generator=order).tolist()]
    for block in chunks(shuffled, BATCH_SIZE):
        images = data.image_of_caption[block]
        inputs = [data.captions[number] for number in block], graphs_of(data, block), data.captions_of(images.tolist())
        score = match and partial(lambda images, sentences, of: match(images[of].tolist(), sentences), images)
        if isinstance(generate, Tags):
            negatives = generate(*inputs, generator=order, numbers=block)
            if scorer is not run:
                negatives = [best(row, len(row)) for row in scored(negatives, score)]
        else:
            negatives = FilteredTopM(generate, **choice, score=score)(*inputs, generator=order)
        for number, image, row in zip(block, images.tolist(), negatives, strict=True):
            of_caption[number] = [negative.of(image, number) for negative in row]
    rows = [of_caption[number] for number in numbers]
    captions_of = [data.captions[number] for number in numbers]
    positive = match and match(data.image_of_caption[numbers].tolist(), captions_of)
    sentences = [negative.sentence for row in rows for negative in row]
    if fluent is not None:
        perplexity = iter(fluency(sentences, fluent).perplexity.tolist())
        rows = [[replace(negative, fluency=next(perplexity)) for negative in row] for row in rows]
    if truth and data.world is not None:
        parse(sentences)  # fills the cache that the world reads
        entails = data.world.entails
        rows = [
            [replace(negative, truth=entails(negative.image, negative.sentence)) for negative in row] for row in rows
        ]
    name = generator if isinstance(generator, str) else getattr(generator, "__name__", type(generator).__name__)
    return SyntheticNegatives(data, name, tuple(numbers), rows, positive, scorer)


# The filter of false negatives: the share of truly false sentences before and after it.


def truth_by_filter(made: SyntheticNegatives, *, keep: int | None = 31) -> dict[str, TrueNegatives]:
    """Return the true negatives among the `keep` best of each caption, by form of the filter (Sec. 2.1.2).

    Args:
        made: all candidates (made with `filtered=False, keep=None`), so that each form chooses from the same ones.
        keep: negatives per caption.

    Raises:
        ItmlabError: the data have no world.
    """
    require_truth(made.data.world, made.data)
    said = made.data.captions_of(made.data.image_of_caption[list(made.captions)].tolist())
    candidates, implied = list(zip(made.negatives, said, strict=True)), implied_in(made.data)
    forms = {
        "before the filter": made.negatives,
        "after the filter": [without_false_negatives(row, captions) for row, captions in candidates],
        "with implied words": [without_false_negatives(row, captions, implied) for row, captions in candidates],
    }
    return {name: replace(made, negatives=rows).first(keep).truth for name, rows in forms.items()}


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
