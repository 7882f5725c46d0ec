"""Are negatives negative: the share of made sentences that are false of their picture."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.metrics.share import Share, share


@dataclass(frozen=True)
class TrueNegatives:
    """The share of decided sentences that are false of their picture, and how many nobody decided."""

    share: Share
    undecided: int

    def __str__(self) -> str:
        return f"{self.share} decided; {self.undecided:,} undecided"


def true_negative_rate(
    verdicts: Sequence[bool | None], images: Sequence[int] | Int64[Tensor, "sentence"] | None = None
) -> TrueNegatives:
    """The share of synthetic sentences that are truly negative, with its 95 % interval.

    A verdict says whether the sentence is true of its picture (`World.entails`): false is a true negative, true a false
    one, None is undecided and in neither count. The paper's is 96.5 % of 200, judged by two people (Sec. 4.2). `images`
    are the sentences' (see `share`).
    """
    if wrong := [verdict for verdict in verdicts if verdict is not None and not isinstance(verdict, bool)]:
        raise ItmlabError(f"a verdict is true, false or None, not {wrong[0]!r}")
    if images is not None and len(images) != len(verdicts):
        raise ItmlabError(f"{len(verdicts)} verdicts, but {len(images)} images")
    decided = [at for at, verdict in enumerate(verdicts) if verdict is not None]
    false = torch.tensor([not verdicts[at] for at in decided], dtype=torch.bool)
    owners = None if images is None else torch.as_tensor(images)[torch.tensor(decided, dtype=torch.int64)]
    return TrueNegatives(share(false, owners), len(verdicts) - len(decided))
