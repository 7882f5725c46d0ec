"""Recipes by axes: `recipe("fne", on="regions", start="towers", size="tiny", preset="paper")`.

A name is a method; the axes say what the model looks at, what its weights begin with, how large it is, and whether the
paper or its released code is followed. Base and large carry the papers' numbers; tiny is for two cores and minutes.
"""

from dataclasses import replace
from typing import Any

from ..components import Component, parameters
from ..errors import ItmlabError
from ..fields import did_you_mean
from ..losses import InfoCMR, InfoNCE, SemanticAdaptiveMargin, TripletLoss
from ..losses.tags import PAPER_WEIGHTS, LossWeights
from ..models import CrossEncoderConfig, DualEncoderConfig, LateInteractionConfig, OscarDualEncoderConfig
from ..samplers import FalseNegativeEliminating, Hardest, Oracle, Retrieved, SemiHard
from ..synthesis import SynHNC
from .recipes import Recipe
from .settings import DataSettings, MemorySettings, OptimiserSettings, TagsSettings, TowerSettings

SIZES = ("tiny", "base", "large")
VIEWS = ("pictures", "regions", "photos")
STARTS = ("towers", "aligned", "scratch")
PRESETS = ("paper", "released", "paper_coco", "released_coco")

# Methods of dual encoders differ in loss, sampler and margin, and in whether negatives also come from a memory.
DUAL: dict[str, dict[str, Any]] = {
    "triplet": {"loss": TripletLoss(reduce="sum")},
    "hardest": {"loss": TripletLoss()},
    "semi_hard": {"sampler": SemiHard()},
    "retrieved": {"sampler": Retrieved(), "memory": True},
    "hardest_memory": {"sampler": Hardest(), "memory": True},  # FNE, Table 3, without FNE
    # controls: what the data's world calls false, and what it calls true though it is not annotated
    "oracle_true_negatives": {"sampler": Oracle(), "memory": True},
    "oracle_false_negatives": {"sampler": Oracle("false_negatives"), "memory": True},
    "fne_without_memory": {"sampler": FalseNegativeEliminating()},  # FNE, Table 3, without MMM
    "fne": {"sampler": FalseNegativeEliminating(), "memory": True},
    # farthest negatives and τ = 10, which the paper calls best on the whole (Sec. 5.4)
    "sam": {"loss": TripletLoss(), "adaptive_margin": SemanticAdaptiveMargin()},
    "info_nce": {"loss": InfoNCE()},
}
CROSS = ("uniter_pretraining", "uniter", "tags", "tags_dc", "wm", "sg")  # wm and sg are ablations of TAGS
# Encoders of regions and words, by their names in `LateInteractionConfig`; SCAN and SGRAF compare the parts.
MATCHERS = {
    **{"vsepp": "vsepp", "scan": "scan_t2i", "scan_i2t": "scan_i2t"},
    **{"sgr": "sgr", "saf": "saf", "sgraf": "sgraf", "vsrn": "vsrn"},
}
OSCAR = ("oscar", "oscar_sgraf", "itcontrast")  # itcontrast is oscar+syn+info
PRETRAINING = ("towers", "region_towers", "vit_dual_encoder", "region_dual_encoder")  # what others begin with
# Parts of ITContrast, added to a name: "scan+syn+info". "features" is the control of models that compare parts.
PARTS: dict[str, dict[str, Any]] = {
    "syn": {"synthesis": SynHNC(detach=False)},  # without a gradient nothing pushes the prototypes away
    "info": {"loss": InfoCMR()},
    "features": {"global_features": True},
}
COMPARED = ("info_nce", "triplet", "hardest", "sam", "fne", "itcontrast")  # by `python -m itmlab compare`


def names() -> list[str]:
    """The names of all methods, without parts."""
    return [*DUAL, *CROSS, *MATCHERS, *OSCAR, *PRETRAINING]


