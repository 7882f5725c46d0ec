"""Which cells of a score matrix a loss pulls and pushes: one small heat map per loss."""

from collections.abc import Mapping

import plotly.graph_objects as go
import torch
from jaxtyping import Bool, Float
from plotly.subplots import make_subplots
from torch import Generator, Tensor

from itmlab.losses import Loss
from itmlab.samplers import Sampler

from .theme import BLUE, INK, MUTED, VERMILION, label, styled, translucent

Square = Float[Tensor, "pair pair"]
# Zero is clear, so that a dark paper shows through.
PUSH_AND_PULL = ((0.0, BLUE), (0.5, translucent(BLUE, 0)), (0.5, translucent(VERMILION, 0)), (1.0, VERMILION))
DRAWS = 400  # of a sampler that draws: the mean gradient is shown
MARGIN = 0.2  # of the hinge on a sampler's choice


def shares_of_push(scores: Square, rule: Loss | Sampler) -> Square:
    """Return the gradient of a loss at every score, as a share of all that it pushes down, in percent.

    Rows are anchors, and the matches are on the diagonal. A negative's share is above 0 (its score falls) and a match's
    below 0 (its score rises). Shares show where a loss looks; its size depends on temperature and learning rate.

    Args:
        scores: similarities of a batch.
        rule: a loss, or a sampler, whose choice gets a hinge; the mean over many draws is taken.
    """
    scores = scores.detach().clone().requires_grad_()
    positives, matches = torch.eye(len(scores), dtype=torch.bool), scores.diagonal()
    if isinstance(rule, Sampler):
        generator, counts = Generator().manual_seed(0), torch.zeros(len(scores), len(scores))
        for _ in range(DRAWS):
            chosen = rule(scores, positives, matches, generator=generator)
            counts += torch.nn.functional.one_hot(chosen, len(scores))
        loss = (counts * (MARGIN + scores - matches[:, None]).relu()).sum()
    else:
        loss = rule.forward(scores, positives, matches).sum()
    (gradient,) = torch.autograd.grad(loss, scores)
    return 100 * gradient / gradient.clamp(min=0).sum().clamp(min=1e-12)


def draw_gradients(scores: Square, rules: Mapping[str, Loss | Sampler], true: Bool[Tensor, "pair pair"]) -> go.Figure:
    """Draw a score matrix, and beside it where each loss pulls (blue) and pushes (red), all on one colour scale.

    Args:
        scores: similarities of a small batch: rows are pictures, columns captions, matches are on the diagonal.
        rules: losses and samplers by name, see `shares_of_push`.
        true: pairs that are true although they are not annotated; their cells get a frame.

    >>> from itmlab.losses import TripletLoss
    >>> draw_gradients(torch.eye(3), {"sum": TripletLoss(reduce="sum")}, torch.zeros(3, 3).bool()).layout.height > 200
    True
    """
    gradients = {name: shares_of_push(scores, rule) for name, rule in rules.items()}
    panels = {"scores": 100 * scores.detach(), **gradients}
    lines, columns = -(-len(panels) // 3), 3
    spacing = {"horizontal_spacing": 0.07, "vertical_spacing": 0.24 / lines}
    figure = make_subplots(lines, columns, subplot_titles=[label(name) for name in panels], **spacing)
    places = list(range(1, len(scores) + 1))
    for index, (name, values) in enumerate(panels.items()):
        place = {"row": index // columns + 1, "col": index % columns + 1}
        look = {"colorscale": PUSH_AND_PULL, "zmin": -50, "zmax": 50}
        if name == "scores":
            look = {"colorscale": ((0.0, translucent(MUTED, 0)), (1.0, MUTED)), "zmin": 0, "zmax": 150}
        texts = [[f"{value:.0f}" if abs(value) >= 0.5 else "" for value in row] for row in values.tolist()]
        cells = {"z": values.tolist(), "x": places, "y": places, "text": texts, "texttemplate": "%{text}"}
        hover = f"{label(name)}: picture %{{y}}, caption %{{x}}: %{{z:.1f}}<extra></extra>"
        figure.add_heatmap(**cells, **look, showscale=False, xgap=1, ygap=1, hovertemplate=hover, **place)
        for row, column in true.nonzero().tolist():
            corners = {"x0": column + 0.53, "x1": column + 1.47, "y0": row + 0.53, "y1": row + 1.47}
            figure.add_shape(type="rect", **corners, line={"color": INK, "width": 2.5, "dash": "dot"}, **place)
    ends = [0.5, len(scores) + 0.5]
    figure.update_traces(textfont_color=INK)
    figure.update_yaxes(range=ends[::-1], dtick=1, showgrid=False, title="picture", title_standoff=2)
    figure.update_xaxes(range=ends, dtick=1, title="caption", title_standoff=2, showline=False, ticks="")
    subtitle = "percent of all pushing; red is pushed down, blue is pulled up; dotted: true, not annotated"
    figure = styled(figure, "Where a loss looks", subtitle, height=60 + 270 * lines, legend=False)
    return figure.update_layout(margin_t=figure.layout.margin.t + 26)
