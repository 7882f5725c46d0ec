"""A control that TAGS-DC's tables lack: what a model also gets right beside a wrong picture, it knows from the words.

A model distinguishes captions from sentences with a replaced phrase, beside the caption's own picture and beside
another one. Only the difference shows that it used the picture.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import plotly.graph_objects as go
import torch
from jaxtyping import Bool, Float, Int, Int64
from numpy import ndarray
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import Share, share
from itmlab.models import CrossEncoder
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import looked_at, on_device
from itmlab.synthesis import Negative

from ..plots.charts import Dot, Row, draw_forest
from ..plots.theme import BLUE, MUTED
from .negatives import SyntheticNegatives, cross_encoder_of
from .scoring import matching
from .word_accuracy import word_study
from .words import word_answers


@dataclass(frozen=True)
class BothPictures:
    """Accuracy beside the right pictures and beside wrong ones.

    >>> both = BothPictures(share(torch.tensor([True, True])), share(torch.tensor([True, False])))
    >>> print(both)
    right picture 100.0 % (34.2 to 100.0) of 2, wrong picture 50.0 % (9.5 to 90.5) of 2
    """

    right: Share
    wrong: Share

    def __str__(self) -> str:
        return f"right picture {self.right}, wrong picture {self.wrong}"


def wrong_pictures(count: int) -> Int64[Tensor, "image"]:
    """Return another picture for each of `count` pictures, each used once: the next in a random circle.

    Raises:
        ItmlabError: there are fewer than two pictures.
    """
    if count < 2:
        raise ItmlabError(f"a wrong picture needs at least two pictures, got {count}")
    order = torch.randperm(count, generator=torch.Generator().manual_seed(0))
    return torch.empty_like(order).index_copy(0, order, order.roll(-1))


def replaced_phrases(model: Any, data: CaptionSet, negatives: SyntheticNegatives) -> BothPictures:
    """Return how often a model scores a caption above a false sentence that was made from it.

    Beside a wrong picture, a model that knows nothing of how captions read gets half of them right.

    Args:
        model: a Run or model of any kind.
        data: the set.
        negatives: those that the world calls false count.
    """
    images, right, wrong = replaced_each(model, negatives, data)
    return BothPictures(share(right, images), share(wrong, images))


def replaced_each(
    model: Any, negatives: SyntheticNegatives, data: CaptionSet
) -> tuple[Int64[Tensor, "sentence"], Bool[Tensor, "sentence"], Bool[Tensor, "sentence"]]:
    """Score each false sentence and its caption beside the right and beside a wrong picture.

    Returns:
        The image of each false sentence, and whether its caption scores higher beside the right and beside the wrong
        picture. A tie counts against the model.

    Raises:
        ItmlabError: no sentence is known to be false.

    References:
        Fan et al. (2022), Table 4, beside the right picture.
    """
    false = [negative for negative in negatives.all() if negative.truth is False]
    if not false:
        raise ItmlabError("no sentence is known to be false", where=data.name, remedy='use itmlab.load("scenes")')
    match, images = matching(model, data), torch.tensor([negative.image for negative in false])
    sentences = [negative.sentence for negative in false]
    captions = [data.captions[negative.caption] for negative in false]
    pictures = images.tolist(), wrong_pictures(len(data))[images].tolist()
    right, wrong = (match(beside, captions) > match(beside, sentences) for beside in pictures)
    return images, right, wrong


Beside = Literal["right", "wrong", "gap"]


def sentences_told(
    sentences: Mapping[int, SyntheticNegatives], beside: Beside = "right"
) -> Callable[[Any, CaptionSet], Float[ndarray, "image"]]:
    """Return a measure for `compare`: how often a run scores a caption above a false sentence made from it.

    Use it as `compare_runs(runs, data, metrics={"accuracy": sentences_told(negatives)})`.

    Args:
        sentences: negatives of the tested data by the seed of the run that is measured.
        beside: the right picture, a wrong one, or the difference ("gap").

    Returns:
        A function that gives percent per image, NaN for an image without a false sentence.
    """

    def measure(run: Any, data: CaptionSet) -> Float[ndarray, "image"]:
        images, *correct = replaced_each(run, sentences[run.recipe.seed], data)
        sums = torch.zeros(2, len(data), dtype=torch.float64).index_add_(1, images, torch.stack(correct).double())
        right, wrong = (100 * sums / images.bincount(minlength=len(data))).numpy()  # 0 / 0 is NaN
        return {"right": right, "wrong": wrong, "gap": right - wrong}[beside]

    return measure


def draw_both_pictures(
    accuracies: Mapping[str, Mapping[str, BothPictures]],
    *,
    title: str = "Told from the picture, told from words",
    subtitle: str = "",
    measure: str = "the caption scores higher, %",
    even: float | None = 50,
) -> go.Figure:
    """Draw accuracy beside the right picture (blue) and beside a wrong one (grey), in percent.

    Args:
        accuracies: by heading and row.
        title: of the figure.
        subtitle: of the figure.
        measure: the title of the axis.
        even: where a dotted line stands; None for none.
    """
    rows: list[Row] = []
    for heading, named in accuracies.items():
        rows.append((heading, []))
        for name, both in named.items():
            shades = ((both.wrong, MUTED, ""), (both.right, BLUE, f"{both.right.percent:.1f} %"))
            dots = [Dot(value.percent, value.lower, value.upper, shade, text, at=104) for value, shade, text in shades]
            rows.append((name, [dots]))
    axis = {"title": measure, "range": [0, 118], "tickvals": [0, 25, 50, 75, 100]}
    figure = draw_forest(rows, axes=[axis], title=title, subtitle=subtitle)
    return figure if even is None else figure.add_vline(x=even, line={"color": MUTED, "width": 1, "dash": "dot"})


# Which word of a sentence is wrong, by three means: the head H_WoD, the score without the word, and the gradient.
# The head was trained for the question (Fan et al. 2022, Eq. 8). The other two need only a score s: a wrong word lowers
# it, so that s rises when the word is hidden, and the gradient of s points away from the word. Each means doubts one
# word most; it is right if this word was replaced.

MEANS = ("head H_WoD", "score without the word", "gradient")
Ids, Mask = Int[Tensor, "sentence piece"], Bool[Tensor, "sentence piece"]
OfPieces = Float[Tensor, "sentence piece"]


def word_doubts(run: Any, data: CaptionSet, images: Sequence[int], sentences: Sequence[str]) -> dict[str, OfPieces]:
    """Return by means how much each piece of each sentence is doubted, -inf outside of words.

    Args:
        run: a cross-encoder, or a Run of one.
        data: the set of the images.
        images: the number of each sentence's image.
        sentences: the sentences.
    """
    model = cross_encoder_of(run)
    numbers, rows = torch.as_tensor(images).unique(return_inverse=True)
    pictures, tokens = looked_at(model, data), on_device(model, model.prepare_captions(sentences))
    answers = word_answers(model, pictures, sentences, images)
    ids, mask = tokens["input_ids"], tokens["attention_mask"].bool()
    with evaluating(model):
        prepared = model.prepare_images([pictures[number] for number in numbers.tolist()])
        regions = model.embed_regions(**on_device(model, prepared)).take(on_device(model, rows))
        gains = gains_without(model, ids, mask, regions)
        against = gradients_against(model, ids, mask, regions)
    values = zip(MEANS, (answers.mismatch, gains.cpu(), against.cpu()), strict=True)
    return {name: doubts.masked_fill(~answers.word_mask, -torch.inf) for name, doubts in values}


def gains_without(model: CrossEncoder, ids: Ids, mask: Mask, regions: Any) -> OfPieces:
    """Return how much the matching score rises when a piece is hidden by [MASK]."""
    complete, gains = model.score(ids, mask, regions), []
    for piece in range(ids.shape[1]):
        hidden = ids.clone()
        hidden[:, piece] = model.tokenizer.mask_token_id
        gains.append(model.score(hidden, mask, regions) - complete)
    return torch.stack(gains, dim=1)


def gradients_against(model: CrossEncoder, ids: Ids, mask: Mask, regions: Any) -> OfPieces:
    """Return -(∂s/∂e)·e of each piece's embedding e: how much the score would rise, to first order, without it."""
    caught: list[Tensor] = []

    def catch(embedding: Any, inputs: Any, output: Tensor) -> Tensor:
        caught.append(output.detach().requires_grad_())
        return caught[0]

    with torch.enable_grad(), model.text.words.register_forward_hook(catch):
        (gradient,) = torch.autograd.grad(model.score(ids, mask, regions).sum(), caught[0])
    return -(gradient * caught[0]).sum(dim=-1).detach()