def recipe(
    name: str, *, on: str | None = None, start: str | None = None, size: str = "tiny", preset: str = "paper"
) -> Recipe:
    """Return the recipe of a method.

    Args:
        name: a method, see `names`; "+syn", "+info" and "+features" add a part of ITContrast.
        on: what the model looks at: "pictures", "regions" of a detector, or "photos" through frozen encoders. By
            default what the method's paper looks at.
        start: "towers" are encoders pretrained on their own side, as in the papers (the default where there are any);
            "aligned" are encoders already aligned by InfoNCE; "scratch" are random weights.
        size: "tiny" for two cores, "base" or "large" with the paper's numbers.
        preset: "paper", "released" for the authors' code, or "paper_coco" and "released_coco" for TAGS on COCO.

    Raises:
        ItmlabError: there is no such method or value of an axis, or they do not go together.

    >>> recipe("fne", size="base", preset="released").data.randaugment
    (2, 7)
    """
    method, *parts = name.split("+")
    for value, known, axis in ((method, names(), "recipe"), (size, SIZES, "size"), (preset, PRESETS, "preset")):
        _check(value, known, axis)
    for part in parts:
        _check(part, PARTS, "part of a recipe")
    on = on or _usual_view(method)
    _check(on, VIEWS, "value of `on`")
    start = start or "towers"
    _check(start, STARTS, "start")
    made = _of_method(method, on, start, size, preset)
    for part in ("syn", "info") if method == "itcontrast" else parts:
        made = made.replace(**PARTS[part])
    if on == "photos" and made.loss is not None:
        made = replace(made, loss=tuned(made.loss, **PHOTO_NUMBERS))
    made = replace(made, name=name)
    return made.replace(**_released(method, on, size, preset)) if preset.startswith("released") else made


def _check(value: str, known: Any, what: str) -> None:
    if value not in known:
        raise ItmlabError(f"no {what} {value!r}", remedy=did_you_mean(value, known))


def _usual_view(method: str) -> str:
    return "pictures" if method in DUAL or method in ("towers", "vit_dual_encoder") else "regions"


def _refuse(method: str, what: str, remedy: str) -> ItmlabError:
    return ItmlabError(f"{method} has no recipe {what}", remedy=remedy)


def _of_method(method: str, on: str, start: str, size: str, preset: str) -> Recipe:
    if preset.endswith("_coco") and (method not in CROSS[2:] or on != "regions"):
        raise _refuse(
            method, f"with preset={preset!r}", "COCO has numbers of its own for tags, tags_dc, wm and sg only"
        )
    if method in PRETRAINING:
        return _pretraining(method, size)
    if on == "photos":
        return _on_photos(method, start, size)
    if method in CROSS:
        return _cross_encoder(method, on, start, size, "coco" if preset.endswith("_coco") else "flickr30k")
    if method in DUAL:
        return _dual_encoder(method, on, start, size)
    if on == "pictures":
        raise _refuse(method, "on pictures", 'it compares regions: on="regions" or "photos"')
    if method in OSCAR:
        return _oscar(method, start, size)
    return _matcher(method, start, size)


def tuned(component: Component | None, **numbers: float) -> Any:
    """Return a copy of a component with those of the numbers that it has parameters for."""
    if component is None:
        return None
    return replace(component, **{name: value for name, value in numbers.items() if hasattr(component, name)})


