"""A control that TAGS-DC's tables lack: what a model also gets right beside a wrong picture, it knows from the words.

A cross-encoder fills in masked words, and distinguishes captions from sentences with a replaced phrase, beside the
caption's own picture and beside another one. Only the difference shows that it used the picture.
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

from ..plots.charts import Dot, Row, draw_forest
from ..plots.theme import BLUE, MUTED
from .accuracies import discrimination
from .negatives import SyntheticNegatives, graphs, synthetic_negatives
from .scoring import matching
from .word_accuracy import KINDS, piece_kinds
from .words import BATCH_SIZE, cross_encoder_of


@dataclass(frozen=True)
class BothPictures:
    """Accuracy beside the right pictures and beside wrong ones.

    >>> both = BothPictures(share(torch.tensor([True, True])), share(torch.tensor([True, False])))
    >>> both.gap, print(both)
    right picture 100.0 % (34.2 to 100.0) of 2, wrong picture 50.0 % (9.5 to 90.5) of 2
    (50.0, None)
    """

    right: Share
    wrong: Share

    def __str__(self) -> str:
        return f"right picture {self.right}, wrong picture {self.wrong}"

    @property
    def gap(self) -> float:
        """The points that the right picture adds."""
        return self.right.percent - self.wrong.percent


def wrong_pictures(count: int, seed: int = 0) -> Int64[Tensor, "image"]:
    """Return another picture for each of `count` pictures, each used once: the next in a random circle.

    Raises:
        ItmlabError: there are fewer than two pictures.
    """
    if count < 2:
        raise ItmlabError(f"a wrong picture needs at least two pictures, got {count}")
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    return torch.empty_like(order).index_copy(0, order, order.roll(-1))


def masked_words(
    model: Any, data: CaptionSet, captions: Sequence[int] | None = None, *, probability: float = 0.15, seed: int = 0
) -> dict[str, BothPictures]:
    """Return how often the likeliest piece of H_MLM is the masked one, by kind of phrase and for "all".

    Args:
        model: a cross-encoder or a Run of one.
        data: the set.
        captions: numbers of captions; all by default.
        probability: with which each word is masked; at least one per caption is.
        seed: of the masks and of the wrong pictures.

    References:
        Chen et al. (2020), UNITER, Sec. 3.2.
    """
    cross_encoder = cross_encoder_of(model)
    numbers = list(range(len(data.captions)) if captions is None else captions)
    parsed, tokenizer = graphs(data, numbers), cross_encoder.tokenizer
    texts = [data.captions[number] for number in numbers]
    pieces = align(tokenizer, texts, parsed, cross_encoder.config.maximum_tokens)
    generator, masking = torch.Generator().manual_seed(seed), WordMasking(probability)
    lengths = pieces.words_kept.tolist()
    masks = [masking(graph, generator=generator, length=most) for graph, most in zip(parsed, lengths, strict=True)]
    masked = mask_pieces(tokenizer, pieces, masks)
    images, other = data.image_of_caption[numbers], wrong_pictures(len(data), seed)
    correct = [_filled(cross_encoder, data, masked, beside) for beside in (images, other[images])]
    image_of_piece = images[:, None].expand(masked.hidden.shape)
    kinds = piece_kinds(pieces, parsed)
    chosen = {"all": masked.hidden, **{kind: masked.hidden & (kinds == at) for at, kind in enumerate(KINDS)}}
    return {
        kind: BothPictures(*(share(answers[mask], image_of_piece[mask]) for answers in correct))
        for kind, mask in chosen.items()
    }


def _filled(
    model: CrossEncoder, data: CaptionSet, masked: MaskedPieces, images: Int64[Tensor, "row"]
) -> Bool[Tensor, "row piece"]:
    """Return where the likeliest piece beside these images is the masked one."""
    inputs, correct = ImageInputs(model, data), torch.zeros_like(masked.hidden)
    with evaluating(model):
        for rows in torch.argsort(images, stable=True).split(BATCH_SIZE):  # captions of one image are together
            numbers, image_of_row = images[rows].unique(return_inverse=True)
            regions, positions = model.embed_regions(**inputs(numbers.tolist())), masked.hidden[rows]
            device = regions.values.device
            text = masked.input_ids[rows].to(device), masked.attention_mask[rows].bool().to(device)
            regions = regions.take(image_of_row.to(device))
            logits = model(*text, regions, heads=("mlm",), positions=positions.to(device)).mlm
            answers = torch.zeros_like(positions)
            answers[positions] = logits.argmax(dim=1).cpu() == masked.labels[rows][positions]
            correct[rows] = answers
    return correct


def replaced_phrases(
    model: Any,
    data: CaptionSet,
    negatives: SyntheticNegatives | list[SyntheticNegatives] | None = None,
    *,
    seed: int = 0,
) -> BothPictures:
    """Return how often a model scores a caption above a false sentence that was made from it.

    Beside a wrong picture, a model that knows nothing of how captions read gets half of them right.

    Args:
        model: a Run or model of any kind. The pairs of several models in a list, as of several seeds, are counted
            together.
        data: the set.
        negatives: those that the world calls false count. By default one per caption, in which VSE-C has replaced a
            noun, a relation or a number. For a list of models, one set or a list of as many.
        seed: of the default negatives and of the wrong pictures.
    """
    models = model if isinstance(model, list) else [model]
    if negatives is None:
        negatives = synthetic_negatives(data, range(len(data.captions)), "vse_c", keep=1, seed=seed)
    sets = negatives if isinstance(negatives, list) else [negatives] * len(models)
    scored = [replaced_each(asked, data, sentences, seed) for asked, sentences in zip(models, sets, strict=True)]
    images = torch.cat([scores.images for scores in scored])
    shares = []
    for beside in (0, 1):  # the right picture, then a wrong one
        captions, false = (torch.cat([scores.scores[beside][side] for scores in scored]) for side in (0, 1))
        shares.append(discrimination(captions, false, images))
    return BothPictures(*shares)


class Replaced(NamedTuple):
    """The image of each false sentence, and the scores (caption, sentence) beside the right and a wrong picture."""

    images: Int64[Tensor, "sentence"]
    scores: tuple[tuple[Float[Tensor, "sentence"], Float[Tensor, "sentence"]], ...]


def replaced_each(model: Any, data: CaptionSet, negatives: SyntheticNegatives, seed: int = 0) -> Replaced:
    """Score each false sentence and its caption beside the right and beside a wrong picture.

    Raises:
        ItmlabError: no sentence is known to be false.
    """
    false = [negative for negative in negatives.all() if negative.truth is False]
    if not false:
        raise ItmlabError("no sentence is known to be false", where=data.name, remedy='use itmlab.load("scenes")')
    match, images = matching(model, data), torch.tensor([negative.image for negative in false])
    sentences = [negative.sentence for negative in false]
    captions = [data.captions[negative.caption] for negative in false]
    pictures = images.tolist(), wrong_pictures(len(data), seed)[images].tolist()
    return Replaced(images, tuple((match(beside, captions), match(beside, sentences)) for beside in pictures))


Beside = Literal["right", "wrong", "gap"]


def sentences_told(
    sentences: Mapping[int, SyntheticNegatives], beside: Beside = "right", *, seed: int = 0
) -> Callable[[Any, CaptionSet], Float[ndarray, "image"]]:
    """Return a measure for `compare`: how often a run scores a caption above a false sentence made from it.

    Use it as `compare_runs(runs, data, metrics={"accuracy": sentences_told(negatives)})`.

    Args:
        sentences: negatives of the tested data by the seed of the run that is measured.
        beside: the right picture, a wrong one, or the difference ("gap").
        seed: of the wrong pictures.

    Returns:
        A function that gives percent per image, NaN for an image without a false sentence.
    """

    def measure(run: Any, data: CaptionSet) -> Float[ndarray, "image"]:
        if run.recipe.seed not in sentences:
            message = f"no sentences for a run of seed {run.recipe.seed}"
            raise ItmlabError(message, where="sentences_told", remedy=f"there are {', '.join(map(str, sentences))}")
        scored = replaced_each(run, data, sentences[run.recipe.seed], seed)
        right, wrong = (_by_image(caption > false, scored.images, len(data)) for caption, false in scored.scores)
        return {"right": right, "wrong": wrong, "gap": right - wrong}[beside]

    return measure


def _by_image(
    correct: Bool[Tensor, "sentence"], images: Int64[Tensor, "sentence"], count: int
) -> Float[ndarray, "image"]:
    sums = torch.zeros(2, count, dtype=torch.float64)
    sums.index_add_(1, images, torch.stack([correct, torch.ones_like(correct)]).double())
    return (100 * sums[0] / sums[1]).numpy()  # 0 / 0 is NaN


def draw_both_pictures(
    accuracies: Mapping[str, Mapping[str, BothPictures]],
    *,
    title: str,
    subtitle: str = "",
    printed: Mapping[str, Mapping[str, float]] | None = None,
) -> go.Figure:
    """Draw accuracy beside the right picture (blue) and beside a wrong one (grey), in percent.

    Args:
        accuracies: by heading and row.
        title: of the figure.
        subtitle: of the figure.
        printed: what a paper printed, by heading and row; drawn as diamonds.
    """
    rows: list[Row] = []
    for heading, named in accuracies.items():
        rows.append((heading, [None]))
        for name, both in named.items():
            shades = ((both.wrong, MUTED, ""), (both.right, BLUE, f"{both.right.percent:.1f} %"))
            dots = [Dot(value.percent, value.lower, value.upper, shade, text, at=104) for value, shade, text in shades]
            paper = (printed or {}).get(heading, {}).get(name)
            rows.append((name, [dots if paper is None else [Dot(paper, printed=True), *dots]]))
    axis = {"title": "the caption scores higher, %", "range": [0, 118], "tickvals": [0, 25, 50, 75, 100]}
    figure = draw_forest(rows, axes=[axis], title=title, subtitle=subtitle)
    return figure.add_vline(x=50, line={"color": MUTED, "width": 1, "dash": "dot"})
