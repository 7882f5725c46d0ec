"""Captions of other images as negatives: from the batch or the whole set, never the image's own."""

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.synthesis import Retrieved, Tailored
from itmlab.text import SceneGraph

POOL = [f"caption {number}" for number in range(50)]
BATCH = POOL[:3], [SceneGraph()] * 3, [POOL[0:2], POOL[0:2], POOL[2:7]]


def seed(number: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def sentences(row) -> list[str]:
    return [negative.sentence for negative in row]


def test_from_the_whole_set_none_twice_and_none_of_the_image():
    for row, own in zip(Retrieved(POOL, number=20)(*BATCH, generator=seed()), BATCH[2], strict=True):
        assert len(set(sentences(row))) == 20 and not set(sentences(row)) & set(own)


def test_from_the_batch_when_no_pool_is_given():
    rows = Retrieved()(*BATCH, generator=seed())
    assert list(map(sentences, rows[:2])) == [["caption 2"]] * 2
    assert set(sentences(rows[2])) == {"caption 0", "caption 1"}


def test_every_other_caption_is_taken_equally_often():
    batch = [POOL[0]] * 600, [SceneGraph()] * 600, [[]] * 600
    rows = Retrieved(POOL[:11], number=5)(*batch, generator=seed())
    counts = [sum(sentence in sentences(row) for row in rows) for sentence in POOL[1:11]]
    assert sum(counts) == 3000 and all(240 < count < 360 for count in counts)


def test_the_hardest_of_those_drawn_are_kept_by_tailored():
    tailored = Tailored(
        Retrieved(POOL, number=45),
        score=lambda found, captions: torch.tensor([float(one.split()[1]) for one in found]),
        keep=2,
    )
    drawn = Retrieved(POOL, number=45)(*BATCH, generator=seed())
    for row, all_drawn in zip(tailored(*BATCH, generator=seed()), drawn, strict=True):
        best = sorted((int(one.split()[1]) for one in sentences(all_drawn)), reverse=True)[:2]
        assert [negative.score for negative in row] == best


def test_no_negatives_are_refused():
    with pytest.raises(ItmlabError, match="0 negatives"):
        Retrieved(number=0)
