"""The named one-tower recipes: pretraining, the baseline UNITER, TAGS and TAGS-DC, and its ablations WM and SG.

Base and large carry the paper's numbers for Flickr30K (appendix A.1, Table 5); the batch, which it does not give, and
the weight decay are UNITER's habits, as is all of the pretraining. They begin from fresh weights unless `start` names a
folder: a public checkpoint read by `models.load_public` and saved is one. The tiny ones begin where the one before left
off.
"""

from typing import Any

from ..losses.weighted_sum import PAPER_WEIGHTS, LossWeights
from ..models import OneTowerConfig
from .recipe import Recipe
from .settings import DataSettings, OptimiserSettings
from .tags_settings import TagsSettings

NAMES = ("uniter_pretraining", "uniter", "tags", "tags_dc", "wm", "sg")
TINY = OneTowerConfig(
    visual="regions",
    region_dimension=192,
    hidden=80,
    layers=3,
    heads=4,
    intermediate=160,
    vocabulary_size=1000,
    maximum_tokens=48,
    maximum_tags=24,
    positions=96,
    dropout=0.0,
)
CONFIGURATIONS = {"tiny": TINY, "base": OneTowerConfig.base(), "large": OneTowerConfig.large()}
STARTS = {
    "uniter": "uniter_pretraining",
    "tags_dc": "tags",
    **dict.fromkeys(("tags", "wm", "sg"), "uniter_pretraining"),
}

PRETRAINING = LossWeights(retrieved=0.5, masked_language=1.0, synthetic=0.0, discrimination=0.0, correction=0.0)
WEIGHTS = {
    "tiny": LossWeights(1.0, 0.1, 0.5, 0.1, 0.1),
    "base": PAPER_WEIGHTS["flickr30k", "base"],
    "large": PAPER_WEIGHTS["flickr30k", "large"],
}

# Learning rate, steps and pictures a batch by size: of the pretraining, of a fine-tuning (NSG), of the second stage
# (NSGDC).
STAGES = {
    "tiny": {"uniter_pretraining": (2e-3, 3000, 64), "first": (3e-4, 500, 32), "second": (3e-4, 250, 32)},
    "base": {"uniter_pretraining": (5e-5, 200_000, 64), "first": (5e-5, 5000, 32), "second": (1e-5, 1500, 32)},
    "large": {"uniter_pretraining": (5e-5, 200_000, 64), "first": (4e-5, 5000, 32), "second": (1e-5, 1500, 32)},
}
# How many negatives are drawn and kept, how many sentences made and kept.
NUMBERS: dict[str, dict[str, Any]] = {
    "tiny": {"drawn": 15, "kept": 3, "maskings": 4, "samples": 5, "hardest": 5, "trained_maskings": 1},
    "base": {"drawn": 399, "kept": 31, "maskings": 20, "samples": 20, "hardest": 31, "trained_maskings": 20},
    "large": {"drawn": 399, "kept": 31, "maskings": 20, "samples": 20, "hardest": 23, "trained_maskings": 20},
}
# From scratch: words told from pictures and both read apart and aligned; then also matching, by choice among random
# negatives (triplets with the hardest of a young tower end with all scores equal).
FROM_SCRATCH: dict[str, Any] = {
    "matching": "contrast",
    "matching_begins": 0.6,
    "alignment": 0.5,
    "masking": "word",
    "probability": 0.25,
    "drawn": 3,
    "kept": 3,
}
# In tiny few words are replaced and few steps are left to find them: a network that copies every word would do well.
TINY_WORDS: dict[str, Any] = {"correction": "replaced", "kept_weight": 0.3}


def one_tower_recipe(name: str, size: str) -> Recipe:
    """One of `NAMES` at a size."""
    scratch = name == "uniter_pretraining"
    rate, steps, batch = STAGES[size][name if scratch else "second" if name == "tags_dc" else "first"]
    return Recipe(
        name=name,
        size=size,
        model=CONFIGURATIONS[size],
        loss=None,
        optimiser=OptimiserSettings(
            kind="adamw",
            learning_rate=rate,
            schedule="linear",
            milestones=(),
            warm_up_share=0.03 if scratch else 0.1,
            betas=(0.9, 0.98),
            clip=2.0,
            weight_decay=0.05 if size == "tiny" else 0.01,
        ),
        data=DataSettings(batch_size=batch, steps=steps, **(_served(scratch) if size == "tiny" else {})),
        tags=tags_settings(name, size),
        start=STARTS.get(name) if size == "tiny" else None,
    )


def tags_settings(name: str, size: str) -> TagsSettings:
    """What a recipe minimises, of which size the numbers are."""
    full, numbers = WEIGHTS[size], {**NUMBERS[size], "implied": size == "tiny"}
    if name == "uniter_pretraining":
        return TagsSettings(PRETRAINING, **{**numbers, **FROM_SCRATCH, "trained_maskings": 1})
    if name == "uniter":
        return TagsSettings(full.matching_only(), **numbers)
    if name == "tags_dc":
        return TagsSettings(full, **numbers, **(TINY_WORDS if size == "tiny" else {}))
    return TagsSettings(
        full.without_words(),
        masking="word" if name == "wm" else "phrase",
        generator="static" if name == "sg" else "dynamic",
        **numbers,
    )


def _served(scratch: bool) -> dict[str, Any]:
    """In tiny: each picture once an epoch, and now and then a look at a few pictures held out."""
    return {"captions_per_image": 1, "validation": 50, "validate_every": 10 if scratch else 1}
