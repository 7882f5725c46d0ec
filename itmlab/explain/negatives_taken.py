"""How many of the negatives that a sampler takes are in truth matches: the question that recall does not answer."""

from collections.abc import Mapping

import torch

from ..errors import ItmlabError
from ..samplers import FalseNegativeEliminating, Sampler
from .false_negatives import Study


def negatives_taken(
    study: Study, samplers: Mapping[str, Sampler], *, seed: int = 0
) -> dict[str, tuple[float, float, float]]:
    """For each sampler the percentage of true pairs among the negatives it takes, with Wilson's 95 % interval.

    Every picture of the study takes one negative among all captions, its match being its best-scoring own caption.
    Pairs that the world leaves undecided do not count. FNE's sampler is given the study's statistics.
    """
    from scipy.stats import binomtest

    if study.truth is None:
        raise ItmlabError("no world knows what is true here", where=study.data.name, remedy="use the data set scenes")
    matches = study.scores.masked_fill(~study.positives, -torch.inf).max(dim=1).values
    shares = {}
    for name, sampler in samplers.items():
        if isinstance(sampler, FalseNegativeEliminating):
            sampler.load_state_dict(study.sampler.state_dict())
        generator = torch.Generator().manual_seed(seed)
        chosen = sampler(study.scores, study.positives, matches, generator=generator)
        verdicts = study.truth.gather(1, chosen.clamp(min=0)[:, None]).squeeze(1)
        decided = verdicts[(chosen >= 0) & (verdicts >= 0)]
        if not len(decided):
            raise ItmlabError(f"no negative that {name} takes is decided", where=study.data.name)
        test = binomtest(int((decided == 1).sum()), len(decided))
        interval = test.proportion_ci(method="wilson")
        shares[name] = tuple(100 * value for value in (test.statistic, interval.low, interval.high))
    return shares
