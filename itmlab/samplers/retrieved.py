"""Offline retrieved negatives: some candidates at random are scored, the best of them are trained on."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from itmlab.errors import ItmlabError
from itmlab.samplers.base import Sampler, draw, usable


class Retrieved(Sampler):
    """Scores `candidates` random negatives an anchor and keeps the `top` of them (UNITER and TAGS: 399 and 31).

    As a sampler of one negative it draws one of the kept, each with the same probability.
    """

    def __init__(self, candidates: int = 399, top: int = 31):
        if not 1 <= top <= candidates:
            raise ItmlabError(f"retrieved negatives need 1 ≤ top ≤ candidates, not top={top}, candidates={candidates}")
        self.candidates, self.top = candidates, top

    def propose(
        self, allowed: Bool[Tensor, "anchor candidate"], *, generator: torch.Generator
    ) -> Int64[Tensor, "anchor proposal"]:
        """What is to be scored: at most `candidates` different random ones an anchor in ascending order, then -1."""
        keys = torch.rand(allowed.shape, generator=generator, device=generator.device).to(allowed.device)
        keys, index = keys.masked_fill(~allowed, -1).topk(min(self.candidates, allowed.shape[1]), dim=1)
        beyond = allowed.shape[1]  # sorts what was not allowed to the end
        index = index.masked_fill(keys < 0, beyond).sort(dim=1).values
        return index.masked_fill(index == beyond, -1)

    def retrieve(
        self,
        scores: Float[Tensor, "anchor candidate"],
        positives: Bool[Tensor, "anchor candidate"],
        *,
        generator: torch.Generator,
    ) -> Int64[Tensor, "anchor top"]:
        """At most `top` negatives an anchor from the hardest on (equals by index), then -1."""
        proposed = self.propose(usable(scores, positives), generator=generator)
        values = scores.gather(1, proposed.clamp(min=0)).nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf)
        missing = proposed < 0  # lie behind every real proposal, so a stable order leaves them behind equals of -inf
        order = values.masked_fill(missing, -torch.inf).sort(dim=1, descending=True, stable=True).indices
        return proposed.gather(1, order[:, : self.top])

    def choose(
        self,
        scores: Float[Tensor, "anchor candidate"],
        positives: Bool[Tensor, "anchor candidate"],
        positive_scores: Float[Tensor, "anchor"],
        *,
        generator: torch.Generator,
    ) -> Int64[Tensor, "anchor"]:
        kept = self.retrieve(scores, positives, generator=generator)
        slot = draw((kept >= 0).float(), generator=generator)
        return kept.gather(1, slot.clamp(min=0)[:, None]).squeeze(1)  # a row without any holds -1 in every slot
