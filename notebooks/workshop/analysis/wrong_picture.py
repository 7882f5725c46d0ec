"""A control that TAGS-DC's tables lack: what a model also gets right beside a wrong picture, it knows from the words.

A model distinguishes captions from sentences with a replaced phrase, beside the caption's own picture and beside
another one. Only the difference shows that it used the picture.
"""

from collections.abc import Callable, Mapping
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

from ..plots.charts import Dot, Row, draw_forest
from ..plots.theme import BLUE, MUTED
from .negatives import SyntheticNegatives, synthetic_negatives
from .scoring import matching


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
    pairs = zip(models, sets, strict=True)
    columns = zip(*(replaced_each(asked, data, sentences, seed) for asked, sentences in pairs), strict=True)
    images, right, wrong = (torch.cat(column) for column in columns)
    return BothPictures(share(right, images), share(wrong, images))


class Replaced(NamedTuple):
    """The image of each false sentence, and whether its caption scores higher beside the right and a wrong picture.

    A tie counts against the model.
    """

    images: Int64[Tensor, "sentence"]
    right: Bool[Tensor, "sentence"]
    wrong: Bool[Tensor, "sentence"]


def replaced_each(model: Any, data: CaptionSet, negatives: SyntheticNegatives, seed: int = 0) -> Replaced:
    """Score each false sentence and its caption beside the right and beside a wrong picture.

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
    pictures = images.tolist(), wrong_pictures(len(data), seed)[images].tolist()
    return Replaced(images, *(match(beside, captions) > match(beside, sentences) for beside in pictures))


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
        correct = torch.stack([scored.right, scored.wrong]).double()
        sums = torch.zeros(2, len(data), dtype=torch.float64).index_add_(1, scored.images, correct)
        right, wrong = (100 * sums / scored.images.bincount(minlength=len(data))).numpy()  # 0 / 0 is NaN
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
