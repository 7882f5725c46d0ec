"""Recipes by axes: `recipe("fne", on="regions", start="towers", size="tiny", preset="paper")`.

A name is a method; the axes say what the model looks at, what its weights begin with, how large it is, and whether the
paper or its released code is followed. Base and large carry the papers' numbers; tiny is for two cores and minutes.
"""

from dataclasses import replace
from typing import Any

from ..components import Component, parameters
from ..errors import ItmlabError
from ..fields import check_known
from ..losses import InfoCMR, InfoNCE, SemanticAdaptiveMargin, TripletLoss
from ..losses.tags import PAPER_WEIGHTS, LossWeights
from ..models import CrossEncoderConfig, DualEncoderConfig, LateInteractionConfig, OscarDualEncoderConfig
from ..samplers import FalseNegativeEliminating, Hardest, Oracle, SemiHard
from ..synthesis import SynHNC
from .recipes import Recipe
from .settings import DataSettings, MemorySettings, OptimiserSettings, TagsSettings, TowerSettings

SIZES = ("tiny", "base", "large")
VIEWS = ("pictures", "regions", "photos")
STARTS = ("towers", "aligned", "scratch")
PRESETS = ("paper", "released")

# Methods of dual encoders differ in loss, sampler and margin, and in whether negatives also come from a memory.
MEMORY = MemorySettings(length=8192, momentum=0.995)
DUAL: dict[str, dict[str, Any]] = {
    "triplet": {"loss": TripletLoss(reduce="sum")},
    "hardest": {"loss": TripletLoss()},
    "semi_hard": {"sampler": SemiHard()},
    "hardest_memory": {"sampler": Hardest(), "memory": MEMORY},  # FNE, Table 3, without FNE
    # controls: what the data's world calls false, and what it calls true though it is not annotated
    "oracle_true_negatives": {"sampler": Oracle(), "memory": MEMORY},
    "oracle_false_negatives": {"sampler": Oracle("false_negatives"), "memory": MEMORY},
    "fne_without_memory": {"sampler": FalseNegativeEliminating()},  # FNE, Table 3, without MMM
    "fne": {"sampler": FalseNegativeEliminating(), "memory": MEMORY},
    # farthest negatives and τ = 10, which the paper calls best overall (Sec. 5.4)
    "sam": {"loss": TripletLoss(), "adaptive_margin": SemanticAdaptiveMargin()},
    "info_nce": {"loss": InfoNCE()},
}
CROSS = ("uniter", "tags", "tags_dc", "wm", "sg")  # wm and sg are ablations of TAGS
# Encoders of regions and words; SCAN and SGRAF compare the parts.
MATCHERS = ("vsepp", "scan", "scan_i2t", "sgr", "saf", "sgraf", "vsrn")
KINDS = {"scan": "scan_t2i"}  # names of `LateInteractionConfig` that differ
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
    """Return the names of all methods, without parts."""
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
        preset: "paper", or "released" for the authors' code.

    Raises:
        ItmlabError: there is no such method or value of an axis, or they do not go together.

    >>> recipe("fne", size="base", preset="released").data.randaugment
    (2, 7)
    """
    method, *parts = name.split("+")
    on, start = on or _usual_view(method), start or "towers"
    axes = [(method, names(), "recipe"), (size, SIZES, "size"), (preset, PRESETS, "preset")]
    axes += [(on, VIEWS, "value of `on`"), (start, STARTS, "start")]
    for value, known, axis in axes + [(part, list(PARTS), "part of a recipe") for part in parts]:
        check_known(value, known, axis)
    changes: dict[str, Any] = {}
    for part in ("syn", "info") if method == "itcontrast" else parts:
        changes |= PARTS[part]
    complete = _of_method(method, on, start, size).replace(**changes)
    if on == "photos" and complete.loss is not None:
        complete = replace(complete, loss=tuned(complete.loss, **PHOTO_NUMBERS))
    complete = replace(complete, name=name)
    return complete.replace(**_released(method, on, size)) if preset == "released" else complete


def _usual_view(method: str) -> str:
    return "pictures" if method in DUAL or method in ("towers", "vit_dual_encoder") else "regions"


def _refuse(method: str, axes: str, remedy: str) -> ItmlabError:
    return ItmlabError(f"{method} has no recipe {axes}", remedy=remedy)


def _of_method(method: str, on: str, start: str, size: str) -> Recipe:
    """The paper's recipe of a method without parts."""
    if method in PRETRAINING:
        return _pretraining(method, size)
    if on == "photos":
        return _on_photos(method, start, size)
    if method in DUAL:
        return _dual_encoder(method, on, start, size)
    if on == "pictures":
        raise _refuse(method, "on pictures", 'it reads regions: on="regions" or "photos"')
    if method in CROSS:
        return _cross_encoder(method, start, size)
    return _oscar(method, start, size) if method in OSCAR else _matcher(method, start, size)


