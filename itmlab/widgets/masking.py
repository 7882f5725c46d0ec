"""Explorer of masking: type a caption, see its graph, its phrases, and what each way of masking hides."""

from collections.abc import Callable, Sequence

import ipywidgets
import plotly.graph_objects as go
import torch

from ..errors import ItmlabError
from ..figures import caption_spans, scene_graph
from ..text.graph import SceneGraph
from ..text.masking import PROBABILITY, Masking, PhraseMasking, WordMasking, realised_share
from .explorer import Explorer, wide

CAPTION = "Two young men in red shirts are standing next to a small brown dog."
TIMES = 3  # maskings of each kind


def masking(
    caption: str = CAPTION, *, parser: str = "english", parse: Callable[[Sequence[str]], list[SceneGraph]] | None = None
) -> Explorer:
    """The explorer, beginning with `caption`; it parses with `text.parse` and the named `parser`, or with `parse`.

    Above the caption's scene graph, below its phrases and three draws each of phrase and of word masking, with the
    share of words that each hides. A caption that cannot be parsed is shown with the reason in one line.
    """
    typed = ipywidgets.Text(caption, description="caption", continuous_update=False, **wide(900))
    probability = ipywidgets.FloatSlider(PROBABILITY, min=0, max=1, step=0.05, description="probability", **wide())
    seed = ipywidgets.IntSlider(0, 0, 99, description="seed", **wide())
    read = parse or _reader(parser)
    parsed: dict[str, tuple[SceneGraph, str]] = {}  # the last caption only

    def draw() -> list[go.Figure]:
        if typed.value not in parsed:
            parsed.clear()
            parsed[typed.value] = _parsed(read, typed.value)
        graph, fault = parsed[typed.value]
        return [_drawn(graph, fault), _masked(graph, probability.value, seed.value)]

    return Explorer([typed, probability, seed], draw)


def _reader(parser: str) -> Callable[[Sequence[str]], list[SceneGraph]]:
    def read(captions: Sequence[str]) -> list[SceneGraph]:
        from ..text import parse  # with spaCy behind it: only when something is to be parsed

        return parse(captions, parser=parser, cache=False)

    return read


def _parsed(read: Callable[[Sequence[str]], list[SceneGraph]], caption: str) -> tuple[SceneGraph, str]:
    """The caption's graph, and why there is none."""
    try:
        return read([caption])[0], ""
    except ItmlabError as error:
        return SceneGraph(), str(error)


def _drawn(graph: SceneGraph, fault: str) -> go.Figure:
    attributes = sum(len(thing.attributes) for thing in graph.objects)
    counts = f"objects: {len(graph.objects)}, attributes: {attributes}, relations: {len(graph.relations)}"
    return scene_graph(graph, title="What the caption says", subtitle=fault or counts)


def _masked(graph: SceneGraph, probability: float, seed: int) -> go.Figure:
    ways: dict[str, Masking] = {"phrase": PhraseMasking(probability), "word": WordMasking(probability)}
    hidden, names = [None], ["the caption and its phrases"]
    for name, way in ways.items():
        generator = torch.Generator().manual_seed(seed)
        for number, phrases in enumerate(way.draw(graph, TIMES, generator=generator), start=1):
            hidden.append(phrases)
            names.append(f"{name} masking, draw {number}: {100 * realised_share(graph, phrases):.0f} % of the words")
    shares = ", ".join(f"{100 * way.expected_share(graph):.1f} % by {name}" for name, way in ways.items())
    return caption_spans(
        [graph] * len(hidden),
        hidden=hidden,
        names=names,
        title="What is hidden",
        subtitle=f"probability {probability:.2f}, at least one; on average {shares}",
    )
