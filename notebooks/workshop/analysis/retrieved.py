"""Captions of other images as negatives, drawn at random (TAGS-DC, A.1; METHODS 3.5)."""

from collections.abc import Sequence

import torch

from itmlab.errors import ItmlabError
from itmlab.synthesis import Negative
from itmlab.synthesis.negative import Captions, Graphs, own_generators


class Retrieved:
    """`number` captions of other images for each caption, drawn at random without replacement from a pool.

    With `FilteredTopM` on top its hardest are kept: TAGS draws 399 and keeps 31. Nothing is replaced in them, so the
    filter of false negatives lets them pass. A caption that also describes the image is never taken.

    Args:
        pool: the captions to draw from, such as the whole set; None is the captions of the call (the batch).
        number: how many are drawn for each caption.

    Raises:
        ItmlabError: `number` is below 1.
    """

    def __init__(self, pool: Sequence[str] | None = None, *, number: int = 399):
        if number < 1:
            raise ItmlabError(f"the number of negatives per caption must be at least 1, got {number}")
        self.pool, self.number = pool, number

    def __call__(
        self, captions: Captions, graphs: Graphs, image_captions: Sequence[Captions], *, generator: torch.Generator
    ) -> list[list[Negative]]:
        """Return the negatives of each caption; fewer where the pool has fewer. Repeated sentences count once.

        >>> rows = Retrieved()(["a dog", "a cat"], [], [["a dog"], ["a cat"]], generator=torch.Generator())
        >>> [[negative.sentence for negative in row] for row in rows]
        [['a cat'], ['a dog']]
        """
        pool = list(dict.fromkeys(captions if self.pool is None else self.pool))
        generators, rows = own_generators(len(captions), generator), []
        for caption, others, own in zip(captions, image_captions, generators, strict=True):
            of_image = {caption, *others}
            # as many more as can turn out to be the image's own: the draw stays one of distinct sentences
            wanted = min(len(pool), self.number + len(of_image))
            drawn = [pool[at] for at in torch.randperm(len(pool), generator=own)[:wanted].tolist()]
            rows.append([Negative(sentence) for sentence in drawn if sentence not in of_image][: self.number])
        return rows
