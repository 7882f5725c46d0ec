"""The named recipes: `itmlab.recipes.fne` is tiny (two CPU cores, minutes), `get("fne", "base")` the paper's size.

Three families, by what their models are: dual encoders (FNE, SAM and their baselines), cross-encoders (TAGS-DC), and
encoders of regions and words (ITContrast). Base and large carry the papers' numbers. Tiny ones begin, as the papers'
do, with encoders that see and read: dual encoders with a ViT and a BERT that are aligned, or "+regions" with one that
reads what a detector saw. "+scratch" are the same from random weights.

>>> get("fne", "base").sampler.prior, get("fne", "base").data.batch_size, get("tags_dc", "large").tags.hardest
(0.0001, 32, 23)
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
from .photographs import PHOTOS, photo_recipe
from .recipe import Recipe
from .settings import (
    DataSettings,
    MemorySettings,
    OptimiserSettings,
    TagsSettings,
    TowerSettings,
)

# Dual encoders: base is FNE's A.2 (METHODS 1.5): ViT-base and BERT-base, B = 32, K = 8192, Adam 2e-5, a tenth of it
# from epochs 5 and 15 of 25. The released code clips at 2 the gradient of the mean over the batch, as ours is.
PAPER = {"memory": MemorySettings(8192, 0.995), "optimiser": OptimiserSettings(), "data": DataSettings()}
TINY_OPTIMISER = OptimiserSettings(
    kind="adamw", learning_rate=1e-3, schedule="cosine", milestones=(), warm_up=1.0, clip=2.0, weight_decay=0.05
)
# Tiny: 300 steps more of a start that sees, in the paper's batches (FNE, A.2) of one caption a picture; its memory is
# 256 of them long, this one 64. Margin, prior and temperature were each the best of three trials on validation, over
# regions (METHODS 1.6); over pictures 1e-4 was better there than 3e-4, of FNE and of the hardest negative.
FINE_TUNING = replace(TINY_OPTIMISER, learning_rate=3e-4, warm_up=0.0, warm_up_share=0.1)
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {
        "model": DualEncoderConfig.tiny(),
        "memory": MemorySettings(length=2048, momentum=0.995),
        "optimiser": replace(FINE_TUNING, learning_rate=1e-4),
        "data": DataSettings(batch_size=32, epochs=2, captions_per_image=1, steps=300, validation=100, flip=0.5),
        "start": "vit_dual_encoder",
    },
    "base": {"model": DualEncoderConfig.base(), **PAPER},
    "large": {"model": DualEncoderConfig.large(), **PAPER},
}
TINY_MARGIN, TINY_TEMPERATURE = 0.3, 0.1
# The paper tunes p on its validation set and so do we. Its weights are nearly uniform over cosines; the released code's
# also leave out the easy ones.
TINY_FNE = FalseNegativeEliminating(prior=0.1, preset="released", margin=TINY_MARGIN)
# From random weights: InfoNCE first, as one negative an anchor leads a network that sees nothing nowhere. The prior is
# the share of unannotated pairs that were true in an earlier, plainer edition of scenes.
SCRATCH: dict[str, Any] = {
    "optimiser": TINY_OPTIMISER,
    "data": DataSettings(batch_size=64, epochs=12, captions_per_image=4, warm_up_epochs=6),
    "start": None,
}

# Cross-encoder recipes: pretraining, the baseline UNITER, TAGS and TAGS-DC, and its ablations WM and SG.
#
# Base and large carry the paper's numbers (appendix A.1, Table 5) for Flickr30K, with "+coco" for COCO. The batch, ε of
# Adam and the weight decay, which it does not give, are its released code's and UNITER's, as is all of the pretraining.
# They begin from fresh weights unless `start` names a folder: a public checkpoint read by `models.load_public` and
# saved is one. The tiny ones, over what a detector saw of `scenes`, begin where the one before left off, the first with
# a transformer that is aligned.
CROSS_ENCODER = ("uniter_pretraining", "uniter", "tags", "tags_dc", "wm", "sg")
CROSS_ENCODER += tuple(f"{name}+coco" for name in CROSS_ENCODER[2:])
CROSS_ENCODER_TINY = CrossEncoderConfig(
    **{"visual": "regions", "region_dimension": 192, "hidden": 80, "layers": 3, "heads": 4, "intermediate": 160},
    **{"vocabulary_size": 1000, "maximum_tokens": 48, "maximum_tags": 24, "positions": 96, "dropout": 0.0},
)
CONFIGURATIONS = {"tiny": CROSS_ENCODER_TINY, "base": CrossEncoderConfig.base(), "large": CrossEncoderConfig.large()}
STARTS = {"uniter_pretraining": "region_dual_encoder", "tags_dc": "tags"}
STARTS |= dict.fromkeys(("uniter", "tags", "wm", "sg"), "uniter_pretraining")

PRETRAINING = LossWeights(retrieved=0.5, masked_language=1.0, synthetic=0.0, discrimination=0.0, correction=0.0)
TINY_WEIGHTS = LossWeights(1.0, 0.1, 0.5, 0.1, 0.1)

# Learning rate, steps, pictures a batch and batches a step by size: of the pretraining, of a fine-tuning (NSG), of the
# second stage (NSGDC). In the released scripts a step has 8 processes' 16 (first, base, Flickr30K) or 32 pictures.
STAGES = {
    "tiny": {"uniter_pretraining": (2e-3, 12000, 64, 1), "first": (3e-4, 200, 32, 1), "second": (3e-4, 200, 32, 1)},
    "base": {"uniter_pretraining": (5e-5, 200_000, 64, 2), "first": (5e-5, 5000, 32, 4), "second": (1e-5, 1500, 32, 8)},
    "large": {
        "uniter_pretraining": (5e-5, 200_000, 64, 2),
        "first": (4e-5, 5000, 32, 8),
        "second": (1e-5, 1500, 32, 8),
    },
}
# How many negatives are drawn and kept, how many sentences made and kept.
PAPER_NUMBERS = {"candidates": 399, "top_k": 31, "maskings": 20, "samples": 20, "hardest": 31, "trained_maskings": 20}
NUMBERS: dict[str, dict[str, Any]] = {
    "tiny": {"candidates": 15, "top_k": 3, "maskings": 4, "samples": 5, "hardest": 5, "trained_maskings": 1},
    "base": PAPER_NUMBERS,
    "large": {**PAPER_NUMBERS, "hardest": 23},
}
# From scratch: words told from pictures and both read apart and aligned; then also matching, by choice among random
# negatives (triplets with the hardest of a young tower end with all scores equal).
FROM_SCRATCH: dict[str, Any] = {"matching": "contrast", "matching_begins": 0.6, "alignment": 0.5, "candidates": 3}
FROM_SCRATCH |= {"top_k": 3, "masking": "word", "probability": 0.25}
# From a transformer that reads both apart and aligned, and is to stay so: matching by what comes near apart, mined in
# the batch, where "candidates" say nothing.
FROM_ALIGNED: dict[str, Any] = {"matching": "contrast", "matching_begins": 0.5, "alignment": 0.2, "candidates": 15}
FROM_ALIGNED |= {"top_k": 1, "masking": "word", "probability": 0.3, "alignment_temperature": 0.05, "mining": "batch"}
# In tiny few words are replaced and few steps are left to find them: a network that copies every word would do well.
TINY_WORDS: dict[str, Any] = {"correction": "replaced", "kept_weight": 0.3}


def cross_encoder_recipe(name: str, size: str) -> Recipe:
    """One of `CROSS_ENCODER` at a size."""
    method, _, data = name.partition("+")
    first = method == "uniter_pretraining"
    # in tiny each picture once an epoch, and then a look at a few pictures held out
    served = {"captions_per_image": 1, "validation": 0 if first else 50, "regions": "detector"}
    rate, steps, batch, together = STAGES[size][method if first else "second" if method == "tags_dc" else "first"]
    if data and size != "tiny":
        together = 8
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
            warm_up_share=0.03 if first else 0.1,
            betas=(0.9, 0.98),
            clip=2.0,
            weight_decay=0.05 if size == "tiny" else 0.01,
            epsilon=1e-8 if size == "tiny" else 1e-6,
        ),
        data=DataSettings(batch_size=batch, accumulate=together, steps=steps, **(served if size == "tiny" else {})),
        tags=tags_settings(method, size, data or "flickr30k"),
        start=STARTS.get(method) if size == "tiny" else None,
    )


def tags_settings(name: str, size: str, data: str = "flickr30k") -> TagsSettings:
    """What a recipe minimises, of which size and data the numbers are."""
    full = TINY_WEIGHTS if size == "tiny" else PAPER_WEIGHTS[data, size]
    numbers = {**NUMBERS[size], "implied": size == "tiny"}
    if name == "uniter_pretraining":
        aligned = FROM_ALIGNED if size == "tiny" else {}
        return TagsSettings(PRETRAINING, **{**numbers, **FROM_SCRATCH, **aligned, "trained_maskings": 1})
    if name == "uniter":
        return TagsSettings(full.irtm_only(), **numbers)
    if name == "tags_dc":
        return TagsSettings(full, **numbers, **(TINY_WORDS if size == "tiny" else {}))
    return TagsSettings(
        full.nsg_only(),
        masking="word" if name == "wm" else "phrase",
        generator="static" if name == "sg" else "dynamic",
        **numbers,
    )


# The recipes of ITContrast's tables: encoders that read regions and words apart, with and without its parts.
#
# "+syn" adds hard negatives synthesised in feature space (SynHNC), "+info" takes InfoCMR for the loss; `itcontrast`
# is "oscar+syn+info". SCAN and SGRAF compare regions with words, which synthetic negatives and noise have not: with
# these they learn by their global features as well, and "+features" is that alone, the control.
#
# Base carries each encoder's own paper's numbers for Flickr30K, and ITContrast's for OSCAR (Sec. 4.1: 20 epochs,
# 2e-5, batches of 128; its AdamW, falling linearly, is OSCAR's habit). These encoders come in one published size:
# large is base but for OSCAR. Tiny is for what the detector saw of `scenes`, `load("scenes", regions=True)`; its OSCAR
# begins, as the paper's does, with a pretrained transformer: the aligned one that ships, whose regions enter in
# UNITER's form.
#
# A gradient goes through the synthesis. Where none does, nothing pushes away what a synthetic negative is made of; in
# a pilot of tiny "oscar+syn" the triplet, which looks at the hardest alone, then stayed at a loss of 2 × margin and
# recall fell.
FRAGMENTS = {"scan": "scan_t2i", "sgraf": "sgraf", "vsrn": "vsrn", "vsepp": "vsepp"}
ENCODERS = (*FRAGMENTS, "oscar")
PARTS = ("", "+syn", "+info", "+syn+info")
CONTROLS = ("scan+features", "sgraf+features")
# Besides, alone: the other kinds of SCAN and SGRAF, and SGRAF on OSCAR's features ("Ours (SGRAF)" of Tables 1 and 2).
ALONE = {"scan_i2t": "scan_i2t", "sgr": "sgr", "saf": "saf"}
CONTRAST = (
    *(encoder + parts for encoder in ENCODERS for parts in PARTS),
    *CONTROLS,
    "itcontrast",
    *ALONE,
    "oscar_sgraf",
)

# The released code of VSE++, SCAN, SGRAF and VSRN sums hinges over a batch of 128, to which VSRN adds the mean of what
# writing costs, and clips at 2 the gradient of that. Ours are means: hence a 128th of the clip, and of the writing.
SUMMED = 128
WRITING, CLIP = 1 / SUMMED, 2.0 / SUMMED
TINY_OSCAR = OscarDualEncoderConfig(**parameters(CROSS_ENCODER_TINY))
# Epochs, and when the rate falls to a tenth.
EPOCHS = {"sgraf": (40, 30), "sgr": (40, 30), "saf": (30, 20)}
USUAL_EPOCHS = (30, 15)


def contrast_recipe(name: str, size: str) -> Recipe:
    """One of `CONTRAST` at a size."""
    encoder, *parts = ("oscar+syn+info" if name == "itcontrast" else name).split("+")
    return Recipe(
        name=name,
        size=size,
        model=_model(encoder, size),
        loss=InfoCMR() if "info" in parts else TripletLoss(),
        global_features="features" in parts,
        writing=WRITING if encoder == "vsrn" else 0.0,
        synthesis=SynHNC(detach=False) if "syn" in parts else None,
        start={"tiny": "region_dual_encoder"}.get(size, f"oscar_{size}") if encoder.startswith("oscar") else None,
        **(_published(encoder) if size != "tiny" else TINY_BY_ENCODER.get(encoder, CONTRAST_TINY)),
    )


def _model(encoder: str, size: str) -> LateInteractionConfig | OscarDualEncoderConfig:
    if not encoder.startswith("oscar"):
        of_size = LateInteractionConfig.tiny if size == "tiny" else LateInteractionConfig.base
        return of_size((FRAGMENTS | ALONE)[encoder])
    sizes = {"tiny": TINY_OSCAR, "base": CrossEncoderConfig.base("oscar"), "large": CrossEncoderConfig.large("oscar")}
    model = OscarDualEncoderConfig(**parameters(sizes[size]))
    if encoder == "oscar":
        return model
    small = {"similarity_dimension": 32, "matcher_dropout": 0.0} if size == "tiny" else {}
    return replace(model, matcher="sgraf", **small)


# InfoNCE first, as all do that begin from random weights.
CONTRAST_TINY: dict[str, Any] = {
    "optimiser": replace(TINY_OPTIMISER, learning_rate=2e-3),
    "data": DataSettings(
        batch_size=64, epochs=12, captions_per_image=1, warm_up_epochs=6, validation=100, validate_every=2
    ),
}
# With batches of 64 the triplet fell behind, or stayed at, its warm-up on validation (SGRAF's with two seeds of three,
# VSRN's with the only one); with these it ends above. SCAN and SGRAF take no longer so, as a batch of theirs costs the
# square of its pairs.
SMALL_BATCHES = {**CONTRAST_TINY, "data": replace(CONTRAST_TINY["data"], batch_size=32)}
# The pretrained one needs no warm-up and small steps.
PRETRAINED = {
    "optimiser": replace(CONTRAST_TINY["optimiser"], learning_rate=3e-4),
    "data": replace(CONTRAST_TINY["data"], epochs=6, warm_up_epochs=0, validate_every=1),
}
TINY_BY_ENCODER = {
    **dict.fromkeys(("scan", "sgraf", "vsrn", *ALONE), SMALL_BATCHES),
    **{"oscar": PRETRAINED, "oscar_sgraf": {**PRETRAINED, "data": replace(PRETRAINED["data"], batch_size=32)}},
}


def _published(encoder: str) -> dict[str, Any]:
    if encoder.startswith("oscar"):
        optimiser = OptimiserSettings(
            kind="adamw", learning_rate=2e-5, schedule="linear", milestones=(), weight_decay=0.05
        )
        return {"optimiser": optimiser, "data": DataSettings(batch_size=128, epochs=20)}
    epochs, falls = EPOCHS.get(encoder, USUAL_EPOCHS)
    optimiser = OptimiserSettings(kind="adam", learning_rate=2e-4, schedule="step", milestones=(falls,), clip=CLIP)
    return {"optimiser": optimiser, "data": DataSettings(batch_size=128, epochs=epochs)}


def _region_dual_encoder(size: str) -> Recipe:
    """InfoNCE from scratch on a transformer that reads what a detector saw, and captions, apart: a start that sees."""
    recipe = contrast_recipe("oscar", size)
    if size == "tiny":
        data = {"batch_size": 128, "epochs": 16, "captions_per_image": 3, "validation": 100, "validate_every": 2}
        fresh = {"start": None, "optimiser": replace(TINY_OPTIMISER, learning_rate=2e-3)}
        recipe = replace(recipe, data=DataSettings(**data, regions="detector"), **fresh)
    return replace(recipe, name="region_dual_encoder", loss=InfoNCE())


def _on_regions(name: str, size: str) -> Recipe:
    """A method of dual encoders, "+regions", as 300 steps more of `region_dual_encoder`."""
    method, start = get(name.removesuffix("+regions"), size), _region_dual_encoder(size)
    if size == "tiny":
        data = replace(start.data, batch_size=32, captions_per_image=1, epochs=2, steps=300, validation=0)
        start = replace(start, start=start.name, data=data, optimiser=FINE_TUNING)
    changes = {field: getattr(method, field) for field in ("loss", "sampler", "memory", "adaptive_margin", "warm_up")}
    return replace(start, name=name, **changes)


def _from_scratch(name: str, size: str) -> Recipe:
    """A method of dual encoders, "+scratch", from random weights, at any size."""
    method = get(name.removesuffix("+scratch"), size)
    if size != "tiny":
        fresh = replace(method.model, image_pretrained=None, text_pretrained=None)
        return replace(method, name=name, model=fresh)
    numbers = {"margin": 0.2, "temperature": 0.05}
    sampler = tuned(method.sampler, **numbers)
    if isinstance(sampler, FalseNegativeEliminating):
        sampler = replace(sampler, prior=0.01)
    loss, warm_up = tuned(method.loss, **numbers), tuned(method.warm_up, **numbers)
    return replace(method, name=name, loss=loss, sampler=sampler, warm_up=warm_up, **SCRATCH)


# What sets the methods apart: their loss, their sampler, and whether negatives also come from a momentum memory.
METHODS: dict[str, dict[str, Any]] = {
    "triplet": {"loss": TripletLoss(reduce="sum")},
    "hardest": {"loss": TripletLoss()},
    "semi_hard": {"sampler": SemiHard()},
    "retrieved": {"sampler": Retrieved(), "memory": True},
    "hardest_memory": {"sampler": Hardest(), "memory": True},  # Table 3, without FNE
    # controls: the same, of what the data's world calls false, and of what it calls true though not annotated
    "oracle_true_negatives": {"sampler": Oracle(), "memory": True},
    "oracle_false_negatives": {"sampler": Oracle("false_negatives"), "memory": True},
    "fne_without_memory": {"sampler": FalseNegativeEliminating()},  # Table 3, without MMM
    "fne": {"sampler": FalseNegativeEliminating(), "memory": True},
    # SAM beside the loss of its baselines; farthest negatives and τ = 10, as the paper says is best on the whole (5.4)
    "sam": {"loss": TripletLoss(), "adaptive_margin": SemanticAdaptiveMargin()},
    "info_nce": {"loss": InfoNCE()},
}
DUAL_ENCODERS = tuple(METHODS)
ON_REGIONS = tuple(f"{name}+regions" for name in DUAL_ENCODERS)
FROM_RANDOM = tuple(f"{name}+scratch" for name in DUAL_ENCODERS)
STARTING: dict[str, dict[str, Any]] = {  # what those begin with
    "towers": {"loss": None, "sampler": None, "towers": TowerSettings()},
    "vit_dual_encoder": {"loss": InfoNCE()},
}
METHODS |= STARTING
OTHERS = (*CROSS_ENCODER, *CONTRAST, "region_dual_encoder", *ON_REGIONS, *FROM_RANDOM, *PHOTOS)
METHODS |= {name: {} for name in OTHERS}


def names() -> list[str]:
    """The names of all recipes."""
    return list(METHODS)


# Towers see and read before they are aligned, as the papers' do; nothing is matched in them, so that there is no recall
# to look at.
STARTS_DATA = {
    "towers": DataSettings(batch_size=64, epochs=8, captions_per_image=2, validation=0),
    "vit_dual_encoder": DataSettings(
        **{"batch_size": 128, "epochs": 16, "steps": 2400, "captions_per_image": 2, "flip": 0.5},
        **{"validation": 200, "validate_every": 2},
    ),
}

# TAGS' released scripts (LibertFan/TAGS, `run_cmds`): learning rate, steps, batches of 32 a step, τ, how many retrieved
# and made negatives are kept, λ of MLM, of ISTM, and of WoD and WoC; and its losses of words.
SCRIPTS = {
    ("tags", "base"): (5e-5, 5000, 4, 2.0, 31, 0.05, 5e-4, 0.0),
    ("tags", "large"): (5e-5, 5000, 8, 2.0, 23, 0.05, 1e-3, 0.0),
    ("tags_dc", "base"): (1e-5, 1500, 8, 1.5, 31, 0.1, 5e-4, 5e-4),
    ("tags_dc", "large"): (1e-5, 5000, 8, 1.5, 23, 0.05, 5e-4, 5e-4),
    ("tags+coco", "base"): (5e-5, 5000, 8, 1.5, 31, 0.01, 5e-5, 0.0),
    ("tags+coco", "large"): (4e-5, 5000, 8, 1.5, 23, 0.05, 1e-3, 0.0),
    ("tags_dc+coco", "base"): (1e-5, 1500, 8, 1.5, 31, 0.05, 1e-4, 5e-4),
    ("tags_dc+coco", "large"): (1e-5, 1500, 8, 1.5, 31, 0.05, 1e-4, 5e-4),
}
RELEASED_WORDS = {"tags__correction": "masked", "tags__kept_weight": 0.11, "tags__word_means": "captions"}
RELEASED_WORDS |= {"tags__filtered": False}


def _script(rate: float, steps: int, together: int, temperature: float, kept: int, *weights: float) -> dict[str, Any]:
    """One of SCRIPTS as changes of a recipe."""
    steps = {"optimiser__learning_rate": rate, "data__steps": steps, "data__accumulate": together}
    words = {"tags__temperature": temperature, "tags__weights": LossWeights(1.0, *weights, weights[-1])}
    return {**steps, **words, "tags__top_k": kept, "tags__hardest": kept, **RELEASED_WORDS}


# What the authors' released code has and their paper does not say, or says otherwise (the tables of METHODS).
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
        (name, "base"): {"model": LateInteractionConfig.base(kind, preset="released")}
        for name, kind in {"scan": "scan_t2i", **ALONE}.items()
    },
    ("vsrn", "base"): {
        "model": LateInteractionConfig.base("vsrn", preset="released"),
        "optimiser__milestones": (10, 20),  # on Flickr30K
    },
    **{name: _script(*values) for name, values in SCRIPTS.items()},
}


def get(name: str, size: str = "tiny", preset: str = "paper") -> Recipe:
    """The recipe of that name and size; an unknown one is an ItmlabError with the nearest name.

    `preset="released"` is the authors' released code, of those in RELEASED.

    >>> get("fne", "base", preset="released").data.randaugment
    (2, 7)
    """
    if preset != "paper":
        if preset != "released" or (name, size) not in RELEASED:
            there = ", ".join(" ".join(one) for one in RELEASED)
            raise ItmlabError(f"no preset {preset!r} of {name} in size {size}", remedy=f"'released' is of {there}")
        return get(name, size).replace(**RELEASED[name, size])
    if name not in METHODS:
        raise ItmlabError(f"no recipe {name!r}", remedy=did_you_mean(name, METHODS))
    if size not in SIZES:
        raise ItmlabError(f"no size {size!r}", remedy=did_you_mean(size, SIZES))
    if name in CROSS_ENCODER:
        return cross_encoder_recipe(name, size)
    if name in CONTRAST:
        return contrast_recipe(name, size)
    if name == "region_dual_encoder":
        return _region_dual_encoder(size)
    if name in ON_REGIONS:
        return _on_regions(name, size)
    if name in FROM_RANDOM:
        return _from_scratch(name, size)
    if name in PHOTOS:
        return photo_recipe(name, size)
    method = METHODS[name]
    memory = SIZES[size]["memory"] if method.get("memory") else None
    sizes = dict(SIZES[size])
    if name in STARTING and (size == "tiny" or name == "towers"):
        sizes["data"] = STARTS_DATA[name]
    if name in STARTING and size == "tiny":
        sizes |= {"optimiser": TINY_OPTIMISER, "start": {"vit_dual_encoder": "towers"}.get(name)}
    recipe = Recipe(name=name, size=size, **{**sizes, **method, "memory": memory})
    if size != "tiny" or name in STARTING:
        return recipe
    numbers = {"margin": TINY_MARGIN, "temperature": TINY_TEMPERATURE}
    is_fne = isinstance(recipe.sampler, FalseNegativeEliminating)
    sampler = TINY_FNE if is_fne else tuned(recipe.sampler, **numbers)
    warm_up = InfoNCE(TINY_TEMPERATURE)
    return replace(recipe, loss=tuned(recipe.loss, **numbers), sampler=sampler, warm_up=warm_up)


def tuned(component: Component | None, **numbers: float) -> Any:
    """A copy of a component with those numbers that it has parameters for."""
    if component is None:
        return None
    return replace(component, **{name: value for name, value in numbers.items() if hasattr(component, name)})


def __getattr__(name: str) -> Recipe:
    if name.startswith("_") or name not in METHODS:
        raise AttributeError(f"module 'itmlab.recipes' has no recipe {name!r}; {did_you_mean(name, METHODS)}")
    return get(name)


def __dir__() -> list[str]:
    return sorted([*METHODS, "get", "names"])
