"""Figures of TAGS-DC: negatives as rows, their scores beside the captions', and which of their words are wrong.

References:
    Fan et al. (2022), TAGS-DC, Figures 1 and 4. Changed words are in colour.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Integer
from numpy import ndarray
from PIL import Image
from plotly.subplots import make_subplots

from itmlab.synthesis import Negative
from itmlab.text.alignment import token_characters
from itmlab.text.graph import tokenise

from ..analysis.negatives import SyntheticNegatives
from ..analysis.words import Part, WordExample
from ..analysis.wrong_picture import BothPictures, draw_both_pictures
from .canvas import Cell, draw_table
from .theme import BLUE, INK, MUTED, ORANGE, PURPLE, TRUTH_LABELS, VERMILION, label, styled, translucent

# Negatives of one caption as a list, and the hardest of several captions (Figure 1b).


@dataclass(frozen=True)
class Example:
    """A picture beside rows of (name, sentence, score): its caption, then named negatives."""

    picture: Image.Image
    rows: list[tuple[str, Negative, float | None]]

    @classmethod
    def of(cls, sources: Mapping[str, SyntheticNegatives], at: int) -> "Example":
        """Return the hardest negative of the `at`-th caption by each source; all were made of the same captions."""
        first = next(iter(sources.values()))
        data, caption, score = first.data, first.captions[at], None
        rows = []
        for name, source in sources.items():
            hardest = source.only(at).first(1)
            if len(hardest):
                positive, negative = hardest.scores
                score = positive[0].item()
                rows.append((name, hardest.negatives[0][0], negative[0].item()))
        rows.insert(0, ("caption", Negative(data.captions[caption], truth=True), score))
        return cls(data.images[int(data.image_of_caption[caption])], rows)


def draw_synthetic_examples(
    examples: Sequence[Example],
    *,
    title: str = "Retrieved, swapped and generated",
    subtitle: str = "",
    beside: Sequence[str] = (),
) -> go.Figure:
    """Draw pictures beside their captions and negatives, with changed words in colour (Figure 1b).

    The score of a negative that is no lower than its caption's is vermilion.

    Args:
        examples: from top to bottom.
        title: the figure's title.
        subtitle: what is shown.
        beside: captions below the last picture.
    """
    head, sentence, likely, world = "", "sentence", "perplexity", "the world says"
    columns: dict[str, list[Cell]] = {head: [], sentence: [], "score": [], likely: [], world: []}
    starts = {}
    for example in examples:
        starts[len(columns[head])] = example.picture
        _, _, least = example.rows[0]  # the caption's score
        for name, negative, score in example.rows:
            shade, words = TRUTH_LABELS[-1 if negative.truth is None else int(negative.truth)]
            too_high = name != "caption" and score is not None and score >= least
            columns[head].append((name, MUTED))
            parts = [(part, VERMILION if changed else "") for part, changed in changed_parts(negative)]
            columns[sentence].append(parts)
            columns["score"].append(("" if score is None else f"{score:.3f}", VERMILION if too_high else INK))
            columns[likely].append("" if negative.fluency is None else f"{negative.fluency:,.1f}")
            columns[world].append((words, shade))
    if not any(columns[likely]):
        del columns[likely]
    widths = [1.5, 4.7, 1.2] + [1.6] * (len(columns) - 4) + [1.5]
    return draw_table(columns, title=title, subtitle=subtitle, widths=widths, picture=starts, beside=beside)


def changed_parts(negative: Negative) -> list[tuple[str, bool]]:
    """Cut a sentence into parts, each with whether it was changed; in order they spell the sentence.

    Changed places are found by their words from left to right, begun at the token that `spans` names where it can be.

    >>> changed_parts(Negative("a big cat", spans=(), replacement=()))
    [('a big cat', False)]
    """
    sentence, parts, at = negative.sentence, [], 0
    places = token_characters(sentence, tokenise(sentence))
    for span, words in zip(negative.spans, negative.replacement, strict=True):
        named = places[span.start][0] if span.start < len(places) else at
        begin = named if sentence.startswith(words, named) and named >= at else sentence.find(words, at)
        if begin < 0 or not words:
            continue
        parts += [(sentence[at:begin], False), (sentence[begin : begin + len(words)], True)]
        at = begin + len(words)
    return [part for part in [*parts, (sentence[at:], False)] if part[0]]


# Matching scores of captions and of their hardest negatives, by where the negatives come from (Figure 1a).

GAP = 0.05  # the paper's solid line: the negative that much below
DOTS = {  # by the world's verdict, in the order of drawing: colour and name
    -1: (TRUTH_LABELS[-1][0], "undecided"),
    0: (PURPLE, "false of the picture: a true negative"),
    1: (TRUTH_LABELS[1][0], "true: a false negative"),
}


@dataclass(frozen=True)
class Pairs:
    """A source of negatives: score of each caption, of its negative, and the truth label (1, 0, −1 undecided)."""

    positive: Float[ndarray, "pair"]
    negative: Float[ndarray, "pair"]
    truth_labels: Integer[ndarray, "pair"]

    @classmethod
    def of(cls, negatives: SyntheticNegatives) -> "Pairs":
        """Return the hardest negative of each caption that has one."""
        hardest = negatives.first(1)
        return cls(*(values.numpy() for values in (*hardest.scores, hardest.truth_labels)))


def draw_score_scatter(sources: Mapping[str, Pairs]) -> go.Figure:
    """Draw a panel per source and a dot per pair: the caption's score across, its negative's upwards.

    On the dotted line both are equal; on the solid one the negative is `GAP` below. Above each panel stands the share
    of dots on either side. Dots have the colour of the world's verdict.
    """
    values = np.concatenate([side for pairs in sources.values() for side in (pairs.positive, pairs.negative)])
    ends = [float(values.min()) - 0.02, float(values.max()) + 0.02]
    names = []
    for name, pairs in sources.items():
        harder = 100 * float(np.mean(pairs.negative >= pairs.positive))
        easy = 100 * float(np.mean(pairs.negative < pairs.positive - GAP))
        names.append(f"<b>{label(name)}</b><br>{harder:.0f} % at least as high<br>{easy:.0f} % more than {GAP:g} below")
    figure = make_subplots(1, len(sources), shared_yaxes=True, horizontal_spacing=0.035, subplot_titles=names)
    listed: set[str] = set()
    for column, pairs in enumerate(sources.values(), start=1):
        place = {"row": 1, "col": column}
        for below, dash in ((0.0, "dot"), (GAP, "solid")):
            line = {"width": 1.5, "color": INK, "dash": dash}
            corners = {"x0": ends[0] + below, "y0": ends[0], "x1": ends[1], "y1": ends[1] - below}
            figure.add_shape(type="line", **corners, line=line, **place)
        for verdict, (shade, words) in DOTS.items():
            chosen = pairs.truth_labels == verdict
            points = {"x": pairs.positive[chosen], "y": pairs.negative[chosen], "mode": "markers"}
            points["marker"] = {"color": translucent(shade, 0.85), "size": 6}
            entry = {"name": words, "legendgroup": words, "showlegend": words not in listed}
            hover = "caption %{x:.3f}, negative %{y:.3f}<extra></extra>"
            if chosen.any():
                figure.add_scatter(**points, **entry, hovertemplate=hover, **place)
                listed.add(words)
    figure.update_xaxes(title="s of the caption", range=ends)
    figure.update_yaxes(range=ends)
    figure.update_yaxes(title="s of its negative", col=1)
    figure.update_annotations(font={"size": 13, "color": INK})
    figure = styled(figure, "Caption and hardest negative, by source", height=540)
    return figure.update_layout(margin_t=figure.layout.margin.t + 66, legend_y=1.21)


# Which words a model finds wrong, and what it would write instead (Figure 4).

DOUBTED, FLAGGED = 0.4, 0.5  # from these mismatches on, a word is marked and its mismatch stands beside it


def draw_explained_words(examples: Sequence[WordExample], *, title: str = "", subtitle: str = "") -> go.Figure:
    """Draw each example's picture beside its sentences, with the world's truth labels and the scores (%) by model.

    A word that does not fit is marked, with its mismatch in percent: orange from 40 %, vermilion from 50 %. Words that
    the model wrote are blue. A wrong sentence's score is vermilion where it is not below the caption's.
    """
    rows = [(example, row) for example in examples for row in example.rows]
    models = list(dict.fromkeys(model for _, row in rows for model in row.scores))
    columns: dict[str, list[Cell]] = {"": [], "sentence": [], **{model: [] for model in models}}
    for example, row in rows:
        verdict = [] if row.truth_label is None else [TRUTH_LABELS[row.truth_label]]
        columns[""].append([(f"{row.name} ", ""), *((words, shade) for shade, words in verdict)])
        columns["sentence"].append([_marked(part) for part in row.parts])
        captions = next((other.scores for other in example.rows if other.name == "caption"), {})
        for model in models:
            score = row.scores.get(model)
            too_high = row.name == "made wrong" and score is not None and score >= captions.get(model, 2.0)
            columns[model].append(("" if score is None else f"{100 * score:.2f}", VERMILION if too_high else INK))
    starts = [sum(len(example.rows) for example in examples[:number]) for number in range(len(examples))]
    pictures = {start: example.picture for start, example in zip(starts, examples, strict=True)}
    widths = [1.8, 5.0] + [1.2] * len(models)
    return draw_table(columns, title=title, subtitle=subtitle, widths=widths, picture=pictures)


def _marked(part: Part) -> tuple[str, str]:
    """Return a word with the colour of its mismatch, or of having been rewritten."""
    mismatch = part.mismatch or 0.0
    number = f" ({100 * mismatch:.0f})" if mismatch >= DOUBTED else ""
    shade = VERMILION if mismatch >= FLAGGED else ORANGE if mismatch >= DOUBTED else BLUE if part.rewritten else ""
    return part.text + number, shade


def draw_found_words(found: Mapping[str, Mapping[str, BothPictures]]) -> go.Figure:
    """Draw how often each means finds the wrong word, beside the right picture (blue) and a wrong one (grey).

    Args:
        found: what `wrong_word_found` returned, by kind of sentences.
    """
    title, subtitle = "The wrong word is doubted most", "blue: beside its own picture; grey: beside the next one"
    return draw_both_pictures(found, title=title, subtitle=subtitle, measure="of the sentences, %", even=None)
