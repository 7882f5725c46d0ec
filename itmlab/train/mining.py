"""Hard negatives of a whole data set, mined with any encoder or made by a named generator.

`mine` takes the nearest captions of each image and images of each caption. Text retrieval mines negatives with ranges
and margins, as the nearest are often false: NV-Retriever (Moreira et al., 2024) and `mine_hard_negatives` of
sentence-transformers. Here both ways between images and captions (METHODS 3.10). `write_negatives` is what
`python -m itmlab negatives` does.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import normalize

from ..data.captionset import CaptionSet
from ..errors import ItmlabError, named
from ..fields import FROM_0, check_known, from_plain
from ..models import CrossEncoder
from ..models.encoded import cosine_similarity
from ..session import usual_defaults
from ..storage import refuse_foreign
from ..synthesis import FilteredTopM, files
from ..synthesis.files import NegativeFile
from ..synthesis.negative import Negative
from ..synthesis.rules import vse_c
from ..synthesis.tags import Tags, implied_in
from .directory import file_hash, start_directory
from .run import Run
from .scores import embed, has_one_feature, largest, similarity
from .settings import Count, Settings

SCORES_AT_ONCE = 1 << 24
Rows = Int64[Tensor, "row"]
Encoder = Run | nn.Module | tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Filters(Settings, at=""):
    """The conditions for a negative; the fields are arguments of `mine`."""

    number: Count = 3
    skip: Annotated[int, FROM_0] = 0
    margin: Annotated[float | None, FROM_0] = None
    relative_margin: Annotated[float | None, FROM_0] = None


@dataclass(frozen=True)
class Nearest:
    """The negatives of all anchors of one kind.

    Attributes:
        negatives: the candidates' indices, the nearest first, -1 where there are fewer.
        scores: their scores, NaN where there are fewer.
        positive_scores: the lowest score of each anchor's own candidates, NaN without any.
        counts: how many candidates were looked at, and how many of them a margin left out.
    """

    negatives: Int64[Tensor, "anchor number"]
    scores: Float[Tensor, "anchor number"]
    positive_scores: Float[Tensor, "anchor"]
    counts: Counter[str]

    def of(self, anchor: int) -> list[int]:
        """The negatives of one anchor, the nearest first."""
        return [negative for negative in self.negatives[anchor].tolist() if negative >= 0]


@usual_defaults()
def mine(encoder: Encoder, data: CaptionSet, **filters: Any) -> "Mined":
    """Find the hardest captions of every image and images of every caption of `data`, by an encoder.

    What belongs to an anchor is never taken: the captions of an image and those that read the same, the image of a
    caption and those of the same content. Of negatives that are the same only the first is taken.

    Args:
        encoder: a run, a model, or features (image, dimension) and (caption, dimension), compared by their cosine.
        data: the images and captions.
        filters: `number` (3) negatives per anchor are taken from the ten times `number` nearest that follow the `skip`
            (0) nearest. Those are left out that score above the positive less `margin`, or less `relative_margin` times
            its size (0.05 is NV-Retriever's TopK-PercPos of 95 %). An image's positive is its caption with the lowest
            score.

    Raises:
        ItmlabError: filters that are unknown or out of range, features that do not fit, or nothing is left to mine.

    >>> from itmlab.scenes import load
    >>> data, features = load(images=4), torch.eye(4)
    >>> mined = mine((features, features.repeat_interleave(5, dim=0)), data, number=2)
    >>> mined.captions.of(0), mined.images.of(0)
    ([5, 6], [1, 2])
    """
    with named("mine"):
        chosen = from_plain(Filters, filters, "")
    if not len(data.captions):
        raise ItmlabError("there are no captions to mine", where=data.name)
    of_images, of_captions = _scorers(encoder, data)
    captions = _nearest(data, "captions", of_images, chosen)
    images = _nearest(data, "images", of_captions, chosen)
    if not captions.counts["looked at"] + images.counts["looked at"]:
        message = "nothing is left to mine: every caption is the image's own, or skipped"
        raise ItmlabError(message, where=data.name, remedy="take more images, or a smaller skip")
    return Mined(data, chosen, captions, images)


Scorer = Callable[[Rows], Float[Tensor, "row candidate"]]  # of some anchors with all candidates


def _scorers(encoder: Encoder, data: CaptionSet) -> tuple[Scorer, Scorer]:
    """Functions that score some images with all captions, and some captions with all images."""
    if not isinstance(encoder, tuple | list):
        model = encoder.model if isinstance(encoder, Run) else encoder
        if not has_one_feature(model):
            matrix = similarity(model, data).float()
            return lambda rows: matrix[rows], lambda rows: matrix.T[rows]
        encoder = embed(model, data)
    features = [torch.as_tensor(side).detach().float().cpu() for side in encoder]
    sizes = [side.shape[:-1] for side in features]
    if sizes != [(len(data),), (len(data.captions),)] or features[0].shape[1] != features[1].shape[1]:
        shapes = [tuple(side.shape) for side in features]
        message = f"features {shapes} for {len(data)} images and {len(data.captions)} captions"
        raise ItmlabError(message, where="mine", remedy="give (image, dimension) and (caption, dimension)")
    images, captions = (normalize(side, dim=1) for side in features)
    return (
        lambda rows: cosine_similarity(images[rows], captions),
        lambda rows: cosine_similarity(captions[rows], images),
    )


def _nearest(data: CaptionSet, kind: str, score: Scorer, filters: Filters) -> Nearest:
    """The negatives of this kind, "captions" of all images or "images" of all captions."""
    is_captions = kind == "captions"
    groups = data.caption_groups if is_captions else data.image_groups
    anchors = len(data) if is_captions else len(data.captions)
    # of candidates that are the same only the first is taken; groups are numbered in order of first occurrence
    first = torch.searchsorted(groups.cummax(0).values, torch.arange(int(groups.max()) + 1))
    counts: Counter[str] = Counter()
    negatives = torch.full((anchors, filters.number), -1)
    scores, positives = torch.full(negatives.shape, torch.nan), torch.full((anchors,), torch.nan)
    for rows in torch.arange(anchors).split(max(1, SCORES_AT_ONCE // len(groups))):
        block: Float[Tensor, "row candidate"] = score(rows)
        is_own = data.matches(images=rows) if is_captions else data.matches(captions=rows).T
        lowest = block.masked_fill(~is_own, torch.inf).amin(dim=1).double()
        positives[rows] = lowest.where(lowest.isfinite(), torch.nan).float()
        last = filters.skip + 10 * filters.number
        ranked, places = largest(block.masked_fill(is_own, -torch.inf)[:, first], last)
        ranked, candidates = ranked[:, filters.skip :].double(), first[places[:, filters.skip :]]
        counts["looked at"] += int((ranked > -torch.inf).sum())
        too_near = torch.zeros_like(ranked, dtype=torch.bool)
        if filters.margin is not None:
            too_near |= ranked > (lowest - filters.margin)[:, None]
        if filters.relative_margin is not None:
            too_near |= ranked > (lowest - filters.relative_margin * lowest.abs())[:, None]
        counts["left out by a margin"] += int(too_near.sum())
        best, slots = largest(ranked.masked_fill(too_near, -torch.inf), filters.number)
        is_taken, width = best > -torch.inf, best.shape[1]
        negatives[rows, :width] = candidates.gather(1, slots).where(is_taken, -1)
        scores[rows, :width] = best.float().where(is_taken, torch.nan)
    return Nearest(negatives, scores, positives, counts)


@dataclass(frozen=True)
class Mined:
    """What `mine` found: for each image `captions`, for each caption `images`. Printed, it is a table of statistics."""

    data: CaptionSet = field(repr=False)
    filters: Filters
    captions: Nearest = field(repr=False)
    images: Nearest = field(repr=False)

    def statistics(self) -> list[dict[str, Any]]:
        """A row per direction: counts, medians of positive and negative scores, and what was left out."""
        rows = []
        for name, nearest in (("captions of images", self.captions), ("images of captions", self.images)):
            is_taken = nearest.negatives >= 0
            row: dict[str, Any] = {"mined": name, "anchors": len(is_taken), "negatives": int(is_taken.sum())}
            row["with fewer than wanted"] = int((is_taken.sum(1) < self.filters.number).sum())
            row["median positive"] = nearest.positive_scores.nanmedian().item()
            row["median negative"] = nearest.scores.nanmedian().item()
            row |= nearest.counts
            rows.append(row)
        return rows

    def __str__(self) -> str:
        import pandas

        table = pandas.DataFrame(self.statistics(), dtype=object).set_index("mined").T
        return table.to_string(float_format="{:.3f}".format)

    def negatives(self) -> Iterator[Negative]:
        """The captions mined for the image of each caption, as negatives of that caption with their scores."""
        for caption, image in enumerate(self.data.image_of_caption.tolist()):
            for other, score in zip(self.captions.of(image), self.captions.scores[image].tolist(), strict=False):
                yield Negative(self.data.captions[other], image, caption, score=score)

    def write(self, out: str | Path, *, force: bool = False) -> NegativeFile:
        """Write `negatives` to a file, for `read_negatives` and a recipe's `extra_negatives`."""
        filters = {name: value for name, value in asdict(self.filters).items() if value is not None}
        made_by = ", ".join(["generator=mine", *(f"{name}={value}" for name, value in filters.items())])
        return files.write_negatives(out, self.data, self.negatives(), made_by=made_by, force=force)


# Made by a named generator.


@dataclass(frozen=True)
class SwapOptions:
    """Options of "vse_c": how many negatives of each caption, None for all."""

    number: int | None = None


@dataclass(frozen=True)
class TagsOptions:
    """Options of "tags", of the paper's Algorithm 1."""

    maskings: int = 20
    samples: int = 20
    temperature: float = 1.0
    keep: int | None = 31


OPTIONS = {"vse_c": SwapOptions, "tags": TagsOptions}


def write_negatives(
    data: CaptionSet,
    out: str | Path,
    generator: Literal["vse_c", "tags"] = "vse_c",
    *,
    model: str | Path = "tags",
    options: dict[str, Any] | None = None,
    seed: int = 0,
    truth: bool = True,
    force: bool = False,
    progress: bool = False,
) -> NegativeFile:
    """Write the negatives of every caption of `data` to `out`.

    Where there is a world, what its words imply is filtered as well. Those of your own generator are written by
    `synthesis.write_negatives(out, data, generate_negatives(data, yours))`.

    Args:
        data: the captions.
        out: the file.
        generator: "vse_c" (swaps by rule) or "tags" (refilled phrases, scored).
        model: the cross-encoder of "tags", by the name of a pretrained run or its folder.
        options: fields of `SwapOptions` or `TagsOptions`.
        seed: of the random draws.
        truth: label each negative by the data set's world, where it has one.
        force: overwrite a file that itmlab did not write.
        progress: show a progress bar.

    Returns:
        The file's content, as `read_negatives` gives it.
    """
    refuse_foreign(out, files.MARK, force=force)  # before the negatives are made
    check_known(generator, OPTIONS, "generator")
    with named(generator):
        chosen = asdict(from_plain(OPTIONS[generator], options or {}, ""))
    made_by = {"generator": generator, **chosen, "seed": seed}
    if generator == "tags":
        home = start_directory(str(model))
        make = Tags(CrossEncoder.load(home), data, implied=implied_in(data), **chosen)
        made_by |= {"model": home.name, "weights": file_hash(home / "model.safetensors")[:16]}
    else:
        make = FilteredTopM(vse_c(data, **chosen), keep=None, filtered=False, implied=implied_in(data))
    how = {"seed": seed, "conditioned": generator == "tags", "truth": truth, "progress": progress}
    described = ", ".join(f"{key}={value}" for key, value in made_by.items() if value is not None)
    return files.write_negatives(out, data, files.generate_negatives(data, make, **how), made_by=described, force=force)