# Dual encoders. Base is FNE's A.2 (METHODS 1.5): ViT-base and BERT-base, B = 32, K = 8192, Adam 2e-5, a tenth of it
# from epochs 5 and 15 of 25. The released code clips at 2 the gradient of the mean over the batch, as ours is.
TINY_OPTIMISER = OptimiserSettings(
    kind="adamw", learning_rate=1e-3, schedule="cosine", milestones=(), warm_up=1.0, clip=2.0, weight_decay=0.05
)
FINE_TUNING = replace(TINY_OPTIMISER, learning_rate=3e-4, warm_up=0.0, warm_up_share=0.1)
# The paper's memory is 256 batches long, this one 64. Margin, prior and temperature were each the best of three trials
# on validation (METHODS 1.6). The paper tunes p on its validation set, and so do we; its weights are nearly uniform
# over cosines, the released code's also leave out the easy ones.
TINY_MEMORY = MemorySettings(length=2048, momentum=0.995)
TINY_NUMBERS = {"margin": 0.3, "temperature": 0.1}
TINY_FNE = FalseNegativeEliminating(prior=0.1, preset="released", margin=TINY_NUMBERS["margin"])
# From encoders that are not aligned InfoNCE comes first: one negative an anchor leads a network nowhere that cannot
# tell any pair from another.
UNALIGNED = DataSettings(batch_size=32, epochs=4, captions_per_image=1, warm_up_epochs=2, validation=100)
ALIGNED = DataSettings(batch_size=32, epochs=2, captions_per_image=1, steps=300, validation=100)
SCRATCH = DataSettings(batch_size=64, epochs=12, captions_per_image=4, warm_up_epochs=6)
SCRATCH_NUMBERS = {"margin": 0.2, "temperature": 0.05}
TINY_STARTS = {
    "pictures": {"towers": "towers", "aligned": "vit_dual_encoder", "scratch": None},
    "regions": {"towers": "region_towers", "aligned": "region_dual_encoder", "scratch": None},
}


def _dual_encoder(method: str, on: str, start: str, size: str) -> Recipe:
    """A method of dual encoders on pictures or regions."""
    parts = dict(DUAL[method])
    memory = parts.pop("memory", False)
    if size != "tiny":
        return _large_dual_encoder(parts, memory, on, start, size)
    data = {"towers": UNALIGNED, "aligned": ALIGNED, "scratch": SCRATCH}[start]
    if on == "regions":
        data = replace(data, regions="detector")
        if start == "aligned":
            data = replace(data, validation=0)
    elif start != "scratch":
        data = replace(data, flip=0.5)
    optimiser = TINY_OPTIMISER
    if start == "aligned":
        optimiser = replace(FINE_TUNING, learning_rate=1e-4 if on == "pictures" else 3e-4)
    numbers = SCRATCH_NUMBERS if start == "scratch" else TINY_NUMBERS
    if isinstance(parts.get("sampler"), FalseNegativeEliminating):
        # from scratch the prior is the share of unannotated pairs that were true in an earlier edition of scenes
        parts["sampler"] = replace(TINY_FNE, prior=0.01) if start == "scratch" else TINY_FNE
    parts |= {name: tuned(part, **numbers) for name, part in parts.items() if name in ("loss", "sampler")}
    parts.setdefault("loss", TripletLoss(margin=numbers["margin"]))
    return Recipe(
        name=method,
        size=size,
        model=DualEncoderConfig.tiny() if on == "pictures" else TINY_OSCAR,
        memory=TINY_MEMORY if memory else None,
        optimiser=optimiser,
        data=data,
        start=TINY_STARTS[on][start],
        warm_up=InfoNCE(numbers["temperature"]),
        **parts,
    )


def _large_dual_encoder(parts: dict[str, Any], memory: bool, on: str, start: str, size: str) -> Recipe:
    """A method of dual encoders with the numbers of FNE's A.2; the towers on pictures are public checkpoints."""
    if start == "aligned":
        raise _refuse("base and large", "with start='aligned'", "train info_nce first, and replace(start=DIRECTORY)")
    whole = _oscar("oscar", start, size) if on == "regions" else _paper_dual_encoder(start, size)
    return replace(whole, memory=MemorySettings(8192, 0.995) if memory else None, **{"loss": TripletLoss(), **parts})


def _paper_dual_encoder(start: str, size: str) -> Recipe:
    model = DualEncoderConfig.base() if size == "base" else DualEncoderConfig.large()
    if start == "scratch":
        model = replace(model, image_pretrained=None, text_pretrained=None)
    return Recipe("dual", size, model, optimiser=OptimiserSettings(), data=DataSettings())


