"""Whatever the table of parts allows takes two steps, and whatever it refuses says why."""

import re
from itertools import product

import pytest
import torch
from accelerate import Accelerator

from itmlab import recipes
from itmlab.book import mixing_tables
from itmlab.errors import ItmlabError
from itmlab.fields import replaced
from itmlab.recipes import mixing
from itmlab.recipes.own import Own
from itmlab.recipes.settings import (
    SAMPLERS,
    AdaptiveMarginSettings,
    ExtraNegatives,
    LossSettings,
    MemorySettings,
    SamplerSettings,
    SynthesisSettings,
)
from itmlab.runs.directory import kind_of
from itmlab.scenes import load
from itmlab.synthesis import Negative
from itmlab.synthesis.export import export_negatives
from itmlab.training.dual_encoder import DualEncoderTask
from itmlab.training.tags import CrossEncoderTask
from tests.refusals import refused
from tests.training.test_dual_encoder import small
from tests.training.test_tags import first_batch
from tests.training.towers import tower
from tests.training.world import micro

SIZE = 4  # pictures of a batch
ENCODERS = {
    "pictures": lambda: micro("info_nce"),
    "vsepp": lambda: small("vsepp"),
    "oscar": lambda: small("oscar"),
    "vsrn": lambda: small("vsrn"),  # which writes, too
    "scan": lambda: small("scan"),
    "sgraf": lambda: small("sgraf"),
    "oscar_sgraf": lambda: small("oscar_sgraf"),
}
WHOLE = ("vsepp", "scan")  # one that gives features, one that compares parts
COMPARING = ("scan", "sgraf", "oscar_sgraf")  # regions with words
LOSSES = [{"loss__kind": kind, "sampler": None} for kind in ("sum_of_hinges", "max_of_hinges", "info_nce", "info_cmr")]
LOSSES += [{"loss__kind": "sampled_triplet", "sampler": {"kind": kind}} for kind in SAMPLERS]
MEMORIES = [{"memory": None}, {"memory": {"length": 9, "momentum": 0.9}}]
MARGINS = [{"adaptive_margin": each} for each in (None, {}, {"with_triplet": False}, {"preset": "released"})]
SYNTHESES = [{"synthesis": None}, {"synthesis": {"clusters": 2}}]
FEATURES_BESIDE = [{"loss__global_features": False}, {"loss__global_features": True}]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return load(images=12, size=32, cache=tmp_path_factory.mktemp("scenes"), regions=True)


@pytest.fixture(scope="module")
def file(scenes, tmp_path_factory):
    def reversed_words(captions, graphs, image_captions, *, generator):
        return [[Negative(" ".join(caption.split()[::-1]))] for caption in captions]

    return str(export_negatives(scenes, reversed_words, tmp_path_factory.mktemp("file") / "n.jsonl", header={}).path)


def mixtures(name, file):
    """Combinations of an encoder with the parts above, in words of `replace`: of WHOLE all, of others every two parts.

    What is minimised is given features or a matrix, and does not know by which encoder.
    """
    sentences = [{"extra_negatives": None}, {"extra_negatives": {"path": file}}]
    axes = [LOSSES, MEMORIES, MARGINS, SYNTHESES, sentences, *([FEATURES_BESIDE] if name in COMPARING else [])]
    for parts in product(*axes):
        if name in WHOLE or sum(part is not axis[0] for part, axis in zip(parts, axes, strict=True)) <= 2:
            yield {field: value for part in parts for field, value in part.items()}


def two_steps(task, model, batch):
    """A step of an epoch in which a memory fills, and one of the next, with all that a step of the loop does."""
    for epoch in (0, 1):
        task.start_epoch(epoch)
        made = task(batch, epoch)
        made.loss.backward()
        norms = [weight.grad.norm() for weight in model.parameters() if weight.grad is not None]
        assert made.loss.isfinite() and norms and torch.stack(norms).isfinite().all()
        with torch.no_grad():
            for weight in model.parameters():
                if weight.grad is not None:
                    weight -= 1e-4 * weight.grad
                weight.grad = None
        task.after_step()
    return made


def refused_by_hand(name, changes):
    """What the table refuses of these, said once more."""
    margin = changes["adaptive_margin"]
    made = changes["synthesis"], changes["extra_negatives"], changes.get("loss__global_features")
    alone = margin is not None and margin.get("with_triplet") is False and any(made)
    released = margin is not None and margin.get("preset") == "released"
    return alone or (changes["memory"] is not None and (released or name in COMPARING))


@pytest.mark.parametrize("name", ENCODERS)
def test_every_combination_that_is_allowed_trains(name, scenes, file):
    base = ENCODERS[name]().replace(data__warm_up_epochs=0, model__dropout=0.0)
    data, accelerator = scenes.split("train"), Accelerator()
    model, batch = kind_of(base.model).build(base.model, data.captions), None
    for changes in mixtures(name, file):
        if refused_by_hand(name, changes):
            refused("wanted (null|false), as", replaced, base, changes)
            continue
        recipe = replaced(base, changes)
        task = DualEncoderTask(recipe, data, model, accelerator, torch.Generator().manual_seed(0))
        batch = batch or first_batch(data, size=SIZE, **task.preparation())
        found = two_steps(task, model, batch)
        assert (found.chosen is not None) == (recipe.sampler is not None or recipe.adaptive_margin is not None)


