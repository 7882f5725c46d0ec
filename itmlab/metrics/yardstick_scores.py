"""How often a model distinguishes the true sentences of a yardstick from its false ones, beside blind controls.

A score is worth what it has above its controls: the same model beside another picture, and scores that saw no picture.
A tie counts against the model, as in the released code of SugarCrepe. In a control it counts half, so that a control
which knows nothing is at chance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import factorial, fsum

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from ..errors import ItmlabError
from ..text.graph import tokenise
from .perplexity import NgramModel, fluency
from .statistics import Share, share
from .yardsticks import Yardstick, YardstickItem, picture_key

Match = Callable[[Sequence[int], Sequence[str]], Float[Tensor, "sentence"]]  # pictures by number, a sentence for each
Scores = Float[Tensor, "sentence"]  # of all sentences of a yardstick, one item after the other
FOLDS = 10  # of the language model that learns from a yardstick's own true sentences


@dataclass(frozen=True)
class YardstickRow:
    """The items of one kind: how often the model is right, by chance, and by each control.

    Attributes:
        items: how many there are.
        chance: how often scores at random are right.
        right: every true sentence scores above every false one.
        ties: items in which the best false score equals the worst true one.
        controls: the share of right items by control.
    """

    items: int
    chance: float
    right: Share | None
    ties: int
    controls: dict[str, Share]


@dataclass(frozen=True)
class YardstickTable:
    """A row for each kind and one for "all", and why some rows of the files are not among the items."""

    name: str
    rows: dict[str, YardstickRow]
    left_out: Mapping[str, int]

    def __str__(self) -> str:
        first = next(iter(self.rows.values()))
        names = [*(["right"] if first.right else []), *first.controls]
        lines = [f"{self.name:15}{'items':>7}{'chance':>8}" + "".join(f"{name:>24}" for name in names)]
        for kind, row in self.rows.items():
            shares = [*([row.right] if row.right else []), *row.controls.values()]
            cells = "".join(f"{f'{s.percent:.1f} [{s.lower:.1f}, {s.upper:.1f}]':>24}" for s in shares)
            ties = f"   {row.ties:,} tied" if row.ties else ""
            lines.append(f"{kind:15}{row.items:7,}{100 * row.chance:8.1f}{cells}{ties}")
        return "\n".join([*lines, *(f"left out: {count:,} {reason}" for reason, count in self.left_out.items())])


def measure(
    yardstick: Yardstick,
    match: Match | None = None,
    *,
    text: Mapping[str, Scores] | None = None,
    seed: int = 0,
) -> YardstickTable:
    """How often the true sentences of an item score above its false ones, by kind, beside its controls.

    The controls are "wrong picture", the same model beside another picture; "shorter", which takes the sentence with
    fewer words; and each of `text`. Intervals are Wilson's 95 %, clustered by picture.

    Args:
        yardstick: the items.
        match: scores pictures of `yardstick.pictures`, by number, with a sentence each; None leaves only the controls.
        text: scores of all sentences by something that sees no picture (`text_scores`).
        seed: of the wrong pictures.

    Raises:
        ItmlabError: pictures are missing, or scores are not numbers.
    """
    items = yardstick.items
    scores_of: dict[str, Scores] = {}
    if match is not None:
        numbers = [yardstick.number(item.image) for item in items]
        if None in numbers:
            remedy = "call with_pictures(images)"
            raise ItmlabError("pictures are not available", where=yardstick.name, remedy=remedy)
        pictures = torch.tensor(numbers)
        scores_of["right"] = _scores(yardstick, match, pictures)
        used = pictures.unique()
        if len(used) > 1:
            shuffled = used[torch.randperm(len(used), generator=torch.Generator().manual_seed(seed))]
            wrong = torch.zeros(int(used.max()) + 1, dtype=torch.int64).index_copy(0, shuffled, shuffled.roll(1))
            scores_of["wrong picture"] = _scores(yardstick, match, wrong[pictures])
    else:
        keys = [picture_key(item.image) for item in items]
        number_of = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        pictures = torch.tensor([number_of[key] for key in keys])
    scores_of |= text or {}
    scores_of["shorter"] = torch.tensor([-float(len(tokenise(sentence))) for sentence in yardstick.sentences])
    outcome_of = {name: outcomes(items, scores) for name, scores in scores_of.items()}
    model, rows = outcome_of.pop("right", None), {}
    for kind in (*yardstick.kinds, "all"):
        chosen = torch.tensor([kind in ("all", item.kind) for item in items])
        of_kind = [item for item in items if kind in ("all", item.kind)]
        rows[kind] = YardstickRow(
            items=len(of_kind),
            chance=fsum(map(_chance, of_kind)) / len(of_kind),
            right=None if model is None else share(model[0][chosen], pictures[chosen]),
            ties=0 if model is None else int(model[1][chosen].sum()),
            controls={name: _halved(*outcome, chosen, pictures) for name, outcome in outcome_of.items()},
        )
    return YardstickTable(yardstick.name, rows, yardstick.left_out)


def _scores(yardstick: Yardstick, match: Match, pictures: Int64[Tensor, "item"]) -> Scores:
    """Return the score of every sentence beside the picture given for its item."""
    sizes = torch.tensor([len(item.sentences) for item in yardstick.items])
    scores = match(pictures.repeat_interleave(sizes).tolist(), yardstick.sentences)
    return torch.as_tensor(scores).double().cpu()


def outcomes(items: Sequence[YardstickItem], scores: Scores) -> tuple[Bool[Tensor, "item"], Bool[Tensor, "item"]]:
    """Return which items are right (the worst true sentence scores above the best false one) and which are tied.

    Raises:
        ItmlabError: not one score for each sentence, or a NaN.

    >>> items = [YardstickItem("a.jpg", ("a dog", "a hound"), ("a cat",), "swap")]
    >>> outcomes(items, torch.tensor([2.0, 1.5, 1.0]))[0].tolist(), outcomes(items, torch.ones(3))[1].tolist()
    ([True], [True])
    """
    sizes = [len(item.sentences) for item in items]
    if scores.shape != (sum(sizes),) or bool(scores.isnan().any()):
        raise ItmlabError(f"{sum(sizes)} sentences need as many scores, and numbers", remedy="give one for each")
    parts = zip(items, scores.split(sizes), strict=True)
    margins = torch.stack([part[: len(item.true)].min() - part[len(item.true) :].max() for item, part in parts])
    return margins > 0, margins == 0


def _halved(
    right: Bool[Tensor, "item"],
    tied: Bool[Tensor, "item"],
    chosen: Bool[Tensor, "item"],
    pictures: Int64[Tensor, "item"],
) -> Share:
    """Return the share of right items with a tie as a half: each item counts twice, a tie is right once."""
    twice = share(torch.cat([right[chosen], (right | tied)[chosen]]), pictures[chosen].repeat(2))
    return replace(twice, count=twice.count // 2, of=twice.of // 2)


def _chance(item: YardstickItem) -> float:
    """Return how often scores at random are right."""
    return factorial(len(item.true)) * factorial(len(item.false)) / factorial(len(item.sentences))


# The text-only control: scores of sentences by something that never saw a picture.


def text_scores(yardstick: Yardstick, by: str = "own") -> Scores:
    """Return how likely each sentence of the items is without any picture: minus its perplexity.

    Args:
        yardstick: the items.
        by: "own" is a language model of words (`NgramModel`) that learnt from the set's own true sentences about other
            pictures, in ten parts by picture; else the name or folder of a causal language model ("gpt2", "scenes").
    """
    if by != "own":
        return -fluency(yardstick.sentences, by).perplexity
    learnt = dict.fromkeys(
        (picture_key(item.image), text) for item in yardstick.whole or yardstick.items for text in item.true
    )
    scores: list[Tensor] = [torch.empty(0)] * len(yardstick.items)
    for fold in range(FOLDS):
        in_fold = [number for number, item in enumerate(yardstick.items) if _fold(item.image) == fold]
        others = sorted(text for image, text in learnt if _fold(image) != fold)
        if in_fold and not others:
            raise ItmlabError("too few pictures to learn their language from the others", where=yardstick.name)
        model = NgramModel(others) if in_fold else None
        for number in in_fold:
            scores[number] = -model.fluency(yardstick.items[number].sentences).perplexity
    return torch.cat(scores)


def _fold(image: str) -> int:
    """Return the fold of a picture, by its name alone."""
    digest = blake2b(picture_key(image).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) % FOLDS
