"""Who tells captions from sentences made of them: each model on each generator's negatives (TAGS-DC, Table 4)."""

from collections.abc import Mapping
from typing import Any

from ..metrics import discrimination
from ..metrics.share import Share
from .made import Made
from .matching import matching


def discriminated(made: Mapping[str, Made], models: Mapping[str, Any]) -> dict[str, dict[str, Share]]:
    """`[generator][model]`: the share of pairs (T, T⁻) of a generator in which the model matches T better.

    Every negative that `made` holds is a pair with the caption that it was made of; `Made.first(1)` leaves the hardest
    of each. Models are Runs or models of any kind, asked for logits or cosines, so that nothing ties by saturating.
    """
    table: dict[str, dict[str, Share]] = {}
    for generator, one in made.items():
        images = one.images
        captions = [one.data.captions[number] for number in one.captions]
        of_caption = one.data.image_of_caption[list(one.captions)].tolist()
        repeated = [at for at, row in enumerate(one.negatives) for _ in row]
        table[generator] = {}
        for name, model in models.items():
            match = matching(model, one.data)
            positive = match(of_caption, captions)[repeated]
            negative = match(images.tolist(), [negative.sentence for negative in one.all()])
            table[generator][name] = discrimination(positive, negative, images)
    return table