TAGS = {"tags__matching": ["triplet", "binary", "contrast"], "tags__mining": ["set", "batch"]}
TAGS |= {"tags__generator": ["dynamic", "static", "vse_c", "file"], "tags__masking": ["phrase", "word"]}


@pytest.mark.parametrize("name", ["uniter", "tags_dc"])
def test_every_combination_of_a_cross_encoder_trains(name, scenes, file):
    """Losses of matching and of words, by every generator and by both ways to retrieve."""
    base = tower(name, model__visual="regions", model__region_dimension=192, tags__alignment=0.5, model__dropout=0.0)
    data, accelerator = scenes.split("train"), Accelerator()
    model, batch = kind_of(base.model).build(base.model, data.captions), first_batch(data, size=SIZE)
    for values in product(*TAGS.values()):
        changes = dict(zip(TAGS, values, strict=True))
        if not base.tags.makes_sentences and (changes["tags__generator"] != "dynamic"):
            continue  # which nobody asks
        if changes["tags__generator"] == "file":
            refused("extra_negatives is None, wanted a path", replaced, base, changes)
            changes["extra_negatives"] = {"path": file}
        task = CrossEncoderTask(replaced(base, changes), data, model, accelerator, torch.Generator().manual_seed(0))
        assert set(two_steps(task, model, batch).losses) >= set(base.tags.weights.wanted)


WITH = {
    "dual encoder of pictures": "info_nce",
    "dual encoder of regions (VSE++, OSCAR)": "vsepp",
    "VSRN": "vsrn",
    "late interaction (SCAN, SGRAF)": "sgraf",
    "cross-encoder": "tags_dc",
    "a loss of one negative": {"loss": LossSettings(), "sampler": SamplerSettings()},
    "a loss of all negatives": {"loss": LossSettings("info_nce"), "sampler": None},
    "a sampler": {"sampler": SamplerSettings()},
    "a memory": {"memory": MemorySettings()},
    "an adaptive margin": {"adaptive_margin": AdaptiveMarginSettings()},
    "an adaptive margin alone": {"adaptive_margin": AdaptiveMarginSettings(with_triplet=False)},
    "the released adaptive margin": {"adaptive_margin": AdaptiveMarginSettings(preset="released")},
    "SynHNC": {"synthesis": SynthesisSettings()},
    "sentences of a file": {"extra_negatives": ExtraNegatives("FILE")},
    "global features beside": {"loss__global_features": True},
    "writing": {"loss__writing": 0.1},
    "TAGS: sentences made, losses of words": {"tags": recipes.tags.tags},
    "an own encoder": {"encoder": Own("tests.recipes.ideas:BagOfWords", "0")},
}


@pytest.mark.parametrize("refusal", mixing.REFUSALS, ids=lambda refusal: f"{refusal.one} with {refusal.other}")
def test_a_refusal_names_the_field_and_says_why(refusal):
    one, other = WITH[refusal.one], dict(WITH[refusal.other])
    base = recipes.get(one) if isinstance(one, str) else replaced(recipes.info_nce, one)
    if one == "tags_dc" and "loss" in other:
        other["sampler"] = None
    elif one == "tags_dc" and "loss__writing" in other:
        other = {"loss": LossSettings(writing=0.1)}  # refused for having a loss at all
    elif one == "tags_dc" and "loss__global_features" in other:
        other = {"loss": LossSettings(global_features=True)}
    elif one == "vsrn" or (isinstance(one, str) and "loss__writing" in other):
        base = replaced(base, {"loss__writing": 0.0})
    field = mixing.EVERY[refusal.other].field if "loss" not in other or one != "tags_dc" else "loss"
    said = refusal.wanted.format(loss="info_nce") if field != "loss" else "its losses are those of tags"
    with pytest.raises(ItmlabError) as caught:
        replaced(base, other)
    assert str(caught.value).startswith(f"recipe: {field} is ") and said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_reasons_are_the_tables_and_what_follows_from_it():
    for one, other, wanted in mixing.REFUSALS:
        assert mixing.reason(one, other) == mixing.reason(other, one) is not None
        assert mixing.reason(one, other).replace("such a loss ", "").removeprefix("a cross-encoder: ") in wanted
    for one, other in (("VSRN", "SynHNC"), ("a sampler", "a memory"), ("TAGS: sentences made, losses of words",) * 2):
        assert mixing.reason(one, other) is None
    assert mixing.reason("cross-encoder", "an adaptive margin alone") == mixing.reason(
        "cross-encoder", "an adaptive margin"
    )
    of_tags = mixing.reason("a memory", "TAGS: sentences made, losses of words")
    assert of_tags == mixing.reason("cross-encoder", "a memory"), "as only a cross-encoder has them"


def test_the_book_shows_a_mark_or_a_number_of_every_pair():
    tables = mixing_tables()
    assert tables.count("✓") > 60 and "| a memory | ✓ | ✓ | ✓ | " in tables
    listed = re.findall(r"^(\d+)\. ", tables, re.MULTILINE)
    assert listed == [str(at + 1) for at in range(len(listed))]
    assert set(re.findall(r"\| (\d+) ", tables)) == set(listed)
