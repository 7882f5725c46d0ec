"""How often a model tells the true sentences of a yardstick from its false ones, beside controls that cannot see.

What a score is worth only its controls say: the same model beside another picture, and scores that saw no picture.
A tie is no answer. It counts against the model, as in the released code of SugarCrepe and BiVLC; in a control it counts
half, since what knows nothing must come out at chance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from math import factorial, fsum
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from ..data.entries import SUFFIXES, read_lines
from ..data.faults import Faults
from ..data.folder import read_captions
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

    `right`: every true sentence scores above every false one. `parts` are BiVLC's measures with both pictures (text
    given image, image given text, all of it); `auc` of sentences that come alone (VSR) is how often a true one scores
    above a false one, ties half. `ties` are items in which the best false score is just the worst true one.
    """

    items: int
    chance: float
    right: Share | None
    ties: int
    controls: dict[str, Share]
    parts: dict[str, Share]
    auc: float | None = None


@dataclass(frozen=True)
class YardstickTable:
    """A row for each kind and one for "all", and why some rows of the files are not among the items."""

    name: str
    rows: dict[str, YardstickRow]
    left_out: Mapping[str, int]

    def __str__(self) -> str:
        first = next(iter(self.rows.values()))
        names = [*(["right"] if first.right else []), *first.controls, *first.parts]
        lines = [f"{self.name:15}{'items':>7}{'chance':>8}" + "".join(f"{name:>24}" for name in names)]
        for kind, row in self.rows.items():
            shares = [*([row.right] if row.right else []), *row.controls.values(), *row.parts.values()]
            cells = "".join(f"{f'{one.percent:.1f} [{one.lower:.1f}, {one.upper:.1f}]':>24}" for one in shares)
            auc = "" if row.auc is None else f"   AUC {row.auc:.3f}"
            tied = f"   {row.ties:,} tied" if row.ties else ""
            lines.append(f"{kind:15}{row.items:7,}{100 * row.chance:8.1f}{cells}{auc}{tied}")
        return "\n".join([*lines, *(f"left out: {count:,} {why}" for why, count in self.left_out.items())])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def measure(
    yardstick: Yardstick,
    match: Match | None = None,
    *,
    text: Mapping[str, Scores] | None = None,
    seed: int = 0,
) -> YardstickTable:
    """How often the true sentences of an item score above its false ones, by kind, beside its controls.

    `match` scores pictures of `yardstick.pictures` by number with a sentence each, whatever the model. Controls: "wrong
    picture", the same beside another picture, drawn by `seed`; "shorter", which takes the sentence with fewer words;
    and each of `text`, scores of all sentences (`text_scores`). Sentences that come alone (VSR) are called true above a
    threshold, the best one for the other half of the pictures. Intervals: Wilson's 95 %, items of a picture hang
    together. Without `match` the controls alone. ItmlabError: pictures not asked for, scores that are no numbers.
    """
    items, pictures = yardstick.items, torch.zeros(len(yardstick.items), dtype=torch.int64)
    found: dict[str, Outcomes] = {}
    parts: dict[str, Bool[Tensor, "item"]] = {}
    if match is not None:
        if yardstick.pictures is None or any(yardstick.number(item.image) is None for item in items):
            raise ItmlabError("pictures are not at hand", where=yardstick.name, remedy="ask for with_pictures(images)")
        pictures = torch.tensor([yardstick.number(item.image) for item in items])
        own = _scores(yardstick, match, pictures)
        found["right"] = outcomes(items, own)
        if all(item.false_image for item in items):
            other = _scores(yardstick, match, torch.tensor([yardstick.number(item.false_image) for item in items]))
            parts = _both_pictures(own.view(-1, 2), other.view(-1, 2))
        used = pictures.unique()
        if len(used) > 1:
            around = used[torch.randperm(len(used), generator=torch.Generator().manual_seed(seed))]
            wrong = torch.zeros(int(used.max()) + 1, dtype=torch.int64).index_copy(0, around, around.roll(1))
            found["wrong picture"] = outcomes(items, _scores(yardstick, match, wrong[pictures]))
    else:
        names = {name: at for at, name in enumerate(dict.fromkeys(picture_key(item.image) for item in items))}
        pictures = torch.tensor([names[picture_key(item.image)] for item in items])
    for name, scores in (text or {}).items():
        found[name] = outcomes(items, scores)
    found["shorter"] = outcomes(items, torch.tensor([-float(len(tokenise(text))) for text in yardstick.sentences]))
    kinds = [item.kind for item in items]
    rows = {}
    for kind in (*yardstick.kinds, "all"):
        of = torch.tensor([kind in ("all", each) for each in kinds])
        right = found.get("right")
        rows[kind] = YardstickRow(
            items=int(of.sum()),
            chance=_chance([item for item, one in zip(items, of.tolist(), strict=True) if one]),
            right=None if right is None else share(right.right[of], pictures[of]),
            ties=0 if right is None else int(right.tied[of].sum()),
            controls={name: _halved(one, of, pictures) for name, one in found.items() if name != "right"},
            parts={name: share(holds[of], pictures[of]) for name, holds in parts.items()},
            auc=None if right is None or right.alone is None else _auc(right.alone[of], right.true[of]),
        )
    return YardstickTable(yardstick.name, rows, yardstick.left_out)