def tuned(component: Component, **numbers: float) -> Any:
    """Return a copy of a component with those of the numbers that it has parameters for."""
    return replace(component, **{name: value for name, value in numbers.items() if hasattr(component, name)})


# Dual encoders. Base is FNE's A.2 (METHODS 1.5): ViT-base and BERT-base, B = 32, K = 8192, Adam 2e-5, a tenth of it
# from epochs 5 and 15 of 25. The released code clips at 2 the gradient of the mean over the batch, as ours is.
TINY_OPTIMISER = OptimiserSettings(
    kind="adamw", learning_rate=1e-3, schedule="cosine", milestones=(), warm_up=1.0, clip=2.0, weight_decay=0.05
)
FINE_TUNING = replace(TINY_OPTIMISER, learning_rate=3e-4, warm_up=0.0, warm_up_share=0.1)
# The paper's memory is 256 batches long, this one 64. Margin, prior and temperature were each the best of three trials
# on validation (R1 of the report). The paper tunes p on its validation set, and so do we; its weights are nearly
# uniform over cosines, the released code's also leave out the easy ones.
TINY_MEMORY = MemorySettings(length=2048, momentum=0.995)
TINY_NUMBERS = {"margin": 0.3, "temperature": 0.1}
SCRATCH_NUMBERS = {"margin": 0.2, "temperature": 0.05}
PHOTO_NUMBERS = {"margin": 0.2, "temperature": 0.1}
# From encoders that are not aligned InfoNCE comes first: one negative per anchor cannot lead a network that cannot
# tell any pair from another.
UNALIGNED = DataSettings(batch_size=32, epochs=4, captions_per_image=1, warm_up_epochs=2, validation=100)
ALIGNED = DataSettings(batch_size=32, epochs=2, captions_per_image=1, steps=300, validation=100)
SCRATCH = DataSettings(batch_size=64, epochs=12, captions_per_image=4, warm_up_epochs=6)
# What the model looks at and begins with -> the weights to begin from, how pairs are served, how weights move.
TINY_DUAL = {
    ("pictures", "towers"): ("towers", replace(UNALIGNED, flip=0.5), TINY_OPTIMISER),
    ("pictures", "aligned"): ("vit_dual_encoder", replace(ALIGNED, flip=0.5), replace(FINE_TUNING, learning_rate=1e-4)),
    ("pictures", "scratch"): (None, SCRATCH, TINY_OPTIMISER),
    ("regions", "towers"): ("region_towers", replace(UNALIGNED, regions="detector"), TINY_OPTIMISER),
    ("regions", "aligned"): ("region_dual_encoder", replace(ALIGNED, validation=0, regions="detector"), FINE_TUNING),
    ("regions", "scratch"): (None, replace(SCRATCH, regions="detector"), TINY_OPTIMISER),
}


def _dual_encoder(method: str, on: str, start: str, size: str) -> Recipe:
    """A method of dual encoders on pictures or regions."""
    if size == "tiny":
        weights, data, optimiser = TINY_DUAL[on, start]
        numbers, prior = (SCRATCH_NUMBERS, 0.01) if start == "scratch" else (TINY_NUMBERS, 0.1)
        model = DualEncoderConfig.tiny() if on == "pictures" else TINY_OSCAR
        parts = _small_parts(method, numbers, prior)
        warm_up = InfoNCE(numbers["temperature"])
        return Recipe(method, size, model, optimiser=optimiser, data=data, start=weights, warm_up=warm_up, **parts)
    if start == "aligned":
        raise _refuse("base and large", "with start='aligned'", "train info_nce first, and replace(start=DIRECTORY)")
    if on == "regions":
        return replace(_oscar("oscar", start, size), **{"loss": TripletLoss(), **DUAL[method]})
    # on pictures the towers are public checkpoints
    model = DualEncoderConfig.base() if size == "base" else DualEncoderConfig.large()
    if start == "scratch":
        model = replace(model, image_pretrained=None, text_pretrained=None)
    return Recipe(method, size, model, **DUAL[method])


