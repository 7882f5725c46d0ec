"""Negatives that a data set holds: captions of other images, from the batch or from the whole set."""

from collections.abc import Sequence

import torch

from ..errors import ItmlabError
from ..text import SceneGraph
from .negative import Negative


class Retrieved:
    """`number` captions of other images for each caption, drawn at random without replacement from a pool.

    The pool is `pool` (the whole set), or the captions of the call (the batch) if that is None. With `Tailored` on top
    its hardest are kept: TAGS draws 399 and keeps 31. Nothing is replaced in them, so they have no changed spans, and
    the filter of false negatives lets them pass. A caption that also describes the image is never taken.
    """

    def __init__(self, pool: Sequence[str] | None = None, *, number: int = 399):
        if number < 1:
            raise ItmlabError(f"{number} negatives a caption cannot be", remedy="give 1 or more")
        self.pool, self.number = pool, number

    def __call__(
        self,
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        image_captions: Sequence[Sequence[str]],
        *,
        generator: torch.Generator,
    ) -> list[list[Negative]]:
        """The negatives of each caption, fewer where the pool has fewer; sentences that the pool repeats count once."""
        pool = list(dict.fromkeys(captions if self.pool is None else self.pool))
        seeds = torch.randint(2**62, (len(captions),), generator=generator, device=generator.device).tolist()
        rows = zip(captions, image_captions, seeds, strict=True)
        return [self._of({caption, *others}, pool, seed) for caption, others, seed in rows]

    def _of(self, own: set[str], pool: Sequence[str], seed: int) -> list[Negative]:
        order = torch.Generator().manual_seed(seed)
        # As many more as can turn out to be the image's own: the draw stays one of distinct sentences.
        wanted = min(len(pool), self.number + len(own))
        drawn = torch.randperm(len(pool), generator=order)[:wanted].tolist()
        return [Negative(pool[at]) for at in drawn if pool[at] not in own][: self.number]
