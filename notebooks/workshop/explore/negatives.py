"""Three explorers of TAGS-DC: masking a caption, its synthetic negatives, and which words of a sentence do not fit."""

from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import Any

import ipywidgets
import plotly.graph_objects as go
import torch

from itmlab import text
from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.text.graph import SceneGraph
from itmlab.text.masking import PROBABILITY, PhraseMasking, WordMasking, realised_share

from ..analysis.negatives import GENERATORS, SyntheticNegatives, synthetic_negatives
from ..analysis.scoring import as_score
from ..analysis.words import word_example
from ..plots.negatives import draw_negative_list
from ..plots.scene_graphs import draw_caption_spans, draw_scene_graph
from ..plots.words import draw_explained_words
from .base import Explorer, figure_or_reason, wide
from .gallery import PicturePicker, captions_in

# A caption's negatives: which picture and caption, and how the negatives are to be made.

FILTERS = {
    "with implied words": {"filtered": True, "implied": True},
    "the paper's": {"filtered": True, "implied": False},
    "none": {"filtered": False},
}


def explore_negatives(
    run: Any, data: CaptionSet, *, picture: int = 0, generator: str = "tags", rows: int = 10
) -> Explorer:
    """Return the explorer of a caption's hardest negatives by a cross-encoder.

    K, L and τ do something for "tags" and "wm" only. A line in the figure's place says what cannot be made.

    Args:
        run: a Run or model.
        data: the split.
        picture: the number of the first picture.
        generator: the first generator.
        rows: how many negatives are listed.

    Raises:
        ItmlabError: an image has no caption.
    """
    late = {"continuous_update": False, **wide()}  # each drawing takes seconds: only when the slider is let go
    which = PicturePicker(data, picture)
    last = len(data.captions_of_image[picture]) - 1
    number = ipywidgets.IntSlider(0, 0, last, description="caption", **late)
    way = ipywidgets.Dropdown(options=list(GENERATORS), value=generator, description="generator", **wide())
    maskings = ipywidgets.IntSlider(20, 1, 40, description="K maskings", **late)
    samples = ipywidgets.IntSlider(20, 1, 40, description="L fillings", **late)
    temperature = ipywidgets.FloatSlider(1.5, min=0.1, max=3, step=0.1, description="τ", **late)
    filtering = ipywidgets.Dropdown(options=list(FILTERS), description="filter", **wide())
    seed = ipywidgets.IntSlider(0, 0, 99, description="seed", **late)
    knobs = {"maskings": maskings, "samples": samples, "temperature": temperature, "seed": seed}

    def picture_moved() -> None:
        number.max = len(data.captions_of_image[which.value]) - 1

    def draw() -> go.Figure:
        settings = {name: knob.value for name, knob in knobs.items()} | FILTERS[filtering.value]
        chosen = int(data.captions_of_image[which.value][number.value])
        batch = [chosen]
        if way.value == "in_batch":  # with captions of 31 other pictures
            others = [int(own[0]) for image, own in enumerate(data.captions_of_image) if image != which.value]
            batch += Random(seed.value).sample(others, min(31, len(others)))
        fixed = {"run": run, "keep": rows, "drawn": 200, "fluent": "scenes"}
        return _figure(synthetic_negatives(data, batch, way.value, **fixed, **settings).only(0), rows)

    controls = [which, number, way, maskings, samples, temperature, filtering, seed]
    return Explorer(controls, lambda: [figure_or_reason(draw)], {which: picture_moved})


def _figure(negatives: SyntheticNegatives, rows: int) -> go.Figure:
    data, chosen = negatives.data, negatives.captions[0]
    image = int(data.image_of_caption[chosen])
    shown = negatives.first(rows)
    harder = int((negatives.difficulty >= 0).sum()) if len(negatives) else 0
    return draw_negative_list(
        data.images[image],
        data.captions[chosen],
        shown.negatives[0],
        title=f"Negatives of caption {data.caption_ids[chosen]}",
        subtitle=f"{negatives.generator}: the {len(shown)} hardest, {harder} of which score no lower than the caption",
        score=float(as_score(negatives.scorer, negatives.positive)[0]),
        scores=shown.scores[1].tolist() if len(shown) else [],
        own_captions=[data.captions[other] for other in data.captions_of_image[image].tolist() if other != chosen],
    )


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
    caption = ipywidgets.Dropdown(options=captions_in(data, which.value), description="begin with", **wide(678))
    sentence = data.captions[caption.value]
    typed = ipywidgets.Text(sentence, description="sentence", continuous_update=False, **wide(678))
    above = ipywidgets.FloatSlider(0, min=0, max=1, step=0.05, description="rewrite from", **wide())

    def picture_moved() -> None:
        caption.options = captions_in(data, which.value)

    def caption_moved() -> None:
        typed.value = data.captions[caption.value]

    def draw() -> go.Figure:
        example = word_example(models, data, which.value, typed.value, above=above.value)
        looked = f"{list(models)[-1]} on picture {data.image_ids[which.value]}"
        return draw_explained_words([example], title="Which words do not fit", subtitle=looked)

    following = {which: picture_moved, caption: caption_moved}
    return Explorer([which, above, caption, typed], lambda: [figure_or_reason(draw)], following)


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

    @lru_cache(maxsize=1)  # the last caption only
    def parsed(sentence: str) -> tuple[SceneGraph, go.Figure]:
        """Its graph, and the figure of it or of why there is none."""
        try:
            graph, fault = text.parse([sentence], cache=False)[0], ""
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
    ways = {"phrase": PhraseMasking(probability), "word": WordMasking(probability)}
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