def _scores(yardstick: Yardstick, match: Match, pictures: Int64[Tensor, "item"]) -> Scores:
    """The score of every sentence beside the picture that is its item's here."""
    sizes = torch.tensor([len(item.sentences) for item in yardstick.items])
    found = match(pictures.repeat_interleave(sizes).tolist(), yardstick.sentences)
    return torch.as_tensor(found).double().cpu()


@dataclass(frozen=True)
class Outcomes:
    """Whether each item is right, and tied; of sentences that come alone also their scores, and which are true."""

    right: Bool[Tensor, "item"]
    tied: Bool[Tensor, "item"]
    alone: Float[Tensor, "item"] | None = None
    true: Bool[Tensor, "item"] | None = None


def outcomes(items: Sequence[YardstickItem], scores: Scores) -> Outcomes:
    """Which items are right: the worst true sentence scores above the best false one; a tie is not right.

    Sentences that come alone are right above (true) or not above (false) a threshold that was chosen on the other half
    of the pictures. ItmlabError: as many scores as there are not sentences, a NaN.

    >>> items = [YardstickItem("a.jpg", ("a dog", "a hound"), ("a cat",), "swap")]
    >>> outcomes(items, torch.tensor([2.0, 1.5, 1.0])).right.tolist(), outcomes(items, torch.ones(3)).tied.tolist()
    ([True], [True])
    """
    sizes = [len(item.sentences) for item in items]
    if scores.shape != (sum(sizes),) or bool(scores.isnan().any()):
        raise ItmlabError(f"{sum(sizes)} sentences need as many scores, and numbers", remedy="give one for each")
    if items and all(size == 1 for size in sizes):
        true = torch.tensor([bool(item.true) for item in items])
        half = torch.tensor([_part(item.image, 2) == 1 for item in items])
        above = torch.zeros(len(items), dtype=torch.bool)
        for mine in (half, ~half):
            above[mine] = scores[mine] > _threshold(scores[~mine], true[~mine])
        return Outcomes(above == true, torch.zeros_like(above), scores, true)
    if any(not (item.true and item.false) for item in items):
        raise ItmlabError("sentences that come alone stand among pairs", remedy="measure them apart")
    margins = torch.stack(
        [
            part[: len(item.true)].min() - part[len(item.true) :].max()
            for item, part in zip(items, scores.split(sizes), strict=True)
        ]
    )
    return Outcomes(margins > 0, margins == 0)


