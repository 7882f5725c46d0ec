"""How often a model distinguishes the true sentences of a yardstick from its false ones, beside blind controls.

A score is worth what it has above its controls: the same model beside another picture, and scores that saw no picture.
A tie counts against the model, as in the released code of SugarCrepe. In a control it counts half, so that a control
which knows nothing is at chance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import factorial, fsum
from pathlib import Path

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from ..data.faults import Faults
from ..data.readers import read_captions
from ..data.tables import SUFFIXES, read_text
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
    """Of the items of one kind: how often the model is right, by chance, and by each control.

    `right`: every true sentence scores above every false one. `ties` are items in which the best false score equals the
    worst true one.
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
        match: scores pictures of `yardstick.pictures`, by number, with a sentence each; None leaves only the controls.
        text: scores of all sentences by something that sees no picture (`text_scores`).
        seed: of the wrong pictures.

    Raises:
        ItmlabError: pictures are missing, or scores are not numbers.
    """
    items = yardstick.items
    outcome_of: dict[str, Outcomes] = {}
    if match is not None:
        numbers = [yardstick.number(item.image) for item in items]
        if None in numbers:
            remedy = "ask for with_pictures(images)"
            raise ItmlabError("pictures are not available", where=yardstick.name, remedy=remedy)
        pictures = torch.tensor(numbers)
        outcome_of["right"] = outcomes(items, _scores(yardstick, match, pictures))
        used = pictures.unique()
        if len(used) > 1:
            around = used[torch.randperm(len(used), generator=torch.Generator().manual_seed(seed))]
            wrong = torch.zeros(int(used.max()) + 1, dtype=torch.int64).index_copy(0, around, around.roll(1))
            outcome_of["wrong picture"] = outcomes(items, _scores(yardstick, match, wrong[pictures]))
    else:
        names = {name: at for at, name in enumerate(dict.fromkeys(picture_key(item.image) for item in items))}
        pictures = torch.tensor([names[picture_key(item.image)] for item in items])
    for name, scores in (text or {}).items():
        outcome_of[name] = outcomes(items, scores)
    words = torch.tensor([-float(len(tokenise(sentence))) for sentence in yardstick.sentences])
    outcome_of["shorter"] = outcomes(items, words)
    right, rows = outcome_of.pop("right", None), {}
    for kind in (*yardstick.kinds, "all"):
        chosen = torch.tensor([kind in ("all", item.kind) for item in items])
        of_kind = [item for item in items if kind in ("all", item.kind)]
        rows[kind] = YardstickRow(
            items=len(of_kind),
            chance=fsum(map(_chance, of_kind)) / len(of_kind),
            right=None if right is None else share(right.right[chosen], pictures[chosen]),
            ties=0 if right is None else int(right.tied[chosen].sum()),
            controls={name: _halved(control, chosen, pictures) for name, control in outcome_of.items()},
        )
    return YardstickTable(yardstick.name, rows, yardstick.left_out)


def _scores(yardstick: Yardstick, match: Match, pictures: Int64[Tensor, "item"]) -> Scores:
    """The score of every sentence beside the picture given for its item."""
    sizes = torch.tensor([len(item.sentences) for item in yardstick.items])
    scores = match(pictures.repeat_interleave(sizes).tolist(), yardstick.sentences)
    return torch.as_tensor(scores).double().cpu()


@dataclass(frozen=True)
class Outcomes:
    """Whether each item is right, and whether it is tied."""

    right: Bool[Tensor, "item"]
    tied: Bool[Tensor, "item"]


def outcomes(items: Sequence[YardstickItem], scores: Scores) -> Outcomes:
    """Which items are right: the worst true sentence scores above the best false one; a tie is not right.

    Raises:
        ItmlabError: not one score for each sentence, or a NaN.

    >>> items = [YardstickItem("a.jpg", ("a dog", "a hound"), ("a cat",), "swap")]
    >>> outcomes(items, torch.tensor([2.0, 1.5, 1.0])).right.tolist(), outcomes(items, torch.ones(3)).tied.tolist()
    ([True], [True])
    """
    sizes = [len(item.sentences) for item in items]
    if scores.shape != (sum(sizes),) or bool(scores.isnan().any()):
        raise ItmlabError(f"{sum(sizes)} sentences need as many scores, and numbers", remedy="give one for each")
    margins = torch.stack(
        [
            part[: len(item.true)].min() - part[len(item.true) :].max()
            for item, part in zip(items, scores.split(sizes), strict=True)
        ]
    )
    return Outcomes(margins > 0, margins == 0)


def _halved(outcome: Outcomes, chosen: Bool[Tensor, "item"], pictures: Int64[Tensor, "item"]) -> Share:
    """The share of right items with a tie as a half: each item counts twice, a tie is right once."""
    right, tied = outcome.right[chosen], outcome.tied[chosen]
    twice = share(torch.cat([right, right | tied]), pictures[chosen].repeat(2))
    return replace(twice, count=twice.count // 2, of=twice.of // 2)


def _chance(item: YardstickItem) -> float:
    """How often scores at random are right."""
    return factorial(len(item.true)) * factorial(len(item.false)) / factorial(len(item.sentences))


# The text-only control: scores of sentences by something that never saw a picture.


def text_scores(yardstick: Yardstick, by: str | Path = "own") -> Scores:
    """How likely each sentence of the items is without any picture: minus its perplexity.

    `by` "own": a language model of words (`NgramModel`) that learnt from the set's own true sentences about other
    pictures, in ten parts by picture. A file of captions (a line each, or a table as `data.readers` reads it): one that
    learnt from these, without captions of the same pictures and without the set's own sentences. Anything else is the
    name or folder of a causal language model ("gpt2", "scenes").
    """
    path = Path(by)
    if by == "own":
        return _cross_validated(yardstick)
    if path.is_file():
        return -NgramModel(_others(yardstick, path)).fluency(yardstick.sentences).perplexity
    return -fluency(yardstick.sentences, str(by)).perplexity


def _cross_validated(yardstick: Yardstick) -> Scores:
    learnt = dict.fromkeys(
        (picture_key(item.image), text) for item in yardstick.whole or yardstick.items for text in item.true
    )
    scores: list[Tensor] = [torch.empty(0)] * len(yardstick.items)
    for fold in range(FOLDS):
        in_fold = [at for at, item in enumerate(yardstick.items) if _fold(item.image) == fold]
        others = sorted(text for image, text in learnt if _fold(image) != fold)
        if in_fold and not others:
            raise ItmlabError("too few pictures to learn their language from the others", where=yardstick.name)
        model = NgramModel(others) if in_fold else None
        for at in in_fold:
            scores[at] = -model.fluency(yardstick.items[at].sentences).perplexity
    return torch.cat(scores)


def _fold(image: str) -> int:
    """The fold of a picture, by its name alone."""
    digest = blake2b(picture_key(image).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) % FOLDS


def _others(yardstick: Yardstick, path: Path) -> list[str]:
    """The captions of a file that say nothing of the yardstick's pictures."""
    said = {" ".join(text.lower().split()) for text in yardstick.sentences}
    shown = {picture_key(item.image) for item in yardstick.items}
    if path.name.endswith(SUFFIXES):
        faults = Faults("captions", source=str(path))
        rows = read_captions(path, faults, lambda image: image)
        faults.settle(kept=len(rows))
        texts = [one.text for row in rows if picture_key(str(row.image_id)) not in shown for one in row.captions]
    else:
        texts = [line for line in read_text(path).split("\n") if line.strip()]
    return [text for text in texts if " ".join(str(text).lower().split()) not in said]
