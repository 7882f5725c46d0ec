"""The explorer of a set: maps of two models, and what each finds for a picture, a sentence or a picture of your own."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from itmlab.data.captionset import CaptionSet
from itmlab.data.pictures import read_image
from itmlab.errors import ItmlabError

from ..analysis.embeddings import embedded
from ..analysis.rankings import Retrievals, retrievals
from ..plots.canvas import draw_table
from ..plots.maps import draw_projection
from ..plots.rankings import draw_ranked_captions, draw_ranked_pictures
from ..plots.theme import TRUTH_LABELS
from .base import PicturePicker, PointExplorer, figure_or_reason, wide

FOUND = 5  # results that each model shows; the greener a frame, the more similar in meaning (CIDEr)
LISTED = 25  # captions of a lasso


def explore(runs: Any, data: CaptionSet, *, picture: int = 0, sentence: str = "") -> PointExplorer:
    """Return the explorer of a set by one or more dual encoders.

    Above are the maps of two models (t-SNE), below what each of them finds: captions for a picture of the set or for
    your own, pictures for a sentence. Point at a mark to see its neighbours, click it to keep them. A lasso marks the
    same items on both maps, lists their captions, and gives their numbers to Python as `.selection`. Marks are coloured
    by kind, by the setting of the drawn world, by whether the first model's best answer is the annotated one, or by
    what is true of the chosen picture.

    Args:
        runs: a Run or model, or several by name.
        data: the set.
        picture: the number of the picture to begin with.
        sentence: a sentence to begin with instead.

    Raises:
        ItmlabError: an image has no caption, or a model does not encode pictures and captions separately.
    """
    which = PicturePicker(data, picture)
    named = dict(runs) if isinstance(runs, Mapping) else {"model": runs}
    maps, names = embedded(named, data), list(named)
    found = retrievals(named, data, by=["CIDEr"], features={name: space.features for name, space in maps.items()})
    typed = ipywidgets.Text(sentence, description="sentence", continuous_update=False, **wide(678))
    own = ipywidgets.FileUpload(accept="image/*", description="own picture")
    first = ipywidgets.Dropdown(options=names, value=names[0], description="model", **wide())
    second = ipywidgets.Dropdown(options=names, value=names[-1], description="and", **wide())
    colours = ["kind", "right or wrong"] + (["setting", "true of the picture"] if data.world is not None else [])
    colour = ipywidgets.Dropdown(options=colours, description="colour by", **wide())
    query: dict[str, Any] = {"of": "sentence", "value": sentence} if sentence else {"of": "pictures", "value": picture}

    def neighbours(of: str, value: Any) -> go.Figure:
        models = dict.fromkeys((first.value, second.value))
        return figure_or_reason(lambda: _neighbours(found, models, of, value))

    def space() -> go.Figure:
        selected = any(explorer.selection.values())
        picked = {"pictures": [which.value], "captions": data.captions_of_image[which.value].tolist()}
        figure = draw_projection(
            {name: maps[name].places() for name in dict.fromkeys((first.value, second.value))},
            ids={"pictures": data.image_ids, "captions": data.caption_ids},
            picked=explorer.selection if selected else picked,
            joined=not selected,
            labels=_labels(found, first.value, colour.value, which.value),
            title="The common space",
            subtitle=f"{len(data):,} pictures and {len(data.captions):,} captions of {data.name}",
        )
        return figure.update_layout(dragmode="lasso")

    def draw() -> list[go.Figure]:
        return [space(), neighbours(**query)]

    def pick(kind: str, number: int) -> None:
        which.value = number if kind == "pictures" else int(data.image_of_caption[number])
        query.update(of=kind, value=number)

    following = {
        which: lambda: query.update(of="pictures", value=which.value),
        typed: lambda: query.update(of="sentence", value=typed.value),
        own: lambda: query.update(of="own picture", value=bytes(own.value[-1]["content"]) if own.value else b""),
    }
    controls = [which, typed, own, first, second, colour]
    explorer = PointExplorer(controls, draw, following, card=neighbours, pick=pick, shared=partial(_listed, data))
    return explorer


def _labels(found: Retrievals, model: str, colour: str, picture: int) -> dict[str, list[str]] | None:
    """Return what each picture and caption is coloured by, or None for the kind alone."""
    data = found.data
    if colour == "setting":
        settings = [scene.setting for scene in data.world.scenes]
        return {"pictures": settings, "captions": [settings[image] for image in data.image_of_caption.tolist()]}
    if colour == "right or wrong":
        scores, words = found.similarity[model], {True: "right", False: "wrong"}
        of_pictures = found.positives.gather(1, scores.argmax(dim=1, keepdim=True))[:, 0]
        of_captions = found.positives.gather(0, scores.argmax(dim=0, keepdim=True))[0]
    elif colour == "true of the picture":
        words = {label: name for label, (_, name) in TRUTH_LABELS.items()}
        of_pictures = found.truth[:, int(data.captions_of_image[picture][0])]
        of_captions = found.truth[picture]
    else:
        return None
    labels = {"pictures": of_pictures, "captions": of_captions}
    return {kind: [words[value] for value in values.tolist()] for kind, values in labels.items()}


def _neighbours(found: Retrievals, models: Mapping[str, Any], of: str, value: Any) -> go.Figure:
    """Draw what each model finds for a picture or caption by its number, a sentence, or the bytes of a picture."""
    data, k = found.data, min(FOUND, len(found.data))
    if of == "own picture":
        picture = read_image(value, where="your picture")
        rankings = {model: found.of_own_picture(model, picture, k=k) for model in models}
        return draw_ranked_captions(picture, data.captions, rankings, title="Captions for your picture", relevance="s")
    if of == "sentence" and not value.strip():
        raise ItmlabError("the sentence to search for is empty")
    find = {"sentence": found.of_sentence, "captions": found.of_caption, "pictures": found.rank}[of]
    rankings = {model: find(model, value, k=k) for model in models}
    if of == "pictures":
        shown = {"title": f"Captions for picture {data.image_ids[value]}", "own_captions": data.captions_of([value])[0]}
        return draw_ranked_captions(data.images[value], data.captions, rankings, **shown)
    sentence = value if of == "sentence" else data.captions[value]
    title = "Pictures for a sentence" if of == "sentence" else f"Pictures for caption {data.caption_ids[value]}"
    captions = [texts[0] for texts in data.captions_of()]
    return draw_ranked_pictures(sentence, data.images, rankings, title=title, captions=captions)


def _listed(data: CaptionSet, selection: Mapping[str, list[int]]) -> go.Figure:
    """Draw the captions in a lasso, beside the first picture."""
    of_pictures = [data.captions_of_image[picture].tolist() for picture in selection.get("pictures", ())]
    numbers = sorted(set(selection.get("captions", ())).union(*of_pictures))
    pictures = data.image_of_caption[numbers].unique()
    return draw_table(
        {"caption": [data.captions[number] for number in numbers[:LISTED]]},
        title="In the lasso",
        subtitle=f"{len(numbers):,} captions of {len(pictures):,} pictures in the lasso",
        picture=data.images[int(pictures[0])],
    )
