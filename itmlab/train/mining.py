"""Hard negatives mined with any encoder: the nearest captions of each image and images of each caption.

In text retrieval negatives are mined with ranges and margins, as the nearest are often false: NV-Retriever (Moreira et
al., 2024) and sentence-transformers' `mine_hard_negatives`. Here both ways between images and captions, with FNE's
posterior (Li et al., 2023, Eq. 9) as one more filter, and with the world's truth where there is one (METHODS 3.10).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int8, Int64
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn.functional import normalize

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..fields import from_plain
from ..models.encoded import cosine_similarity, evaluating
from ..samplers.fne import FalseNegativeEliminating, Statistics, posterior
from ..synthesis.files import NegativeFile, rows_of, write_negatives
from ..synthesis.negative import Negative
from .run import Run
from .scores import embed, has_one_feature, similarity
from .search import largest

if TYPE_CHECKING:
    import datasets

BATCH_SIZE = 32  # pairs from which FNE's statistics are gathered together, as in its training
SCORES_AT_ONCE = 1 << 24
Pairs = Int64[Tensor, "pair"]
Rows = Int64[Tensor, "row"]
ScoreRows = Callable[[Rows], Float[Tensor, "row candidate"]]


@dataclass(frozen=True)
class Filters:
    """Which of the nearest are taken as negatives; every field is an argument of `mine`."""

    number: int = 3
    skip: int = 0
    up_to: int | None = None
    relative_margin: float | None = None
    probability: float | None = None
    prior: float = 1e-4

    def __post_init__(self) -> None:
        for name, least in {"number": 1, "skip": 0, "up_to": self.skip + self.number, "relative_margin": 0}.items():
            if (value := getattr(self, name)) is not None and value < least:
                raise ItmlabError(f"{name}={value!r}", where="mine", remedy=f"give {least} or more")
        if self.probability is not None and not 0 < self.probability <= 1:
            raise ItmlabError(f"probability={self.probability!r}", where="mine", remedy="give one above 0, up to 1")

    @property
    def last(self) -> int:
        """The rank at which looking ends."""
        return self.skip + 10 * self.number if self.up_to is None else self.up_to


@dataclass(frozen=True)
class Nearest:
    """The negatives of all anchors of one kind, −1 and NaN where there are fewer, and what was left out why.

    `positive_scores` are those of the margins. `truth` is what the world says of each: 1 true, 0 false, −1 undecided.
    """

    negatives: Int64[Tensor, "anchor number"]
    scores: Float[Tensor, "anchor number"]
    positive_scores: Float[Tensor, "anchor"]
    left_out: dict[str, int]
    truth: Int8[Tensor, "anchor number"] | None = None

    def of(self, anchor: int) -> list[int]:
        """The negatives of one anchor, the nearest first."""
        return [negative for negative in self.negatives[anchor].tolist() if negative >= 0]


def mine(
    encoder: Run | nn.Module | tuple[Tensor, Tensor], data: CaptionSet, *, truth: bool = True, **filters: Any
) -> "Mined":
    """The hardest captions of every image and images of every caption of `data`, by an encoder.

    An image's own captions, and captions that read the same, are never taken; nor are a caption's own image and images
    that are the same to the byte. Of negatives that are the same only the first is taken.

    Args:
        encoder: a run, a model, or features (image, dimension) and (caption, dimension), compared by their cosine.
        data: the images and captions.
        truth: count how many negatives are true, where the data have a world.
        filters: `number` (3) negatives per anchor are taken from rank `skip` (0) to `up_to` (by default `skip` and ten
            times `number`). Before that two filters leave out candidates: those that score above the positive less
            `relative_margin` times its size (0.05 is NV-Retriever's TopK-PercPos of 95 %), and those that match with a
            `probability` or more by FNE's posterior with `prior` (1e-4), from statistics of `data` as `samplers.fne`
            gathers them. An image's positive is its caption with the lowest score.

    Raises:
        ItmlabError: filters that are unknown or out of range, features that do not fit, a model that ranks no pair
            first (for the posterior).

    >>> from itmlab.scenes import load
    >>> data, features = load(images=4), torch.eye(4)
    >>> mined = mine((features, features.repeat_interleave(5, dim=0)), data, number=2, truth=False)
    >>> mined.captions.of(0), mined.images.of(0)
    ([5, 6], [1, 2])
    """
    try:
        chosen = from_plain(Filters, filters, "")
    except ItmlabError as error:
        raise ItmlabError(error.what, where="mine", remedy=error.remedy) from None
    if not len(data.captions):
        raise ItmlabError("there are no captions to mine", where=data.name)
    score_captions, score_images = _score_rows(encoder, data)
    images, captions = data.image_groups, data.caption_groups
    numbers = torch.arange(len(data.captions))
    of_images = Side(score_captions, images, captions, data.image_of_caption, numbers)
    of_captions = Side(score_images, captions, images, numbers, data.image_of_caption)
    statistics = None if chosen.probability is None else _statistics(of_images, data, chosen.prior)
    mined_captions, mined_images = of_images.mined(chosen, statistics), of_captions.mined(chosen, statistics)
    if not (mined_captions.left_out["looked at"] or mined_images.left_out["looked at"]):
        message = "nothing is left to mine: every caption is the image's own, or skipped"
        raise ItmlabError(message, where=data.name, remedy="take more images, or a smaller skip")
    if truth and data.world is not None:
        mined_captions = _with_truth(data.world, mined_captions, "images")
        mined_images = _with_truth(data.world, mined_images, "captions")
    return Mined(data, chosen, mined_captions, mined_images)


@dataclass
class Side:
    """Anchors of one kind with their candidates: images with captions, or captions with images."""

    score: ScoreRows  # some anchors with all candidates
    groups: Int64[Tensor, "anchor"]  # anchors of one group are the same
    candidate_groups: Int64[Tensor, "candidate"]
    anchor: Pairs  # the annotated pairs
    candidate: Pairs

    def __post_init__(self) -> None:
        groups = self.groups[self.anchor].numpy(), self.candidate_groups[self.candidate].numpy()
        shape = int(self.groups.max()) + 1, int(self.candidate_groups.max()) + 1
        self.own = csr_array((np.ones(len(self.anchor), dtype=bool), groups), shape=shape)

    def belong(self, anchors: Rows, candidates: Rows) -> Bool[Tensor, "anchor candidate"]:
        """Which pairs, or pairs of the same, are annotated."""
        own = self.own[self.groups[anchors].numpy()][:, self.candidate_groups[candidates].numpy()]
        return torch.from_numpy(own.toarray())

    def mined(self, filters: Filters, statistics: Statistics | None) -> Nearest:
        """The negatives of all anchors: within the ranks, past every filter."""
        # of candidates that are the same only the first is taken; groups are numbered as they occur
        groups = self.candidate_groups.cummax(0).values
        first = torch.searchsorted(groups, torch.arange(int(groups[-1]) + 1))
        left_out: Counter[str] = Counter()
        negatives = torch.full((len(self.groups), filters.number), -1)
        scores, positive_scores = torch.full(negatives.shape, torch.nan), torch.full((len(negatives),), torch.nan)
        for rows in torch.arange(len(negatives)).split(max(1, SCORES_AT_ONCE // len(groups))):
            block = self.score(rows)
            positive_scores[rows] = positive = self._lowest_positive(rows, block)
            ranked, places = largest(block[:, first].masked_fill(self.belong(rows, first), -torch.inf), filters.last)
            ranked, candidates = ranked[:, filters.skip :].double(), first[places[:, filters.skip :]]
            left_out["looked at"] += int((ranked > -torch.inf).sum())
            if filters.relative_margin is not None:
                limit = positive.double() - filters.relative_margin * positive.double().abs()
                _leave_out(ranked, ~(ranked <= limit[:, None]), left_out, "relative margin")
            if statistics is not None:
                matching = posterior(ranked, statistics, prior=filters.prior) >= filters.probability
                _leave_out(ranked, matching, left_out, "posterior")
            best, slots = largest(ranked, filters.number)
            is_taken, width = best > -torch.inf, best.shape[1]
            negatives[rows, :width] = candidates.gather(1, slots).where(is_taken, -1)
            scores[rows, :width] = best.float().where(is_taken, torch.nan)
        return Nearest(negatives, scores, positive_scores, dict(left_out))

    def _lowest_positive(self, rows: Rows, block: Float[Tensor, "row candidate"]) -> Float[Tensor, "row"]:
        """The lowest score of the annotated pairs of each anchor; NaN where there is none."""
        inside = (self.anchor >= rows[0]) & (self.anchor <= rows[-1])
        row, column = self.anchor[inside] - rows[0], self.candidate[inside]
        lowest = torch.full((len(rows),), torch.inf).scatter_reduce(0, row, block[row, column], "amin")
        return lowest.where(lowest.isfinite(), torch.nan)


def _leave_out(
    ranked: Float64[Tensor, "anchor rank"], which: Bool[Tensor, "anchor rank"], left_out: Counter[str], why: str
) -> None:
    """Put candidates behind all others, and count them."""
    left_out[why] += int((which & (ranked > -torch.inf)).sum())
    ranked[which] = -torch.inf


def _score_rows(encoder: Run | nn.Module | tuple[Tensor, Tensor], data: CaptionSet) -> tuple[ScoreRows, ScoreRows]:
    """Functions that score some images with all captions, and some captions with all images."""
    if not isinstance(encoder, tuple | list):
        model = encoder.model if isinstance(encoder, Run) else encoder
        if not has_one_feature(model):
            matrix = similarity(model, data).float()
            return lambda rows: matrix[rows], lambda rows: matrix.T[rows]
        with evaluating(model):
            encoder = embed(model, data)
    features = [torch.as_tensor(side).detach().float().cpu() for side in encoder]
    shapes = [tuple(side.shape) for side in features]
    dimensions = shapes[0][1:]
    if len(dimensions) != 1 or shapes != [(len(data), *dimensions), (len(data.captions), *dimensions)]:
        message = f"features {shapes} for {len(data)} images and {len(data.captions)} captions"
        raise ItmlabError(message, where="mine", remedy="give (image, dimension) and (caption, dimension)")
    images, captions = (normalize(side, dim=1) for side in features)
    return (lambda rows: cosine_similarity(images[rows], captions)), (
        lambda rows: cosine_similarity(captions[rows], images)
    )


def _statistics(images: Side, data: CaptionSet, prior: float) -> Statistics:
    """FNE's statistics, from batches of pairs in random order, one per image, as an epoch of its training has them."""
    generator = torch.Generator().manual_seed(0)
    sampler = FalseNegativeEliminating(prior=prior, minimum_positives=1)
    owned = [(image, own) for image, own in enumerate(data.captions_of_image) if len(own)]
    pairs = torch.tensor([[image, own[torch.randint(len(own), (), generator=generator)]] for image, own in owned])
    for batch in pairs[torch.randperm(len(pairs), generator=generator)].split(BATCH_SIZE):
        rows, columns = batch.T
        sampler.observe(images.score(rows)[:, columns], images.belong(rows, columns))
    if not sampler.ready:
        message = "no pair is the best of its row and column, so nothing is known about the scores of positives"
        raise ItmlabError(message, where=data.name, remedy="take a trained encoder, or leave probability out")
    return sampler.statistics


def _with_truth(world: Any, nearest: Nearest, anchors: str) -> Nearest:
    """The same with what the world says of each negative, asked image by image."""
    truth = torch.full(nearest.negatives.shape, -1, dtype=torch.int8)
    anchor, slot = (nearest.negatives >= 0).nonzero(as_tuple=True)
    other = nearest.negatives[anchor, slot]
    images, captions = (anchor, other) if anchors == "images" else (other, anchor)
    for image in images.unique():
        rows = images == image
        truth[anchor[rows], slot[rows]] = world.truth(image[None], captions[rows])[0]
    return replace(nearest, truth=truth)


@dataclass(frozen=True)
class Mined:
    """What `mine` found: for each image `captions`, for each caption `images`. Printed, it is a table of statistics."""

    data: CaptionSet = field(repr=False)
    filters: Filters
    captions: Nearest = field(repr=False)
    images: Nearest = field(repr=False)

    def statistics(self) -> list[dict[str, Any]]:
        """A row per direction: counts, quartiles of positive and negative scores, what was left out, and the truth."""
        rows = []
        for name, nearest in (("captions of images", self.captions), ("images of captions", self.images)):
            is_taken = nearest.negatives >= 0
            row: dict[str, Any] = {"mined": name, "anchors": len(is_taken), "negatives": int(is_taken.sum())}
            row["with fewer than wanted"] = int((is_taken.sum(1) < self.filters.number).sum())
            for kind, scores in (("positive", nearest.positive_scores), ("negative", nearest.scores)):
                for part, share in {"25 %": 0.25, "median": 0.5, "75 %": 0.75}.items():
                    row[f"{kind} {part}"] = scores.double().nanquantile(share).item()
            row |= {why if why == "looked at" else f"left out: {why}": count for why, count in nearest.left_out.items()}
            if nearest.truth is not None:
                for word, label in {"true": 1, "false": 0, "undecided": -1}.items():
                    row[word] = int((nearest.truth[is_taken] == label).sum())
            rows.append(row)
        return rows

    def __str__(self) -> str:
        import pandas

        table = pandas.DataFrame(self.statistics(), dtype=object).set_index("mined").T
        return table.to_string(float_format="{:.3f}".format)

    def negatives(self) -> Iterator[Negative]:
        """The captions mined for the image of each caption, as negatives of that caption with scores and labels."""
        labels = torch.full_like(self.captions.negatives, -1) if self.captions.truth is None else self.captions.truth
        for caption, image in enumerate(self.data.image_of_caption.tolist()):
            mined = zip(
                self.captions.of(image), self.captions.scores[image].tolist(), labels[image].tolist(), strict=False
            )
            for other, score, label in mined:
                truth = None if label < 0 else bool(label)
                yield Negative(self.data.captions[other], image, caption, score=score, truth=truth)

    @property
    def made_by(self) -> str:
        """How they were mined, for the rows of a file."""
        filters = {name: value for name, value in asdict(self.filters).items() if value is not None}
        return ", ".join(["generator=mine", *(f"{name}={value}" for name, value in filters.items())])

    def write(self, out: str | Path, *, force: bool = False) -> NegativeFile:
        """Write `negatives` to a file, for `read_negatives` and a recipe's `extra_negatives`."""
        return write_negatives(out, self.data, self.negatives(), made_by=self.made_by, force=force)

    def dataset(self) -> "datasets.Dataset":
        """The rows of that file as a Hugging Face data set with the columns `caption`, `negative`, `score` and more."""
        from datasets import Dataset

        return Dataset.from_list(list(rows_of(self.data, self.negatives(), made_by=self.made_by)))