def _small_parts(method: str, numbers: dict[str, float], prior: float) -> dict[str, Any]:
    """The parts of a method at the size for two cores."""
    parts = {"loss": TripletLoss(), **DUAL[method]}
    if "memory" in parts:
        parts["memory"] = TINY_MEMORY
    if isinstance(parts.get("sampler"), FalseNegativeEliminating):
        parts["sampler"] = FalseNegativeEliminating(prior=prior, preset="released")
    return parts | {name: tuned(parts[name], **numbers) for name in ("loss", "sampler") if name in parts}


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
    data = DataSettings(batch_size=128, epochs=16, validate_every=2, regions=regions)
    if on_regions:
        data = replace(data, captions_per_image=3, validation=100)
        optimiser = replace(TINY_OPTIMISER, learning_rate=2e-3)
        return Recipe(method, size, model, loss=InfoNCE(), optimiser=optimiser, data=data)
    data = replace(data, steps=2400, captions_per_image=2, flip=0.5, validation=200)
    return Recipe(method, size, model, loss=InfoNCE(), optimiser=TINY_OPTIMISER, data=data, start="towers")


# Cross-encoders: the baseline UNITER, TAGS and TAGS-DC, and the ablations WM and SG.
#
# Base and large carry the paper's numbers for Flickr30K (appendix A.1, Table 5). The batch, ε of Adam and the weight
# decay, which it does not give, are its released code's and UNITER's. They begin from fresh weights unless `start`
# names a folder, for example a public checkpoint read by `models.load_public`. The tiny ones, over what a detector saw
# of `scenes`, begin with the shipped run of UNITER's pretraining, and the second stage where the first one left off.
TINY_CROSS_ENCODER = CrossEncoderConfig(
    **{"visual": "regions", "region_dimension": 192, "hidden": 80, "layers": 3, "heads": 4, "intermediate": 160},
    **{"vocabulary_size": 1000, "maximum_tokens": 48, "positions": 96, "dropout": 0.0},
)
TINY_OSCAR = OscarDualEncoderConfig(**parameters(TINY_CROSS_ENCODER))

# Weights of the losses: retrieved, masked language, synthetic, discrimination, correction.
TINY_WEIGHTS = LossWeights(1.0, 0.1, 0.5, 0.1, 0.1)
# Learning rate, steps, and batches of 32 pictures a step: of the first stage (NSG) and of the second one (NSGDC). In
# the released scripts a step has 8 processes' 16 (first, base) or 32 pictures.
STAGES = {
    "tiny": ((3e-4, 200, 1), (3e-4, 200, 1)),
    "base": ((5e-5, 5000, 4), (1e-5, 1500, 8)),
    "large": ((4e-5, 5000, 8), (1e-5, 1500, 8)),
}
# How many negatives are drawn and kept, how many sentences generated and kept; the paper's are the defaults.
NUMBERS: dict[str, dict[str, Any]] = {
    "tiny": {"candidates": 15, "top_k": 3, "maskings": 4, "samples": 5, "hardest": 5, "implied": True},
    "base": {"trained_maskings": 20},
    "large": {"trained_maskings": 20, "hardest": 23},
}
# In tiny few words are replaced and few steps are left to find them: a network that copies every word would do well.
TINY_WORDS: dict[str, Any] = {"correction": "replaced", "kept_weight": 0.3}


