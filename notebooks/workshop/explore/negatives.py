"""Three explorers of TAGS-DC: masking a caption, its synthetic negatives, and which words of a sentence do not fit."""

from collections.abc import Mapping
from typing import Any

import ipywidgets
import plotly.graph_objects as go
import torch

from itmlab import text
from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.synthesis import Negative
from itmlab.text.graph import SceneGraph
from itmlab.text.masking import PROBABILITY, PhraseMasking, WordMasking, realised_share

from ..analysis.negatives import synthetic_negatives
from ..analysis.scoring import as_score
from ..analysis.words import word_example
from ..plots.negatives import Example, draw_explained_words, draw_synthetic_examples
from ..plots.scene_graphs import draw_caption_spans, draw_scene_graph
from .base import Explorer, PicturePicker, captions_in, figure_or_reason, wide

# A caption's negatives: which picture and caption, and how the negatives are to be made.

GENERATORS = ("tags", "wm", "vse_c", "whole_set")
FILTERS = {
    "with implied words": {"filtered": True, "implied": True},
    "the paper's": {"filtered": True, "implied": False},
    "none": {"filtered": False},
}


def explore_negatives(run: Any, data: CaptionSet, *, picture: int = 0, rows: int = 10) -> Explorer:
    """Return the explorer of a caption's hardest negatives by a cross-encoder.

    A line in the figure's place says what cannot be made.

    Args:
        run: a Run or model.
        data: the split.
        picture: the number of the first picture.
        rows: how many negatives are listed.

    Raises:
        ItmlabError: an image has no caption.
    """
    which = PicturePicker(data, picture)
    caption = ipywidgets.Dropdown(options=captions_in(data, picture), description="caption", **wide(678))
    method = ipywidgets.Dropdown(options=GENERATORS, description="generator", **wide())
    filtering = ipywidgets.Dropdown(options=list(FILTERS), description="filter", **wide())
    seed = ipywidgets.IntSlider(0, 0, 99, description="seed", continuous_update=False, **wide())

    def picture_moved() -> None:
        caption.options = captions_in(data, which.value)

    def draw() -> go.Figure:
        settings = {"keep": rows, "drawn": 200, "fluent": "scenes", "seed": seed.value, **FILTERS[filtering.value]}
        negatives = synthetic_negatives(data, [caption.value], method.value, run=run, **settings)
        harder = int((negatives.difficulty >= 0).sum())
        score = float(as_score(run, negatives.positive))
        rows_shown = [("caption", Negative(data.captions[caption.value], truth=True), score)]
        pairs = zip(negatives.all(), negatives.scores[1].tolist(), strict=True)
        rows_shown += [(str(rank), *pair) for rank, pair in enumerate(pairs, start=1)]
        return draw_synthetic_examples(
            [Example(data.images[which.value], rows_shown)],
            title=f"Negatives of caption {data.caption_ids[caption.value]}",
            subtitle=f"{method.value}: the {len(negatives)} hardest, {harder} of which score no lower than the caption",
            beside=[words for words, number in caption.options if number != caption.value],
        )

    return Explorer([which, caption, method, filtering, seed], lambda: [figure_or_reason(draw)], {which: picture_moved})


# A sentence typed against a picture: which of its words do not fit, and what would be written.


def explore_words(models: Mapping[str, Any], data: CaptionSet) -> Explorer:
    """Return the explorer of the words of a sentence that do not fit a picture.

    A line in the figure's place says what cannot be read.

    Args:
        models: cross-encoders (Runs or models) by name; all score, the last one explains.
        data: the set.

    Raises:
        ItmlabError: an image has no caption.
    """
    which = PicturePicker(data)
    typed = ipywidgets.Text(data.captions_of([0])[0][0], description="sentence", continuous_update=False, **wide(678))
    above = ipywidgets.FloatSlider(0, min=0, max=1, step=0.05, description="rewrite from", **wide())

    def picture_moved() -> None:
        typed.value = data.captions_of([which.value])[0][0]

    def draw() -> go.Figure:
        example = word_example(models, data, which.value, typed.value, above=above.value)
        looked = f"{list(models)[-1]} on picture {data.image_ids[which.value]}"
        return draw_explained_words([example], title="Which words do not fit", subtitle=looked)

    return Explorer([which, above, typed], lambda: [figure_or_reason(draw)], {which: picture_moved})


# A caption typed: its graph, its phrases, and what each way of masking hides (Sec. 2.1.1).

CAPTION = "Two young men in red shirts are standing next to a small brown dog."
TIMES = 3  # maskings of each kind


def explore_masking(caption: str = CAPTION) -> Explorer:
    """Return the explorer of a caption's scene graph and of what maskings hide.

    Above is the graph; below are its phrases and three draws each of phrase and of word masking, with the share of
    words that each hides. A caption that cannot be parsed is shown with the reason in one line.

    Args:
        caption: the first caption.
    """
    typed = ipywidgets.Text(caption, description="caption", continuous_update=False, **wide(678))
    probability = ipywidgets.FloatSlider(PROBABILITY, min=0, max=1, step=0.05, description="probability", **wide())
    seed = ipywidgets.IntSlider(0, 0, 99, description="seed", **wide())

    def draw() -> list[go.Figure]:
        try:
            (graph,), fault = text.parse([typed.value], cache=False), ""
        except ItmlabError as error:
            graph, fault = SceneGraph(), str(error)
        attributes = sum(len(entity.attributes) for entity in graph.objects)
        counts = f"objects: {len(graph.objects)}, attributes: {attributes}, relations: {len(graph.relations)}"
        above = draw_scene_graph(graph, title="What the caption says", subtitle=fault or counts)
        ways = {"phrase": PhraseMasking(probability.value), "word": WordMasking(probability.value)}
        hidden, names = [None], ["the caption and its phrases"]
        for name, way in ways.items():
            generator = torch.Generator().manual_seed(seed.value)
            for number, phrases in enumerate(way.draw(graph, TIMES, generator=generator), start=1):
                hidden.append(phrases)
                share = 100 * realised_share(graph, phrases)
                names.append(f"{name} masking, draw {number}: {share:.0f} % of the words")
        shares = ", ".join(f"{100 * way.expected_share(graph):.1f} % by {name}" for name, way in ways.items())
        below = draw_caption_spans(
            [graph] * len(hidden),
            hidden=hidden,
            names=names,
            title="What is hidden",
            subtitle=f"probability {probability.value:.2f}, at least one; on average {shares}",
        )
        return [above, below]

    return Explorer([typed, probability, seed], draw)
