"""Word discrimination and correction against the world's truth: a replaced word may well be true of the picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..metrics.share import Share, share
from .made_wrong import changed_places, with_only
from .one_towers import one_tower_of
from .word_study import KINDS, WordStudy
from .words import spelled

WORDS = ("kept", "replaced, true", "replaced, undecided", "replaced, false")
SENTENCES = ("caption", "made wrong", "corrected")


@dataclass(frozen=True)
class WordTruth:
    """What the world says of the sentences and words of a study.

    `mismatched[words]` is the share of them that the model says do not fit; a replaced word is true or false as the
    caption is with only that place changed. `sentences[stage]` counts verdicts: 1 true, 0 false, -1 undecided.
    `restored` is the share of corrections that give the caption again, `true` that of those decided that are true of
    the picture, by the kind of the only place that was changed ("all": of all sentences).
    """

    mismatched: dict[str, Share]
    sentences: dict[str, dict[int, int]]
    restored: Share
    true: dict[str, Share]


def word_truth(
    model: Any, data: CaptionSet, study: WordStudy, *, threshold: float = 0.5, above: float = 0.0
) -> WordTruth:
    """Judge a study of `model` by `data`'s world; without a world it is an ItmlabError.

    A word does not fit if its probability of being kept is below `threshold`. Correction rewrites words from a
    mismatch of `above` on (the paper: all of them).
    """
    if data.world is None:
        raise ItmlabError(
            "only a world says which sentences are true", where=data.name, remedy="use the data set scenes"
        )
    tower, images = one_tower_of(model), study.images.tolist()
    made = [one.sentence for one in study.negatives]
    captions = [data.captions[one.caption] for one in study.negatives]
    corrected = [each.corrected(above) for each in spelled(tower, made, study.answers)]
    alone = _alone(study, captions)
    whole = zip(images * len(SENTENCES), captions + made + corrected, strict=True)
    verdict = _verdicts(data, [*whole, *((images[row], one) for row, one in alone.values())])
    stages = dict(zip(SENTENCES, (captions, made, corrected), strict=True))
    of_stage = {
        name: torch.tensor([verdict[pair] for pair in zip(images, some, strict=True)]) for name, some in stages.items()
    }
    restored = [new.casefold() == old.casefold() for new, old in zip(corrected, captions, strict=True)]
    kinds = [one.kind[0] if len(one.kind) == 1 else "" for one in study.negatives]
    after = of_stage["corrected"]
    rows = {"all": torch.ones(len(made)).bool()} | {
        kind: torch.tensor([each == kind for each in kinds]) for kind in KINDS if kind in kinds
    }
    return WordTruth(
        _mismatched(study, {place: verdict[images[row], one] for place, (row, one) in alone.items()}, threshold),
        {name: {said: int((found == said).sum()) for said in (1, 0, -1)} for name, found in of_stage.items()},
        share(torch.tensor(restored), study.images),
        {
            kind: share(after[chosen & (after >= 0)] == 1, study.images[chosen & (after >= 0)])
            for kind, chosen in rows.items()
        },
    )


def _alone(study: WordStudy, captions: Sequence[str]) -> dict[tuple[int, int], tuple[int, str]]:
    """For each row and changed place the row again, and the caption with only that change."""
    found = {}
    for row, (negative, caption) in enumerate(zip(study.negatives, captions, strict=True)):
        places = changed_places(negative, caption) or []
        found |= {(row, place): (row, with_only(negative, places, place)) for place in range(len(places))}
    return found


def _verdicts(data: CaptionSet, asked: Sequence[tuple[int, str]]) -> dict[tuple[int, str], int]:
    """The world's verdict on each sentence on its image, parsed all at once."""
    from ..text import parse

    by_image: dict[int, dict[str, None]] = {}
    for image, sentence in asked:
        by_image.setdefault(image, {})[sentence] = None
    parse(list({sentence for some in by_image.values() for sentence in some}))  # into the cache that the world reads
    return {
        (image, sentence): said
        for image, some in by_image.items()
        for sentence, said in zip(some, data.world.truth([image], list(some))[0].tolist(), strict=True)
    }


def _mismatched(study: WordStudy, verdicts: Mapping[tuple[int, int], int], threshold: float) -> dict[str, Share]:
    """How many pieces of words of each sort are said not to fit."""
    said, owners = 1 - study.answers.mismatch < threshold, study.images[:, None].expand(study.counted.shape)
    sort: Int[Tensor, "row piece"] = torch.full(study.counted.shape, WORDS.index("kept"))
    names = {1: "replaced, true", -1: "replaced, undecided", 0: "replaced, false"}
    for row, piece in study.replaced.nonzero().tolist():
        sort[row, piece] = WORDS.index(names[verdicts[row, int(study.place[row, piece])]])
    masks = {name: study.counted & (sort == number) for number, name in enumerate(WORDS)}
    return {name: share(said[mask], owners[mask]) for name, mask in masks.items()}