# What others begin with. Towers see and read before they are aligned, as the papers' do; nothing is matched in them,
# so that there is no recall to look at.


def _pretraining(method: str, size: str) -> Recipe:
    """The recipe of weights that other recipes begin with."""
    if size != "tiny":
        raise _refuse(method, f"in size {size}", "public checkpoints take its place: see the guide's page on real data")
    on_regions = method.startswith("region")
    model = TINY_OSCAR if on_regions else DualEncoderConfig.tiny()
    regions = "detector" if on_regions else None
    if method.endswith("towers"):
        data = DataSettings(batch_size=64, epochs=8, captions_per_image=2, validation=0, regions=regions)
        return Recipe(method, size, model, loss=None, towers=TowerSettings(), optimiser=TINY_OPTIMISER, data=data)
    data = DataSettings(
        batch_size=128, epochs=16, captions_per_image=3, validation=100, validate_every=2, regions=regions
    )
    if on_regions:
        optimiser = replace(TINY_OPTIMISER, learning_rate=2e-3)
        return Recipe(method, size, model, loss=InfoNCE(), optimiser=optimiser, data=data)
    data = replace(data, steps=2400, captions_per_image=2, flip=0.5, validation=200)
    return Recipe(method, size, model, loss=InfoNCE(), optimiser=TINY_OPTIMISER, data=data, start="towers")


# Cross-encoders: UNITER's pretraining, the baseline UNITER, TAGS and TAGS-DC, and the ablations WM and SG.
#
# Base and large carry the paper's numbers (appendix A.1, Table 5). The batch, ε of Adam and the weight decay, which it
# does not give, are its released code's and UNITER's, as is all of the pretraining. They begin from fresh weights
# unless `start` names a folder, for example a public checkpoint read by `models.load_public`. The tiny ones, over what
# a detector saw of `scenes`, begin where the one before left off, the first with a transformer that is aligned.
TINY_CROSS_ENCODER = CrossEncoderConfig(
    **{"visual": "regions", "region_dimension": 192, "hidden": 80, "layers": 3, "heads": 4, "intermediate": 160},
    **{"vocabulary_size": 1000, "maximum_tokens": 48, "maximum_tags": 24, "positions": 96, "dropout": 0.0},
)
TINY_OSCAR = OscarDualEncoderConfig(**parameters(TINY_CROSS_ENCODER))
STAGE_BEFORE = {"uniter_pretraining": "region_dual_encoder", "tags_dc": "tags"}  # of the others UNITER's pretraining

PRETRAINING_WEIGHTS = LossWeights(retrieved=0.5, masked_language=1.0, synthetic=0.0, discrimination=0.0, correction=0.0)
TINY_WEIGHTS = LossWeights(1.0, 0.1, 0.5, 0.1, 0.1)