def _cross_encoder(method: str, start: str, size: str) -> Recipe:
    """UNITER, TAGS or an ablation over regions."""
    if start == "aligned":
        raise _refuse(method, "with start='aligned'", 'it begins where the stage before left off: start="towers"')
    is_second, is_tiny = method == "tags_dc", size == "tiny"
    rate, steps, accumulate = STAGES[size][is_second]
    weights, decay, epsilon = PAPER_WEIGHTS.get(("flickr30k", size), TINY_WEIGHTS), 0.01, 1e-6
    model, before = CrossEncoderConfig.large() if size == "large" else CrossEncoderConfig.base(), None
    data = DataSettings(accumulate=accumulate, steps=steps)
    numbers = dict(NUMBERS[size])
    if is_tiny:  # each picture once an epoch, and then a look at a few pictures held out
        data = replace(data, captions_per_image=1, validation=50, regions="detector")
        model, decay, epsilon = TINY_CROSS_ENCODER, 0.05, 1e-8
        before = {"towers": "tags" if is_second else "uniter_pretraining"}.get(start)
    if method == "uniter":
        weights = weights.irtm_only()
    elif not is_second:
        weights, generator = weights.nsg_only(), "static" if method == "sg" else "dynamic"
        numbers |= {"masking": "word" if method == "wm" else "phrase", "generator": generator}
    elif is_tiny:
        numbers |= TINY_WORDS
    optimiser = OptimiserSettings(
        **{"kind": "adamw", "learning_rate": rate, "schedule": "linear", "milestones": (), "warm_up_share": 0.1},
        **{"weight_decay": decay, "betas": (0.9, 0.98), "epsilon": epsilon},
    )
    tags = TagsSettings(weights, **numbers)
    return Recipe(method, size, model, loss=None, optimiser=optimiser, data=data, tags=tags, start=before)


# Encoders of regions and words, the rows of ITContrast's tables.
#
# Base carries each encoder's own paper's numbers for Flickr30K, and ITContrast's for OSCAR (Sec. 4.1: 20 epochs, 2e-5,
# batches of 128; its AdamW with a linear fall is OSCAR's). The matchers come in one published size: large is base.
# The released code of VSE++, SCAN, SGRAF and VSRN sums hinges over a batch of 128, to which VSRN adds the mean cost of
# writing, and clips at 2 the gradient of that. Ours are means: hence a 128th of the clip.
SUMMED = 128
EPOCHS = {"sgraf": (40, 30), "sgr": (40, 30), "saf": (30, 20)}  # and when the rate falls to a tenth
USUAL_EPOCHS = (30, 15)
MATCHER_OPTIMISER = replace(TINY_OPTIMISER, learning_rate=2e-3)
TINY_MATCHER = DataSettings(
    batch_size=64, epochs=12, captions_per_image=1, warm_up_epochs=6, validation=100, validate_every=2
)


def _matcher(method: str, start: str, size: str) -> Recipe:
    """VSE++, SCAN, SGRAF or VSRN over a detector's regions; their words begin with random weights, as in the papers."""
    if start != "towers":
        remedy = "its regions come from a detector, its words from random weights"
        raise _refuse(method, f"with start={start!r}", remedy)
    of_size = LateInteractionConfig.tiny if size == "tiny" else LateInteractionConfig.base
    optimiser = MATCHER_OPTIMISER
    # with batches of 64 the triplet loss of the others stayed at, or fell behind, its warm-up on validation
    data = TINY_MATCHER if method == "vsepp" else replace(TINY_MATCHER, batch_size=32)
    if size != "tiny":
        epochs, falls = EPOCHS.get(method, USUAL_EPOCHS)
        optimiser = OptimiserSettings(learning_rate=2e-4, milestones=(falls,), clip=2.0 / SUMMED)
        data = DataSettings(batch_size=SUMMED, epochs=epochs)
    return Recipe(method, size, of_size(KINDS.get(method, method)), optimiser=optimiser, data=data)


def _oscar(method: str, start: str, size: str) -> Recipe:
    """OSCAR's transformer, which reads regions and captions separately; "oscar_sgraf" compares the parts by SGRAF."""
    of_size = CrossEncoderConfig.large if size == "large" else CrossEncoderConfig.base
    model = TINY_OSCAR if size == "tiny" else OscarDualEncoderConfig(**parameters(of_size("oscar")))
    if method == "oscar_sgraf":
        model = replace(model, matcher="sgraf")
    if size != "tiny":
        if start == "aligned":
            raise _refuse(method, f"in size {size} with start='aligned'", 'start="towers" or "scratch"')
        optimiser = OptimiserSettings(kind="adamw", schedule="linear", milestones=(), weight_decay=0.05)
        data, weights = DataSettings(batch_size=128, epochs=20), f"oscar_{size}" if start == "towers" else None
        return Recipe(method, size, model, optimiser=optimiser, data=data, start=weights)
    data, optimiser = TINY_MATCHER, MATCHER_OPTIMISER
    if start == "aligned":  # needs no warm-up, and small steps
        optimiser = replace(optimiser, learning_rate=3e-4)
        data = replace(data, epochs=6, warm_up_epochs=0, validate_every=1)
    if method == "oscar_sgraf":
        model = replace(model, similarity_dimension=32, matcher_dropout=0.0)
        data = replace(data, batch_size=32)
    return Recipe(method, size, model, optimiser=optimiser, data=data, start=TINY_DUAL["regions", start][0])


