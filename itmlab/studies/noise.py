"""Noisy correspondence: training with a share of the captions moved to other pictures.

References:
    Huang et al. (2021), NCR. The protocol of the committed result is METHODS 1.7.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..data.captionset import CaptionSet
from ..recipes.recipe import Recipe
from ..training.comparison import Comparison, compare_runs, trained


def at_share(recipe: str, share: float) -> str:
    """Return the label of a recipe at a share of moved captions.

    >>> at_share("fne", 0.2)
    'fne, 20 % moved'
    """
    return f"{recipe}, {100 * share:g} % moved"


def compare_noise(
    recipes: Mapping[str, Recipe],
    data: CaptionSet,
    shares: Sequence[float],
    *,
    seeds: Sequence[int] = (0, 1, 2),
    run_root: str | Path,
    truth: bool = False,
    jobs: int | None = None,
    progress: bool = True,
) -> Comparison:
    """Train every recipe at every share of moved training captions and compare them on the clean test split.

    Each seed moves other captions (`CaptionSet.with_noise(share, seed)`), so that intervals include that chance. All
    recipes of a seed see the same captions. Finished runs in `run_root` are not trained again.

    Args:
        recipes: by name.
        data: clean data.
        shares: shares of training captions to move.
        seeds: seeds of training and of moving captions.
        run_root: directory of the runs.
        truth: also measure against everything that is true.
        jobs: runs at a time.
        progress: whether progress is shown.

    Returns:
        A comparison whose labels are those of `at_share`.
    """
    runs: dict[str, list] = {at_share(name, share): [] for share in shares for name in recipes}
    for seed in seeds:
        for share in shares:
            noisy = data.with_noise(share, seed)
            asked = {"seeds": [seed], "run_root": run_root, "jobs": jobs, "progress": progress}
            for name, group in trained(recipes, noisy, **asked).items():
                runs[at_share(name, share)] += group
    return compare_runs(runs, data, truth=truth, progress=progress)