# Learning rate, steps, pictures a batch and batches a step: of the pretraining, of a fine-tuning (NSG), of the second
# stage (NSGDC). In the released scripts a step has 8 processes' 16 (first, base, Flickr30K) or 32 pictures.
STAGES = {
    "tiny": {"pretraining": (2e-3, 12000, 64, 1), "first": (3e-4, 200, 32, 1), "second": (3e-4, 200, 32, 1)},
    "base": {"pretraining": (5e-5, 200_000, 64, 2), "first": (5e-5, 5000, 32, 4), "second": (1e-5, 1500, 32, 8)},
    "large": {"pretraining": (5e-5, 200_000, 64, 2), "first": (4e-5, 5000, 32, 8), "second": (1e-5, 1500, 32, 8)},
}
# How many negatives are drawn and kept, how many sentences made and kept.
PAPER_NUMBERS = {"candidates": 399, "top_k": 31, "maskings": 20, "samples": 20, "hardest": 31, "trained_maskings": 20}
NUMBERS: dict[str, dict[str, Any]] = {
    "tiny": {"candidates": 15, "top_k": 3, "maskings": 4, "samples": 5, "hardest": 5, "trained_maskings": 1},
    "base": PAPER_NUMBERS,
    "large": {**PAPER_NUMBERS, "hardest": 23},
}
# From scratch: words from pictures, and both sides encoded separately and aligned; later also matching, by choice among
# random negatives (triplets with the hardest of a young tower end with all scores equal).
FROM_SCRATCH: dict[str, Any] = {
    **{"matching": "contrast", "matching_begins": 0.6, "alignment": 0.5, "candidates": 3, "top_k": 3},
    **{"masking": "word", "probability": 0.25},
}
# From a transformer that is aligned and is to stay so: negatives of matching are mined in the batch.
FROM_ALIGNED: dict[str, Any] = {
    **{"matching": "contrast", "matching_begins": 0.5, "alignment": 0.2, "candidates": 15, "top_k": 1},
    **{"masking": "word", "probability": 0.3, "alignment_temperature": 0.05, "mining": "batch"},
}
# In tiny few words are replaced and few steps are left to find them: a network that copies every word would do well.
TINY_WORDS: dict[str, Any] = {"correction": "replaced", "kept_weight": 0.3}


def _cross_encoder(method: str, on: str, start: str, size: str, data: str) -> Recipe:
    """UNITER, TAGS or an ablation over regions."""
    if on != "regions":
        raise _refuse(method, f"on {on}", 'on="regions" or "photos"')
    if start == "aligned":
        raise _refuse(method, "with start='aligned'", 'it begins where the stage before left off: start="towers"')
    stage = {"uniter_pretraining": "pretraining", "tags_dc": "second"}.get(method, "first")
    rate, steps, batch, together = STAGES[size][stage]
    is_first, is_tiny = stage == "pretraining", size == "tiny"
    served: dict[str, Any] = {}
    if is_tiny:  # each picture once an epoch, and then a look at a few pictures held out
        served = {"captions_per_image": 1, "validation": 0 if is_first else 50, "regions": "detector"}
    elif data == "coco":
        together = 8
    before = STAGE_BEFORE.get(method, "uniter_pretraining")
    return Recipe(
        name=method,
        size=size,
        model={"tiny": TINY_CROSS_ENCODER, "base": CrossEncoderConfig.base(), "large": CrossEncoderConfig.large()}[
            size
        ],
        loss=None,
        optimiser=OptimiserSettings(
            kind="adamw",
            learning_rate=rate,
            schedule="linear",
            milestones=(),
            warm_up_share=0.03 if is_first else 0.1,
            betas=(0.9, 0.98),
            clip=2.0,
            weight_decay=0.05 if is_tiny else 0.01,
            epsilon=1e-8 if is_tiny else 1e-6,
        ),
        data=DataSettings(batch_size=batch, accumulate=together, steps=steps, **served),
        tags=_tags_settings(method, size, data, aligned=is_tiny and start == "towers"),
        start=before if is_tiny and start == "towers" else None,
    )


def _tags_settings(method: str, size: str, data: str, *, aligned: bool) -> TagsSettings:
    is_tiny = size == "tiny"
    weights = TINY_WEIGHTS if is_tiny else PAPER_WEIGHTS[data, size]
    numbers = {**NUMBERS[size], "implied": is_tiny}
    if method == "uniter_pretraining":
        return TagsSettings(
            PRETRAINING_WEIGHTS,
            **{**numbers, **FROM_SCRATCH, **(FROM_ALIGNED if aligned else {}), "trained_maskings": 1},
        )
    if method == "uniter":
        return TagsSettings(weights.irtm_only(), **numbers)
    if method == "tags_dc":
        return TagsSettings(weights, **numbers, **(TINY_WORDS if is_tiny else {}))
    masking = "word" if method == "wm" else "phrase"
    generator = "static" if method == "sg" else "dynamic"
    return TagsSettings(weights.nsg_only(), masking=masking, generator=generator, **numbers)


