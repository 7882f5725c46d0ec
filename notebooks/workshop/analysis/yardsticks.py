"""Any run on a benchmark of true and false sentences, and our own generators' negatives as such a benchmark."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics.yardstick_scores import YardstickTable, measure, text_scores
from itmlab.metrics.yardsticks import Yardstick, YardstickItem

from .negatives import SyntheticNegatives
from .scoring import matching


def run_on_yardstick(
    run: Any,
    yardstick: Yardstick,
    images: str | Path | CaptionSet | None = None,
    *,
    text: Sequence[str] = (),
    seed: int = 0,
) -> YardstickTable:
    """How often a run tells true from false sentences, on the items whose pictures are available.

    Args:
        run: a run, or a model of any kind; None judges all items by their controls alone.
        yardstick: the items.
        images: the pictures, as for `Yardstick.with_pictures`.
        text: the text-only controls, each by what it scores, as `text_scores` takes it; "own" by default.
        seed: of the wrong pictures.
    """
    chosen = yardstick if run is None else yardstick.with_pictures(images)
    text = text or ("own",)
    match = None if run is None else matching(run, chosen.pictures)
    scores = {f"text only ({Path(by).name.split('.')[0]})": text_scores(chosen, by) for by in text}
    return measure(chosen, match, text=scores, seed=seed)


KIND_OF = {"object": "replace_obj", "attribute": "replace_att", "relation": "replace_rel", "number": "replace_number"}


def as_yardstick(made: SyntheticNegatives) -> Yardstick:
    """Each synthetic negative beside its caption, with SugarCrepe's names for what was changed.

    A word that was replaced is "replace_word"; changes in more than one kind of phrase are "several".
    """
    items = []
    for negative in made.all():
        kinds = list(dict.fromkeys(negative.kind or ("word",)))
        kind = "several" if len(kinds) > 1 else KIND_OF.get(kinds[0], f"replace_{kinds[0]}")
        caption, image = made.data.captions[negative.caption], made.data.image_ids[negative.image]
        source = made.data.caption_ids[negative.caption]
        items.append(YardstickItem(image, (caption,), (negative.sentence,), kind, source))
    if not items:
        raise ItmlabError("there are no negatives", where=made.generator)
    return Yardstick(made.generator, tuple(items), pictures=made.data)
