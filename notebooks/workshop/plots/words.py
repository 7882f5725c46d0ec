"""Figures of words: which ones a model finds wrong, and what it would write instead.

References:
    Fan et al. (2022), TAGS-DC, Figure 4.
"""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from ..analysis.words import Part, WordExample
from ..analysis.wrong_picture import BothPictures, draw_both_pictures
from .canvas import Cell, draw_table
from .theme import BLUE, INK, ORANGE, TRUTH_LABELS, VERMILION

DOUBTED, FLAGGED = 0.4, 0.5  # from these mismatches on, a word is marked and its mismatch stands beside it


def draw_explained_words(examples: Sequence[WordExample], *, title: str = "", subtitle: str = "") -> go.Figure:
    """Draw each example's picture beside its sentences, with the world's truth labels and the scores (%) by model.

    A word that does not fit is marked, with its mismatch in percent: orange from 40 %, vermilion from 50 %. Words that
    the model wrote are blue. A wrong sentence's score is vermilion where it is not below the caption's.
    """
    rows = [(example, row) for example in examples for row in example.rows]
    models = list(dict.fromkeys(model for _, row in rows for model in row.scores))
    columns: dict[str, list[Cell]] = {"": [], "sentence": [], **{model: [] for model in models}}
    inks: dict[str, list[str]] = {model: [] for model in models}
    for example, row in rows:
        verdict = [] if row.truth_label is None else [TRUTH_LABELS[row.truth_label]]
        columns[""].append([(f"{row.name} ", ""), *((words, shade) for shade, words in verdict)])
        columns["sentence"].append([_marked(part) for part in row.parts])
        captions = next((other.scores for other in example.rows if other.name == "caption"), {})
        for model in models:
            score = row.scores.get(model)
            too_high = row.name == "made wrong" and score is not None and score >= captions.get(model, 2.0)
            columns[model].append("" if score is None else f"{100 * score:.2f}")
            inks[model].append(VERMILION if too_high else INK)
    starts = [sum(len(example.rows) for example in examples[:number]) for number in range(len(examples))]
    pictures = {start: example.picture for start, example in zip(starts, examples, strict=True)}
    widths = [1.8, 5.0] + [1.2] * len(models)
    return draw_table(columns, title=title, subtitle=subtitle, widths=widths, inks=inks, picture=pictures)


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