# Encoders of regions and words, the rows of ITContrast's tables.
#
# Base carries each encoder's own paper's numbers for Flickr30K, and ITContrast's for OSCAR (Sec. 4.1: 20 epochs, 2e-5,
# batches of 128; its AdamW with a linear fall is OSCAR's). The matchers come in one published size: large is base.
# The released code of VSE++, SCAN, SGRAF and VSRN sums hinges over a batch of 128, to which VSRN adds the mean of what
# writing costs, and clips at 2 the gradient of that. Ours are means: hence a 128th of the clip, and of the writing.
SUMMED = 128
EPOCHS = {"sgraf": (40, 30), "sgr": (40, 30), "saf": (30, 20)}  # and when the rate falls to a tenth
USUAL_EPOCHS = (30, 15)
TINY_MATCHER = DataSettings(
    batch_size=64, epochs=12, captions_per_image=1, warm_up_epochs=6, validation=100, validate_every=2
)


def _matcher(method: str, start: str, size: str) -> Recipe:
    """VSE++, SCAN, SGRAF or VSRN over a detector's regions; their words begin with random weights, as in the papers."""
    if start != "towers":
        raise _refuse(
            method, f"with start={start!r}", "its regions come from a detector, its words from random weights"
        )
    of_size = LateInteractionConfig.tiny if size == "tiny" else LateInteractionConfig.base
    optimiser, data = replace(TINY_OPTIMISER, learning_rate=2e-3), TINY_MATCHER
    if size != "tiny":
        epochs, falls = EPOCHS.get(method, USUAL_EPOCHS)
        optimiser = OptimiserSettings(learning_rate=2e-4, milestones=(falls,), clip=2.0 / SUMMED)
        data = DataSettings(batch_size=SUMMED, epochs=epochs)
    elif method != "vsepp":
        # with batches of 64 the triplet loss stayed at, or fell behind, its warm-up on validation
        data = replace(data, batch_size=32)
    writing = 1 / SUMMED if method == "vsrn" else 0.0
    return Recipe(method, size, of_size(MATCHERS[method]), optimiser=optimiser, data=data, writing=writing)


def _oscar(method: str, start: str, size: str) -> Recipe:
    """OSCAR's transformer, which reads regions and captions separately; "oscar_sgraf" compares the parts by SGRAF."""
    configs = {"tiny": TINY_OSCAR, "base": CrossEncoderConfig.base("oscar"), "large": CrossEncoderConfig.large("oscar")}
    model = OscarDualEncoderConfig(**parameters(configs[size]))
    if method == "oscar_sgraf":
        model = replace(model, matcher="sgraf")
    if size != "tiny":
        if start == "aligned":
            raise _refuse(method, f"in size {size} with start='aligned'", 'start="towers" or "scratch"')
        linear = OptimiserSettings(kind="adamw", schedule="linear", milestones=(), weight_decay=0.05)
        weights = f"oscar_{size}" if start == "towers" else None
        return Recipe(
            method, size, model, optimiser=linear, data=DataSettings(batch_size=128, epochs=20), start=weights
        )
    data = TINY_MATCHER
    optimiser = replace(TINY_OPTIMISER, learning_rate=2e-3)
    if start == "aligned":  # needs no warm-up, and small steps
        optimiser = replace(optimiser, learning_rate=3e-4)
        data = replace(data, epochs=6, warm_up_epochs=0, validate_every=1)
    if method == "oscar_sgraf":
        model = replace(model, similarity_dimension=32, matcher_dropout=0.0)
        data = replace(data, batch_size=32)
    return Recipe(method, size, model, optimiser=optimiser, data=data, start=TINY_STARTS["regions"][start])


