"""Hard negatives mined with any encoder: the nearest captions of each image and images of each caption, but its own.

In text retrieval negatives are mined with ranges and margins, as the nearest are often false: NV-Retriever (Moreira et
al., 2024) and sentence-transformers' `mine_hard_negatives`. Here both ways between images and captions, with FNE's
posterior (Li et al., 2023, Eq. 9) as one more filter, and with the world's truth where there is one (METHODS 3.10).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from jaxtyping import Bool, Float, Float64, Int8, Int64
from torch import Tensor, nn
from torch.nn.functional import normalize

from ..data.captionset import CaptionSet
from ..data.pictures import NoPictures
from ..errors import ItmlabError
from ..fields import did_you_mean, typed
from ..models.encoded import evaluating
from ..samplers.fne import FalseNegativeEliminating, Statistics, posterior
from ..samplers.retrieved import hardest_negatives
from ..synthesis.files import NegativeFile, rows_of, write_negatives
from ..synthesis.negative import Negative, reads_as
from .run import Run
from .scores import embed, similarity
from .search import Index

if TYPE_CHECKING:
    import datasets

LOOKED_AT = 10  # times as many ranks as negatives are wanted, unless it is said how many
BATCH_SIZE = 32  # pairs from which FNE's statistics are gathered together, as in its training
Pairs = Int64[Tensor, "pair"]


@dataclass(frozen=True)
class Filters:
    """Which of the nearest are taken as negatives; every field is an argument of `mine`."""

    number: int = 3
    skip: int = 0
    up_to: int | None = None
    absolute_margin: float | None = None
    relative_margin: float | None = None
    maximum: float | None = None
    probability: float | None = None
    prior: float = 1e-4
    choose: Literal["top", "random"] = "top"
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"number": 1, "skip": 0, "up_to": self.skip + self.number, "absolute_margin": 0, "relative_margin": 0}
        for name, low in least.items():
            if (value := getattr(self, name)) is not None and value < low:
                raise ItmlabError(f"{name}={value!r}", where="mine", remedy=f"give {low} or more")
        if self.probability is not None and not 0 < self.probability <= 1:
            raise ItmlabError(f"probability={self.probability!r}", where="mine", remedy="give one above 0, up to 1")
        if self.choose not in ("top", "random"):
            raise ItmlabError(f"choose={self.choose!r}", where="mine", remedy="top or random")

    @classmethod
    def of(cls, given: dict[str, Any]) -> "Filters":
        """Those that were given, checked by name and type."""
        hints = cls.__annotations__
        if unknown := [name for name in given if name not in hints]:
            raise ItmlabError(f"no filter {unknown[0]!r}", where="mine", remedy=did_you_mean(unknown[0], hints))
        return cls(**{name: typed(hints[name], value, f"mine.{name}") for name, value in given.items()})

    @property
    def last(self) -> int:
        """The rank at which looking ends."""
        return self.skip + LOOKED_AT * self.number if self.up_to is None else self.up_to


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
    encoder: Run | nn.Module | tuple[Tensor, Tensor],
    data: CaptionSet,
    *,
    truth: bool = True,
    **filters: Any,
) -> "Mined":
    """The hardest captions of every image and images of every caption of `data` that are not its own, by an encoder.

    `encoder` is a run, a model, or the features (image, dimension) and (caption, dimension) of any other one, compared
    by their cosine. An image's own are its captions and whatever reads the same, a caption's its image and whatever is
    the same picture to the byte; neither is ever taken, and of negatives that are the same only the first.

    The rest stands in order of its scores: `number` (3) negatives an anchor are taken from rank `skip` to `up_to`
    (default: `skip` and ten times `number`), the "top" ones or, with `choose="random"`, any with equal chances by
    `seed`. Before that go those that score above the positive less `absolute_margin`, or less `relative_margin` times
    its size (0.05: NV-Retriever's TopK-PercPos of 95 %), or above `maximum`; and those that match with a `probability`
    or more by FNE's posterior with `prior`, from statistics of `data` as `samplers.fne` gathers them. An image's
    positive is the lowest of its captions. Where the data have a world, `truth` asks it how many are true.

    ItmlabError: filters that are none or out of range, features that do not fit, a model that ranks no pair first (for
    the posterior).

    >>> from itmlab.scenes import load
    >>> data, features = load(images=4), torch.eye(4)
    >>> mined = mine((features, features.repeat_interleave(5, dim=0)), data, number=2, truth=False)
    >>> mined.captions.of(0), mined.images.of(0)
    ([5, 6], [1, 2])
    """
    chosen = Filters.of(filters)
    if not len(data.captions):
        raise ItmlabError("there are no captions to mine", where=data.name)
    identities = Identities.of(data)
    scores = _scores(encoder, data)
    statistics = None if chosen.probability is None else _statistics(scores, data, identities, chosen)
    own = scores.pairs(data.image_of_caption, torch.arange(len(data.captions)))
    lowest = torch.full((len(data),), torch.inf).scatter_reduce(0, data.image_of_caption, own, "amin")
    lowest[lowest.isinf()] = torch.nan  # an image without captions
    found = []
    for anchors, positive in (("images", lowest), ("captions", own)):
        nearest = scores.nearest(anchors, identities, chosen.last)
        found.append(_filtered(*nearest, positive, identities, anchors, chosen, statistics))
    if not any(nearest.left_out["looked at"] for nearest in found):
        what = "nothing is left to mine: of every picture every caption is its own, or skipped"
        raise ItmlabError(what, where=data.name, remedy="take more pictures, or a smaller skip")
    if truth and data.world is not None:
        found = [
            _with_truth(data, nearest, anchors) for nearest, anchors in zip(found, ("images", "captions"), strict=True)
        ]
    return Mined(data, chosen, *found)


@dataclass(frozen=True)
class Identities:
    """Which captions read the same and which pictures are the same, by group; and the pairs of groups that belong."""

    images: Int64[Tensor, "image"]
    captions: Int64[Tensor, "caption"]
    own: Int64[Tensor, "pair"]

    @classmethod
    def of(cls, data: CaptionSet) -> "Identities":
        images, captions = _groups(_contents(data)), _groups([reads_as(caption) for caption in data.captions])
        own = images[data.image_of_caption] * len(captions) + captions
        return cls(images, captions, own.unique())

    def first(self, side: str) -> Int64[Tensor, "group"]:
        """The first item of each group."""
        groups = getattr(self, side)
        return torch.full((int(groups.max()) + 1,), len(groups)).scatter_reduce(
            0, groups, torch.arange(len(groups)), "amin"
        )

    def belong(self, images: Int64[Tensor, "*any"], captions: Int64[Tensor, "*any"]) -> Bool[Tensor, "*any"]:
        """Whether the caption, or one that reads the same, was written for the image or the same picture."""
        return torch.isin(self.images[images] * len(self.captions) + self.captions[captions], self.own)

    def most(self, anchors: str) -> int:
        """How many groups the anchor with the most has of its own."""
        groups = self.own // len(self.captions) if anchors == "images" else self.own % len(self.captions)
        return int(torch.bincount(groups).max())


def _groups(keys: Sequence[bytes]) -> Int64[Tensor, "item"]:
    numbers: dict[bytes, int] = {}
    return torch.tensor([numbers.setdefault(key, len(numbers)) for key in keys], dtype=torch.int64)


def _contents(data: CaptionSet) -> list[bytes]:
    """What is the same of pictures that are the same to the byte, where they are stored; else each is its own."""
    cells = getattr(data.images, "cell", None)
    if cells is None or isinstance(data.images, NoPictures):
        return [image_id.encode("utf-8", "surrogatepass") for image_id in data.image_ids]
    stored = (cells(image) for image in range(len(data)))
    return [
        blake2b(Path(each["path"]).read_bytes() if each["bytes"] is None else each["bytes"]).digest() for each in stored
    ]


@dataclass
class ByFeatures:
    """Cosines of features; the nearest by `Index`."""

    images: Float[Tensor, "image dimension"]
    captions: Float[Tensor, "caption dimension"]

    def pairs(self, images: Pairs, captions: Pairs) -> Float[Tensor, "pair"]:
        """The score of each pair, to the last digit as `nearest` has it."""
        return (self.images[images].double() * self.captions[captions].double()).sum(-1).float()

    def nearest(self, anchors: str, identities: Identities, last: int) -> tuple[Tensor, Tensor]:
        """Scores and numbers of so many candidates of each anchor, the best first, and as many more as it may own."""
        queries, other = (self.images, "captions") if anchors == "images" else (self.captions, "images")
        first = identities.first(other)
        scores, places = Index(getattr(self, other)[first]).search(queries, last + identities.most(anchors))
        return scores, first[places]


@dataclass
class ByMatrix:
    """Scores of all pairs, of a model that has no features."""

    matrix: Float[Tensor, "image caption"]

    def pairs(self, images: Pairs, captions: Pairs) -> Float[Tensor, "pair"]:
        return self.matrix[images, captions]

    def nearest(self, anchors: str, identities: Identities, last: int) -> tuple[Tensor, Tensor]:
        rows, other = (self.matrix, "captions") if anchors == "images" else (self.matrix.T, "images")
        first = identities.first(other)
        scores, places = rows[:, first].sort(dim=1, descending=True, stable=True)
        most = last + identities.most(anchors)
        return scores[:, :most], first[places[:, :most]]


def _scores(encoder: Run | nn.Module | tuple[Tensor, Tensor], data: CaptionSet) -> ByFeatures | ByMatrix:
    if isinstance(encoder, tuple | list):
        features = [torch.as_tensor(side).detach().float().cpu() for side in encoder]
        shapes = [tuple(side.shape) for side in features]
        fit = len(shapes) == 2 and all(len(shape) == 2 for shape in shapes) and shapes[0][1] == shapes[1][1]
        if not fit or [shape[0] for shape in shapes] != [len(data), len(data.captions)]:
            named = " and ".join(map(str, shapes))
            what = f"features {named} for {len(data)} images and {len(data.captions)} captions"
            raise ItmlabError(what, where="mine", remedy="give (image, dimension) and (caption, dimension)")
        return ByFeatures(*(normalize(side, dim=1) for side in features))
    model = encoder.model if isinstance(encoder, Run) else encoder
    with evaluating(model):
        if model.encodes_apart and not model.compares_parts:
            return ByFeatures(*(normalize(side, dim=1) for side in embed(model, data)))
        return ByMatrix(similarity(model, data).float())


def _statistics(scores: ByFeatures | ByMatrix, data: CaptionSet, identities: Identities, chosen: Filters) -> Statistics:
    """FNE's, from batches of pairs in random order, of each image one: as an epoch of its training gathers them."""
    generator = torch.Generator().manual_seed(chosen.seed)
    sampler = FalseNegativeEliminating(prior=chosen.prior, minimum_positives=1)
    owned = [(image, own) for image, own in enumerate(data.captions_of_image) if len(own)]
    pairs = torch.tensor([[image, own[torch.randint(len(own), (), generator=generator)]] for image, own in owned])
    for batch in pairs[torch.randperm(len(pairs), generator=generator)].split(BATCH_SIZE):
        grid = torch.meshgrid(batch[:, 0], batch[:, 1], indexing="ij")
        block = scores.pairs(*(side.flatten() for side in grid)).view(grid[0].shape)
        sampler.observe(block, identities.belong(*grid))
    if not sampler.ready:
        what = "no pair is the best of its row and column, so nothing is known of how positives score"
        raise ItmlabError(what, where=data.name, remedy="take a trained encoder, or leave probability out")
    return sampler.statistics


def _filtered(
    scores: Float[Tensor, "anchor rank"],
    candidates: Int64[Tensor, "anchor rank"],
    positive: Float[Tensor, "anchor"],
    identities: Identities,
    anchors: str,
    chosen: Filters,
    statistics: Statistics | None,
) -> Nearest:
    """The negatives among the nearest: within the ranks, past every filter, as many as are wanted."""
    rows = torch.arange(len(scores))[:, None].expand_as(candidates)
    own = identities.belong(*((rows, candidates) if anchors == "images" else (candidates, rows)))
    rank = (~own).cumsum(1) - 1
    allowed = ~own & (rank >= chosen.skip) & (rank < chosen.last)
    left_out = {"its own": int((own & (rank < chosen.last)).sum()), "looked at": int(allowed.sum())}
    for name, keeps in _passing(scores.double(), positive[:, None].double(), chosen, statistics).items():
        left_out[name] = int((allowed & ~keeps).sum())
        allowed = allowed & keeps
    if chosen.choose == "top":
        slots = hardest_negatives(scores, allowed, chosen.number)
    else:
        chance = torch.rand(scores.shape, generator=torch.Generator().manual_seed(chosen.seed))
        slots = hardest_negatives(chance, allowed, chosen.number)
        beyond = scores.shape[1]  # the nearest first again, what is missing last
        slots = torch.where(slots < 0, beyond, slots).sort(dim=1).values
        slots = torch.where(slots == beyond, -1, slots)
    slots = nn.functional.pad(slots, (0, chosen.number - slots.shape[1]), value=-1)
    there = slots >= 0
    taken = [
        torch.where(there, each.gather(1, slots.clamp(min=0)), none)
        for each, none in ((candidates, -1), (scores, torch.nan))
    ]
    return Nearest(*taken, positive, left_out)


def _passing(
    scores: Float64[Tensor, "anchor rank"],
    positive: Float64[Tensor, "anchor 1"],
    chosen: Filters,
    statistics: Statistics | None,
) -> dict[str, Bool[Tensor, "anchor rank"]]:
    """By the name of each filter asked for, what passes it."""
    passing = {}
    if chosen.absolute_margin is not None:
        passing["absolute margin"] = scores <= positive - chosen.absolute_margin
    if chosen.relative_margin is not None:
        passing["relative margin"] = scores <= positive - chosen.relative_margin * positive.abs()
    if chosen.maximum is not None:
        passing["maximum"] = scores <= chosen.maximum
    if statistics is not None:
        passing["posterior"] = posterior(scores, statistics, prior=chosen.prior) < chosen.probability
    return passing


def _with_truth(data: CaptionSet, nearest: Nearest, anchors: str) -> Nearest:
    """The same with the world's labels; asked image by image."""
    anchor, slot = (nearest.negatives >= 0).nonzero(as_tuple=True)
    other = nearest.negatives[anchor, slot]
    images, captions = (anchor, other) if anchors == "images" else (other, anchor)
    labels = torch.full(images.shape, -1, dtype=torch.int8)
    order = images.argsort(stable=True)
    for some in order.split(torch.bincount(images).tolist()) if len(order) else ():
        if len(some):
            labels[some] = data.world.truth(images[some][:1], captions[some])[0]
    truth = torch.full(nearest.negatives.shape, -1, dtype=torch.int8)
    truth[anchor, slot] = labels
    return Nearest(nearest.negatives, nearest.scores, nearest.positive_scores, nearest.left_out, truth)


@dataclass(frozen=True)
class Mined:
    """What `mine` found: for each image `captions`, for each caption `images`. Printed, it is a table of statistics."""

    data: CaptionSet = field(repr=False)
    filters: Filters
    captions: Nearest = field(repr=False)
    images: Nearest = field(repr=False)

    def statistics(self) -> list[dict[str, Any]]:
        """A row a direction: counts, quartiles of positive and negative scores, what was left out, and the truth."""
        rows = []
        for name, found in (("captions of images", self.captions), ("images of captions", self.images)):
            there = found.negatives >= 0
            row: dict[str, Any] = {"mined": name, "anchors": len(there), "negatives": int(there.sum())}
            row["with fewer than wanted"] = int((there.sum(1) < self.filters.number).sum())
            for kind, scores in (("positive", found.positive_scores), ("negative", found.scores[there])):
                values = scores[scores.isfinite()].double()
                for part, share in {"25 %": 0.25, "median": 0.5, "75 %": 0.75}.items():
                    row[f"{kind} {part}"] = torch.quantile(values, share).item() if len(values) else torch.nan
            row |= {f"left out: {why}" if why != "looked at" else why: count for why, count in found.left_out.items()}
            if found.truth is not None:
                labels = found.truth[there]
                for word, label in {"true": 1, "false": 0, "undecided": -1}.items():
                    row[word] = int((labels == label).sum())
            rows.append(row)
        return rows

    def __str__(self) -> str:
        import pandas

        table = pandas.DataFrame(self.statistics(), dtype=object).set_index("mined").T
        return table.to_string(float_format="{:.3f}".format)

    def negatives(self) -> Iterator[Negative]:
        """The captions mined for the image of each caption, as negatives of that caption with scores and labels."""
        mined = self.captions
        for caption, image in enumerate(self.data.image_of_caption.tolist()):
            labels = [-1] * self.filters.number if mined.truth is None else mined.truth[image].tolist()
            scores = mined.scores[image].tolist()
            for other, score, label in zip(mined.of(image), scores, labels, strict=False):
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
