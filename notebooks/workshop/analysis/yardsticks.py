"""Runs on benchmarks of true and false sentences, and synthetic negatives as such a benchmark."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics.yardsticks import Yardstick, YardstickItem, YardstickTable, measure, text_scores

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
    """Measure how often a run tells true from false sentences, on the items whose pictures are available.

    Args:
        run: a Run or model; None scores the text-only controls alone.
        yardstick: the items.
        images: the pictures, as for `Yardstick.with_pictures`.
        text: the text-only controls, as `text_scores` takes them.
        seed: of the wrong pictures.
    """
    chosen = yardstick if run is None else yardstick.with_pictures(images)
    match = None if run is None else matching(run, chosen.pictures)
    scores = {f"text only ({Path(by).name.split('.')[0]})": text_scores(chosen, by) for by in text}
    return measure(chosen, match, text=scores, seed=seed)


KIND_OF = {"object": "replace_obj", "attribute": "replace_att", "relation": "replace_rel", "number": "replace_number"}


def as_yardstick(negatives: SyntheticNegatives) -> Yardstick:
    """Turn each synthetic negative and its caption into an item, with SugarCrepe's names for the changes.

    A replaced word is "replace_word"; changes in several kinds of phrase are "several".

    Raises:
        ItmlabError: there are no negatives.
    """
    items = []
    for negative in negatives.all():
        kinds = list(dict.fromkeys(negative.kind or ("word",)))
        kind = "several" if len(kinds) > 1 else KIND_OF.get(kinds[0], f"replace_{kinds[0]}")
        caption, image = negatives.data.captions[negative.caption], negatives.data.image_ids[negative.image]
        source = negatives.data.caption_ids[negative.caption]
        items.append(YardstickItem(image, (caption,), (negative.sentence,), kind, source))
    if not items:
        raise ItmlabError("there are no negatives", where=negatives.generator)
    return Yardstick(negatives.generator, tuple(items), pictures=negatives.data)