# A thousand photographs on two cores, through frozen encoders (extra: photos). A picture is the 7 × 7 grid of
# `models.photographs`, a word its WordLlama vector. A dual encoder learns a linear map of each side's mean, in seconds;
# SCAN, SGRAF and VSRN compare or order the 49 regions; TAGS-DC's cross-encoder begins with the dual encoder's scores.
FROZEN: dict[str, Any] = {
    **{"photo_encoder": "efficientnet_lite0", "region_dimension": 1280, "word_vectors": "wordllama"},
    "vocabulary_size": 12000,
}
PHOTO_ENCODER = LateInteractionConfig(
    kind="vsepp",
    **{"region_mean": 0.235, "region_std": 0.85, "dimension": 256, "word_dimension": 256, "dropout": 0.3},
    **{"maximum_tokens": 48, "similarity_dimension": 32},
    **FROZEN,
)
PHOTO_OPTIMISER = replace(TINY_OPTIMISER, warm_up=0.0)
PHOTO_DATA = DataSettings(batch_size=64, epochs=24, captions_per_image=1, warm_up_epochs=12, validate_every=2)
PHOTO_NUMBERS = {"temperature": 0.1, "margin": 0.2}
WITHOUT_PHOTOS = ("retrieved", "oracle_true_negatives", "oracle_false_negatives", "oscar", "oscar_sgraf")
WITHOUT_PHOTOS += ("uniter_pretraining", "wm", "sg")
# The cross-encoder is aligned before it fuses (METHODS 3.11): by InfoNCE the dual encoder in it, then all of it. Its
# sentences are made by the rules, as a refiller that has read three thousand captions knows no others.
PHOTO_CROSS_ENCODER = CrossEncoderConfig(
    **{"hidden": 96, "layers": 2, "heads": 4, "intermediate": 192, "dropout": 0.1, "positions": 64},
    **{"maximum_tokens": 40, "maximum_tags": 1},
    **FROZEN,
    aligned=PHOTO_ENCODER,
)
PHOTO_WEIGHTS = {
    "uniter": LossWeights(1.0, 0.1, 0.0, 0.0, 0.0),
    "tags": LossWeights(1.0, 0.1, 0.5, 0.0, 0.0),
    "tags_dc": LossWeights(1.0, 0.1, 0.5, 0.1, 0.1),
}


def _on_photos(method: str, start: str, size: str) -> Recipe:
    """A method above frozen encoders; every size has the same model, as the photographs are few."""
    if start != "towers":
        raise _refuse(method, f"on photos with start={start!r}", 'the frozen encoders are the start: start="towers"')
    if method in WITHOUT_PHOTOS:
        raise _refuse(method, "on photos", "choose another method, such as fne, itcontrast, scan or tags")
    if method in CROSS:
        return Recipe(
            name=method,
            size=size,
            model=PHOTO_CROSS_ENCODER,
            loss=None,
            optimiser=replace(PHOTO_OPTIMISER, learning_rate=2e-3, schedule="linear", warm_up_share=0.1),
            data=replace(PHOTO_DATA, steps=160, validation=0, warm_up_epochs=0),
            tags=TagsSettings(
                PHOTO_WEIGHTS[method],
                **{"generator": "vse_c", "hardest": 1, "correction": "replaced", "kept_weight": 0.3},
                **{"matching": "contrast", "matching_begins": 0.62, "mining": "batch", "candidates": 3, "top_k": 1},
                **{"alignment": 1.0, "alignment_temperature": 0.1, "probability": 0.2},
            ),
        )
    parts = dict(DUAL.get(method, {}))
    if parts.pop("memory", False):
        parts["memory"] = TINY_MEMORY if size == "tiny" else MemorySettings(8192, 0.995)
    if isinstance(parts.get("sampler"), FalseNegativeEliminating):
        parts["sampler"] = replace(TINY_FNE, prior=0.01)
    if "sampler" in parts:
        parts["sampler"] = tuned(parts["sampler"], **PHOTO_NUMBERS)
    model = replace(PHOTO_ENCODER, kind=MATCHERS.get(method, "vsepp"))
    warm_up = InfoNCE(PHOTO_NUMBERS["temperature"])
    return Recipe(method, size, model, optimiser=PHOTO_OPTIMISER, data=PHOTO_DATA, warm_up=warm_up, **parts)


