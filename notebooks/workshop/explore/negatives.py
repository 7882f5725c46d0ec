"""Three explorers of TAGS-DC: masking a caption, its synthetic negatives, and which words of a sentence do not fit."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import ipywidgets
import plotly.graph_objects as go
import torch

from itmlab import text
from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics import CausalModel
from itmlab.synthesis import Negative
from itmlab.text.graph import SceneGraph
from itmlab.text.masking import PROBABILITY, Masking, PhraseMasking, WordMasking, realised_share

from ..analysis.negatives import GENERATORS, SyntheticNegatives, synthetic_negatives
from ..analysis.scoring import as_score
from ..analysis.words import word_example
from ..plots.canvas import Canvas
from ..plots.negatives import Example, draw_explained_words, draw_synthetic_examples
from ..plots.scene_graphs import draw_caption_spans, draw_scene_graph
from .base import Explorer, wide
from .gallery import PicturePicker

# A caption's negatives: which picture and caption, and how the negatives are to be made.

FILTERS = {
    "with implied words": {"filtered": True, "implied": True},
    "the paper's": {"filtered": True, "implied": False},
    "none": {"filtered": False},
}


def explore_negatives(
    run: Any,
    data: CaptionSet,
    *,
    picture: int = 0,
    caption: int = 0,
    generator: str = "tags",
    rows: int = 10,
    fluent: str | CausalModel | None = "scenes",
    drawn: int = 200,
) -> Explorer:
    """Return the explorer of a caption's hardest negatives by a cross-encoder.

    K, L and τ do something for "tags" and "wm" only. A line in the figure's place says what cannot be made.

    Args:
        run: a Run or model.
        data: the split.
        picture: the number of the first picture.
        caption: the number of the first caption among the picture's.
        generator: the first generator.
        rows: how many negatives are listed.
        fluent: the language model that measures fluency, by name, or None.
        drawn: how many captions "whole_set" draws from.
    """
    late = {"continuous_update": False, **wide()}  # each drawing takes seconds: only when the slider is let go
    which = PicturePicker(data, picture)
    last = max(len(data.captions_of_image[picture]) - 1, 0)
    number = ipywidgets.IntSlider(min(caption, last), 0, last, description="caption", **late)
    way = ipywidgets.Dropdown(options=list(GENERATORS), value=generator, description="generator", **wide())
    maskings = ipywidgets.IntSlider(20, 1, 40, description="K maskings", **late)
    samples = ipywidgets.IntSlider(20, 1, 40, description="L fillings", **late)
    temperature = ipywidgets.FloatSlider(1.5, min=0.1, max=3, step=0.1, description="τ", **late)
    filtering = ipywidgets.Dropdown(options=list(FILTERS), description="filter", **wide())
    seed = ipywidgets.IntSlider(0, 0, 99, description="seed", **late)

    def picture_moved() -> None:
        number.max = max(len(data.captions_of_image[which.value]) - 1, 0)

    def draw() -> list[go.Figure]:
        drawing = {"maskings": maskings.value, "samples": samples.value, "temperature": temperature.value}
        settings = {**drawing, **FILTERS[filtering.value], "seed": seed.value, "fluent": fluent, "keep": rows}
        captions = data.captions_of_image[which.value].tolist()
        try:
            if not captions:
                raise ItmlabError(f"picture {which.value} has no caption")
            chosen = captions[min(number.value, len(captions) - 1)]
            return [_figure(_negatives(run, data, chosen, way.value, settings, drawn), rows)]
        except ItmlabError as error:
            return [_nothing(error)]

    controls = [which, number, way, maskings, samples, temperature, filtering, seed]
    return Explorer(controls, draw, {which: picture_moved})


def _negatives(
    run: Any, data: CaptionSet, chosen: int, way: str, settings: dict[str, Any], drawn: int
) -> SyntheticNegatives:
    """The negatives of one caption; a batch is made up of 31 captions of other pictures."""
    if way != "in_batch":
        return synthetic_negatives(data, [chosen], way, run=run, drawn=drawn, **settings)
    others = [
        int(captions[0]) for captions in data.captions_of_image if len(captions) and chosen not in captions.tolist()
    ]
    first = settings["seed"] * 31 % max(len(others), 1)
    batch = [chosen, *(others[first:] + others[:first])[:31]]
    return synthetic_negatives(data, batch, way, run=run, **settings).only(0)


def _figure(negatives: SyntheticNegatives, rows: int) -> go.Figure:
    data, chosen = negatives.data, negatives.captions[0]
    image = int(data.image_of_caption[chosen])
    shown = negatives.first(rows)
    harder = int((negatives.difficulty >= 0).sum()) if len(negatives) else 0
    score = float(as_score(negatives.scorer, negatives.positive)[0])
    scores = shown.scores[1].tolist() if len(shown) else []
    rows = [("caption", Negative(data.captions[chosen], truth=True), score)]
    rows += [(str(rank), *pair) for rank, pair in enumerate(zip(shown.negatives[0], scores, strict=True), start=1)]
    return draw_synthetic_examples(
        [Example(data.images[image], rows)],
        title=f"Negatives of caption {data.caption_ids[chosen]}",
        subtitle=f"{negatives.generator}: the {len(shown)} hardest, {harder} of which score no lower than the caption",
        beside=[data.captions[other] for other in data.captions_of_image[image].tolist() if other != chosen],
    )


def _nothing(error: ItmlabError) -> go.Figure:
    return Canvas().figure("Nothing to show", str(error), height=120)


# A sentence typed against a picture: which of its words do not fit, and what would be written.


def explore_words(
    models: Mapping[str, Any], data: CaptionSet, *, picture: int = 0, sentence: str | None = None
) -> Explorer:
    """Return the explorer of the words of a sentence that do not fit a picture.

    A line in the figure's place says what cannot be read.

    Args:
        models: cross-encoders (Runs or models) by name; all score, the last one explains.
        data: the set.
        picture: the number of the first picture.
        sentence: the first sentence, by default a caption of the picture.
    """
    which = PicturePicker(data, picture)
    caption = ipywidgets.Dropdown(description="begin with", **wide(678))
    typed = ipywidgets.Text(description="sentence", continuous_update=False, **wide(678))
    above = ipywidgets.FloatSlider(0, min=0, max=1, step=0.05, description="rewrite from", **wide())

    def picture_moved() -> None:
        captions = data.captions_of_image[which.value].tolist()
        caption.options = [(data.captions[index], index) for index in captions]
        caption.value = captions[0] if captions else None

    def caption_moved() -> None:
        if caption.value is not None:
            typed.value = data.captions[caption.value]

    def draw() -> list[go.Figure]:
        try:
            example = word_example(models, data, which.value, typed.value, above=above.value)
        except ItmlabError as error:
            return [_nothing(error)]
        looked = f"{list(models)[-1]} on picture {data.image_ids[which.value]}"
        return [draw_explained_words([example], title="Which words do not fit", subtitle=looked)]

    picture_moved()
    caption_moved()
    if sentence is not None:
        typed.value = sentence
    return Explorer([which, above, caption, typed], draw, {which: picture_moved, caption: caption_moved})


# A caption typed: its graph, its phrases, and what each way of masking hides (Sec. 2.1.1).

CAPTION = "Two young men in red shirts are standing next to a small brown dog."
TIMES = 3  # maskings of each kind


def explore_masking(
    caption: str = CAPTION, *, parse: Callable[[Sequence[str]], list[SceneGraph]] | None = None
) -> Explorer:
    """Return the explorer of a caption's scene graph and of what maskings hide.

    Above is the graph; below are its phrases and three draws each of phrase and of word masking, with the share of
    words that each hides. A caption that cannot be parsed is shown with the reason in one line.

    Args:
        caption: the first caption.
        parse: parses instead of `text.parse`.
    """
    typed = ipywidgets.Text(caption, description="caption", continuous_update=False, **wide(678))
    probability = ipywidgets.FloatSlider(PROBABILITY, min=0, max=1, step=0.05, description="probability", **wide())
    seed = ipywidgets.IntSlider(0, 0, 99, description="seed", **wide())
    read = parse or partial(text.parse, cache=False)

    @lru_cache(maxsize=1)  # the last caption only
    def parsed(text: str) -> tuple[SceneGraph, go.Figure]:
        """Its graph, and the figure of it or of why there is none."""
        try:
            graph, fault = read([text])[0], ""
        except ItmlabError as error:
            graph, fault = SceneGraph(), str(error)
        attributes = sum(len(entity.attributes) for entity in graph.objects)
        counts = f"objects: {len(graph.objects)}, attributes: {attributes}, relations: {len(graph.relations)}"
        return graph, draw_scene_graph(graph, title="What the caption says", subtitle=fault or counts)

    def draw() -> list[go.Figure]:
        graph, above = parsed(typed.value)
        return [above, _masked(graph, probability.value, seed.value)]

    return Explorer([typed, probability, seed], draw)


def _masked(graph: SceneGraph, probability: float, seed: int) -> go.Figure:
    ways: dict[str, Masking] = {"phrase": PhraseMasking(probability), "word": WordMasking(probability)}
    hidden, names = [None], ["the caption and its phrases"]
    for name, way in ways.items():
        generator = torch.Generator().manual_seed(seed)
        for number, phrases in enumerate(way.draw(graph, TIMES, generator=generator), start=1):
            hidden.append(phrases)
            names.append(f"{name} masking, draw {number}: {100 * realised_share(graph, phrases):.0f} % of the words")
    shares = ", ".join(f"{100 * way.expected_share(graph):.1f} % by {name}" for name, way in ways.items())
    return draw_caption_spans(
        [graph] * len(hidden),
        hidden=hidden,
        names=names,
        title="What is hidden",
        subtitle=f"probability {probability:.2f}, at least one; on average {shares}",
    )
