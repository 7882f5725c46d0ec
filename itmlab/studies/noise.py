"""Noisy correspondence (NCR: Huang et al., 2021): what a loss and a sampler do as captions stray to other pictures.

The protocol of the committed figure is METHODS 1.7.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ..data.captionset import CaptionSet
from ..data.loading import changed_from
from ..errors import ItmlabError
from ..recipes.recipe import Recipe
from ..runs.comparison import Comparison
from ..training.comparison import compare_runs, trained
from .kit.theme import colour, label, styled, whiskers

COLUMNS = {"RSum": "RSum", "i2t mAP@R": "mAP@R, image → text, %", "t2i mAP@R": "mAP@R, text → image, %"}
APART = 0.013  # of the axis: as far points of one share stand from each other, so that their intervals can be told


def at_share(recipe: str, share: float) -> str:
    """The label of a recipe at a share of moved captions.

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
    """Train every recipe at every share of moved training captions and compare them on the clean split "test".

    Labels are those of `at_share`. Each seed moves captions of its own (`CaptionSet.with_noise(share, seed)`), so that
    an interval holds that chance too; all recipes of a seed see the same, `jobs` of them trained at a time. Runs that
    lie in `run_root` stay as they are.
    """
    runs: dict[str, list] = {at_share(name, share): [] for share in shares for name in recipes}
    for seed in seeds:
        for share in shares:
            noisy = data.with_noise(share, seed)
            if share:
                changed_from(data, noisy, noise=share, noise_seed=seed)  # so that other processes can load it, too
            asked = {"seeds": [seed], "run_root": run_root, "jobs": jobs, "progress": progress}
            for name, group in trained(recipes, noisy, **asked).items():
                runs[at_share(name, share)] += group
    return compare_runs(runs, data, truth=truth, progress=progress)


def change_by_noise(comparison: Comparison, recipes: Sequence[str], share: float, before: float = 0.0) -> Comparison:
    """By recipe the change from one share to another, itself to be compared: `intervals` is it, `difference` whose.

    ItmlabError: a recipe or share that was not compared.
    """
    pairs = {name: (at_share(name, share), at_share(name, before)) for name in recipes}
    if missing := [one for pair in pairs.values() for one in pair if one not in comparison.found]:
        raise ItmlabError(
            f"nothing compared is called {missing[0]!r}", remedy="name recipes and shares of compare_noise"
        )
    found = {name: comparison.found[after] - comparison.found[clean] for name, (after, clean) in pairs.items()}
    return replace(comparison, labels=list(pairs), baseline=next(iter(pairs)), found=found, runs={})


def draw_noise(
    comparison: Comparison,
    recipes: Mapping[str, str],
    shares: Sequence[float],
    *,
    title: str,
    subtitle: str = "",
    columns: Mapping[str, str] = COLUMNS,
) -> go.Figure:
    """A panel a column (of those there are), a line a recipe over the shares, `shares[0]` being what it is without.

    The intervals are those of the change since then, paired: how far pictures differ, which all lines share, is not in
    them. `recipes` and `columns` say what each is called.
    """
    columns = {column: said for column, said in columns.items() if column in comparison.columns}
    titles = [label(said) for said in columns.values()]
    figure = make_subplots(1, len(columns), subplot_titles=titles, horizontal_spacing=0.09)
    for index, (name, said) in enumerate(recipes.items()):
        apart = 100 * max(shares) * APART * (index - (len(recipes) - 1) / 2)
        first, *later = (at_share(name, share) for share in shares)
        before, changes = comparison.intervals(first), [comparison.difference(one, first) for one in later]
        for panel, column in enumerate(columns, start=1):
            ends = [(0.0, 0.0, 0.0), *(change[column] for change in changes)]
            values, lower, upper = ([before[column][0] + end for end in side] for side in zip(*ends, strict=True))
            shade = colour(index)
            figure.add_scatter(
                x=[100 * shares[0], *(100 * share + apart for share in shares[1:])],
                y=values,
                error_y=whiskers(values, lower, upper, shade, thickness=1.4, width=3),
                mode="lines+markers",
                line={"color": shade, "width": 2.4},
                marker={"size": 7},
                name=label(said),
                legendgroup=said,
                showlegend=panel == 1,
                hovertemplate=f"{label(said)}: %{{y:.1f}}<extra></extra>",
                row=1,
                col=panel,
            )
    figure.update_xaxes(title="captions moved, %", tickvals=[100 * share for share in shares])
    figure = styled(figure, title, subtitle, height=500)
    return figure.update_layout(legend_y=1.1, margin_t=figure.layout.margin.t + 48)  # two lines of names