# What the authors' released code has and their paper does not say, or says otherwise (the tables of METHODS).

# TAGS' scripts (LibertFan/TAGS, `run_cmds`): learning rate, steps, batches of 32 a step, τ, how many retrieved and made
# negatives are kept, λ of MLM, of ISTM, and of WoD and WoC.
SCRIPTS = {
    ("tags", "base", "released"): (5e-5, 5000, 4, 2.0, 31, 0.05, 5e-4, 0.0),
    ("tags", "large", "released"): (5e-5, 5000, 8, 2.0, 23, 0.05, 1e-3, 0.0),
    ("tags_dc", "base", "released"): (1e-5, 1500, 8, 1.5, 31, 0.1, 5e-4, 5e-4),
    ("tags_dc", "large", "released"): (1e-5, 5000, 8, 1.5, 23, 0.05, 5e-4, 5e-4),
    ("tags", "base", "released_coco"): (5e-5, 5000, 8, 1.5, 31, 0.01, 5e-5, 0.0),
    ("tags", "large", "released_coco"): (4e-5, 5000, 8, 1.5, 23, 0.05, 1e-3, 0.0),
    ("tags_dc", "base", "released_coco"): (1e-5, 1500, 8, 1.5, 31, 0.05, 1e-4, 5e-4),
    ("tags_dc", "large", "released_coco"): (1e-5, 1500, 8, 1.5, 31, 0.05, 1e-4, 5e-4),
}
RELEASED: dict[tuple[str, str], dict[str, Any]] = {
    ("fne", "base"): {
        "model": DualEncoderConfig.base("released"),
        "sampler__preset": "released",
        "memory__length": 8224,
        "optimiser__precision": "float32",
        **{"data__crop": (0.5, 1.0), "data__flip": 0.5, "data__randaugment": (2, 7)},
    },
    **{("sam", size): {"adaptive_margin__preset": "released", "adaptive_margin__weight": 5.0} for size in SIZES},
    **{
        (name, "base"): {"model": LateInteractionConfig.base(MATCHERS[name], preset="released")}
        for name in ("scan", "scan_i2t", "sgr", "saf")
    },
    ("vsrn", "base"): {
        "model": LateInteractionConfig.base("vsrn", preset="released"),
        "optimiser__milestones": (10, 20),  # on Flickr30K
    },
}


def released_recipes() -> list[tuple[str, str, str]]:
    """Name, size and preset of every recipe that follows released code."""
    return [*((name, size, "released") for name, size in RELEASED), *SCRIPTS]


def _released(method: str, on: str, size: str, preset: str) -> dict[str, Any]:
    """The changes that make the paper's recipe the released code's."""
    if on == _usual_view(method) and (method, size, preset) in released_recipes():
        return (
            RELEASED[method, size]
            if preset == "released" and (method, size) in RELEASED
            else _script(*SCRIPTS[method, size, preset])
        )
    known = ", ".join(f"{name} {known_size} {known_preset}" for name, known_size, known_preset in released_recipes())
    raise _refuse(method, f"with preset={preset!r} in size {size} on {on}", f"there are {known}")


def _script(rate: float, steps: int, together: int, temperature: float, kept: int, *weights: float) -> dict[str, Any]:
    return {
        **{"optimiser__learning_rate": rate, "data__steps": steps, "data__accumulate": together},
        **{"tags__temperature": temperature, "tags__weights": LossWeights(1.0, *weights, weights[-1])},
        **{"tags__top_k": kept, "tags__hardest": kept, "tags__filtered": False},
        **{"tags__correction": "masked", "tags__kept_weight": 0.11, "tags__word_means": "captions"},
    }
