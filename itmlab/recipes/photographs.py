"""Recipes for a thousand photographs on two cores, each "+photos": frozen encoders, and what is learnt above them.

A picture is the 7 × 7 grid of `models.photographs`, a word its WordLlama vector (extra: photos). A dual encoder learns
a linear map of each side's mean, seconds of training; SCAN, SGRAF and VSRN compare or order the 49 regions; TAGS-DC's
cross-encoder begins with the dual encoder's scores. The published methods keep what is theirs: loss, sampler, memory,
synthesis.
"""

from dataclasses import replace
from typing import Any

from ..losses import InfoCMR, InfoNCE, TripletLoss
from ..losses.tags import LossWeights
from ..models import CrossEncoderConfig, LateInteractionConfig
from ..samplers import FalseNegativeEliminating
from ..synthesis import SynHNC
from .recipe import Recipe
from .settings import DataSettings, OptimiserSettings, TagsSettings

DUAL = ("triplet", "hardest", "semi_hard", "hardest_memory", "fne_without_memory", "fne", "sam", "info_nce")
COMPARED = ("info_nce", "triplet", "hardest", "sam", "fne", "itcontrast")  # what `python -m itmlab compare` compares
PARTS = ("scan", "sgraf", "vsrn")
CROSS = ("uniter", "tags", "tags_dc")
PHOTOS = tuple(f"{name}+photos" for name in (*DUAL, "itcontrast", *PARTS, *CROSS))

SEEN: dict[str, Any] = {"photo_encoder": "efficientnet_lite0", "region_dimension": 1280, "word_vectors": "wordllama"}
DUAL_ENCODER = LateInteractionConfig(
    kind="vsepp",
    **{"region_mean": 0.235, "region_std": 0.85, "dimension": 256, "word_dimension": 256, "dropout": 0.3},
    **{"vocabulary_size": 12000, "maximum_tokens": 48, "similarity_dimension": 32},
    **SEEN,
)
OPTIMISER = OptimiserSettings(
    kind="adamw", learning_rate=1e-3, schedule="cosine", milestones=(), warm_up=0.0, clip=2.0, weight_decay=0.05
)
DATA = DataSettings(batch_size=64, epochs=24, captions_per_image=1, warm_up_epochs=12, validate_every=2)
NUMBERS = {"temperature": 0.1, "margin": 0.2}


def photo_recipe(name: str, size: str) -> Recipe:
    """One of PHOTOS; every size has the same model, as the photographs are few."""
    method = name.removesuffix("+photos")
    if method in CROSS:
        return _cross_encoder(method, size)
    from . import FRAGMENTS, get, tuned

    if method == "itcontrast":
        parts: dict[str, Any] = {"loss": InfoCMR(), "synthesis": SynHNC(detach=False)}
    elif method in PARTS:
        parts = {"loss": TripletLoss()}
    else:
        published = get(method, size)
        parts = {part: getattr(published, part) for part in ("loss", "sampler", "memory", "adaptive_margin")}
    for part in ("loss", "sampler"):
        parts[part] = tuned(parts.get(part), **NUMBERS)
    if isinstance(parts["sampler"], FalseNegativeEliminating):
        parts["sampler"] = FalseNegativeEliminating(prior=0.01, preset="released", margin=NUMBERS["margin"])
    model = replace(DUAL_ENCODER, kind=FRAGMENTS.get(method, "vsepp"))
    warm_up = InfoNCE(NUMBERS["temperature"])
    return Recipe(name=name, size=size, model=model, optimiser=OPTIMISER, data=DATA, warm_up=warm_up, **parts)


# TAGS-DC (METHODS 3) on a cross-encoder that is aligned before it fuses (METHODS 3.11): by InfoNCE the dual encoder in
# it, then all of it together. Sentences are made by the rules, as a refiller that has read three thousand captions
# knows no others.
CROSS_ENCODER = CrossEncoderConfig(
    **{"hidden": 96, "layers": 2, "heads": 4, "intermediate": 192, "dropout": 0.1, "positions": 64},
    **{"vocabulary_size": 12000, "maximum_tokens": 40, "maximum_tags": 1},
    **SEEN,
    aligned=DUAL_ENCODER,
)
WEIGHTS = {
    "uniter": LossWeights(1.0, 0.1, 0.0, 0.0, 0.0),
    "tags": LossWeights(1.0, 0.1, 0.5, 0.0, 0.0),
    "tags_dc": LossWeights(1.0, 0.1, 0.5, 0.1, 0.1),
}
CROSS_ENCODER_DATA = replace(DATA, steps=160, validation=0, warm_up_epochs=0)


def _cross_encoder(method: str, size: str) -> Recipe:
    made = {"generator": "vse_c", "hardest": 1, "correction": "replaced", "kept_weight": 0.3}
    matched = {"matching": "contrast", "matching_begins": 0.62, "mining": "batch", "candidates": 3, "top_k": 1}
    apart = {"alignment": 1.0, "alignment_temperature": 0.1, "probability": 0.2}
    return Recipe(
        name=f"{method}+photos",
        size=size,
        model=CROSS_ENCODER,
        loss=None,
        optimiser=replace(OPTIMISER, learning_rate=2e-3, schedule="linear", warm_up_share=0.1),
        data=CROSS_ENCODER_DATA,
        tags=TagsSettings(WEIGHTS[method], **made, **matched, **apart),
    )