# A thousand photographs on two cores, through frozen encoders (extra: photos). A picture is the 7 × 7 grid of
# `models.photographs`, a word its WordLlama vector. A dual encoder learns a linear map of each side's mean, in seconds;
# SCAN, SGRAF and VSRN compare or order the 49 regions; TAGS-DC's cross-encoder begins with the dual encoder's scores.
PHOTO_ENCODER = LateInteractionConfig(
    kind="vsepp",
    **{"photo_encoder": "efficientnet_lite0", "region_dimension": 1280},
    **{"word_vectors": "wordllama", "vocabulary_size": 12000},
    **{"region_mean": 0.235, "region_std": 0.85, "dimension": 256, "word_dimension": 256, "dropout": 0.3},
    **{"maximum_tokens": 48, "similarity_dimension": 32},
)
PHOTO_OPTIMISER = replace(TINY_OPTIMISER, warm_up=0.0)
PHOTO_DATA = DataSettings(batch_size=64, epochs=24, captions_per_image=1, warm_up_epochs=12, validate_every=2)
WITHOUT_PHOTOS = ("oracle_true_negatives", "oracle_false_negatives", "oscar", "oscar_sgraf", *CROSS)


def _on_photos(method: str, start: str, size: str) -> Recipe:
    """A method above frozen encoders; every size has the same model, as the photographs are few."""
    if start != "towers":
        raise _refuse(method, f"on photos with start={start!r}", 'the frozen encoders are the start: start="towers"')
    if method in WITHOUT_PHOTOS:
        raise _refuse(method, "on photos", "choose another method, such as fne, itcontrast or scan")
    parts = _small_parts(method, PHOTO_NUMBERS, prior=0.01) if method in DUAL else {}
    if "memory" in parts and size != "tiny":
        parts["memory"] = MEMORY
    model = replace(PHOTO_ENCODER, kind=KINDS.get(method, method) if method in MATCHERS else "vsepp")
    warm_up = InfoNCE(PHOTO_NUMBERS["temperature"])
    return Recipe(method, size, model, optimiser=PHOTO_OPTIMISER, data=PHOTO_DATA, warm_up=warm_up, **parts)


# What the authors' released code has and their paper does not say, or says otherwise (the tables of METHODS).


def _script(
    rate: float, steps: int, accumulate: int, temperature: float, top_k: int, *weights: float
) -> dict[str, Any]:
    """A script of TAGS (LibertFan/TAGS, `run_cmds`), with λ of MLM, of ISTM, and of WoD and WoC."""
    return {
        **{"optimiser__learning_rate": rate, "data__steps": steps, "data__accumulate": accumulate},
        **{"tags__temperature": temperature, "tags__weights": LossWeights(1.0, *weights, weights[-1])},
        **{"tags__top_k": top_k, "tags__hardest": top_k, "tags__filtered": False},
        **{"tags__correction": "masked", "tags__kept_weight": 0.11, "tags__word_means": "captions"},
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
        (name, "base"): {"model": LateInteractionConfig.base(KINDS.get(name, name), preset="released")}
        for name in ("scan", "scan_i2t", "sgr", "saf", "vsrn")
    },
    ("tags", "base"): _script(5e-5, 5000, 4, 2.0, 31, 0.05, 5e-4, 0.0),
    ("tags", "large"): _script(5e-5, 5000, 8, 2.0, 23, 0.05, 1e-3, 0.0),
    ("tags_dc", "base"): _script(1e-5, 1500, 8, 1.5, 31, 0.1, 5e-4, 5e-4),
    ("tags_dc", "large"): _script(1e-5, 5000, 8, 1.5, 23, 0.05, 5e-4, 5e-4),
}
RELEASED["vsrn", "base"] |= {"optimiser__milestones": (10, 20)}  # on Flickr30K


def _released(method: str, on: str, size: str) -> dict[str, Any]:
    """The changes that make the paper's recipe the released code's."""
    if on != _usual_view(method) or (method, size) not in RELEASED:
        known = ", ".join(map(" ".join, RELEASED))
        raise _refuse(method, f"with preset='released' in size {size} on {on}", f"there are {known}")
    return RELEASED[method, size]
