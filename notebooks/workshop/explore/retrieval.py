"""Explorer of rankings: type a query, or pick a caption or a picture; see two models' best, framed by meaning.

Biten et al. (2022), Figure 1, for any query.
"""

from dataclasses import replace
from itertools import permutations
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from itmlab.errors import ItmlabError

from ..analysis.rankings import Retrievals
from ..plots.canvas import Canvas
from ..plots.rankings import draw_ranked_captions, draw_ranked_pictures
from .base import Explorer, wide

ASK = ("sentence", "caption", "picture")


def explore_retrieval(
    retrieved: Retrievals, *, sentence: str = "a dog under a tree", number: int = 0, k: int = 5
) -> Explorer:
    """The explorer over one split's `retrievals`: a typed sentence, a caption or a picture of it is the query.

    `sentence`, `number` (of the caption or picture) and `k` are where the controls begin. What cannot be searched for
    is said in one line in the figure's place. Beside a model's measures stands how much the other one found, too.
    """
    data, models = retrieved.data, list(retrieved.similarity)
    ask = ipywidgets.Dropdown(options=ASK, description="query", **wide())
    text = ipywidgets.Text(sentence, description="sentence", continuous_update=False, **wide(678))
    last = max(len(data.captions), len(data)) - 1
    which = ipywidgets.IntSlider(number, 0, last, description="number", continuous_update=False, **wide())
    first = ipywidgets.Dropdown(options=models, value=models[0], description="model", **wide())
    second = ipywidgets.Dropdown(options=models, value=models[-1], description="and", **wide())
    best = ipywidgets.IntSlider(k, 1, 10, description="k", continuous_update=False, **wide())
    by = ipywidgets.Dropdown(options=list(retrieved.relevance), description="relevance", **wide())

    def ask_moved() -> None:
        which.max = len(data if ask.value == "picture" else data.captions) - 1

    def text_moved() -> None:
        ask.value = "sentence"

    def draw() -> list[go.Figure]:
        chosen = dict.fromkeys((first.value, second.value))
        options = {"k": min(best.value, len(data)), "by": by.value}
        query = text.value if ask.value == "sentence" else which.value
        try:
            return [_figure(retrieved, ask.value, query, chosen, options)]
        except ItmlabError as error:
            return [Canvas().figure("Nothing to show", str(error), height=120)]

    return Explorer([ask, text, which, best, by, first, second], draw, {ask: ask_moved, text: text_moved})


def _figure(
    retrieved: Retrievals, ask: str, query: str | int, models: dict[str, None], options: dict[str, Any]
) -> go.Figure:
    data, shown = retrieved.data, {"relevance": options["by"]}
    find = {"sentence": retrieved.of_sentence, "caption": retrieved.of_caption, "picture": retrieved.of_picture}[ask]
    rankings = {model: find(model, query, **options) for model in models}
    retrieved_by = {model: set(ranking.index.tolist()) for model, ranking in rankings.items()}
    for model, other in permutations(retrieved_by, 2):  # none of one model alone
        also = {f"also by {other}": 100 * len(retrieved_by[model] & retrieved_by[other]) / len(retrieved_by[model])}
        rankings[model] = replace(rankings[model], measures=rankings[model].measures | also)
    captions = data.captions_of()
    if ask == "picture":
        shown |= {"title": f"Captions for picture {data.image_ids[query]}", "own_captions": captions[query]}
        return draw_ranked_captions(data.images[query], data.captions, rankings, **shown)
    sentence = query if ask == "sentence" else data.captions[query]
    first = [captions[0] if captions else "" for captions in captions]
    title = "Pictures for a sentence" if ask == "sentence" else f"Pictures for caption {data.caption_ids[query]}"
    return draw_ranked_pictures(sentence, data.images, rankings, title=title, captions=first, **shown)
