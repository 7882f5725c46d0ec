"""The weights that tiny recipes start from, learnt from pictures that no data set holds."""

import json
from pathlib import Path
from typing import Annotated

import typer

from itmlab.cli import stopping
from itmlab.errors import ItmlabError

# Seeds of scenes that no data set has; ViT and BERT learn from the same pictures, drawn once.
SEEDS = {"detector": 90_002, "towers": 90_003, "region_towers": 90_003, "vit": 90_003}
MARKS_SEED = 90_001
IMAGES = {"detector": 20_000, "towers": 24_000, "region_towers": 8_000, "vit": 24_000}
RECIPES = {"towers": "towers", "region_towers": "region_towers", "vit": "vit_dual_encoder"}
PARTS = "detector (of scenes' regions), towers (ViT, BERT), region_towers, vit (both aligned)."


def pretrain(
    part: Annotated[str, typer.Argument(metavar="PART", help=PARTS)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A folder; a stopped run continues, not a detector.")],
    images: Annotated[
        int | None,
        typer.Option(help="Pictures to draw and learn from: 24,000; 20,000 for the detector, 8,000 for region_towers."),
    ] = None,
) -> None:
    """Learn what tiny recipes start from, on drawn pictures of other seeds, and print marks on held-out pictures."""
    from itmlab.scenes import load
    from itmlab.scenes.detector import WEIGHTS, labelled, learn_to_detect, marks
    from itmlab.train import recipe as named_recipe
    from itmlab.train.loop import train

    if part not in IMAGES:
        raise ItmlabError(f"no part {part!r}", where="pretrain", remedy=f"there are {', '.join(IMAGES)}")
    images = IMAGES[part] if images is None else images
    if part in RECIPES:
        recipe = named_recipe(RECIPES[part])
        options = {"regions": recipe.data.regions or True} if recipe.model.reads == "regions" else {}
        with stopping():
            train(recipe, load(images=images, seed=SEEDS[part], **options), out)
        return
    model = learn_to_detect(out, load(images=images, seed=SEEDS[part]))
    held_out = load(images=max(images // 16, 1), seed=MARKS_SEED)
    accuracies = marks(model, *labelled(held_out, model.asked))
    print(f"{out / WEIGHTS}: per cent right on pictures held out, {json.dumps(accuracies)}")