def _threshold(scores: Float[Tensor, "item"], true: Bool[Tensor, "item"]) -> float:
    """The cut between two scores that has most true sentences above and false ones below, of equal ones the lowest."""
    if not len(scores):
        return 0.0
    order = scores.argsort()
    values, sign = scores[order], true[order].double() * 2 - 1
    right = torch.cat([torch.zeros(1), -sign.cumsum(0)])  # by cutting behind so many, less those right below all
    cuts = torch.cat([values[:1] - 1, (values[1:] + values[:-1]) / 2, values[-1:] + 1])
    possible = torch.cat([torch.ones(1).bool(), values[1:] > values[:-1], torch.ones(1).bool()])
    return float(cuts[right.masked_fill(~possible, -torch.inf).argmax()])


def _part(image: str, parts: int) -> int:
    """Which of so many parts a picture falls into, by its name alone."""
    return int.from_bytes(blake2b(picture_key(image).encode("utf-8", "surrogatepass"), digest_size=8).digest()) % parts


def _both_pictures(own: Float[Tensor, "item 2"], other: Float[Tensor, "item 2"]) -> dict[str, Bool[Tensor, "item"]]:
    """BiVLC's, from scores of the true and the false sentence beside the one picture, and beside the other."""
    text = (own[:, 0] > own[:, 1]) & (other[:, 1] > other[:, 0])
    image = (own[:, 0] > other[:, 0]) & (other[:, 1] > own[:, 1])
    return {"text given image": text, "image given text": image, "both": text & image}


def _halved(found: Outcomes, of: Bool[Tensor, "item"], pictures: Int64[Tensor, "item"]) -> Share:
    """The share of items that are right, a tie a half: each item twice, with a tie once right."""
    right, tied = found.right[of], found.tied[of]
    twice = share(torch.cat([right, right | tied]), pictures[of].repeat(2))
    return replace(twice, count=twice.count // 2, of=twice.of // 2)


def _chance(items: Sequence[YardstickItem]) -> float:
    """How often scores at random are right; of sentences that come alone, how many the commoner answer fits."""
    if all(len(item.sentences) == 1 for item in items):
        true = sum(bool(item.true) for item in items) / len(items)
        return max(true, 1 - true)
    orders = (factorial(len(item.true)) * factorial(len(item.false)) / factorial(len(item.sentences)) for item in items)
    return fsum(orders) / len(items)


def _auc(scores: Float[Tensor, "item"], true: Bool[Tensor, "item"]) -> float | None:
    """How often a true sentence scores above a false one, ties half; None if all are alike."""
    if true.all() or not true.any():
        return None
    below = scores[~true].sort().values
    places = [torch.searchsorted(below, scores[true].contiguous(), right=right).double() for right in (False, True)]
    return float((places[0] + places[1]).mean() / 2 / len(below))


# The text-only control: scores of sentences by something that never saw a picture.


def text_scores(yardstick: Yardstick, by: str | Path = "own") -> Scores:
    """How likely each sentence of the items is without any picture: minus its perplexity.

    `by` "own": a language model of words (`NgramModel`) that learnt from the set's own true sentences about other
    pictures, in ten parts by picture. A file of captions (a line each, or a table as `data.folder` reads it): one that
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
    for part in range(FOLDS):
        mine = [at for at, item in enumerate(yardstick.items) if _part(item.image, FOLDS) == part]
        others = sorted(text for image, text in learnt if _part(image, FOLDS) != part)
        if mine and not others:
            raise ItmlabError("too few pictures to learn their language from the others", where=yardstick.name)
        model = NgramModel(others) if mine else None
        for at in mine:
            scores[at] = -model.fluency(yardstick.items[at].sentences).perplexity
    return torch.cat(scores)


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
        texts = [line for line in read_lines(path) if line.strip()]
    return [text for text in texts if " ".join(str(text).lower().split()) not in said]