def wrong_word_found(run: Any, data: CaptionSet, negatives: Sequence[Negative]) -> dict[str, BothPictures]:
    """Return by means how often the word that is doubted most is the replaced one, and the same beside a wrong picture.

    Only sentences that the world calls false count, and only those with their caption's words in the same places. The
    last entry is a word at random.

    Args:
        run: a cross-encoder, or a Run of one.
        data: the set whose captions the negatives were made from.
        negatives: with their truth (`synthetic_negatives`).
    """
    study = word_study(run, data, [negative for negative in negatives if negative.truth is False])
    sentences, images = [negative.sentence for negative in study.negatives], study.images
    right = word_doubts(run, data, images.tolist(), sentences)
    wrong = word_doubts(run, data, ((images + 1) % len(data)).tolist(), sentences)

    def accuracy(doubts: OfPieces) -> Share:
        most = doubts.argmax(dim=1, keepdim=True)
        return share(study.replaced.gather(1, most).squeeze(1), images)

    chance = torch.rand(study.counted.shape, generator=torch.Generator().manual_seed(0))
    at_random = accuracy(chance.masked_fill(~study.counted, -torch.inf))
    both = {name: BothPictures(accuracy(right[name]), accuracy(wrong[name])) for name in MEANS}
    return both | {"a word at random": BothPictures(at_random, at_random)}
