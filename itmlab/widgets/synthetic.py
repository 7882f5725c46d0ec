"""Explorer of synthetic negatives: pick a picture and a caption of it, and how its negatives are to be made."""

from typing import Any

import ipywidgets
import plotly.graph_objects as go

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..explain import GENERATORS, Made, synthetic_negatives
from ..explain.matching import as_score
from ..figures import negative_list
from ..figures.pictures import Canvas
from ..metrics import CausalModel
from .explorer import Explorer, wide

ROWS = 10  # negatives shown, the hardest
FILTERS = {
    "with implied words": {"filtered": True, "implied": True},
    "the paper's": {"filtered": True, "implied": False},
    "none": {"filtered": False},
}


def synthetic(
    run: Any,
    data: CaptionSet,
    *,
    picture: int = 0,
    caption: int = 0,
    generator: str = "tags",
    rows: int = ROWS,
    fluent: str | CausalModel | None = "scenes",
    drawn: int = 200,
) -> Explorer:
    """The explorer over one split: the `rows` hardest negatives of a caption, by a one tower `run` (a Run or model).

    `picture`, `caption` (the number of it among the picture's) and `generator` are where the controls begin; K, L and τ
    do something for "tags" and "wm" only. "in_batch" and "whole_set" draw from 32 and `drawn` captions. What cannot be
    made is said in one line in the figure's place.
    """
    which = ipywidgets.IntSlider(picture, 0, len(data) - 1, description="picture", continuous_update=False, **wide())
    number = ipywidgets.IntSlider(caption, 0, 0, description="caption", continuous_update=False, **wide())
    way = ipywidgets.Dropdown(options=list(GENERATORS), value=generator, description="generator", **wide())
    maskings = ipywidgets.IntSlider(20, 1, 40, description="K maskings", continuous_update=False, **wide())
    samples = ipywidgets.IntSlider(20, 1, 40, description="L fillings", continuous_update=False, **wide())
    temperature = ipywidgets.FloatSlider(
        1.5, min=0.1, max=3, step=0.1, description="τ", continuous_update=False, **wide()
    )
    filtering = ipywidgets.Dropdown(options=list(FILTERS), description="filter", **wide())
    seed = ipywidgets.IntSlider(0, 0, 99, description="seed", continuous_update=False, **wide())
    number.max = max(len(data.captions_of_image[picture]) - 1, 0)
    number.value = min(caption, number.max)

    def change_picture(change: Any) -> None:
        number.max = max(len(data.captions_of_image[change["new"]]) - 1, 0)

    def draw() -> list[go.Figure]:
        settings = {
            "maskings": maskings.value,
            "samples": samples.value,
            "temperature": temperature.value,
            **FILTERS[filtering.value],
            "seed": seed.value,
        }
        own = data.captions_of_image[which.value].tolist()
        try:
            if not own:
                raise ItmlabError(f"picture {which.value} has no caption")
            chosen = own[min(number.value, len(own) - 1)]
            made = _made(run, data, chosen, way.value, {**settings, "fluent": fluent, "keep": rows}, drawn)
            return [_figure(made, rows)]
        except ItmlabError as error:
            return [Canvas().figure("Nothing to show", str(error), height=120)]

    which.observe(change_picture, names="value")  # before the explorer's own observer, which draws
    return Explorer([which, number, way, maskings, samples, temperature, filtering, seed], draw)


def _made(run: Any, data: CaptionSet, chosen: int, way: str, settings: dict[str, Any], drawn: int) -> Made:
    """The negatives of one caption; a batch is made up of 31 captions of other pictures."""
    if way != "in_batch":
        return synthetic_negatives(data, [chosen], way, run=run, drawn=drawn, **settings)
    others = [int(own[0]) for own in data.captions_of_image if len(own) and chosen not in own.tolist()]
    first = settings["seed"] * 31 % max(len(others), 1)
    batch = [chosen, *(others[first:] + others[:first])[:31]]
    return synthetic_negatives(data, batch, way, run=run, **settings).only(0)


def _figure(made: Made, rows: int) -> go.Figure:
    data, chosen = made.data, made.captions[0]
    image = int(data.image_of_caption[chosen])
    shown = made.first(rows)
    own = [data.captions[other] for other in data.captions_of_image[image].tolist() if other != chosen]
    scores = shown.scores[1].tolist() if len(shown) else []
    harder = sum(one >= 0 for one in made.difficulty.tolist()) if len(made) else 0
    return negative_list(
        data.images[image],
        data.captions[chosen],
        shown.negatives[0],
        title=f"Negatives of caption {data.caption_ids[chosen]}",
        subtitle=f"{made.generator}: the {len(shown)} hardest, {harder} of which score no lower than the caption",
        score=float(as_score(made.scorer, made.positive)[0]),
        scores=scores,
        own_captions=own,
    )
