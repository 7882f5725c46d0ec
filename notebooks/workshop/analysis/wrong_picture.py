"""The control of TAGS-DC's tables that no paper prints: what is told as well beside a wrong picture is told from words.

A cross-encoder fills in masked words, and tells captions from sentences with a replaced phrase, beside the caption's
own picture and beside another one. Only what the first has over the second was seen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go
import torch
from jaxtyping import Bool, Float, Int64
from numpy import ndarray
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import Share, share
from itmlab.models import CrossEncoder
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import ImageInputs
from itmlab.text import WordMasking
from itmlab.text.alignment import MaskedPieces, align, mask_pieces

from ..plots.bars import Dot, Row, interval_rows
from ..plots.theme import BLUE, MUTED
from .accuracies import discrimination
from .negatives import SyntheticNegatives, graphs, synthetic_negatives
from .scoring import matching
from .word_accuracy import KINDS, piece_kinds
from .words import BATCH_SIZE, cross_encoder_of


@dataclass(frozen=True)
class BothPictures:
    """How much was told beside the right pictures, and beside wrong ones.

    >>> both = BothPictures(share(torch.tensor([True, True])), share(torch.tensor([True, False])))
    >>> both.gap, print(both)
    right picture 100.0 % [34.2, 100.0] of 2, wrong picture 50.0 % [9.5, 90.5] of 2
    (50.0, None)
    """

    right: Share
    wrong: Share

    def __str__(self) -> str:
        return f"right picture {self.right}, wrong picture {self.wrong}"

    @property
    def gap(self) -> float:
        """Points that the right picture is worth."""
        return self.right.percent - self.wrong.percent


def wrong_pictures(count: int, seed: int = 0) -> Int64[Tensor, "image"]:
    """For each of `count` pictures another one, each taken once: the next in a random circle of all of them.

    One picture alone is an ItmlabError.
    """
    if count < 2:
        raise ItmlabError(f"{count} pictures have no other beside them", remedy="give two or more")
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    return torch.empty_like(order).index_copy(0, order, order.roll(-1))


def masked_words(
    model: Any, data: CaptionSet, captions: Sequence[int] | None = None, *, probability: float = 0.15, seed: int = 0
) -> dict[str, BothPictures]:
    """How often the likeliest piece by H_MLM is the one that was masked, by kind of phrase, and of "all".

    Each word is masked with `probability`, at least one of a caption (UNITER: Chen et al., 2020, Sec. 3.2). `model` is
    a cross-encoder or a Run of one, `captions` are numbers (default: all).
    """
    cross_encoder = cross_encoder_of(model)
    numbers = list(range(len(data.captions)) if captions is None else captions)
    parsed, tokenizer = graphs(data, numbers), cross_encoder.tokenizer
    pieces = align(tokenizer, [data.captions[at] for at in numbers], parsed, cross_encoder.config.maximum_tokens)
    generator, masking = torch.Generator().manual_seed(seed), WordMasking(probability)
    lengths = pieces.words_kept.tolist()
    hidden = [masking(one, generator=generator, length=most) for one, most in zip(parsed, lengths, strict=True)]
    masked = mask_pieces(tokenizer, pieces, hidden)
    images, other = data.image_of_caption[numbers], wrong_pictures(len(data), seed)
    told = [_filled(cross_encoder, data, masked, beside) for beside in (images, other[images])]
    asked, owners = masked.hidden, images[:, None].expand(masked.hidden.shape)
    kinds = piece_kinds(pieces, parsed)
    chosen = {"all": asked, **{kind: asked & (kinds == at) for at, kind in enumerate(KINDS)}}
    return {
        kind: BothPictures(*(share(right[which], owners[which]) for right in told)) for kind, which in chosen.items()
    }


def _filled(
    model: CrossEncoder, data: CaptionSet, masked: MaskedPieces, images: Int64[Tensor, "row"]
) -> Bool[Tensor, "row piece"]:
    """Where the likeliest piece beside these images is the masked one."""
    inputs, right = ImageInputs(model, data), torch.zeros_like(masked.hidden)
    with evaluating(model):
        for rows in torch.argsort(images, stable=True).split(BATCH_SIZE):  # captions of one image stand together
            different, at = images[rows].unique(return_inverse=True)
            regions, asked = model.embed_regions(**inputs(different.tolist())), masked.hidden[rows]
            device = regions.values.device
            given = masked.input_ids[rows].to(device), masked.attention_mask[rows].bool().to(device)
            said = model(*given, regions.take(at.to(device)), heads=("mlm",), positions=asked.to(device)).mlm
            found = torch.zeros_like(asked)
            found[asked] = said.argmax(dim=1).cpu() == masked.labels[rows][asked]
            right[rows] = found
    return right


def replaced_phrases(
    model: Any, data: CaptionSet, made: SyntheticNegatives | list[SyntheticNegatives] | None = None, *, seed: int = 0
) -> BothPictures:
    """How often `model` (a Run or model of any kind) matches a caption better than a sentence made of it.

    Of those `made` only the ones that the world calls false count; by default one a caption, in which VSE-C has
    replaced a noun, a relation or a number. Beside a wrong picture, one that knows nothing of how captions read tells
    half of them. Several models in a list, as of several seeds, count together, each by its own of as many `made`.
    """
    models = model if isinstance(model, list) else [model]
    if made is None:
        made = synthetic_negatives(data, range(len(data.captions)), "vse_c", keep=1, seed=seed)
    sets = made if isinstance(made, list) else [made] * len(models)
    told = [replaced_each(one, data, sentences, seed) for one, sentences in zip(models, sets, strict=True)]
    owners = torch.cat([one.images for one in told])
    both = zip(*(one.scores for one in told), strict=True)  # right pictures, then wrong ones
    found = [[torch.cat(parts) for parts in zip(*scores, strict=True)] for scores in both]
    return BothPictures(*(discrimination(captions, false, owners) for captions, false in found))


class Replaced(NamedTuple):
    """Of each false sentence its picture, and how caption and sentence match it; then how they match a wrong one."""

    images: Int64[Tensor, "sentence"]
    scores: tuple[tuple[Float[Tensor, "sentence"], Float[Tensor, "sentence"]], ...]


def replaced_each(model: Any, data: CaptionSet, made: SyntheticNegatives, seed: int = 0) -> Replaced:
    """What a model says of each sentence of `made` that is false; where none is, an ItmlabError."""
    false = [negative for negative in made.all() if negative.truth is False]
    if not false:
        raise ItmlabError("no sentence is known to be false", where=data.name, remedy="take scenes, whose world knows")
    match, images = matching(model, data), torch.tensor([negative.image for negative in false])
    said, was = [negative.sentence for negative in false], [data.captions[negative.caption] for negative in false]
    pictures = images.tolist(), wrong_pictures(len(data), seed)[images].tolist()
    return Replaced(images, tuple((match(beside, was), match(beside, said)) for beside in pictures))


Beside = Literal["right", "wrong", "gap"]


def sentences_told(
    sentences: Mapping[int, SyntheticNegatives], beside: Beside = "right", *, seed: int = 0
) -> Callable[[Any, CaptionSet], Float[ndarray, "image"]]:
    """A measure for `compare`: how often a run matches a caption better than a sentence made of it, percent a picture.

    `sentences` are by the seed of the run that is asked, of the data that it is asked about; those count that the world
    calls false. `beside` the right picture, a wrong one, or what the right one adds to that. NaN where a picture has no
    false sentence. Handed over as `compare_runs(runs, data, metrics={"told": sentences_told(made)})`.
    """

    def measure(run: Any, data: CaptionSet) -> Float[ndarray, "image"]:
        if run.recipe.seed not in sentences:
            remedy = f"there are {', '.join(map(str, sentences))}"
            raise ItmlabError(
                f"no sentences for a run of seed {run.recipe.seed}", where="sentences_told", remedy=remedy
            )
        told = replaced_each(run, data, sentences[run.recipe.seed], seed)
        right, wrong = (_by_image(caption > sentence, told.images, len(data)) for caption, sentence in told.scores)
        return {"right": right, "wrong": wrong, "gap": right - wrong}[beside]

    return measure


def _by_image(told: Bool[Tensor, "sentence"], images: Int64[Tensor, "sentence"], count: int) -> Float[ndarray, "image"]:
    sums = torch.zeros(2, count, dtype=torch.float64)
    sums.index_add_(1, images, torch.stack([told, torch.ones_like(told)]).double())
    return (100 * sums[0] / sums[1]).numpy()  # 0 / 0 is NaN


def draw_both_pictures(
    told: Mapping[str, Mapping[str, BothPictures]],
    *,
    title: str,
    subtitle: str = "",
    printed: Mapping[str, Mapping[str, float]] | None = None,
) -> go.Figure:
    """A row for each `told[heading][row]`: blue beside the right picture, grey beside a wrong one, in percent.

    Diamonds are what a paper printed for a row, `printed[heading][row]`.
    """
    rows: list[Row] = []
    for heading, named in told.items():
        rows.append((heading, [None]))
        for name, both in named.items():
            shades = ((both.wrong, MUTED, ""), (both.right, BLUE, f"{both.right.percent:.1f} %"))
            dots = [Dot(one.percent, one.lower, one.upper, shade, text, at=104) for one, shade, text in shades]
            paper = (printed or {}).get(heading, {}).get(name)
            rows.append((name, [dots if paper is None else [Dot(paper, printed=True), *dots]]))
    axis = {"title": "the caption scores higher, %", "range": [0, 118], "tickvals": [0, 25, 50, 75, 100]}
    figure = interval_rows(rows, axes=[axis], title=title, subtitle=subtitle)
    return figure.add_vline(x=50, line={"color": MUTED, "width": 1, "dash": "dot"})
